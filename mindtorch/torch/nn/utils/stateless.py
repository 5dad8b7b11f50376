"""Calling a module with other parameters and buffers than its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mindtorch.engine.graph.guards import changes

__all__ = ["functional_call"]

_ABSENT = object()


def functional_call(
    module: Any, parameters_and_buffers: dict[str, Any], args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """The deprecated name of ``torch.func.functional_call``; see :func:`call`."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return call(module, parameters_and_buffers, args, kwargs, tie_weights, strict)


def call(
    module: Any, parameters_and_buffers: dict[str, Any], args: Any = None,
    kwargs: dict[str, Any] | None = None, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """``module(*args, **kwargs)`` with these tensors in place of its own.

    What the call writes to a buffer is written to the given tensor; a buffer that it replaces is
    replaced in the dict.

    Args:
        parameters_and_buffers: tensors by dotted name.
        args: a tuple, or one argument.
        tie_weights: a tensor with several names is replaced under all of them.
        strict: refuse names that are missing or unknown.

    Raises:
        RuntimeError: with ``strict``, for names that do not fit.
        ValueError: for different values under names of one tensor.
    """
    if args is None:
        args = ()
    with replaced(module, parameters_and_buffers, tie_weights, strict):
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))


def _named_tensors(module: Any) -> dict[str, Any]:
    names = dict(module.named_parameters(remove_duplicate=False))
    names.update(module.named_buffers(remove_duplicate=False))
    return names


def _with_ties(module: Any, given: dict[str, Any]) -> dict[str, Any]:
    """``given`` with every name of each tensor that it replaces."""
    groups: dict[int, list[str]] = {}
    for name, tensor in _named_tensors(module).items():
        groups.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for names in groups.values():
        values = [given[name] for name in names if name in given]
        if len(names) < 2 or not values:
            continue
        if any(value is not values[0] for value in values):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(names)}, which are tied. "
                "Consider using tie_weights=False"
            )
        result.update(dict.fromkeys(names, values[0]))
    return result


def _check_names(module: Any, given: dict[str, Any]) -> None:
    own = _named_tensors(module)
    texts = []
    for what, names in (("Unexpected", [n for n in given if n not in own]),
                        ("Missing", [n for n in own if n not in given])):  # fmt: skip
        if names:
            texts.append(f"{what} key(s): {', '.join(map(repr, names))}.")
    if texts:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(texts)
        )


def _swap(module: Any, name: str, tensor: Any) -> Any:
    """Put a tensor where a dotted name says; what was there."""
    *path, last = name.split(".")
    owner = module
    for part in path:
        if not hasattr(owner, part):
            raise AttributeError(f"{owner._get_name()} has no attribute `{part}`")
        owner = getattr(owner, part)
    for registry in (owner._parameters, owner._buffers):
        if last in registry:
            before = registry[last]
            registry[last] = tensor
            changes.count += 1  # what was compiled looks again
            return before
    before = getattr(owner, last, _ABSENT)
    if before is not _ABSENT:
        setattr(owner, last, tensor)
    return before


@contextmanager
def replaced(
    module: Any, tensors: dict[str, Any], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """A block in which the module has these tensors in place of its own."""
    untied = _with_ties(module, tensors) if tie_weights else tensors
    if strict:
        _check_names(module, untied)
    before: dict[str, Any] = {}
    try:
        for name, tensor in untied.items():
            before[name] = _swap(module, name, tensor)
        yield
    finally:
        for name, tensor in reversed(before.items()):
            if tensor is not _ABSENT:
                after = _swap(module, name, tensor)
                if name in tensors:
                    tensors[name] = after
