"""Lists of places of sparse tensors."""

from __future__ import annotations

from .. import dtypes
from ..aval import Aval, aval
from ..op import Op


def _merged(first: Aval, second: Aval) -> tuple[Aval, ...]:
    room = first.shape[0] + second.shape[0]
    shapes: tuple[tuple[int, ...], ...] = (room,), (room,), ()
    return tuple(aval(shape, dtypes.int64, None, first.device) for shape in shapes)


# two lists of keys merged as if each were in order, an equal pair that meets becoming one: where
# each result was in the first list and in the second, -1 for nowhere; and how many results
merge_keys = Op("merge_keys", _merged, "sparse_indices.merge_keys")
