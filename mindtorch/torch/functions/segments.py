"""Reductions of segments: runs of neighbouring elements, by their lengths or their borders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.ops import indexing, movement
from mindtorch.engine.ops.elementwise import divide
from mindtorch.engine.tensor import from_array, full_flat
from mindtorch.engine.transforms import vmap

from .._api.arguments import normalize_axis, require_tensor
from .._api.publish import FUNCTIONS, function


def _fold_of(reduce: str) -> tuple[str, float]:
    """What scattering calls a fold, and what a segment without elements is.

    Raises:
        RuntimeError: there is no such fold.
    """
    match reduce:
        case "sum" | "mean":
            return "sum", 0.0
        case "prod":
            return "prod", 1.0
        case "max":
            return "amax", -math.inf
        case "min":
            return "amin", math.inf
    raise RuntimeError(
        f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
    )


def _borders(data: Any, lengths: Any, offsets: Any, axis: int, unsafe: bool) -> Any:
    """(rows, segments + 1): where the segments of each row begin, and where the last one ends."""
    given = offsets if lengths is None else lengths
    array = vmap.known_values(given, vmap.SHAPE.format("segment_reduce"))
    if array.ndim != axis + 1:
        raise RuntimeError(
            "segment_reduce(): Expected axis to be the last dimension of "
            f"{'offsets' if lengths is None else 'lengths'} but got {axis}."
        )
    if array.dtype.kind != "i":
        wrong = dtypes.scalar_type_name(given.aval.dtype)
        raise NotImplementedError(
            f"\"_segment_reduce_lengths_cpu_kernel1\" not implemented for '{wrong}'"
        )
    if array.shape[:-1] != data.aval.shape[:axis]:
        raise RuntimeError(
            f"segment_reduce(): Expected one row of segments for each row of data, but got "
            f"{list(array.shape[:-1])} and {list(data.aval.shape[:axis])}"
        )
    rows = array.reshape(math.prod(array.shape[:-1]), array.shape[-1]).astype(np.int64)
    if lengths is None:
        return rows
    if not unsafe:
        if (rows < 0).any():
            raise RuntimeError("lengths contains negative value!")
        if (rows.sum(-1) != data.aval.shape[axis]).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
    return np.concatenate([np.zeros_like(rows[:, :1]), np.cumsum(rows, 1)], 1)


@function(method=False)
def _convert_indices_from_coo_to_csr(input: Any, size: int, *, out_int32: bool = False) -> Any:  # noqa: A002
    """Where each row begins: of the rows of sorted places, ``size + 1`` numbers.

    Args:
        input: the row of each place, in rising order.
        size: how many rows there are.
        out_int32: whether the result is int32, not int64.
    """
    counts = FUNCTIONS["bincount"](input, minlength=size)
    begins = FUNCTIONS["cat"]([FUNCTIONS["zeros_like"](counts[:1]), counts.cumsum(0)])
    return begins.to(dtypes.int32 if out_int32 else dtypes.int64)


@function(method=False)
def _convert_indices_from_csr_to_coo(
    crow_indices: Any, col_indices: Any, *, out_int32: bool = False, transpose: bool = False
) -> Any:
    """Rows and columns (2, n) of the places of a matrix by rows; columns first if transposed."""
    rows = FUNCTIONS["arange"](crow_indices.shape[0] - 1, device=crow_indices.device)
    rows = FUNCTIONS["repeat_interleave"](rows, crow_indices.diff())
    pair = [each.to(dtypes.int32 if out_int32 else dtypes.int64) for each in (rows, col_indices)]
    return FUNCTIONS["stack"](pair[::-1] if transpose else pair)


@function(method=False, out=True, aliases=("_segment_reduce",))
def segment_reduce(
    data: Any,
    reduce: str,
    *,
    lengths: Any = None,
    indices: Any = None,
    offsets: Any = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Any:
    """The ``reduce`` ("sum", "mean", "max", "min", "prod") of each segment along ``axis``.

    Args:
        data: floating-point elements.
        lengths: (*data.shape[:axis], segments); or
        offsets: (*data.shape[:axis], segments + 1), the segments' borders.
        axis: the last axis of ``lengths``.
        unsafe: the lengths need not add up to ``data.shape[axis]``; what is left over is unused.
        initial: what each segment begins with, and the result of an empty one.
        indices: not available.
    """
    require_tensor(data, "segment_reduce", "data", 1)
    kind, empty = _fold_of(reduce)
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if data.aval.dtype.category != dtypes.FLOAT:
        wrong = dtypes.scalar_type_name(data.aval.dtype)
        raise NotImplementedError(f"\"_segment_reduce_cpu\" not implemented for '{wrong}'")
    axis = normalize_axis(axis, data.aval.ndim)
    borders = _borders(data, lengths, offsets, axis, unsafe)
    count, shape = borders.shape[1] - 1, data.aval.shape
    outer, n, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    places = np.stack([np.searchsorted(row, np.arange(n), "right") - 1 for row in borders]) if (
        outer) else np.zeros((0, n), np.int64)
    places[(places < 0) | (places >= count)] = count  # an element of no segment
    begin = empty if initial is None else float(initial)
    made = indexing.scatter_reduce(
        full_flat((outer, count + 1, inner), data.aval.dtype, begin, data.aval.device),
        movement.expand(
            from_array(places[..., None], data.aval.device), shape=(outer, n, inner)
        ),
        movement.reshape(data, (outer, n, inner)),
        axis=1, reduce=kind, include_self=True,
    )[:, :count]  # fmt: skip
    if reduce == "mean":
        sizes = np.diff(borders)[..., None].astype(data.aval.dtype.np)
        made = divide(made, from_array(np.where(sizes == 0, initial is not None, sizes).astype(
            data.aval.dtype.np
        )))  # fmt: skip
    found = movement.reshape(made, (*shape[:axis], count, *shape[axis + 1 :]))
    return tape.named(found, "SegmentReduceBackward0")
