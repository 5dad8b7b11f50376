"""Points counted in bins."""

from __future__ import annotations

from ..aval import Aval, aval
from ..op import Op


def _bins(points: Aval, weights: Aval | None, *edges: Aval) -> Aval:
    shape = tuple(e.shape[0] - 1 for e in edges)
    return aval(shape, points.dtype, None, points.device)


# for points (N, D) with D rows of edges: how many, or what ``weights``, lie in each bin
histogram = Op("histogram", _bins, "histogram.histogram")
