"""``torch.FloatTensor`` and its like: constructors, and classes for ``isinstance``."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.aval import aval
from mindtorch.engine.dtypes import DType
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.arguments import as_shape, refuse_other_device
from .._api.cuda_devices import require_cuda
from .._api.signatures import wrong_call
from ..functions.creation import new_empty
from ..functions.from_data import (
    FIRST_ARGUMENT,
    is_storage,
    lengths_or_data,
    of_old_constructor,
    of_storage,
)


class _LegacyType(type):
    dtype: DType

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, EngineTensor) and other.aval.dtype is cls.dtype

    def __call__(cls, *data: Any, device: Any = None, **options: Any) -> Any:
        if options:
            raise wrong_call("new", data, options, method=True) or TypeError(f"new(): {options}")
        refuse_other_device(device)
        data = lengths_or_data(data)
        if len(data) == 1 and isinstance(data[0], EngineTensor):
            given = data[0].aval.dtype
            if given is not cls.dtype:
                raise TypeError(f"expected {_options(cls.dtype)} (got {_options(given)})")
            return data[0].view_as(data[0])
        if len(data) == 1 and is_storage(data[0]):
            return of_storage(data[0], cls.dtype, FIRST_ARGUMENT)
        if len(data) == 1 and not isinstance(data[0], int):
            return of_old_constructor(data[0], cls.dtype)
        return new_empty(aval(as_shape(data) if data else (0,), cls.dtype))


def _options(dtype: DType) -> str:
    """What a tensor is made with, as C++ prints it."""
    return (
        f"TensorOptions(dtype={dtypes.c_name(dtype)}, device=cpu, layout=Strided, "
        "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
    )


DTYPES = {
    "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
    "BFloat16Tensor": dtypes.bfloat16, "ByteTensor": dtypes.uint8, "CharTensor": dtypes.int8,
    "ShortTensor": dtypes.int16, "IntTensor": dtypes.int32, "LongTensor": dtypes.int64,
    "BoolTensor": dtypes.bool_,
}  # fmt: skip
TYPES = {
    name: _LegacyType(name, (), {
        "dtype": dtype, "__doc__": f"Tensors of {dtype}.", "__module__": "mindtorch.torch"
    })
    for name, dtype in DTYPES.items()
}
globals().update(TYPES)


def dtype_of_type_name(name: str) -> DType:
    """The type that "torch.FloatTensor" names."""
    short = name.removeprefix("torch.")
    if short.startswith("cuda."):
        require_cuda()
    if short not in DTYPES:
        raise ValueError(f"invalid type: '{name}'")
    return DTYPES[short]
