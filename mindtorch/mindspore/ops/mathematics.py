"""Functions of numbers, windows, matrices and transforms with MindSpore's names and arguments."""

from __future__ import annotations

import builtins
from typing import Any

from mindtorch import torch
from mindtorch.engine import dtypes

from ..common.dtype import as_dtype
from ..common.tensor import Tensor, as_tensor, t
from ._words import named

# MindSpore's name: torch's, in its namespaces; arguments by position are the same
_SAME = {
    torch: """
        absolute adjoint angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh
        bitwise_left_shift bitwise_right_shift combinations copysign diag_embed
        diagflat diagonal_scatter dist dsplit eq float_power fmax fmin hsplit igamma igammac
        is_complex is_floating_point is_nonzero isneginf isposinf isreal ldexp logcumsumexp
        moveaxis msort multiply mvlgamma nanquantile narrow nextafter orgqr ormqr polar
        quantile renorm slogdet take tensor_split vsplit cholesky_inverse cholesky_solve
        lu_solve lu_unpack nanmean
    """.split(),
    torch.linalg: "det eigvals matrix_exp matrix_power pinv vecdot".split(),
    torch.fft: """
        fft2 fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn
        irfft irfft2 irfftn rfft rfft2 rfftn
    """.split(),
    torch.special: "bessel_j0 bessel_j1 bessel_y0 bessel_y1 zeta".split(),
}
_OTHER = {
    "bessel_i0": (torch, "i0"), "bessel_i0e": (torch.special, "i0e"),
    "bessel_i1": (torch.special, "i1"), "bessel_i1e": (torch.special, "i1e"),
    "bessel_k0": (torch.special, "modified_bessel_k0"),
    "bessel_k1": (torch.special, "modified_bessel_k1"),
    "bessel_k0e": (torch.special, "scaled_modified_bessel_k0"),
    "bessel_k1e": (torch.special, "scaled_modified_bessel_k1"), "ger": (torch, "outer"),
    "invert": (torch, "bitwise_not"), "matrix_determinant": (torch.linalg, "det"),
    "matrix_solve": (torch.linalg, "solve"), "expand": (torch.Tensor, "expand"),
    "expand_as": (torch.Tensor, "expand_as"), "fft": (torch.fft, "fft"), "pows": (torch, "pow"),
}  # fmt: skip
_space: Any
for _space, _names in _SAME.items():
    for _name in _names:
        globals()[_name] = named(getattr(_space, _name))
for _name, (_space, _theirs) in _OTHER.items():
    globals()[_name] = named(getattr(_space, _theirs))


def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """Vector products along ``dim``, the first axis of length 3 where it is None."""
    axis = as_tensor(input).aval.shape.index(3) if dim is None else dim
    return t.cross(input, other, dim=axis)


def addn(x: Any) -> Any:
    """The sum of several tensors."""
    total = x[0]
    for each in x[1:]:
        total = t.add(total, each)
    return total


accumulate_n = addn


def aminmax(input: Any, *, axis: int = 0, keepdims: bool = False) -> Any:  # noqa: A002
    """(smallest, largest) elements along ``axis``, of all when None."""
    if axis is None:
        low, high = t.amin(input), t.amax(input)
        shape = (1,) * input.aval.ndim if keepdims else ()
        return t.reshape(low, shape), t.reshape(high, shape)
    return t.amin(input, axis, keepdims), t.amax(input, axis, keepdims)


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-5) -> Any:
    """Whether |x - y| < ``tolerance``."""
    return t.lt(t.abs(t.sub(x, y)), tolerance)


def cov(
    input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None  # noqa: A002
) -> Any:
    """Covariances of the rows."""
    return t.cov(input, correction=correction, fweights=fweights, aweights=aweights)


def median(input: Any, axis: int = -1, keepdims: bool = False) -> Any:  # noqa: A002
    """(medians along ``axis``, their places)."""
    return tuple(t.median(input, axis, keepdims))


def nanmedian(input: Any, axis: int = -1, keepdims: bool = False) -> Any:  # noqa: A002
    """:func:`median` of the elements that are numbers."""
    return tuple(t.nanmedian(input, axis, keepdims))


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:  # noqa: A002
    """How often each whole number is there, or the sums of their ``weights``, as float32."""
    return t.bincount(input, weights, minlength).float()


def bucketize(input: Any, boundaries: Any, *, right: bool = False) -> Any:  # noqa: A002
    """Between which of the ``boundaries`` (numbers) each element is, as int32."""
    edges = Tensor(builtins.list(boundaries), dtypes.float32)
    return t.bucketize(input.float(), edges, right=right).int()


def searchsorted(
    sorted_sequence: Any, values: Any, *, out_int32: bool = False, right: bool = False,
    side: str | None = None, sorter: Any = None,
) -> Any:  # fmt: skip
    """Where ``values`` would go in rows that are sorted.

    Args:
        sorted_sequence: rows in ascending order.
    """
    return t.searchsorted(
        sorted_sequence, as_tensor(values), out_int32=out_int32, right=right, side=side,
        sorter=sorter,
    )  # fmt: skip


def log_matrix_determinant(input: Any) -> Any:  # noqa: A002
    """(sign, logarithm of the absolute value) of determinants."""
    return tuple(t.slogdet(input))


def matrix_norm(
    A: Any, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None  # noqa: A002, N803
) -> Any:
    """Norms of matrices."""
    return named(torch.linalg.matrix_norm)(A, ord, axis, keepdims, dtype=_kind(dtype))


def vector_norm(
    x: Any, ord: Any = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None  # noqa: A002
) -> Any:
    """Norms of vectors."""
    return named(torch.linalg.vector_norm)(x, ord, axis, keepdims, dtype=_kind(dtype))


def _kind(dtype: Any) -> Any:
    return None if dtype is None else as_dtype(dtype)


def svd(input: Any, full_matrices: bool = False, compute_uv: bool = True) -> Any:  # noqa: A002
    """(s, u, v) with input = u diag(s) v^H; only s without ``compute_uv``.

    Args:
        full_matrices: square u and v.
    """
    if not compute_uv:
        return named(torch.linalg.svdvals)(input)
    u, s, vh = named(torch.linalg.svd)(input, full_matrices)
    return s, u, t.adjoint(vh)


def qr(input: Any, mode: str = "reduced") -> Any:  # noqa: A002
    """(q, r) with input = q r.

    Args:
        mode: "reduced", or "complete" for a square q.
    """
    return tuple(named(torch.linalg.qr)(input, mode))


def eig(A: Any) -> Any:  # noqa: N803
    """(eigenvalues, eigenvectors)."""
    return tuple(named(torch.linalg.eig)(A))


def lstsq(input: Any, A: Any) -> Any:  # noqa: A002, N803
    """The x for which |input x - A| is smallest."""
    right = t.unsqueeze(A, -1) if A.aval.ndim == 1 else A
    return named(torch.linalg.lstsq)(input, right).solution


def std_mean(
    input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False  # noqa: A002
) -> Any:
    """(deviation, mean) along ``axis``: squares over (number - ``ddof``)."""
    return tuple(t.std_mean(input, axis, correction=int(ddof), keepdim=keepdims))


def var_mean(
    input: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False  # noqa: A002
) -> Any:
    """(variance, mean) along ``axis``: squares over (number - ``ddof``)."""
    return tuple(t.var_mean(input, axis, correction=int(ddof), keepdim=keepdims))


def polygamma(n: Any, input: Any) -> Any:  # noqa: A002
    """The derivative of order ``n`` of digamma."""
    return t.polygamma(int(n), input)


def xdivy(x: Any, y: Any) -> Any:
    """x / y, and 0 where x is 0."""
    x, y = as_tensor(x), as_tensor(y)
    zero = t.eq(x, 0)
    return t.where(zero, t.zeros_like(x), t.div(x, t.where(zero, t.ones_like(y), y)))


def truncate_div(x: Any, y: Any) -> Any:
    """x / y towards zero."""
    return t.div(x, y, rounding_mode="trunc").to(x.aval.dtype)


def truncate_mod(x: Any, y: Any) -> Any:
    """What :func:`truncate_div` leaves over."""
    return t.fmod(x, y)


def population_count(input_x: Any) -> Any:
    """How many bits of each element are one, as uint8."""
    bits = t.zeros_like(input_x)
    width = input_x.aval.dtype.itemsize * 8
    for place in builtins.range(width):
        bits = bits + t.bitwise_and(t.bitwise_right_shift(input_x, place), 1)
    return bits.to(dtypes.uint8)


def logspace(
    start: Any, end: Any, steps: int, base: int = 10, *, dtype: Any = dtypes.float32
) -> Any:
    """Powers of ``base`` at equal distances of the exponent."""
    return t.logspace(float(start), float(end), int(steps), float(base), dtype=as_dtype(dtype))


def trapz(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    """The integral along ``dim`` by the trapezoidal rule."""
    return t.trapezoid(y, dx=dx, dim=dim) if x is None else t.trapezoid(y, x, dim=dim)


def vander(x: Any, N: int | None = None) -> Any:  # noqa: N803
    """Powers of ``x`` as columns, the highest first.

    Args:
        N: how many columns; None for as many as elements.
    """
    count = x.aval.shape[0] if N is None else N
    return named(torch.vander)(x, N=count)


def batch_dot(x1: Any, x2: Any, axes: Any = None) -> Any:
    """Products summed along one axis of each, example by example; by default the last axis of
    the first and the axis before it (or the last) of the second.

    Args:
        axes: the axis of each; None for the last of ``x1`` and the one before it of ``x2``.
    """
    if axes is None:
        axes = (x1.aval.ndim - 1, builtins.max(x2.aval.ndim - 2, 1))
    first, second = (axes, axes) if isinstance(axes, int) else axes
    a = t.movedim(x1, first, -1)
    b = t.movedim(x2, second, 1)
    rows = t.reshape(a, (a.aval.shape[0], -1, a.aval.shape[-1]))
    columns = t.reshape(b, (*b.aval.shape[:2], -1))
    shape = (*a.aval.shape[:-1], *b.aval.shape[2:])
    result = t.reshape(t.bmm(rows, columns), shape)
    return t.unsqueeze(result, 1) if len(shape) == 1 else result


def tensor_dot(x1: Any, x2: Any, axes: Any) -> Any:
    """Products summed along axes of both."""
    if isinstance(axes, (tuple, list)):
        axes = [[a] if isinstance(a, int) else list(a) for a in axes]
    return t.tensordot(x1, x2, axes)


def bidense(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """input1 W_k input2 for each k, plus ``bias``."""
    return named(torch.nn.functional.bilinear)(input1, input2, weight, bias)


def _window(name: str) -> Any:
    make = getattr(torch, name + "_window")

    def window(window_length: Any, periodic: bool = True, *args: Any, dtype: Any = None) -> Any:
        length = int(window_length)
        given = dtypes.float32 if dtype is None else as_dtype(dtype)
        return named(make)(length, periodic, *args, dtype=given)

    window.__name__ = name + "_window"
    window.__doc__ = f"The {name} window of a length."
    return window


bartlett_window, blackman_window = _window("bartlett"), _window("blackman")
hann_window = _window("hann")


def hamming_window(
    window_length: Any, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """alpha - beta cos(2 pi n / (length - 1))."""
    return _window("hamming")(window_length, periodic, alpha, beta, dtype=dtype)


def kaiser_window(
    window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None
) -> Any:
    """The Kaiser window of the shape ``beta``."""
    return _window("kaiser")(window_length, periodic, beta, dtype=dtype)


def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Any:
    """The frequencies of ``fft``'s results."""
    return named(torch.fft.fftfreq)(int(n), float(d), dtype=_kind(dtype))


def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Any:
    """The frequencies of ``rfft``'s results."""
    return named(torch.fft.rfftfreq)(int(n), float(d), dtype=_kind(dtype))


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64) -> Any:
    """Places of a matrix on and below a diagonal."""
    return t.tril_indices(row, col, offset, dtype=as_dtype(dtype))


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = dtypes.int64) -> Any:
    """Places of a matrix on and above a diagonal."""
    return t.triu_indices(row, col, offset, dtype=as_dtype(dtype))


def eps(x: Any) -> Any:
    """The distance from 1 to the next number of the type, in the shape of ``x``."""
    return t.full_like(x, torch.finfo(x.aval.dtype).eps)


def matrix_band_part(x: Any, lower: Any, upper: Any) -> Any:
    """The diagonals from ``lower`` below to ``upper`` above the main one (all where negative),
    zeros elsewhere."""
    lower, upper = int(lower), int(upper)
    x = t.triu(x, -lower) if lower >= 0 else x
    return t.tril(x, upper) if upper >= 0 else x


_LOCAL = {
    "Any", "Tensor", "annotations", "as_dtype", "as_tensor", "builtins", "dtypes", "named", "t",
    "torch",
}  # fmt: skip
__all__ = [name for name in list(globals()) if not name.startswith("_") and name not in _LOCAL]
