"""``torch.sparse.FloatTensor`` and its like: the constructors of before ``sparse_coo_tensor``."""

from __future__ import annotations

import warnings
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor

from ._creation import sparse_coo_tensor
from ._tensor import SparseTensor

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor",
    "IntTensor", "LongTensor", "ShortTensor",
]  # fmt: skip
_told: set[str] = set()


def _tell(old: str, new: str) -> None:
    """Warn, as torch does for the first call of each form."""
    if old not in _told:
        _told.add(old)
        warnings.warn(
            f"torch.sparse.SparseTensor({old}) is deprecated.  Please use "
            f"torch.sparse_coo_tensor({new}).",
            UserWarning,
            stacklevel=4,
        )


class _LegacySparseType(type):
    dtype: Any

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, SparseTensor) and other.dtype is cls.dtype

    def __call__(cls, *given: Any, device: Any = None) -> Any:
        if given and isinstance(given[0], EngineTensor) and len(given) in (2, 3):
            shape = ", shape" if len(given) == 3 else ""
            _tell(f"indices, values{shape}, *, device=",
                  f"indices, values{shape}, dtype=, device=")  # fmt: skip
            return sparse_coo_tensor(*given, dtype=cls.dtype, device=device)
        _tell("shape, *, device=" if given else "", "shape, dtype=, device=")
        size = given[0] if len(given) == 1 and not isinstance(given[0], int) else given
        return sparse_coo_tensor(tuple(size) or (0,), dtype=cls.dtype, device=device)


def _define(name: str, dtype: Any) -> Any:
    about = f"Sparse tensors of {dtype}, by a name that torch deprecates."
    return _LegacySparseType(name, (), {"dtype": dtype, "__doc__": about})


FloatTensor = _define("FloatTensor", dtypes.float32)
DoubleTensor = _define("DoubleTensor", dtypes.float64)
HalfTensor = _define("HalfTensor", dtypes.float16)
BFloat16Tensor = _define("BFloat16Tensor", dtypes.bfloat16)
ByteTensor = _define("ByteTensor", dtypes.uint8)
CharTensor = _define("CharTensor", dtypes.int8)
ShortTensor = _define("ShortTensor", dtypes.int16)
IntTensor = _define("IntTensor", dtypes.int32)
LongTensor = _define("LongTensor", dtypes.int64)
