"""Sorting, searching, unique values and bins."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.counted_values import loops as counting
from mindtorch.engine.dispatch import state
from mindtorch.engine.dtype_support import refuse, refuse_kinds
from mindtorch.engine.ops import indexing, movement, sorting
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array, full_flat
from mindtorch.engine.transforms import vmap
from mindtorch.torch.autograd.function import Underivable

from .. import return_types
from .._api.arguments import as_int, require_tensor
from .._api.meta_kernels import lacks_elements
from .._api.out_rules import EXACT, OF_HISTOGRAM, Out
from .._api.publish import function, store_out
from .reduction import require_length, require_order, single_axis


@function(out=Out(EXACT), cacheable=True)
def sort(
    input: Any, dim: int = -1, descending: bool = False, *, stable: bool | None = None  # noqa: A002
) -> Any:
    """Sorted values and their places along ``dim``.

    ``stable``: equal elements keep their order; else they come as PyTorch's sort leaves them.
    """
    require_tensor(input, "sort", "input", 1)
    if input.aval.dtype.is_complex:
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    axis = single_axis(input, dim)
    values, places = sorting.sort(
        input, axis=axis, descending=bool(descending), stable=bool(stable)
    )
    form = int(stable is not None)
    return return_types.sort(tape.named(values, f"SortBackward{form}"), places)


@function(out=Out(EXACT, shown="sort"))
def msort(input: Any) -> Any:  # noqa: A002
    """``input`` sorted along its first axis."""
    return sort(input, 0)[0]


@function(out=Out(EXACT), cacheable=True)
def argsort(
    input: Any, dim: int = -1, descending: bool = False, *, stable: bool = False  # noqa: A002
) -> Any:
    """The places that sort ``input`` along ``dim``; ``stable`` as in :func:`sort`."""
    return sort(input, dim=dim, descending=descending, stable=stable)[1]


@function(out=Out(EXACT), cacheable=True)
def topk(
    input: Any,  # noqa: A002
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,  # noqa: A002
) -> Any:
    """The ``k`` greatest (least) elements along ``dim`` and their places, in order.

    Args:
        largest: the greatest, otherwise the least.
        sorted: in order, which they always are.
    """
    if input.aval.dtype.is_complex:
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if input.aval.dtype is dtypes.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    axis = single_axis(input, dim)
    return return_types.topk(*sorting.topk(input, k=as_int(k), axis=axis, largest=bool(largest)))


@function(out=Out("output values must be of same type as input", no_overlap=True), cacheable=True)
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:  # noqa: A002
    """The ``k``-th least element along ``dim`` and its place."""
    require_order("kthvalue_cpu", input)
    axis = single_axis(input, dim)
    require_length("kthvalue", input, axis)
    return return_types.kthvalue(*sorting.kthvalue(input, k=as_int(k), axis=axis, keepdims=keepdim))


def _values(x: Any, name: str) -> Any:
    if x.flat.__class__ is np.ndarray:
        return x.array()
    return vmap.known_values(x, vmap.SHAPE.format(name))


@function(home="functional")
def unique(
    input: Any,  # noqa: A002
    sorted: bool = True,  # noqa: A002
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements (slices along ``dim``) in ascending order.

    Args:
        sorted: no effect, they always are.
    """
    require_tensor(input, "_unique2", "input", 1)
    _require_bools("_unique2", sorted=sorted)
    require_order("unique", input)
    if input.aval.dtype in dtypes.STORED:
        refuse("unique", input.aval.dtype)
    array, place = _values(input, "_unique2"), input.aval.device
    if dim is not None:
        dim = single_axis(input, dim)
        _check_slices(array, dim)
    found: Any = _of_close_numbers(array, return_inverse) if dim is None else None
    if found is None:
        wanted: dict[str, Any] = {"return_inverse": return_inverse, "return_counts": return_counts}
        found = np.unique(array, axis=dim, equal_nan=False, **wanted)
    values, *more = found if isinstance(found, tuple) else (found,)
    lying = np.ascontiguousarray(values) if dim is None else _slices_first(values, dim)
    results = [_underivable("_unique2", input, from_array(lying, place))]
    if return_inverse:
        inverse = more[0].reshape(array.shape if dim is None else -1)
        results.append(from_array(np.array(inverse, np.int64, order="C"), place))
    if return_counts:
        results.append(from_array(more[-1].astype(np.int64), place))
    return results[0] if len(results) == 1 else tuple(results)


_CLOSE = 1024  # whole numbers that are always counted


def _of_close_numbers(array: Any, inverse: bool) -> Any:
    """numpy's unique values, places and counts of whole numbers that are no farther apart than
    there are elements; None of others."""
    if array.dtype.kind not in "iu" or not array.size:
        return None
    low, high = counting().extremes(array)
    if high - low >= max(_CLOSE, array.size) or high >= 1 << 63:
        return None
    counts = counting().occurrences(array, low, high - low + 1)
    present = counts.nonzero()[0]
    found = [(present + low).astype(array.dtype), counts[present]]
    if inverse:
        numbers = np.cumsum(counts != 0) - 1
        found.insert(1, numbers[array.astype(np.int64) - low])
    return tuple(found)


def _underivable(name: str, source: Any, found: Any) -> Any:
    """``found``, whose derivative raises where ``source`` requires one."""
    if not (source.requires_grad and state.grad_enabled):
        return found
    return Underivable.apply(f"the derivative for '{name}' is not implemented.", source, found)


def _require_bools(name: str, **flags: Any) -> None:
    for flag, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name}(): argument '{flag}' must be bool, not {type(value).__name__}")


def _slices_first(values: Any, dim: int) -> Any:
    """``values``, which lie in memory as if axis ``dim`` were the first, as torch's do."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(values, dim, 0)), 0, dim)


def _check_slices(x: Any, dim: int) -> None:
    """torch's errors for slices without elements."""
    if x.shape[dim] and 0 in x.shape:
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    if x.shape.count(0) > 1:
        raise RuntimeError(
            "Number of zero sized dimensions is more than one, so unique cannot be applied "
        )


@function(home="functional")
def unique_consecutive(
    input: Any,  # noqa: A002
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Runs of equal elements (slices along ``dim``) made one."""
    require_tensor(input, "unique_consecutive", "input", 1)
    _require_bools(
        "unique_consecutive", return_inverse=return_inverse, return_counts=return_counts
    )
    refuse_kinds("unique", input.aval, "complex")
    array, place = _values(input, "unique_consecutive"), input.aval.device
    if dim is not None:
        _check_slices(array, dim)
    n = array.size if dim is None else array.shape[dim]
    if dim is None and counting().is_counted(array):
        places, values = counting().runs(array)
    else:
        places = _changes(array, dim)
        values = array.reshape(-1)[places] if dim is None else np.take(array, places, dim)
    lying = values if dim is None else _slices_first(values, dim)
    results = [_underivable("unique_consecutive", input, from_array(lying, place))]
    if return_inverse:
        starts = np.zeros(n, np.int64)
        starts[places[1:]] = 1
        inverse = np.cumsum(starts)
        inverse = inverse.reshape(array.shape) if dim is None else inverse
        results.append(from_array(inverse, place))
    if return_counts:
        results.append(from_array(np.diff(np.append(places, n)), place))
    return results[0] if len(results) == 1 else tuple(results)


def _changes(array: Any, dim: int | None) -> Any:
    """The places of slices that are not equal to the one before."""
    rows = array.reshape(-1, 1) if dim is None else np.moveaxis(array, dim, 0)
    n = rows.shape[0]
    flat = rows.reshape(n, -1) if n else np.empty((0, 1), array.dtype)
    starts = np.ones(n, bool)
    starts[1:] = (flat[1:] != flat[:-1]).any(1)
    return np.flatnonzero(starts)


def _check_boundaries(boundaries: Any, values: Any, sorter: Any) -> None:
    """torch's errors for shapes, and for a ``sorter`` of another type or range."""
    ndim = boundaries.aval.ndim
    if not ndim:
        what = (
            "input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim(0) and input value's dim({values.aval.ndim}) "
            f"numel({values.aval.size})"
            if not values.aval.ndim
            else "boundaries tensor should have positive dimension, but got 0 dimension"
        )
        raise RuntimeError(f"torch.searchsorted(): {what}")
    if sorter is None:
        return
    if sorter.aval.shape != boundaries.aval.shape:
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary "
            f"tensor {list(boundaries.aval.shape)}and got sorter tensor {list(sorter.aval.shape)}"
        )
    if sorter.aval.dtype is not dtypes.int64:
        raise RuntimeError(
            "torch.searchsorted(): sorter must be a tensor of long dtype but got dtype "
            f"{dtypes.scalar_type_name(sorter.aval.dtype)}"
        )
    places = vmap.known_values(sorter, "searchsorted: the values of sorter")
    if places.size and not 0 <= places.min() <= places.max() < boundaries.aval.shape[-1]:
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


_OF_SEARCHSORTED = Out(
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
    "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
    "{out} and out_int32 flag is False"
)


@function(method=False, cacheable=True)
def searchsorted(
    sorted_sequence: Any,
    input: Any,  # noqa: A002
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
    out: Any = None,
) -> Any:
    """Where each element would be inserted into the sorted last axis of ``sorted_sequence``.

    Args:
        sorter: the places that sort ``sorted_sequence``, where it is not sorted.
    """
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(
                f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
            )
        if side == "left" and right:
            raise RuntimeError(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left "
                "while right was True"
            )
        right = side == "right"
    if not isinstance(input, EngineTensor):
        input = from_array(  # noqa: A001
            np.asarray(input, sorted_sequence.aval.dtype.np), sorted_sequence.aval.device
        )
    _check_boundaries(sorted_sequence, input, sorter)
    if sorter is not None:
        axis = sorted_sequence.aval.ndim - 1
        sorted_sequence = indexing.gather(sorted_sequence, sorter, axis=axis)
    found = sorting.searchsorted(sorted_sequence, input, right=bool(right))
    if out_int32:
        found = movement.cast(found, dtype=dtypes.int32)
    return found if out is None else store_out(found, out, "searchsorted", (), _OF_SEARCHSORTED)


@function(method=False, cacheable=True)
def bucketize(
    input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False, out: Any = None  # noqa: A002
) -> Any:
    """The bin of each element between sorted ``boundaries``."""
    if boundaries.aval.ndim != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.aval.ndim})"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right, out=out)


@function(around=vmap.by_example)
def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:  # noqa: A002
    """How often (with what total weight) each whole number occurs.

    Args:
        weights: what each number adds to its count, in place of 1.
        minlength: the result has at least so many places.
    """
    if input.aval.dtype.category != dtypes.INTEGER:
        kind = dtypes.scalar_type_name(input.aval.dtype)
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{kind}'")
    array = _values(input, "bincount")
    low, high = counting().extremes(array) if array.size else (0, -1)
    if array.ndim != 1 or low < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights.aval.shape != input.aval.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is None:
        counts = counting().occurrences(array, 0, max(high + 1, minlength))
        return from_array(counts, input.aval.device)
    given = _values(weights, "bincount")
    counts = np.bincount(array, given, minlength)
    narrow = given.dtype == np.float32
    return from_array(counts.astype(np.float32 if narrow else np.float64), input.aval.device)


@function(out=Out(OF_HISTOGRAM, untracked=True), around=vmap.by_example)
def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:  # noqa: A002
    """How many elements fall into each of ``bins`` bins of equal width."""
    bins = operator.index(bins)
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    refuse_kinds("linspace_cpu", input.aval, "bool")
    refuse_kinds("aminmax_cpu" if min == max else "histogram_cpu", input.aval, "complex")
    if not lacks_elements(input):
        refuse_kinds("histogram_cpu", input.aval, "whole complex")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if lacks_elements(input):
        return full_flat((bins,), input.aval.dtype, 0, input.aval.device)
    array = _values(input, "histc").reshape(-1)
    low, high = float(min), float(max)
    wide = array.dtype in (np.float32, np.float64)
    if low == high and array.size:
        ends = counting().extremes(array) if wide else (array.min(), array.max())
        low, high = map(float, ends)
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        shown = ", ".join("-nan" if x != x else f"{x:g}" for x in (low, high))
        raise RuntimeError(f"torch.histc: range of [{shown}] is not finite")
    if wide:
        counts = counting().in_bins(array, low, high, bins).astype(array.dtype)
        return from_array(counts, input.aval.device)
    inside = array[(array >= low) & (array <= high)]
    places = np.floor((inside - low) / (high - low) * bins).astype(np.int64)
    places[places == bins] = bins - 1
    counts = np.bincount(places, minlength=bins).astype(array.dtype)
    return from_array(counts, input.aval.device)
