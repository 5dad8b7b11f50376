"""Complex numbers: parts, conjugates, and the views between complex and real storage."""

from __future__ import annotations

from typing import Any

from ..aval import Aval, aval
from ..dispatch import Op
from ..dtypes import float16, float32, float64, scalar_type_name
from ..result_strides import follow_all
from ..tensor import Tensor, constant
from .base import LibraryElementwise
from .elementwise import absolute, divide, equal, multiply, negative, where

# a complex number from its parts; their gradients are those of the real and imaginary part
make_complex = Op(
    "complex",
    lambda x, y: aval(_common(x, y), x.dtype.to_complex(), None, x.device),
    "scipy_special.make_complex",
    layout=follow_all,
    vjp=(lambda g: real(g), lambda g: imag(g)),
)
_conjugate = LibraryElementwise("conj", (lambda g: conj(g),), grad_name="ConjBackward0")
real_part = LibraryElementwise(
    "real", (lambda g, avals: _with_zero_imaginary(g),), result="real"
)
imaginary_part = LibraryElementwise(
    "imag", (lambda g: make_complex(multiply(g, constant(0)), g),), result="real"
)


def check_parts(x: Aval, y: Aval) -> None:
    """torch's errors for two tensors that cannot be the parts of a complex one."""
    if any(a.dtype not in (float16, float32, float64) for a in (x, y)):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{scalar_type_name(x.dtype)} and {scalar_type_name(y.dtype)}"
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {scalar_type_name(x.dtype)} but got scalar type "
            f"{scalar_type_name(y.dtype)} for second argument"
        )


def _common(x: Aval, y: Aval) -> Any:
    from ..aval import broadcast_two

    check_parts(x, y)
    return broadcast_two(x.shape, y.shape)


def _with_zero_imaginary(g: Any) -> Any:
    return make_complex(g, multiply(g, constant(0)))


def conj(x: Tensor) -> Tensor:
    """The complex conjugate; ``x`` itself where it is real."""
    return _conjugate(x) if x.aval.dtype.is_complex else x


def real(x: Tensor) -> Tensor:
    """The real part; ``x`` itself where it is real."""
    return real_part(x) if x.aval.dtype.is_complex else x


def imag(x: Tensor) -> Tensor:
    """The imaginary part of a complex tensor."""
    if not x.aval.dtype.is_complex:
        raise RuntimeError(
            "imag is not implemented for tensors with non-complex dtypes."
        )
    return imaginary_part(x)


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
    if x.dtype.name == "float16":
        raise NotImplementedError(
            "complex32 is not among the element types; use complex64 (cfloat)"
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
