"""The debugger in a program's own code, and for the commands that run scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .local import LocalFront, pausing
from .session import Debugger, FrontEnd
from .tensor_view import Reference
from .terminal import parse_watch

__all__ = ["attach", "debug"]


@contextmanager
def attach(
    front: FrontEnd, level: str = "modules", watchpoints: Iterable[str] = (), model: Any = None,
    stop_at_start: bool = True,
) -> Iterator[Debugger]:  # fmt: skip
    """A block under the debugger.

    Args:
        front: who is asked.
        level: how much is seen.
        watchpoints: what the command `watch` takes, for each.
        model: gives nodes their names from the start.
        stop_at_start: whether it stops before the first call of a model.

    Raises:
        ValueError: a watchpoint makes no sense.
    """
    session = Debugger(front, model, level, stop_at_start)
    for words in watchpoints:
        given = parse_watch(words)
        session.watchpoints.add(
            given["condition"], given["parameters"], given.get("nodes", "*"),
            given.get("kinds", ()),
        )  # fmt: skip
    with session:
        yield session


@contextmanager
def debug(
    *watchpoints: str, model: Any = None, level: str = "modules", stop_at_start: bool = True,
    torch_record: str | Path | None = None,
) -> Iterator[Debugger]:  # fmt: skip
    """A block under the debugger, with commands in this terminal:

        with mindtorch.tools.debug("gradient_exploding", "weight_overflow", model=model):
            train()

    Args:
        watchpoints: each is what the command `watch` takes: a condition, parameters, `at PATTERN`.
        model: gives nodes their names from the start; else the outermost module called does.
        level: "steps", "modules" or "ops": how much is seen, and what it costs.
        stop_at_start: whether it stops before the first call of a model.
        torch_record: the folder of `mindtorch compare --keep`, to compare tensors with.

    Raises:
        ValueError: a watchpoint makes no sense, or there is no such level.
        FileNotFoundError: nothing of PyTorch was recorded there.
    """
    reference = None if torch_record is None else Reference(Path(torch_record))
    front = LocalFront(reference)
    try:
        with attach(front, level, watchpoints, model, stop_at_start) as session, pausing(session):
            yield session
    finally:
        if reference is not None:
            reference.close()
