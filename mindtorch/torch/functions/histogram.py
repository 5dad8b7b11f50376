"""Histograms of one and more dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.dtype_support import refuse
from mindtorch.engine.ops.histogram import histogram as count_points
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .. import return_types
from .._api.out_rules import OF_HISTOGRAM, Out
from .._api.publish import function, store_out
from .sequences import linspace

_HALVES = (dtypes.float16, dtypes.bfloat16)


def _checked(input: Any, weight: Any, edges: list[Any] | None, by_extremes: bool) -> None:  # noqa: A002
    """torch's errors for types and shapes."""
    kind = input.aval.dtype
    if kind not in (dtypes.float32, dtypes.float64) and (by_extremes or kind not in _HALVES):
        refuse("histogramdd" if edges is None else "histogram_cpu", kind)
    own = dtypes.c_name(kind)
    for i, each in enumerate(edges or ()):
        if each.aval.dtype is not input.aval.dtype:
            raise RuntimeError(
                "torch.histogramdd: input tensor and bins tensors should have the same dtype, but "
                f"got input with dtype {own} and bins for dimension {i} with dtype "
                f"{dtypes.c_name(each.aval.dtype)}"
            )
        if each.aval.ndim != 1:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have one dimension, but got "
                f"{each.aval.ndim} dimensions in the bins tensor for dimension {i}"
            )
        if not each.aval.size:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements "
                f"in the bins tensor for dimension {i}"
            )
    if weight is None:
        return
    if weight.aval.dtype is not input.aval.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
            f"should have the same dtype, but got input({own}), and weight("
            f"{dtypes.c_name(weight.aval.dtype)})"
        )
    if weight.aval.shape != input.aval.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            "input tensor excluding its innermost dimension, but got input with shape "
            f"{list(input.aval.shape)} and weight with shape {list(weight.aval.shape)}"
        )


def _ends(values: Any, given: Any, axis: int) -> tuple[float, float]:
    """The ends of an axis: those given, else the extremes; widened where they are equal."""
    if given is not None:
        low, high = float(given[2 * axis]), float(given[2 * axis + 1])
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} "
                f"for dimension {axis}"
            )
    elif values.size:
        low, high = float(values.min()), float(values.max())
    else:
        low, high = 0.0, 1.0
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension {axis}'s range [{low:g}, {high:g}] is not finite"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _require_bins(counts: Any) -> None:
    for axis, count in enumerate(counts):
        if count <= 0:
            raise RuntimeError(
                f"torch.histogram(): bins must be > 0, but got {count} for dimension {axis}"
            )


def _uniform(points: Any, counts: list[int], given: Any) -> list[Any]:
    """Edges at equal distances for each axis."""
    if given is not None and len(given) != 2 * len(counts):
        raise RuntimeError(
            f"torch.histogramdd: for a {len(counts)}-dimensional histogram range should have "
            f"{2 * len(counts)} elements, but got {len(given)}"
        )
    values = points.array() if given is None else None
    edges = []
    _require_bins(counts)
    for axis, count in enumerate(counts):
        low, high = _ends(None if values is None else values[:, axis], given, axis)
        kind, device = points.aval.dtype, points.aval.device
        edges.append(linspace(low, high, count + 1, dtype=kind, device=device))
    return edges


def _density(counts: Any, edges: list[Any]) -> Any:
    """Counts over their sum and the volumes of the bins."""
    with np.errstate(all="ignore"):
        wide = np.float64 if counts.dtype == np.float64 else np.float32
        counts = counts / counts.sum(dtype=wide).astype(counts.dtype)
        for axis, e in enumerate(edges):
            widths = np.diff(e).reshape([-1 if i == axis else 1 for i in range(len(edges))])
            counts = counts / widths
    return counts


def _count_halves(uniform: bool, points: Any, weights: Any, *edges: Any) -> Any:
    """Counts in the points' own 16 bits, each addition rounded, as torch keeps them.

    Args:
        uniform: bins are guessed from the distance to the first edge, in 16 bits, and looked for
            beside that.
    """
    shape = tuple(len(e) - 1 for e in edges)
    inside = np.ones(len(points), bool)
    for column, e in zip(points.T, edges, strict=True):
        inside &= (column >= e[0]) & (column <= e[-1])
    places = np.zeros(int(inside.sum()), np.int64)
    for column, e, n in zip(points[inside].T, edges, shape, strict=True):
        found = np.searchsorted(e.astype(np.float32), column.astype(np.float32), "right") - 1
        if uniform:
            steps = (column - e[0]) * e.dtype.type(n) / (e[-1] - e[0])
            guess = steps.astype(np.float32).astype(np.int64)
            found = np.clip(found, np.maximum(guess - 1, 0) - 1, np.minimum(guess + 2, n + 1) - 1)
        places = places * n + np.clip(found, 0, n - 1)
    counts = np.zeros(math.prod(shape), points.dtype)
    np.add.at(counts, places, points.dtype.type(1) if weights is None else weights[inside])
    return counts.reshape(shape)


def _histogram(points: Any, bins: Any, given: Any, weight: Any, density: bool) -> Any:
    """(counts, edges) of points (N, D)."""
    by_edges = isinstance(bins[0], EngineTensor)
    _checked(points, weight, bins if by_edges else None, not by_edges and given is None)
    rows = points.detach().reshape(-1, points.aval.shape[-1])
    if by_edges:
        edges = [e.detach().clone() for e in bins]
        _require_bins([e.aval.size - 1 for e in edges])
    else:
        edges = _uniform(rows, [int(n) for n in bins], given)
    weights = None if weight is None else weight.detach().reshape(-1)
    if points.aval.dtype in _HALVES:
        arrays = [None if x is None else x.array() for x in (rows, weights, *edges)]
        counts = from_array(_count_halves(not by_edges, *arrays))
    else:
        counts = count_points(rows, weights, *edges)
    if density:
        counts = from_array(_density(counts.array(), [e.array() for e in edges]))
    return counts, edges


@function(checked=True)
def histogram(
    input: Any,  # noqa: A002
    bins: Any = 100,
    *,
    range: Any = None,  # noqa: A002
    weight: Any = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """How many elements (or what ``weight``) lie in each bin, and the edges of the bins.

    Args:
        bins: their number, between the extremes or the two ends of ``range``; or their edges.
        density: counts are divided by their sum and the bins' widths.
    """
    column = input.reshape(-1, 1)
    weights = None if weight is None else weight.reshape(-1)
    counts, edges = _histogram(column, [bins], range, weights, density)
    found = return_types.histogram(counts, edges[0])
    return found if out is None else store_out(
        found, out, "histogram", (), Out(OF_HISTOGRAM, shown="aten::histogram")
    )


@function(method=False)
def histogramdd(
    input: Any,  # noqa: A002
    bins: Any,
    *,
    range: Any = None,  # noqa: A002
    weight: Any = None,
    density: bool = False,
) -> Any:
    """:func:`histogram` of points along the last axis; ``bins`` is a number, numbers or edges.

    Args:
        range: the least and greatest value of each axis.
        weight: what each point counts.
        density: divide by the total and the bins' volumes.
    """
    if input.aval.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    dimensions = input.aval.shape[-1]
    each = [bins] * dimensions if isinstance(bins, int) else list(bins)
    if len(each) != dimensions:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    counts, edges = _histogram(input, each, range, weight, density)
    return return_types.histogramdd(counts, tuple(edges))
