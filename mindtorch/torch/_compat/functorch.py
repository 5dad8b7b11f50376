"""The package `functorch`: `torch.func`'s names, and modules as functions in its own spelling."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch.torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)  # fmt: skip
from mindtorch.torch.nn.modules.module import Module

__all__ = [
    "combine_state_for_ensemble", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """``function(parameters, buffers, *args)``, and copies of the module's parameters and buffers.

    Args:
        disable_autograd_tracking: the copies of the parameters require no gradients.
    """
    module = copy.deepcopy(model)
    parameters, buffers = dict(module.named_parameters()), dict(module.named_buffers())
    if disable_autograd_tracking:
        for each in parameters.values():
            each.requires_grad_(False)

    def function(params: Sequence[Any], buffers_: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        named = dict(zip((*parameters, *buffers), (*params, *buffers_), strict=True))
        return functional_call(module, named, args, kwargs)

    return function, tuple(parameters.values()), tuple(buffers.values())


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """``function(parameters, *args)``, and copies of the module's parameters.

    Args:
        disable_autograd_tracking: the copies of the parameters require no gradients.

    Raises:
        RuntimeError: the module has buffers.
    """
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use "
            "make_functional_with_buffers(model) instead."
        )
    with_buffers, parameters, _ = make_functional_with_buffers(model, disable_autograd_tracking)

    def function(params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        return with_buffers(params, (), *args, **kwargs)

    return function, parameters


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """``function(parameters, buffers, *args)`` of one model, and the states of all, stacked.

    Args:
        models: modules of one class and architecture.

    Raises:
        RuntimeError: no models, not all in one mode, or of several classes.
    """
    try:
        stacked = stack_module_state(list(models))
    except RuntimeError as error:
        text = str(error).replace("stack_module_state", "combine_state_for_ensemble")
        raise RuntimeError(text) from None
    parameters, buffers = (tuple(x.detach() for x in each.values()) for each in stacked)
    return make_functional_with_buffers(models[0])[0], parameters, buffers
