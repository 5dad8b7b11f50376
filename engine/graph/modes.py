"""What a call depends on besides its arguments: the modes and settings of the thread."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from .. import autocast, backward_pass, dtypes, tape
from ..core import state

# what a namespace adds to the modes: how each of its settings is read
readers: list[Callable[[], Hashable]] = []
# who sees each call of a function while it is made
intercepting: list[Any] = []


def current() -> Any:
    """The modes that what is compiled now is compiled for."""
    return (
        state.grad_enabled, state.inference, dtypes.default, autocast.state.key(),
        *[read() for read in readers],
    )  # fmt: skip


def watched() -> bool:
    """Whether somebody watches op by op, so that nothing runs compiled."""
    return bool(
        state.interpreters or backward_pass.running or tape.saved_tensor_hooks or intercepting
        or tape.anomaly.enabled
    )  # fmt: skip
