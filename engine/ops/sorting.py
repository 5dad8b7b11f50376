"""Sorting and searching. Values' gradients go back to where the values came from."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..aval import Aval, aval
from ..dtype_support import without
from ..op import Op
from ..result_strides import follow_first
from .base import reduced_shape
from .indexing import scatter_add
from .movement import zeros_like_aval
from .reduction import chosen_vjp


def _sorted_aval(x: Aval, *, axis: int, descending: bool, stable: bool) -> Any:
    return aval(x.shape, x.dtype, None, x.device), aval(x.shape, dtypes.int64, None, x.device)


def _back(g: Any, out1: Any, avals: Any, axis: int) -> Any:
    return scatter_add(zeros_like_aval(avals[0]), out1, g[0], axis=axis)


# (values, indices); not stable: equal elements in the order of std::sort
sort = Op(
    "sort",
    _sorted_aval,
    "sort.sort",
    layout=follow_first,
    vjp=lambda g, out1, avals, axis, needs: (_back(g, out1, avals, axis),),
)


def _topk_aval(x: Aval, *, k: int, axis: int, largest: bool) -> Any:
    if k < 0 or k > (x.shape[axis] if x.ndim else 1):
        raise RuntimeError("selected index k out of range")
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :]) if x.ndim else ()
    return aval(shape, x.dtype, None, x.device), aval(shape, dtypes.int64, None, x.device)


topk = Op(
    "topk",
    _topk_aval,
    "sort.topk",
    vjp=lambda g, out1, avals, axis, needs: (_back(g, out1, avals, axis),),
)


def _kth_aval(x: Aval, *, k: int, axis: int, keepdims: bool) -> Any:
    if not 0 < k <= (x.shape[axis] if x.ndim else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(axis))
    shape = reduced_shape(x.shape, (axis,) if x.ndim else (), keepdims)
    return aval(shape, x.dtype, None, x.device), aval(shape, dtypes.int64, None, x.device)


def _kth_vjp(g: Any, out1: Any, avals: Any, axis: int, keepdims: bool, needs: Any) -> Any:
    return (chosen_vjp(g, out1, avals, axis, keepdims),)


kthvalue = Op(
    "kthvalue", _kth_aval, "sort.kthvalue", vjp=_kth_vjp, dtypes=without("bool", "kthvalue_cpu")
)


def _search_aval(boundaries: Aval, values: Aval, *, right: bool) -> Aval:
    if boundaries.ndim != 1 and boundaries.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(boundaries.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    return aval(values.shape, dtypes.int64, None, values.device)


# where each value would be inserted into sorted boundaries
searchsorted = Op(
    "searchsorted",
    _search_aval,
    "sort.searchsorted",
    dtypes=without("bool complex", "searchsorted_out_cpu"),
    leading=1,
)
