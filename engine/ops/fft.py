"""Discrete Fourier transforms; results are divided as ``norm`` says: "none", "root", "count"."""

from __future__ import annotations

from typing import Any

from ..aval import Aval, aval
from ..op import Op
from ..result_strides import follow_real_transform, follow_transform, follow_transform_back
from ..tensor import constant, full_flat
from .complex import real
from .elementwise import multiply
from .movement import cat, pad, slice_

Axes = tuple[int, ...]


def _complex_aval(x: Aval, *, axes: Axes, norm: str, forward: bool) -> Aval:
    return aval(x.shape, x.dtype.to_complex(), None, x.device)


def _complex_vjp(g: Any, avals: Any, axes: Axes, norm: str, forward: bool) -> Any:
    turned = complex_to_complex(g, axes=axes, norm=norm, forward=not forward)
    return turned if avals[0].dtype.is_complex else real(turned)


# the transform of complex numbers over ``axes``; real ones are such without an imaginary part
complex_to_complex = Op(
    "_fft_c2c", _complex_aval, "fft.complex_to_complex", layout=follow_transform,
    grad_name="FftC2CBackward0", vjp=_complex_vjp,
)  # fmt: skip


def _resized(x: Aval, axis: int, size: int) -> tuple[int, ...]:
    return (*x.shape[:axis], size, *x.shape[axis + 1 :])


def _real_aval(x: Aval, *, axes: Axes, norm: str) -> Aval:
    shape = _resized(x, axes[-1], x.shape[axes[-1]] // 2 + 1)
    return aval(shape, x.dtype.to_complex(), None, x.device)


def _real_vjp(g: Any, avals: Any, axes: Axes, norm: str) -> Any:
    """The places that are left out have no gradient; the input had no imaginary part."""
    last = axes[-1]
    missing = avals[0].shape[last] - g.aval.shape[last]
    padding = tuple((0, missing if i == last else 0) for i in range(g.aval.ndim))
    whole = pad(g, full_flat((), g.aval.dtype, 0), padding=padding)
    return real(complex_to_complex(whole, axes=axes, norm=norm, forward=False))


# the transform of real numbers; of the last axis the places 0 to n // 2, which tell the others
real_to_complex = Op(
    "_fft_r2c", _real_aval, "fft.real_to_complex", layout=follow_real_transform, vjp=_real_vjp,
    grad_name="FftR2CBackward0",
)


def _to_real_aval(x: Aval, *, axes: Axes, norm: str, size: int) -> Aval:
    return aval(_resized(x, axes[-1], size), x.dtype.to_real(), None, x.device)


def _to_real_vjp(g: Any, axes: Axes, norm: str, size: int) -> Any:
    """Places that stand for their mirror images too count twice."""
    half = real_to_complex(g, axes=axes, norm=norm)
    last, twice = axes[-1], (size - 1) // 2

    def part(start: int, length: int) -> Any:
        return slice_(half, axis=last, start=start, length=length, step=1)

    if not twice:
        return half
    parts = [part(0, 1), multiply(part(1, twice), constant(2))]
    if size % 2 == 0:
        parts.append(part(1 + twice, 1))
    return cat(*parts, axis=last)


# the backward transform to ``size`` real numbers on the last axis, from its places 0 to size // 2
complex_to_real = Op(
    "_fft_c2r", _to_real_aval, "fft.complex_to_real", layout=follow_transform_back,
    vjp=_to_real_vjp, grad_name="FftC2RBackward0",
)  # fmt: skip
