"""``torch.sparse.FloatTensor`` and its like: the constructors of before ``sparse_coo_tensor``."""

from __future__ import annotations

import warnings
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from .._compat.legacy_tensor_types import DTYPES
from ._creation import sparse_coo_tensor
from ._tensor import SparseTensor

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


TYPES = {
    name: _LegacySparseType(
        name,
        (),
        {"dtype": dtype, "__doc__": f"Sparse tensors of {dtype}, by a name that torch deprecates."},
    )
    for name, dtype in DTYPES.items()
    if name != "BoolTensor"
}
globals().update(TYPES)
