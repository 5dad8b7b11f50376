"""Sparse tensors as text: places, values, then what describes them."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes

from .._tensor.size_and_formats import sparse_coo
from .._tensor_str import format_array, with_suffixes
from ._compressed import FORMS

_USUAL = (dtypes.int64, dtypes.bool_)
_PREFIX = "tensor("


def _part(name: str, tensor: Any) -> str:
    """``name=tensor(...)`` with lines that leave room for what comes before them."""
    array = tensor.detach().array()
    text = format_array(array, len(_PREFIX) + len(name) + 1 + len(_PREFIX))
    size = "" if array.size else f", size={array.shape}"
    return f"{name}=tensor({text}{size})"


def sparse_repr(x: Any) -> str:
    """What ``repr`` says of a sparse tensor."""
    if x.layout is sparse_coo:
        parts = [("indices", x.places), ("values", x.held)]
    else:
        form = FORMS[x.layout]
        first, second = form.names
        plain = x.places[1 if form.by_row else 0]
        parts = [
            (f"{first}_indices", x.compressed), (f"{second}_indices", plain), ("values", x.held)
        ]  # fmt: skip
    contents = (",\n" + " " * len(_PREFIX)).join(_part(*part) for part in parts)
    suffixes = [f"size={tuple(x.aval.shape)}", f"nnz={x._nnz()}"]
    wide = dtypes.default is dtypes.float64
    default = (dtypes.default, dtypes.complex128 if wide else dtypes.complex64)
    if x.aval.dtype not in (*default, *_USUAL):
        suffixes.append(f"dtype={x.aval.dtype!r}")
    suffixes.append(f"layout={x.layout!r}")
    if x.held.grad_fn is not None:
        suffixes.append(f"grad_fn=<{x.held.grad_fn.name().rpartition(':')[2]}>")
    elif x.requires_grad:
        suffixes.append("requires_grad=True")
    return with_suffixes(_PREFIX + contents, suffixes, len(_PREFIX), x.layout is sparse_coo)
