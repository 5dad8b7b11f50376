"""Histograms of one and more dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .ordering import counting, searchsorted

_GUESSED = 4096  # points, from which a look at the edges pays


def histogram(out: Any, points: Any, weights: Any, *edges: Any) -> None:
    """The total weight (None: the number) of the points within each bin; the last bin includes its
    upper edge."""
    shape = out.shape
    if len(edges) == 1 and weights is None and points.shape[0] >= _GUESSED:
        found = counting.between(points, edges[0])
        if found is not None:
            out[...] = found
            return
    inside = np.ones(len(points), bool)
    for axis, e in enumerate(edges):
        inside &= (points[:, axis] >= e[0]) & (points[:, axis] <= e[-1])
    all_inside = bool(inside.all())
    places = np.zeros(int(inside.sum()), np.int64)
    for axis, e in enumerate(edges):
        column = points[:, axis] if all_inside else points[inside, axis]
        found = np.empty(column.shape, np.int64)
        searchsorted.places(found, e, column, right=True)
        np.minimum(found, shape[axis], out=found)  # the last bin has its upper end, too
        places = places * shape[axis] + found - 1 if len(edges) > 1 else found - 1
    chosen = None if weights is None else weights[inside].astype(np.float64)
    size = math.prod(shape)
    out[...] = np.bincount(places, chosen, size)[:size].reshape(shape)
