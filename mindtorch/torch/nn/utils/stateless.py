"""Calling a module with other parameters and buffers than its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mindtorch.engine.compile.guards.module_changes import module_changed
from mindtorch.engine.tensor import Tensor as EngineTensor

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
        TypeError: a value is no tensor.
    """
    if args is None:
        args = ()
    with _replaced(module, parameters_and_buffers, tie_weights, strict):
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))


_functional_call = call  # torch's name of it, which packages import


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
            texts.append(f"{what} key(s): {', '.join(map(repr, sorted(names)))}.")
    if texts:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(texts)
        )


@contextmanager
def _replaced(
    module: Any, given: dict[str, Any], tie_weights: bool, strict: bool
) -> Iterator[None]:
    """A block in which the module has these tensors in place of its own."""
    tensors = _with_ties(module, given) if tie_weights else given
    if strict:
        _check_names(module, tensors)
    before: list[tuple[str, Any, str, Any]] = []
    try:
        for path, tensor in tensors.items():
            if tensor is not None and not isinstance(tensor, EngineTensor):
                raise TypeError(f"{tensor} is not an instance of torch.Tensor")
            owner, name = _owner(module, path)
            before.append((path, owner, name, _exchange(owner, name, tensor)))
        yield
    finally:
        for path, owner, name, held in reversed(before):
            now = _exchange(owner, name, held)
            if path in given and isinstance(now, EngineTensor):
                given[path] = now


def _reparametrize_module(
    module: Any, parameters_and_buffers: dict[str, Any], tie_weights: bool = False,
    strict: bool = False,
) -> Any:  # fmt: skip
    """A block in which the module has these tensors; packages import torch's name of it."""
    return _replaced(module, parameters_and_buffers, tie_weights, strict)


def _owner(module: Any, path: str) -> tuple[Any, str]:
    *parts, name = path.split(".")
    for part in parts:
        if not hasattr(module, part):
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
        module = getattr(module, part)
    return module, name


def _exchange(owner: Any, name: str, tensor: Any) -> Any:
    """Put ``tensor`` where ``owner`` has ``name``, or nothing there; what was there before."""
    module_changed()  # what was compiled looks again
    for registry in (owner._parameters, owner._buffers):
        if name in registry:
            held = registry[name]
            if tensor is _ABSENT:
                del registry[name]
            else:
                registry[name] = tensor
            return held
    held = getattr(owner, name, _ABSENT)
    if not (held is _ABSENT or held is None or isinstance(held, EngineTensor)):
        raise TypeError(f"attribute `{name}`: {held} is not an instance of torch.Tensor")
    if tensor is not _ABSENT:
        setattr(owner, name, tensor)
    elif held is not _ABSENT:
        delattr(owner, name)
    return held
