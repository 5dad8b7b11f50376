"""What `torch.NAME(...)` and `ops.NAMESPACE.NAME(...)` stand for in TorchScript's code.

An operator is one of `language.py`, or a function of `torch.ops.aten`, or one that a library has
declared. Numbers that stand for types, layouts and orders of memory become those.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mindtorch.engine.devices.device import Device
from mindtorch.engine.tensor import Tensor
from mindtorch.torch import ops

from ...autograd import grad_mode
from ...functions.from_data import tensor as make_tensor
from ...library._custom_operators import OPERATORS
from ...nn import functional as F  # noqa: N812
from . import aten_forms, language
from .scalar_types import (
    code_of_dtype,
    code_of_layout,
    dtype_of_code,
    layout_of_code,
    memory_format_of_code,
)

__all__ = ["Unsupported", "operator_named"]

# Methods of tensors that are no operators of TorchScript: they call back, or reach files.
_NO_OPERATORS = frozenset(
    "apply_ map_ map2_ numpy tolist register_hook share_memory_ module_load requires_grad_ "
    "from_numpy frombuffer asarray from_file storage untyped_storage __array__ cuda".split()
)
_OF_NAMESPACES = frozenset(dir(type(ops.aten))) | {"name"}
_CODES: dict[str, Callable[[int], Any]] = {
    "dtype": dtype_of_code,
    "layout": layout_of_code,
    "memory_format": memory_format_of_code,
    "out_dtype": dtype_of_code,
}
_LEFT_OUT_IF_NONE = ("dtype", "layout", "device", "pin_memory", "memory_format", "generator")
# Where an operator takes the number of a type by place.
_TYPE_AT = {
    "softmax": (2,), "log_softmax": (2,), "special_softmax": (2,), "special_log_softmax": (2,),
    "promote_types": (0, 1), "can_cast": (0, 1), "view": (1,), "_softmax_backward_data": (3,),
    "_log_softmax_backward_data": (3,),
}  # fmt: skip
_Call = Callable[..., Any]


class Unsupported(NotImplementedError):
    """An operator that is not here."""


def _refuse(name: str) -> _Call:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise Unsupported(f"mindtorch does not have TorchScript's operator {name}")

    return call


def _arguments(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments of an operator on tensors, with what its numbers stand for."""
    given: list[Any] = list(args)
    for place in _TYPE_AT.get(name, ()):
        if place < len(given) and type(given[place]) is int:
            given[place] = dtype_of_code(given[place])
    named = {}
    for key, value in kwargs.items():
        if value is None and key in _LEFT_OUT_IF_NONE:
            continue
        meant = _CODES.get(key)
        named[key] = meant(value) if meant is not None and type(value) is int else value
    return given, named


def _to(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """`x.to(...)`: a type is a number, and a device or a type may be None."""
    given = []
    for place, value in enumerate(args):
        if value is None and place < 2:
            continue
        given.append(dtype_of_code(value) if type(value) is int and place < 2 else value)
    # to(dtype, non_blocking, copy, memory_format) has the last by place
    if given and type(given[-1]) is int:
        kwargs = {**kwargs, "memory_format": given.pop()}
    flags = [value for value in given if type(value) is bool]
    given = [value for value in given if type(value) is not bool]
    for key, value in zip(("non_blocking", "copy"), flags, strict=False):
        kwargs.setdefault(key, value)
    _, named = _arguments("to", (), kwargs)
    return ops.aten.to(x, *given, **named)


def _size(x: Any, dim: int | None = None) -> Any:
    return list(x.shape) if dim is None else x.shape[dim]


def _tensor(data: Any, **kwargs: Any) -> Any:
    _, named = _arguments("tensor", (), kwargs)
    return make_tensor(data, **named)


def _warn(message: Any, stacklevel: int = 2) -> None:
    warnings.warn(str(message), UserWarning, stacklevel=2)


def _wait(future: Any) -> Any:
    return future.wait()


def _number_to_tensor(value: Any) -> Any:
    return make_tensor(value)


def _implicit(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _set_grad_enabled(mode: bool) -> None:
    grad_mode.set_grad_enabled(mode)


# Operators of torch that are neither the language's nor functions of tensors with aten's arguments.
_OWN: dict[str, _Call] = {
    "to": _to, "size": _size, "sym_size": _size, "tensor": _tensor,
    "as_tensor": _tensor, "warn": _warn, "wait": _wait,
    "format": language.format_text, "device": Device,
    "dim": lambda x: x.ndim, "numel": lambda x: x.numel(), "sym_numel": lambda x: x.numel(),
    "stride": lambda x, dim=None: list(x.stride()) if dim is None else x.stride(dim),
    "__is__": lambda a, b: a is b, "__isnot__": lambda a, b: a is not b,
    "__not__": lambda a: not a, "item": lambda x: x.item(),
    "Int": lambda x: int(x), "Float": lambda x: float(x), "Bool": lambda x: bool(x),
    "IntImplicit": _implicit, "FloatImplicit": _implicit, "ScalarImplicit": _implicit,
    "is_grad_enabled": grad_mode.is_grad_enabled, "set_grad_enabled": _set_grad_enabled,
    "get_device": lambda x: x.get_device(), "is_autocast_enabled": lambda: False,
    "is_autocast_cpu_enabled": lambda: False, "len": len,
    "backward": lambda x, *args, **kwargs: x.backward(*args, **kwargs),
}  # fmt: skip
# Operators that are the language's whatever their first argument is.
_LANGUAGE_ONLY = frozenset(
    "append extend insert pop remove clear Delete _set_item keys values items setdefault popitem "
    "update str percentFormat ord chr hex oct bin dict __contains__ list tuple".split()
)


def _prim(name: str) -> _Call:
    if name in language.PRIMITIVES:
        plain = language.PRIMITIVES[name]
        if name in ("min", "max", "abs"):
            operator = _torch(name)
            return lambda *args: (operator if isinstance(args[0], Tensor) else plain)(*args)
        return plain
    return _PRIM.get(name) or _refuse(f"ops.prim.{name}")


_PRIM: dict[str, _Call] = {
    "dtype": lambda x: code_of_dtype(x.dtype),
    "device": lambda x: x.device,
    "layout": lambda x: code_of_layout(x.layout),
    "shape": lambda x: list(x.shape),
    "data": lambda x: x.data,
    "grad": lambda x: x.grad,
    "name": lambda x: x.name,
    "itemsize": lambda x: x.itemsize,
    "nbytes": lambda x: x.nbytes,
    "index": lambda device: device.index,
    "type": lambda device: device.type,
    "requires_grad": lambda x: x.requires_grad,
    "is_leaf": lambda x: x.is_leaf,
    **{
        name: (lambda x, _name=name: bool(getattr(x, _name)))
        for name in ("is_cuda", "is_cpu", "is_nested", "is_sparse", "is_sparse_csr",
                     "is_quantized", "is_meta", "is_mps", "is_mkldnn", "is_xla", "is_xpu",
                     "is_ort", "is_ipu", "is_vulkan", "is_maia", "is_hpu", "is_mtia")
    },
    "NumToTensor": _number_to_tensor,
    "tolist": lambda x, dim, kind: x.tolist(),
    "TupleIndex": lambda items, place: items[place],
    "AutogradAnyNonZero": lambda *args: True,
}  # fmt: skip


def operator_named(name: str, version: int = 10) -> _Call:
    """The function that a dotted name of the code stands for.

    Args:
        name: ``torch.relu``, ``ops.prim.dtype``, ``ops.torchvision.nms``.
        version: of the archive; what some operators compute has changed.
    """
    root, _, rest = name.partition(".")
    if root == "torch":
        older = aten_forms.OLDER.get(rest)
        return older[1] if older is not None and version < older[0] else _torch(rest)
    space, _, short = rest.partition(".")
    if space == "prim":
        return _prim(short)
    if space == "aten":
        return _torch(short)
    declared = OPERATORS.get(f"{space}::{short}")
    return _refuse(name) if declared is None else _called(short, declared)


def _torch(name: str) -> _Call:
    own = _OWN.get(name)
    if own is not None:
        return own
    plain = language.FUNCTIONS.get(name)
    if name in _LANGUAGE_ONLY and plain is not None:
        return plain
    on_tensors = _on_tensors(name)
    if plain is None:
        return on_tensors
    return _either(plain, on_tensors)


def _on_tensors(name: str) -> _Call:
    form = aten_forms.FORMS.get(name)
    if form is not None:
        return _called(name, form)
    if name in _NO_OPERATORS:
        return _refuse(f"aten::{name}")
    for prefix, module in aten_forms.MODULES.items():
        short = name.removeprefix(prefix)
        if short != name and short in module:
            return _called(name, module[short])
    found = None if name in _OF_NAMESPACES else getattr(ops.aten, name, None)
    if found is None and not name.startswith("_"):  # where the arguments are the operator's
        found = vars(F).get(name)
    return _called(name, found) if callable(found) else _refuse(f"aten::{name}")


def _called(name: str, function: _Call) -> _Call:
    """The function, called with what the code's numbers mean; a plain tuple is a list there."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs or name in _TYPE_AT:
            args, kwargs = _arguments(name, args, kwargs)
        made = function(*args, **kwargs)
        return list(made) if type(made) is tuple else made

    return call


def _either(plain: _Call, on_tensors: _Call) -> _Call:
    """The language's function, or an operator where one of the first two arguments is a tensor."""

    def call(*args: Any, **kwargs: Any) -> Any:
        first = args[0] if args else None
        if isinstance(first, Tensor):
            return on_tensors(*args, **kwargs)
        if len(args) > 1 and isinstance(args[1], Tensor) and not isinstance(first, (list, dict)):
            return on_tensors(*args, **kwargs)
        return plain(*args, **kwargs)

    return call
