"""Modules that are wrapped by :func:`torch.utils.checkpoint.checkpoint`.

The wrapper changes no names: parameters and states are called as without it.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

from ....autograd.graph import save_on_cpu
from ....nn.modules.module import Module
from ....utils.checkpoint import checkpoint
from ...fsdp.wrap import lambda_auto_wrap_policy, wrap_inside

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper",
    "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

_NAME = "_checkpoint_wrapped_module"
_PREFIX = f"{_NAME}."


class CheckpointImpl(enum.Enum):
    """Whether the backward pass of the second run is one within the first, or the same."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(Module):
    """A module around another one, whose names it keeps.

    Args:
        mod: the module.
    """

    def __init__(self, mod: Any) -> None:
        super().__init__()
        self._checkpoint_wrapped_module = mod
        self._register_state_dict_hook(_without_prefix)
        self.register_load_state_dict_pre_hook(_with_prefix)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == _NAME:
                raise
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """The parameters of the wrapped module, with their names in it."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(_PREFIX, ""), parameter


def _renamed(state: dict[str, Any], before: str, after: str) -> None:
    for name in [each for each in state if each.startswith(before)]:
        state[after + name[len(before) :]] = state.pop(name)


def _without_prefix(module: Any, state: dict[str, Any], prefix: str, *args: Any) -> dict[str, Any]:
    _renamed(state, prefix + _PREFIX, prefix)
    return state


def _with_prefix(module: Any, state: dict[str, Any], prefix: str, *args: Any) -> None:
    _renamed(state, prefix, prefix + _PREFIX)


class OffloadWrapper(ActivationWrapper):
    """A module whose saved tensors are kept in the CPU's memory until the backward pass."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module that runs once more in the backward pass, so that its activations are not kept.

    Args:
        mod: the module.
        checkpoint_impl: how, where ``checkpoint_fn`` is not given.
        checkpoint_fn: called as ``checkpoint_fn(module, *args, **kwargs)`` in place of
            :func:`torch.utils.checkpoint.checkpoint`.
        checkpoint_fn_kwargs: further arguments of that function.
    """

    def __init__(
        self,
        mod: Any,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl = checkpoint_impl
        self._reentrant = checkpoint_fn is None and checkpoint_impl is CheckpointImpl.REENTRANT
        self.checkpoint_fn: Callable[..., Any] = (
            functools.partial(checkpoint, use_reentrant=self._reentrant, **checkpoint_fn_kwargs)
            if checkpoint_fn is None
            else functools.partial(checkpoint_fn, **checkpoint_fn_kwargs)
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        inner = self._checkpoint_wrapped_module
        if not (self._reentrant and kwargs):
            return self.checkpoint_fn(inner, *args, **kwargs)
        names, given = list(kwargs), len(args)  # the function that is run again takes no keywords

        def positional(*values: Any) -> Any:
            return inner(*values[:given], **dict(zip(names, values[given:], strict=True)))

        return self.checkpoint_fn(positional, *args, *kwargs.values())


def offload_wrapper(module: Any) -> Any:
    """``module``, whose saved tensors are kept in the CPU's memory."""
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Any,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Any:
    """``module``, which runs once more in the backward pass: :class:`CheckpointWrapper`."""
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def apply_activation_checkpointing(
    model: Any,
    checkpoint_wrapper_fn: Callable[..., Any] = checkpoint_wrapper,
    check_fn: Callable[[Any], bool] = lambda _: True,
    auto_wrap_policy: Any = None,
) -> None:
    """Replace modules inside ``model``, not itself, by wrapped ones, in place.

    Args:
        model: the module.
        checkpoint_wrapper_fn: of a module: the wrapped one.
        check_fn: of a module: whether it is wrapped.
        auto_wrap_policy: in place of ``check_fn``, as :class:`FullyShardedDataParallel` takes it.

    Raises:
        ValueError: the policy is neither a function nor one of the classes of policies.
    """
    policy = auto_wrap_policy
    if policy is None:
        policy = functools.partial(lambda_auto_wrap_policy, lambda_fn=check_fn)
    if not callable(policy) and not hasattr(policy, "arguments_for"):
        raise ValueError(f"Expected {policy} to be callable or be a pre-defined wrap policy")
    wrap_inside(model, policy, checkpoint_wrapper_fn, set())
