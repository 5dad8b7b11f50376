"""Copies of a state, made before it is saved in the background."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor

from ...utils._pytree import tree_flatten, tree_unflatten
from .metadata import STATE_DICT_TYPE

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions"]


@runtime_checkable
class AsyncStager(Protocol):
    """What copies a state."""

    _synchronize_after_execute: bool = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether :meth:`synchronize_staging` is to be called after the save has begun."""
        return self._synchronize_after_execute

    def stage(self, state_dict: STATE_DICT_TYPE) -> Any:
        """The copy, or a future of it.

        Args:
            state_dict: what is copied.
        """
        ...

    def synchronize_staging(self) -> None:
        """Wait until the copy is made."""

    def close(self) -> None:
        """Nothing more will be copied."""


class BlockingAsyncStager:
    """Copies tensors to the CPU before it returns.

    Args:
        cache_staged_state_dict: keep the copy, and write the next one over it.
        type_check: of no effect.
    """

    _synchronize_after_execute = False

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False) -> None:
        del type_check
        self.cache_staged_state_dict = cache_staged_state_dict
        self.state_dict_cache: list[Any] | None = None

    @property
    def should_synchronize_after_execute(self) -> bool:
        """False: the copy is made when :meth:`stage` returns."""
        return self._synchronize_after_execute

    def stage(self, state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
        """The state with copies of its tensors.

        Args:
            state_dict: what is copied.
        """
        values, tree = tree_flatten(state_dict)
        before = self.state_dict_cache or [None] * len(values)
        if len(before) != len(values):
            before = [None] * len(values)
        copies = [_copied(value, old) for value, old in zip(values, before, strict=True)]
        if self.cache_staged_state_dict:
            self.state_dict_cache = copies
        made: STATE_DICT_TYPE = tree_unflatten(copies, tree)
        return made

    def synchronize_staging(self) -> None:
        """Nothing is left to wait for."""

    def close(self) -> None:
        """Forget the copy."""
        self.state_dict_cache = None


def _copied(value: Any, old: Any) -> Any:
    if not isinstance(value, EngineTensor):
        return value
    plain = value.detach()
    if type(plain) is type(old) and old.shape == plain.shape and old.dtype == plain.dtype:
        with torch.no_grad():
            old.copy_(plain)
        return old
    return plain.cpu().clone()


@dataclass
class StagingOptions:
    """How :class:`DefaultStager` copies; on the CPU all of them are of no effect."""

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class DefaultStager(BlockingAsyncStager):
    """:class:`BlockingAsyncStager` under torch's other name.

    Args:
        config: of no effect on what is copied.
    """

    def __init__(self, config: StagingOptions | None = None) -> None:
        super().__init__()
        self.config = StagingOptions() if config is None else config
