"""Modules as functions of their parameters."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mindtorch.engine.graph.guards import changes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.functions.parts import stack

_MISSING = object()


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
    given = _merged(parameter_and_buffer_dicts)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


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


def _own_tensors(module: Any) -> dict[str, Any]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _untied(module: Any, given: dict[str, Any]) -> dict[str, Any]:
    """``given`` with an entry for each name that the module ties to one of its names."""
    groups: dict[int, list[str]] = {}
    for name, tensor in _own_tensors(module).items():
        groups.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for names in groups.values():
        present = [n for n in names if n in given]
        if len(names) < 2 or not present:
            continue
        if len({id(given[n]) for n in present}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        result.update(dict.fromkeys(names, given[present[0]]))
    return result


def _check_names(module: Any, given: dict[str, Any]) -> None:
    own = _own_tensors(module)
    unknown = [repr(n) for n in given if n not in own]
    missing = [repr(n) for n in own if n not in given]
    lines = []
    if unknown:
        lines.append(f"Unexpected key(s): {', '.join(unknown)}.")
    if missing:
        lines.append(f"Missing key(s): {', '.join(missing)}.")
    if lines:
        joined = "\n\t".join(lines)
        raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t{joined}")


@contextmanager
def _replaced(
    module: Any, given: dict[str, Any], tie_weights: bool, strict: bool
) -> Iterator[None]:
    tensors = _untied(module, given) if tie_weights else given
    if strict:
        _check_names(module, tensors)
    before: list[tuple[str, Any, str, Any]] = []
    try:
        for path, tensor in tensors.items():
            if not isinstance(tensor, EngineTensor):
                raise TypeError(f"{tensor} is not an instance of torch.Tensor")
            prefix, _, name = path.rpartition(".")
            owner = module.get_submodule(prefix)
            before.append((path, owner, name, _exchange(owner, name, tensor)))
        yield
    finally:
        for path, owner, name, held in reversed(before):
            now = _exchange(owner, name, held)
            if path in given and isinstance(now, EngineTensor):
                given[path] = now


def _exchange(owner: Any, name: str, tensor: Any) -> Any:
    """Put ``tensor`` where ``owner`` has ``name``; what was there."""
    changes.count += 1  # what was compiled looks again
    for place in (owner._parameters, owner._buffers, owner.__dict__):
        if name in place:
            held = place[name]
            if tensor is _MISSING:
                del place[name]
            else:
                place[name] = tensor
            return held
    if tensor is not _MISSING:
        owner.__dict__[name] = tensor
    return _MISSING


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
    kind = importlib.import_module("mindtorch.torch.nn.modules.batchnorm")._BatchNorm
    for module in root.modules():
        if isinstance(module, kind) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
