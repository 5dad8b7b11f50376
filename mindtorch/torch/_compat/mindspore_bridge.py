"""MindTorch's conversions between the tensors of torch's namespace and of MindSpore's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import fields_of, note_shared

from .._tensor.tensor import Tensor

__all__ = ["cast_to_adapter_tensor", "cast_to_ms_tensor"]


def _same(tensor: EngineTensor, kind: type) -> Any:
    """The tensor, its history and its gradient as an object of another class."""
    result: Any = object.__new__(kind)
    result.flat, result.aval, result._node = tensor.flat, tensor.aval, tensor._node
    result._storage = tensor._shared
    note_shared(result)
    fields_of(result).update(
        {k: v for k, v in fields_of(tensor).items() if k not in ("_storage", "_trained")}
    )
    return result


def _mapped(convert: Callable[[Any], Any], value: Any) -> Any:
    """Tuples and lists anew, dicts in place, tensors converted, others as they are."""
    if isinstance(value, EngineTensor):
        return convert(value)
    if isinstance(value, tuple):
        parts = [_mapped(convert, v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [_mapped(convert, v) for v in value]
    if isinstance(value, dict):
        for key, each in value.items():
            value[key] = _mapped(convert, each)
    return value


def cast_to_adapter_tensor(value: Any) -> Any:
    """MindSpore's tensors as torch's, sharing memory, history and gradient.

    Tuples and lists are converted to new ones, dicts in place; torch's tensors and everything
    else is returned as it is.
    """

    def convert(tensor: EngineTensor) -> Any:
        foreign = getattr(tensor, "result_type", Tensor) is not Tensor
        return _same(tensor, Tensor) if foreign or not isinstance(tensor, Tensor) else tensor

    return _mapped(convert, value)


def cast_to_ms_tensor(value: Any) -> Any:
    """Torch's tensors as MindSpore's; see :func:`cast_to_adapter_tensor`."""
    from mindtorch.mindspore.common.tensor import Tensor as MindSporeTensor

    def convert(tensor: EngineTensor) -> Any:
        ours = getattr(tensor, "result_type", None) is MindSporeTensor
        return tensor if ours else _same(tensor, MindSporeTensor)

    return _mapped(convert, value)
