"""The levels of forward-mode differentiation that are open in this thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mindtorch.engine.autograd import tape
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import Tensor


class _Open(threading.local):
    def __init__(self) -> None:
        self.levels: list[Any] = []


_open = _Open()


def levels() -> list[Any]:
    """The open levels; torch has at most one."""
    return _open.levels


def current() -> Any:
    """The open level, or None."""
    return _open.levels[-1] if _open.levels else None


def ancestors(tensors: Sequence[Tensor], but: Iterable[int] = ()) -> Iterator[Any]:
    """The nodes that ``tensors`` come from, without those ``but`` and what is beyond them."""
    stack, seen = [tape.node_of(x) for x in tensors], set(but)
    while stack:
        node = stack.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        stack.extend(edge[0] for edge in node.edges if edge is not None)


def have_tangents(tensors: Sequence[Tensor]) -> bool:
    """Whether a level of forward mode, or a jvp, pushes one of ``tensors``."""
    dual = current()
    if dual is not None and any(dual.moves(x) for x in tensors):
        return True
    pushed = {id(node) for node in state.pushed}
    return bool(pushed) and any(id(node) in pushed for node in ancestors(tensors))


def only_pushed(tensor: Tensor) -> bool:
    """Whether ``tensor`` has a tangent in a jvp and no gradient anywhere: no hook is called."""
    if not state.forward:
        return False
    pushed = {id(node) for node in state.pushed}
    return state.forward_only and all(
        id(node) in pushed for node in ancestors([tensor]) if type(node) is tape.AccumulateGrad
    )
