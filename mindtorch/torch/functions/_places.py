"""torch's errors for the types and shapes of what is written at places."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant
from mindtorch.engine.transforms import vmap

__all__ = ["check_folded", "check_places", "check_range", "check_slices", "source_of"]


def source_of(x: Any, value: Any, name: str) -> Any:
    """What is written into ``x``: a tensor of its type, or a number."""
    if not isinstance(value, EngineTensor):
        return constant(value)
    if value.aval.dtype is not x.aval.dtype and not value.aval.weak:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    return value


def check_places(x: Any, axis: int, index: Any, src: Any) -> None:
    """torch's errors for the shapes in a scatter; ``src`` may be no tensor."""
    if not index.aval.size:
        return
    own, places = x.aval.shape, index.aval.shape
    if max(len(own), 1) != max(len(places), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    text = f"Expected index {list(places)} to be no larger than self {list(own)} apart "
    text += f"from dimension {axis}"
    given = None
    if isinstance(src, EngineTensor):
        given = src.aval.shape
        if max(len(given), 1) != max(len(places), 1):
            raise RuntimeError(
                "Index tensor must have the same number of dimensions as src tensor"
            )
        text += f" and to be no larger size than src {list(given)}"
    for i, n in enumerate(places):
        beyond = i != axis and own and n > own[i]
        if beyond or (given is not None and n > (given[i] if given else 1)):
            raise RuntimeError(text)


def check_slices(name: str, axis: int, index: Any, source: Any) -> None:
    """torch's errors for the number of places of slices, and their type."""
    if index.aval.dtype not in (dtypes.int32, dtypes.int64):
        raise RuntimeError(
            f"{name}(): Expected dtype int32/int64 for index but got: "
            f"{dtypes.scalar_type_name(index.aval.dtype)}"
        )
    slices = source.aval.shape[axis] if source.aval.ndim > axis else 1
    if index.aval.size != slices:
        raise RuntimeError(
            f"{name}(): Number of indices ({index.aval.size}) should be equal to "
            f"source.size(dim): ({slices}), for dim: {axis}"
        )


def check_folded(x: Any, axis: int, index: Any, source: Any) -> None:
    """torch's errors for what does not fit in a call of index_reduce."""
    kinds = [dtypes.scalar_type_name(each.aval.dtype) for each in (index, x, source)]
    if index.aval.ndim > 1:
        raise IndexError(
            f"index_reduce_(): Index is supposed to be a vector, but got dim: {index.aval.ndim} "
            f"with type: {kinds[0]} and size: {list(index.aval.shape)}"
        )
    if kinds[1] != kinds[2] and index.aval.dtype in (dtypes.int32, dtypes.int64):
        both = f"self ({kinds[1]}) and source ({kinds[2]})"
        raise RuntimeError(f"index_reduce_(): {both} must have the same scalar type")
    check_slices("index_reduce_", axis, index, source)
    apart = [(*each.aval.shape[:axis], *each.aval.shape[axis + 1 :]) for each in (x, source)]
    if apart[0] != apart[1]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. "
            f"Got self.shape = {list(x.aval.shape)} source.shape = {list(source.aval.shape)}"
        )


def check_range(x: Any, axis: int, index: Any) -> None:
    """torch's error for places that ``x`` does not have."""
    length = x.aval.shape[axis] if x.aval.ndim else 1
    if index.aval.device.type == "meta" or not vmap.is_known(index):
        return
    places = vmap.values_of_all(index)
    if places.size and (places.min() < 0 or places.max() >= length):
        raise IndexError("index out of range in self")
