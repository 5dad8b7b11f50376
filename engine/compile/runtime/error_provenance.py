"""Errors of compiled code name the user's line that asked for the op."""

from __future__ import annotations

from typing import Any

from ...op_nodes import run_steps
from ..ir.ir import Node


def name_line(error: BaseException, executable: Any) -> None:
    """Note at an error which line of the user's code the failed step stands for."""
    node = _failed(error, executable)
    if node is not None and node.line:
        error.add_note(f"{node.op.name} failed, which {node.line} asked for")


def _failed(error: BaseException, executable: Any) -> Node | None:
    place = error.__traceback__
    while place is not None:
        if place.tb_frame.f_code is run_steps.__code__:
            given: Any = place.tb_frame.f_locals.get("given")
            if executable.refused:  # a node is the step
                return given[0] if given else None
            found = (n for n, step in zip(executable.nodes, executable.steps, strict=True)
                     if step[1] is given)  # fmt: skip
            return next(found, None)
        place = place.tb_next
    return None
