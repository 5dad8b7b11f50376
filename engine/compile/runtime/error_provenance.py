"""Errors of compiled code name the user's line that asked for the op."""

from __future__ import annotations

from typing import Any

from ..ir.ir import Node, run_nodes
from .executable import Executable


def name_line(error: BaseException, executable: Any) -> None:
    """Note at an error which line of the user's code the failed step stands for."""
    node = _failed(error, executable)
    if node is not None and node.line:
        error.add_note(f"{node.op.name} failed, which {node.line} asked for")


def _failed(error: BaseException, executable: Any) -> Node | None:
    place = error.__traceback__
    while place is not None:
        values = place.tb_frame.f_locals
        if place.tb_frame.f_code is run_nodes.__code__:
            return values.get("node")
        if place.tb_frame.f_code is Executable.run.__code__:
            given = values.get("given")
            found = (n for n, step in zip(executable.nodes, executable.steps, strict=True)
                     if step[1] is given)  # fmt: skip
            return next(found, None)
        place = place.tb_next
    return None
