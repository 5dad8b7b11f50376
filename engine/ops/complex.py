"""Complex numbers: parts, conjugates, and the views between complex and real storage."""

from __future__ import annotations

from typing import Any

from ..aval import Aval, aval
from ..core import Op
from ..tensor import Tensor, constant
from .elementwise import absolute, divide, equal, multiply, negative, where
from .families import LibraryElementwise

# a complex number from its parts; their gradients are those of the real and imaginary part
make_complex = Op(
    "complex",
    lambda x, y: aval(_common(x, y), x.dtype.to_complex(), None, x.device),
    "special.make_complex",
    vjp=(lambda g: real(g), lambda g: imag(g)),
)
_conjugate = LibraryElementwise("conj", (lambda g: conj(g),), grad_name="ConjBackward0")
real_part = LibraryElementwise(
    "real", (lambda g, avals: _with_zero_imaginary(g),), result="real"
)
imaginary_part = LibraryElementwise(
    "imag", (lambda g: make_complex(multiply(g, constant(0)), g),), result="real"
)


def _common(x: Aval, y: Aval) -> Any:
    from ..aval import broadcast_two

    if x.dtype is not y.dtype:
        from ..dtypes import scalar_type_name

        raise RuntimeError(
            f"Expected object of scalar type {scalar_type_name(x.dtype)} but got scalar type "
            f"{scalar_type_name(y.dtype)} for second argument"
        )
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
    if x.shape[-1:] != (2,):
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return aval(x.shape[:-1], x.dtype.to_complex(), None, x.device)


# real and imaginary part along a last axis of length 2
view_as_real = Op(
    "view_as_real", _pair_aval, "special.split_complex", vjp=lambda g: view_as_complex(g)
)
view_as_complex = Op(
    "view_as_complex", _complex_aval, "special.join_complex", vjp=lambda g: view_as_real(g)
)
