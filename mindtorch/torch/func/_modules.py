"""Modules as functions of their parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindtorch.torch.functions.parts import stack


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with other parameters and buffers, the module's own untouched.

    Args:
        parameter_and_buffer_dicts: name to tensor, or several such dicts with distinct names. A
            buffer that the call replaces is replaced in the dict.
        args: a tuple, or the only argument.
        tie_weights: a tensor given for one name goes to all names that the module ties to it.
        strict: refuse missing and unknown names.

    Raises:
        ValueError: no dicts, names given twice, different tensors for tied names.
        RuntimeError: missing or unknown names with ``strict``.
    """
    # layers are loaded when they are first needed
    from ..nn.utils import stateless

    given = _merged(parameter_and_buffer_dicts)
    return stateless.call(module, given, args, kwargs, tie_weights, strict)


def _merged(dicts: Any) -> dict[str, Any]:
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for d in dicts for name in d]
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: tensor for d in dicts for name, tensor in d.items()}


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) by name, those of all ``models`` stacked along a new axis 0.

    Raises:
        RuntimeError: no models, different classes or modes, different ``requires_grad``.
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({bool(m.training) for m in models}) > 1:
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return _stacked(parameters), _stacked(buffers)


def _stacked(states: list[dict[str, Any]]) -> dict[str, Any]:
    stacked = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        tracked = {bool(x.requires_grad) for x in tensors}
        if len(tracked) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        result = stack(tensors)
        stacked[name] = result.detach().requires_grad_() if tracked == {True} else result
    return stacked


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """``root``, its batch normalisations without running statistics, which vmap cannot update."""
    from ..nn.modules import batchnorm

    for module in root.modules():
        if isinstance(module, batchnorm._BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
