"""numpy's functions that make tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch import torch

from ..common.tensor import adopt
from ._values import floating, public, tensor_of, type_of

__all__ = [
    "arange", "array", "asarray", "asfarray", "bartlett", "blackman", "copy", "diag",
    "diag_indices", "diagflat", "diagonal", "empty", "empty_like", "eye", "full", "full_like",
    "geomspace", "hamming", "hanning", "identity", "indices", "ix_", "linspace", "logspace",
    "meshgrid", "mgrid", "ogrid", "ones", "ones_like", "rand", "randint", "randn", "trace", "tri",
    "tril", "tril_indices", "tril_indices_from", "triu", "triu_indices", "triu_indices_from",
    "vander", "zeros", "zeros_like",
]  # fmt: skip


@public
def array(obj: Any, dtype: Any = None, copy: bool = True, ndmin: int = 0) -> Any:
    """A tensor of ``obj``'s values, with ``ndmin`` dimensions at least.

    Args:
        copy: with memory of its own.
    """
    made = tensor_of(obj, dtype)
    if ndmin > made.ndim:
        made = made.reshape((1,) * (ndmin - made.ndim) + tuple(made.shape))
    return made.clone() if copy else made


@public
def asarray(a: Any, dtype: Any = None) -> Any:
    """``a`` as a tensor of ``dtype``, None for the type that it has."""
    return tensor_of(a, dtype)


@public
def asfarray(a: Any, dtype: Any = torch.float32) -> Any:
    """``a`` as a tensor of a floating type."""
    return tensor_of(a, dtype)


@public
def copy(a: Any) -> Any:
    """A tensor of its own with the same elements."""
    return tensor_of(a).clone()


@public
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """Numbers from ``start`` (0) below ``stop``, ``step`` apart."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    whole = all(isinstance(v, int) for v in (start, stop, step))
    wanted = type_of(dtype) or (torch.int32 if whole else torch.float32)
    return torch.arange(start, stop, step).to(wanted)


@public
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    """``num`` evenly spaced numbers along ``axis``; with ``retstep`` also their distance."""
    first, last = (tensor_of(v).to(torch.float64) for v in (start, stop))
    count = num - 1 if endpoint else num
    step = (last - first) / count if count > 0 else torch.full_like(last - first, math.nan)
    places = torch.arange(num, dtype=torch.float64).reshape((-1,) + (1,) * step.ndim)
    values = first + places * (step if num > 1 else torch.zeros_like(step))
    values = torch.movedim(values, 0, axis).to(type_of(dtype) or torch.float32)
    return (values, step.to(torch.float32)) if retstep else values


@public
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: float = 10.0,
    dtype: Any = None, axis: int = 0,
) -> Any:  # fmt: skip
    """``base`` to the powers of :func:`linspace`.

    Args:
        base: a number.
    """
    exponents = linspace(start, stop, num, endpoint, dtype=torch.float64, axis=axis)
    return torch.pow(float(base), exponents).to(type_of(dtype) or torch.float32)


@public
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """``num`` numbers from ``start`` to ``stop`` with equal quotients."""
    first, last = (torch.log2(tensor_of(v).to(torch.float64)) for v in (start, stop))
    exponents = linspace(first, last, num, endpoint, dtype=torch.float64, axis=axis)
    return torch.exp2(exponents).to(type_of(dtype) or torch.float32)


@public
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = torch.float32) -> Any:  # noqa: N803
    """Ones on diagonal ``k`` of ``N`` rows and ``M`` columns."""
    columns = N if M is None else M
    distance = torch.arange(columns).reshape(1, -1) - torch.arange(N).reshape(-1, 1)
    return (distance == k).to(type_of(dtype))


@public
def identity(n: int, dtype: Any = torch.float32) -> Any:
    """The unit matrix of ``n`` rows."""
    return torch.eye(n, dtype=type_of(dtype))


@public
def ones(shape: Any, dtype: Any = torch.float32) -> Any:
    """Ones."""
    return torch.ones(shape, dtype=type_of(dtype))


@public
def zeros(shape: Any, dtype: Any = torch.float32) -> Any:
    """Zeros."""
    return torch.zeros(shape, dtype=type_of(dtype))


@public
def empty(shape: Any, dtype: Any = torch.float32) -> Any:
    """A tensor whose elements nobody has set."""
    return torch.empty(shape, dtype=type_of(dtype))


@public
def full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """``fill_value`` everywhere."""
    size = (shape,) if isinstance(shape, int) else tuple(shape)
    return tensor_of(fill_value, dtype).expand(size).clone()


def _like(prototype: Any, fill: Any, dtype: Any, shape: Any) -> Any:
    model = tensor_of(prototype)
    size = tuple(model.shape) if shape is None else shape
    return torch.full(size, fill, dtype=type_of(dtype) or model.dtype)


@public
def ones_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Ones in the shape and type of ``a`` unless given."""
    return _like(a, 1, dtype, shape)


@public
def zeros_like(a: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Zeros in the shape and type of ``a`` unless given."""
    return _like(a, 0, dtype, shape)


@public
def empty_like(prototype: Any, dtype: Any = None, shape: Any = None) -> Any:
    """A tensor like ``prototype`` whose elements nobody has set."""
    return _like(prototype, 0, dtype, shape)


@public
def full_like(a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """``fill_value`` everywhere, in the shape and type of ``a`` unless given."""
    return _like(a, fill_value, dtype, shape)


@public
def rand(*shape: int, dtype: Any = torch.float32) -> Any:
    """Uniform numbers in [0, 1)."""
    return torch.rand(*shape, dtype=type_of(dtype))


@public
def randn(*shape: int, dtype: Any = torch.float32) -> Any:
    """Normal numbers of mean 0 and deviation 1."""
    return torch.randn(*shape, dtype=type_of(dtype))


@public
def randint(minval: int, maxval: int | None = None, shape: Any = (), dtype: Any = None) -> Any:
    """Whole numbers from ``minval`` to ``maxval - 1``; from 0 to ``minval - 1`` without it."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    size = (shape,) if isinstance(shape, int) else tuple(shape or (1,))
    return torch.randint(low, high, size).to(type_of(dtype) or torch.int32)


# --- diagonals, triangles, places --------------------------------------------------------------


@public
def diag(v: Any, k: int = 0) -> Any:
    """The matrix with ``v`` on diagonal ``k``, or diagonal ``k`` of a matrix."""
    return torch.diag(tensor_of(v), k)


@public
def diagflat(v: Any, k: int = 0) -> Any:
    """``v``, flattened, on diagonal ``k`` of a matrix of zeros."""
    return torch.diagflat(tensor_of(v), k)


@public
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Diagonal ``offset`` of the matrices in ``axis1`` and ``axis2``."""
    return torch.diagonal(tensor_of(a), offset, axis1, axis2).clone()


@public
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """The sum over :func:`diagonal`."""
    found = torch.diagonal(tensor_of(a), offset, axis1, axis2)
    return torch.sum(found, -1).to(type_of(dtype) or found.dtype)


@public
def diag_indices(n: int, ndim: int = 2) -> Any:
    """``ndim`` equal index vectors, 0 to n - 1: the main diagonal.

    Args:
        ndim: how many.
    """
    return tuple(torch.arange(n, dtype=torch.int32) for _ in range(ndim))


@public
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = torch.float32) -> Any:  # noqa: N803
    """Ones at and below diagonal ``k``.

    Args:
        N: how many rows.
    """
    return torch.tril(torch.ones(N, N if M is None else M), k).to(type_of(dtype))


@public
def tril(m: Any, k: int = 0) -> Any:
    """What is on and below diagonal ``k``, 0 above."""
    return torch.tril(tensor_of(m), k)


@public
def triu(m: Any, k: int = 0) -> Any:
    """What is on and above diagonal ``k``, 0 below."""
    return torch.triu(tensor_of(m), k)


def _triangle(function: Any, n: int, k: int, m: int | None) -> Any:
    return tuple(row.to(torch.int32) for row in function(n, n if m is None else m, k))


@public
def tril_indices(n: int, k: int = 0, m: int | None = None) -> Any:
    """The places on and below diagonal ``k`` of ``n`` rows and ``m`` columns."""
    return _triangle(torch.tril_indices, n, k, m)


@public
def triu_indices(n: int, k: int = 0, m: int | None = None) -> Any:
    """The places on and above diagonal ``k`` of ``n`` rows and ``m`` columns."""
    return _triangle(torch.triu_indices, n, k, m)


@public
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """:func:`tril_indices` of a matrix's shape."""
    return _triangle(torch.tril_indices, arr.shape[0], k, arr.shape[1])


@public
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """:func:`triu_indices` of a matrix's shape."""
    return _triangle(torch.triu_indices, arr.shape[0], k, arr.shape[1])


@public
def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinates of a grid; with ``sparse`` they keep length 1 along the other dimensions."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    given = [tensor_of(x).reshape(-1) for x in xi]
    rows = [g.reshape([-1 if d == i else 1 for d in range(len(given))])
            for i, g in enumerate(given)]  # fmt: skip
    if not sparse:
        size = [len(g) for g in given]
        rows = [row.expand(size).clone() for row in rows]
    if indexing == "xy" and len(rows) > 1:
        rows = [row.transpose(0, 1) for row in rows]
    return rows


@public
def indices(dimensions: Any, dtype: Any = torch.int32, sparse: bool = False) -> Any:
    """For each dimension a tensor of the places along it; with ``sparse`` of length 1 along the
    others.

    Args:
        dimensions: the lengths.
        sparse: as above.
    """
    rows = [torch.arange(n) for n in dimensions]
    grid = [g.to(type_of(dtype)) for g in meshgrid(*rows, sparse=sparse, indexing="ij")]
    return tuple(grid)


@public
def ix_(*args: Any) -> Any:
    """Index tensors that name each combination of the places given."""
    return tuple(meshgrid(*args, sparse=True, indexing="ij"))


class _Grid:
    """``mgrid[0:3, 0:2]``: dense coordinates in one tensor; ``ogrid``: open ones, apart."""

    def __init__(self, dense: bool) -> None:
        self.dense = dense

    def __getitem__(self, keys: Any) -> Any:
        several = isinstance(keys, tuple)
        rows = [np.mgrid[key] for key in (keys if several else (keys,))]
        narrow = np.int32 if all(row.dtype.kind == "i" for row in rows) else np.float32
        grid = np.meshgrid(*(row.astype(narrow) for row in rows), indexing="ij",
                           sparse=not self.dense)  # fmt: skip
        made = [adopt(torch.from_numpy(np.ascontiguousarray(g)).reshape(g.shape)) for g in grid]
        if not several:
            return made[0]
        return adopt(torch.stack(made)) if self.dense else made


mgrid, ogrid = _Grid(True), _Grid(False)


@public
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803
    """Powers of ``x`` as columns, the highest first.

    Args:
        N: how many columns; None for as many as elements.
        increasing: begin with the power 0.
    """
    return torch.vander(tensor_of(x), N=N, increasing=increasing)


def _window(cosines: tuple[float, ...], count: int) -> Any:
    if count <= 1:
        return torch.ones(max(count, 0))
    phase = torch.arange(count, dtype=torch.float64) * (2 * math.pi / (count - 1))
    values = sum(a * torch.cos(i * phase) for i, a in enumerate(cosines))
    return floating(values).to(torch.float32)


@public
def hamming(M: int) -> Any:  # noqa: N803
    """0.54 - 0.46 cos(2 pi n / (M - 1)) for n = 0 to M - 1."""
    return _window((0.54, -0.46), M)


@public
def hanning(M: int) -> Any:  # noqa: N803
    """0.5 - 0.5 cos(2 pi n / (M - 1)) for n = 0 to M - 1."""
    return _window((0.5, -0.5), M)


@public
def blackman(M: int) -> Any:  # noqa: N803
    """0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1)) for n = 0 to M - 1."""
    return _window((0.42, -0.5, 0.08), M)


@public
def bartlett(M: int) -> Any:  # noqa: N803
    """A triangle of ``M`` numbers, 0 at both ends."""
    if M <= 1:
        return torch.ones(max(M, 0))
    return 1 - (torch.arange(M) * (2.0 / (M - 1)) - 1).abs()
