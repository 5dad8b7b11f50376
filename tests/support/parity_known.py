"""What is known of entries of torch's table: results that are not determined, and torch's faults.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# what these leave in memory is anybody's
UNINITIALISED = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
}  # fmt: skip

# factors that are unique up to signs or phases
UP_TO_SIGNS = {
    "eig", "linalg.eig", "linalg.eigh", "linalg.householder_product", "linalg.qr", "linalg.svd",
    "qr", "svd", "svd_lowrank", "pca_lowrank", "geqrf", "ormqr",
}  # fmt: skip

# entries whose result is, or holds, places; where the axis stands among the arguments. Of equal
# elements torch's sorts and searches, which are not stable unless asked to be, name any
PLACES = {"argsort": 0, "kthvalue": 1, "mode": 0}

# inputs whose gradients are wrong in torch
AT_FAULT = {
    # torch gives the input the gradient of what is written over, and none of what stays
    "as_strided_scatter": (0,),
}
# checks of its references that torch itself fails at extreme inputs, and one that is a gap of ours
_VALUES = ("forward", "variants")
FAR_AT_FAULT = {
    # far below 0 the exponential of a difference of two large numbers; e.g. 0 at -1e10, not 1e10
    "special.log_ndtr": ("gradient",),
    # the sign of the first input, 0 where it is 0, multiplies the derivative
    "polar": ("gradient",),
    # 0.5 at nan
    "special.i1": ("gradient",),
    # 0 * infinity and infinity / infinity on the way: nan for 0
    **{f"polygamma.polygamma_n_{n}": _VALUES for n in range(5)},
    "special.zeta": _VALUES,
    "signal.windows.kaiser": _VALUES,
    # orders beyond int64 become negative ones
    **{f"special.chebyshev_polynomial_{kind}": _VALUES for kind in "tuvw"},
    # ours: numbers in the place of self are refused, a row of the gap table
    **{f"__{name}__": _VALUES for name in ("rmod", "rpow", "rsub")},
}


def pointed_at(info: Any, sample: Any, theirs: Any, mine: Any, own: Any) -> bool:
    """Whether both results' places in the array ``theirs`` hold equal elements.

    Raises:
        AssertionError: our places are not of torch's shape.
    """
    if sample.kwargs.get("stable"):
        return False
    position = PLACES[info.name]
    axis = sample.kwargs.get("dim", -1)
    if len(sample.args) > position:
        axis = sample.args[position]
    assert mine.shape == own.shape, f"value: shape {mine.shape} against {own.shape}"
    array = theirs.astype(np.float64) if theirs.ndim else theirs.astype(np.float64).reshape(1)
    chosen, ordered = [], []
    for places in (mine, own):
        index = places if theirs.ndim else places.reshape(1)
        index = index if index.ndim == array.ndim else np.expand_dims(index, axis)
        if ((index < 0) | (index >= array.shape[axis])).any():
            return False
        chosen.append(np.take_along_axis(array, index, axis))
        ordered.append(np.sort(index, axis))
    if info.name == "argsort" and not np.array_equal(ordered[0], ordered[1]):
        return False  # not every place once
    return np.array_equal(chosen[0], chosen[1], equal_nan=True)
