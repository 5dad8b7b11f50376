"""Complex numbers: parts, conjugates, and the views between complex and real storage."""

from __future__ import annotations

from typing import Any

from ..aval import Aval, aval
from ..dtypes import scalar_type_name
from ..op import Op
from ..stored_types import computes
from ..tensor import constant
from .base import LibraryElementwise
from .comparison import equal, where
from .elementwise import absolute, divide, multiply, negative
from .elementwise import check_parts as check_parts
from .elementwise import conj as conj
from .elementwise import imag as imag
from .elementwise import make_complex as make_complex
from .elementwise import real as real


def _angle_rule(g: Any, x: Any) -> Any:
    if not x.aval.dtype.is_complex:
        return multiply(g, constant(0))
    size = absolute(x)
    whole = divide(make_complex(negative(multiply(g, imag(x))), multiply(g, real(x))),
                   multiply(size, size))
    return where(equal(x, constant(0)), constant(0), whole)


# the argument; pi for negative real numbers
angle = LibraryElementwise("angle", (_angle_rule,), result="real")


def _pair_aval(x: Aval) -> Aval:
    if not x.dtype.is_complex:
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return aval((*x.shape, 2), x.dtype.to_real(), None, x.device)


def _complex_aval(x: Aval) -> Aval:
    if x.dtype.name not in ("float16", "float32", "float64"):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {scalar_type_name(x.dtype)}"
        )
    if not x.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if x.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return aval(x.shape[:-1], x.dtype.to_complex(), None, x.device)


# real and imaginary part along a last axis of length 2
view_as_real_copy = Op(
    "view_as_real_copy", _pair_aval, "scipy_special.split_complex",
    vjp=lambda g: view_as_complex_copy(g)
)
view_as_complex_copy = Op(
    "view_as_complex_copy", _complex_aval, "scipy_special.join_complex",
    vjp=lambda g: view_as_real_copy(g),
)  # fmt: skip
computes("complex", view_as_real_copy, view_as_complex_copy)


def _pair_view_aval(x: Aval) -> Aval:
    result = _pair_aval(x)
    return aval(result.shape, result.dtype, (*[2 * s for s in x.strides], 1), x.device)


def _complex_view_aval(x: Aval) -> Aval:
    result = _complex_aval(x)
    if x.strides[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in x.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return aval(result.shape, result.dtype, tuple(s // 2 for s in x.strides[:-1]), x.device)


view_as_real = Op(
    "view_as_real", _pair_view_aval, view=lambda x: 0, vjp=lambda g: view_as_complex_copy(g),
)  # fmt: skip
view_as_complex = Op(
    "view_as_complex", _complex_view_aval, view=lambda x: 0, vjp=lambda g: view_as_real_copy(g),
)  # fmt: skip


def _view_dtype_aval(x: Aval, *, dtype: Any) -> Aval:
    old, new = x.dtype.itemsize, dtype.itemsize
    shape, strides = x.shape, x.strides
    if old == new:
        return aval(shape, dtype, strides, x.device)
    names = (
        f"to view {scalar_type_name(x.dtype)} as {scalar_type_name(dtype)} (different element "
        "sizes)"
    )
    if not shape:
        raise RuntimeError(f"self.dim() cannot be 0 {names}")
    if old > new or shape[-1] % (new // old) == 0:
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {names}, but got {strides[-1]}")
    if old > new:
        ratio = old // new
        return aval(
            (*shape[:-1], shape[-1] * ratio), dtype, (*[s * ratio for s in strides[:-1]], 1),
            x.device,
        )  # fmt: skip
    ratio = new // old
    if shape[-1] % ratio:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {ratio} {names}, but got {shape[-1]}"
        )
    for axis, step in enumerate(strides[:-1]):
        if step % ratio:
            raise RuntimeError(
                f"self.stride({axis}) must be divisible by {ratio} {names}, but got {step}"
            )
    return aval(
        (*shape[:-1], shape[-1] // ratio), dtype, (*[s // ratio for s in strides[:-1]], 1),
        x.device,
    )  # fmt: skip


# the same bytes as elements of ``dtype``; the last axis grows or shrinks by the ratio of sizes
view_dtype = Op("view_dtype", _view_dtype_aval, view=lambda x, *, dtype: 0)
