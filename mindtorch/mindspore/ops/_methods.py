"""Methods of tensors that are functions of ``ops``, added to the class here."""

from __future__ import annotations

from typing import Any

from ..common.tensor import T, Tensor, as_tensor, t
from . import function, indexing, mathematics, neural

_SAME = {
    mathematics: """
        approximate_equal bincount eigvals invert log_matrix_determinant lstsq matrix_determinant
        nanmedian svd xdivy
    """.split(),
    function: "count_nonzero cummin gather_nd inv".split(),
    indexing: """
        fills index_fill inplace_update reverse unsorted_segment_max unsorted_segment_min
        unsorted_segment_prod unsorted_segment_sum
    """.split(),
    neural: "random_categorical soft_shrink col2im".split(),
}
for _module, _names in _SAME.items():
    for _name in _names:
        setattr(Tensor, _name, getattr(_module, _name))
for _name in ("sub", "mul", "div", "max", "min"):
    setattr(Tensor, "scatter_" + _name, getattr(indexing, "tensor_scatter_" + _name))


def _with_value(name: str) -> Any:
    def call(self: Any, axis: int = 0, keep_dims: bool = False) -> Any:
        return tuple(getattr(t, name)(self, axis, keepdim=keep_dims))

    call.__doc__ = f"(the {name}imum along ``axis``, where it is)."
    return call


def _ptp(self: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The difference between the largest and the smallest element along ``axis``."""
    return self.max(axis=axis, keepdims=keepdims) - self.min(axis=axis, keepdims=keepdims)


def _take(self: Any, indices: Any, axis: int | None = None, mode: str = "clip") -> Any:
    """The elements at ``indices`` along ``axis``, or of all in a row.

    Args:
        mode: what is done with places out of range: "clip", "wrap" or "raise".
    """
    x = t.reshape(self, (-1,)) if axis is None else self
    axis = 0 if axis is None else axis
    places = as_tensor(indices).long()
    length = x.aval.shape[axis]
    if mode == "clip":
        places = t.clamp(places, 0, length - 1)
    elif mode == "wrap":
        places = t.remainder(places, length)
    elif mode != "raise":
        raise ValueError(f"For 'Tensor.take', 'mode' must be clip, wrap or raise: {mode!r}")
    return function.gather(x, places, axis)


def _searchsorted(self: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where ``v`` would go among the elements, which are sorted, as int32."""
    return t.searchsorted(self, as_tensor(v), side=side, sorter=sorter, out_int32=True)


def _reverse_sequence(self: Any, seq_lengths: Any, seq_dim: int = 0, batch_dim: int = 0) -> Any:
    """See ``ops.reverse_sequence``."""
    return indexing.reverse_sequence(self, seq_lengths, seq_dim, batch_dim)


def _addcmul(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """self + value tensor1 tensor2."""
    return t.add(self, t.mul(t.mul(tensor1, tensor2), value))


def _addcdiv(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """self + value tensor1 / tensor2."""
    return t.add(self, t.mul(t.div(tensor1, tensor2), value))


def _median(self: Any, axis: int = -1, keepdims: bool = False, **words: Any) -> Any:
    """See ``ops.median``; also with torch's ``dim`` and ``keepdim``."""
    axis, keepdims = words.pop("dim", axis), words.pop("keepdim", keepdims)
    return mathematics.median(self, axis, keepdims, **words)


_OWN = {
    "median": _median,
    "argmax_with_value": _with_value("max"), "argmin_with_value": _with_value("min"),
    "equal": lambda self, other: t.eq(self, other), "ptp": _ptp, "take": _take,
    "searchsorted": _searchsorted,
    "reverse_sequence": _reverse_sequence, "addcmul": _addcmul, "addcdiv": _addcdiv,
    "fill": lambda self, value: t.full_like(self, value),
    "fill_diagonal": lambda self, fill_value, wrap=False: T.fill_diagonal_(
        self.clone(), fill_value, wrap
    ),
    "top_k": lambda self, k, sorted=True: self.topk(k, sorted=sorted),
    "has_init": property(lambda self: False),
}  # fmt: skip
for _name, _method in _OWN.items():
    setattr(Tensor, _name, _method)
