"""Whether constructors of sparse tensors check all that the layouts promise."""

from __future__ import annotations

import functools
from typing import Any

from .._api.warn_caller import warn_caller_once

__all__ = ["check_sparse_tensor_invariants", "checked"]

_ENABLED: list[bool | None] = [None]  # None: nobody said
_NOBODY_SAID = (
    "Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur "
    "when operating on a sparse tensor which violates the invariants, but checks incur "
    "performance overhead. To silence this warning, explicitly opt in or out. See "
    "`torch.sparse.check_sparse_tensor_invariants.__doc__` for guidance. "
)


def checked(asked: bool | None) -> bool:
    """Whether a constructor that was asked so checks; torch's warning where nobody said."""
    if asked is None and _ENABLED[0] is None:
        warn_caller_once(_NOBODY_SAID)
    return bool(_ENABLED[0] if asked is None else asked)


class check_sparse_tensor_invariants:  # noqa: N801
    """Switch the check of indices on or off: as a context manager, a decorator, or for good.

    Args:
        enable: whether constructors without ``check_invariants`` check.
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether the check is on."""
        return bool(_ENABLED[0])

    @staticmethod
    def enable() -> None:
        """Check from now on."""
        _ENABLED[0] = True

    @staticmethod
    def disable() -> None:
        """Do not check from now on."""
        _ENABLED[0] = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context "
                "manager instance for context nesting."
            )
        self.saved_state = self.is_enabled()
        _ENABLED[0] = self.state

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        assert self.saved_state is not None
        _ENABLED[0] = self.saved_state
        self.saved_state = None

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def checked_call(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return function(*args, **kwargs)

        return checked_call
