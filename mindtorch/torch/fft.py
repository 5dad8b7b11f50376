"""torch.fft: discrete Fourier transforms, their frequencies and shifts.

Forward: ``X[k] = sum(x[j] * exp(-2 pi i j k / n))``; a norm of "backward" (the default) divides the
inverse by ``n``, "forward" the forward transform, "ortho" both by ``sqrt(n)``.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.dtypes import scalar_type_name
from mindtorch.engine.ops import complex as complex_ops
from mindtorch.engine.ops import fft as ops
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import from_array, full_flat
from mindtorch.engine.transforms.autocast import FULL
from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS

from ._api.arguments import as_device, as_dtype, normalize_axis, require_tensor
from ._api.out_rules import COMPLEX, FFTN_COMPLEX, FLOATING, Out
from ._api.publish import module_function, store_out
from .functions.creation import finish

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft",
    "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

# where ``out`` gets another shape, PyTorch's transforms of one axis and of all write it in C order
_COMPLEX, _COMPLEX_AXES = Out(cast=COMPLEX, c_order=True), Out(cast=FFTN_COMPLEX, c_order=True)
_REAL = Out(cast=FLOATING, shown="_fft_c2r", c_order=True)
_DIVIDED_FORWARD = {"backward": "none", "ortho": "root", "forward": "count"}
_DIVIDED_BACKWARD = {"backward": "count", "ortho": "root", "forward": "none"}


def _norm(norm: str | None, forward: bool) -> str:
    table = _DIVIDED_FORWARD if forward else _DIVIDED_BACKWARD
    if norm is None:
        norm = "backward"
    if norm not in table:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return table[norm]


def _promoted(x: Any, to_complex: bool) -> Any:
    """Integers become the default type; ``to_complex``: real numbers become complex."""
    dtype = x.aval.dtype
    if dtype.category < dtypes.FLOAT:
        dtype = dtypes.default
    if dtype.name in ("float16", "bfloat16"):
        raise RuntimeError(f"Unsupported dtype {scalar_type_name(dtype)}")
    if to_complex:
        dtype = dtype.to_complex()
    return x if dtype is x.aval.dtype else movement.cast(x, dtype=dtype)


def _real_only(x: Any, name: str) -> Any:
    if x.aval.dtype.is_complex:
        raise RuntimeError(
            f"{name} expects a real input tensor, but got {scalar_type_name(x.aval.dtype)}"
        )
    return _promoted(x, False)


def _resized(x: Any, axes: Sequence[int], sizes: Sequence[int]) -> Any:
    """``x`` cut or padded with zeros behind to ``sizes`` along ``axes``."""
    padding = [(0, 0)] * x.aval.ndim
    for axis, size in zip(axes, sizes, strict=True):
        if size < x.aval.shape[axis]:
            x = movement.slice_(x, axis=axis, start=0, length=size, step=1)
        padding[axis] = (0, size - x.aval.shape[axis])
    if any(after for _, after in padding):
        x = movement.pad(x, full_flat((), x.aval.dtype, 0), padding=tuple(padding))
    return x


def _axis(x: Any, dim: int) -> int:
    if not x.aval.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return normalize_axis(operator.index(dim), x.aval.ndim)


def _points(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


# --- along one axis --------------------------------------------------------------------------


def _complex(x: Any, n: Any, dim: int, norm: str | None, forward: bool) -> Any:
    x = _promoted(x, False)
    axis = _axis(x, dim)
    size = _points(x.aval.shape[axis] if n is None else operator.index(n))
    x = _resized(x, (axis,), (size,))
    return ops.complex_to_complex(x, axes=(axis,), norm=_norm(norm, forward), forward=forward)


@module_function(out=_COMPLEX, cacheable=True, autocast=FULL)
def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The transform along ``dim``, of ``n`` points: the input is cut or padded with zeros."""
    return _complex(input, n, dim, norm, True)


@module_function(out=_COMPLEX, cacheable=True, autocast=FULL)
def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse of :func:`fft`."""
    return _complex(input, n, dim, norm, False)


def _from_real(x: Any, n: Any, dim: int, norm: str) -> Any:
    axis = _axis(x, dim)
    size = _points(x.aval.shape[axis] if n is None else operator.index(n))
    return ops.real_to_complex(_resized(x, (axis,), (size,)), axes=(axis,), norm=norm)


@module_function(out=_COMPLEX, cacheable=True, autocast=FULL)
def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The places 0 to ``n // 2`` of the transform of real numbers; the others are conjugates."""
    return _from_real(_real_only(input, "rfft"), n, dim, _norm(norm, True))


@module_function(out=_COMPLEX, cacheable=True, autocast=FULL)
def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse of :func:`hfft`."""
    half = _from_real(_real_only(input, "ihfft"), n, dim, _norm(norm, False))
    return complex_ops.conj(half)


def _to_real(x: Any, n: Any, dim: int, norm: str, turn: bool) -> Any:
    x = _promoted(x, True)
    axis = _axis(x, dim)
    size = _points(2 * (x.aval.shape[axis] - 1) if n is None else operator.index(n))
    x = _resized(x, (axis,), (size // 2 + 1,))
    if turn:
        x = complex_ops.conj(x)
    return ops.complex_to_real(x, axes=(axis,), norm=norm, size=size)


@module_function(out=_REAL, cacheable=True, autocast=FULL)
def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse of :func:`rfft`, of ``n`` points (``2 * (length - 1)`` by default)."""
    return _to_real(input, n, dim, _norm(norm, False), False)


@module_function(out=_REAL, cacheable=True, autocast=FULL)
def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:  # noqa: A002
    """The real transform of a Hermitian signal, of which the first half is given."""
    return _to_real(input, n, dim, _norm(norm, True), True)


# --- along several axes ----------------------------------------------------------------------


def _shapes(
    x: Any, s: Any, dim: Any, real_output: bool = False
) -> tuple[tuple[int, ...], list[int]]:
    """(axes, sizes) from torch's ``s`` and ``dim``."""
    ndim = x.aval.ndim
    if isinstance(s, int):
        s = (s,)
    if isinstance(dim, int):
        dim = (dim,)
    if dim is not None:
        axes = tuple(_axis(x, d) for d in dim)
        if len(set(axes)) < len(axes):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        axes = axes if dim is not None else tuple(range(ndim))
        sizes = [x.aval.shape[a] for a in axes]
        given = False
    else:
        if dim is not None and len(dim) != len(s):
            raise RuntimeError(
                "When given, dim and shape arguments must have the same length"
            )
        if dim is None:
            if len(s) > ndim:
                raise RuntimeError(
                    f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions."
                )
            axes = tuple(range(ndim - len(s), ndim))
        given = s[-1] != -1 if len(s) else False
        sizes = [
            x.aval.shape[a] if n == -1 else operator.index(n)
            for a, n in zip(axes, s, strict=True)
        ]
    if real_output and axes and not given:
        sizes[-1] = 2 * (sizes[-1] - 1)
    for n in sizes:
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return axes, sizes


def _need_axes(axes: Any, name: str) -> None:
    if not axes:
        raise RuntimeError(f"{name} must transform at least one axis")


def _complex_axes(x: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    x = _promoted(x, False)
    axes, sizes = _shapes(x, s, dim)
    x = _resized(x, axes, sizes)
    if not axes:
        return movement.clone(_promoted(x, True))
    return ops.complex_to_complex(x, axes=axes, norm=_norm(norm, forward), forward=forward)


@module_function(out=_COMPLEX, cacheable=True, autocast=FULL)
def fftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """The transform along the axes ``dim`` (all by default), of ``s`` points each."""
    return _complex_axes(input, s, dim, norm, True)


@module_function(out=_COMPLEX_AXES, cacheable=True, autocast=FULL)
def ifftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse of :func:`fftn`."""
    return _complex_axes(input, s, dim, norm, False)


@module_function(out=_COMPLEX, cacheable=True, autocast=FULL)
def rfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """:func:`rfft` along the last of the axes, :func:`fft` along the others."""
    x = _real_only(input, "rfftn")
    axes, sizes = _shapes(x, s, dim)
    _need_axes(axes, "rfftn")
    return ops.real_to_complex(_resized(x, axes, sizes), axes=axes, norm=_norm(norm, True))


@module_function(out=_REAL, cacheable=True, autocast=FULL)
def irfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse of :func:`rfftn`."""
    x = _promoted(input, True)
    axes, sizes = _shapes(x, s, dim, real_output=True)
    _need_axes(axes, "irfftn")
    x = _resized(x, axes, [*sizes[:-1], sizes[-1] // 2 + 1])
    return ops.complex_to_real(x, axes=axes, norm=_norm(norm, False), size=sizes[-1])


@module_function(out=_REAL)
def hfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """:func:`hfft` along the last of the axes, :func:`fft` along the others."""
    x = _promoted(input, True)
    axes, sizes = _shapes(x, s, dim, real_output=True)
    _need_axes(axes, "hfftn")
    divided = _norm(norm, True)
    x = _resized(x, axes, [*sizes[:-1], sizes[-1] // 2 + 1])
    if len(axes) > 1:
        x = ops.complex_to_complex(x, axes=axes[:-1], norm=divided, forward=True)
    x = complex_ops.conj(x)
    return ops.complex_to_real(x, axes=axes[-1:], norm=divided, size=sizes[-1])


@module_function(out=_COMPLEX)
def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Any:  # noqa: A002
    """The inverse of :func:`hfftn`."""
    x = _real_only(input, "ihfftn")
    axes, sizes = _shapes(x, s, dim)
    _need_axes(axes, "ihfftn")
    divided = _norm(norm, False)
    half = ops.real_to_complex(_resized(x, axes, sizes), axes=axes[-1:], norm=divided)
    half = complex_ops.conj(half)
    if len(axes) == 1:
        return half
    return ops.complex_to_complex(half, axes=axes[:-1], norm=divided, forward=False)


_TWO = (-2, -1)


@module_function(out=_COMPLEX_AXES, cacheable=True, autocast=FULL)
def fft2(input: Any, s: Any = None, dim: Any = _TWO, norm: str | None = None) -> Any:  # noqa: A002
    """:func:`fftn` along two axes."""
    return fftn(input, s, dim, norm)


@module_function(out=_COMPLEX_AXES, cacheable=True, autocast=FULL)
def ifft2(input: Any, s: Any = None, dim: Any = _TWO, norm: str | None = None) -> Any:  # noqa: A002
    """:func:`ifftn` along two axes."""
    return ifftn(input, s, dim, norm)


@module_function(
    out=Out(cast="rfftn expects a complex output tensor, but got {out}"),
    cacheable=True, autocast=FULL,
)  # fmt: skip
def rfft2(input: Any, s: Any = None, dim: Any = _TWO, norm: str | None = None) -> Any:  # noqa: A002
    """:func:`rfftn` along two axes."""
    return rfftn(input, s, dim, norm)


@module_function(
    out=Out(cast="irfftn expects a floating point output tensor, but got {out}", shown="_fft_c2r"),
    cacheable=True, autocast=FULL,
)  # fmt: skip
def irfft2(input: Any, s: Any = None, dim: Any = _TWO, norm: str | None = None) -> Any:  # noqa: A002
    """:func:`irfftn` along two axes."""
    return irfftn(input, s, dim, norm)


@module_function(
    out=Out(cast="hfftn expects a floating point output tensor, but got {out}", shown="_fft_c2r"),
)
def hfft2(input: Any, s: Any = None, dim: Any = _TWO, norm: str | None = None) -> Any:  # noqa: A002
    """:func:`hfftn` along two axes."""
    return hfftn(input, s, dim, norm)


@module_function(out=Out(cast="ihfftn expects a complex output tensor, but got {out}"))
def ihfft2(input: Any, s: Any = None, dim: Any = _TWO, norm: str | None = None) -> Any:  # noqa: A002
    """:func:`ihfftn` along two axes."""
    return ihfftn(input, s, dim, norm)


# --- frequencies and shifts ------------------------------------------------------------------


def _frequencies(places: Any, n: int, d: float, out: Any, options: dict[str, Any]) -> Any:
    dtype, device = options.pop("dtype", None), as_device(options.pop("device", None))
    kind = dtypes.default if dtype is None else as_dtype(dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = places.astype(np.float64) * (np.float64(1.0) / (n * d))
    made = from_array(values.astype(kind.np), device)
    if out is not None:
        made = store_out(made, out, "fft_fftfreq")
    return finish(made, **options)


def _check_count(n: int) -> None:
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")


@module_function()
def fftfreq(n: int, d: float = 1.0, *, out: Any = None, **options: Any) -> Any:
    """The frequency of each place of a transform of ``n`` points that are ``d`` apart:
    ``[0, 1, ..., (n - 1) // 2, -(n // 2), ..., -1] / (d * n)``; ``options`` are those of
    factories: dtype, device, layout, requires_grad, pin_memory."""
    _check_count(n)
    places = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return _frequencies(places, n, d, out, options)


@module_function()
def rfftfreq(n: int, d: float = 1.0, *, out: Any = None, **options: Any) -> Any:
    """The frequencies of :func:`rfft`: ``[0, 1, ..., n // 2] / (d * n)``; ``options`` are those of
    factories: dtype, device, layout, requires_grad, pin_memory."""
    _check_count(n // 2 + 1)
    return _frequencies(np.arange(n // 2 + 1), n, d, out, options)


def _shifted(x: Any, dim: Any, back: bool) -> Any:
    require_tensor(x, "fft_ifftshift" if back else "fft_fftshift", "input", 1)
    if dim is None:
        axes: tuple[int, ...] = tuple(range(x.aval.ndim))
    else:
        given = dim if isinstance(dim, (tuple, list)) else (dim,)
        axes = tuple(normalize_axis(int(d), x.aval.ndim) for d in given)
    shifts = tuple((x.aval.shape[a] + back) // 2 for a in axes)
    return x.roll(shifts, axes) if axes else movement.clone(x)


@module_function(cacheable=True)
def fftshift(input: Any, dim: Any = None) -> Any:  # noqa: A002
    """The places in the order of their frequencies: zero comes to the middle."""
    return _shifted(input, dim, False)


@module_function(cacheable=True)
def ifftshift(input: Any, dim: Any = None) -> Any:  # noqa: A002
    """The inverse of :func:`fftshift`."""
    return _shifted(input, dim, True)



_TEXTS.add_to(globals().values())
