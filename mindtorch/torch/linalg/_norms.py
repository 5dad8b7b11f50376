"""Norms and condition numbers of torch.linalg."""

from __future__ import annotations

import math
import operator
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.dtypes import scalar_type_name
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import factorizations, movement, reduction
from mindtorch.engine.ops import linear_algebra as ops
from mindtorch.engine.ops.base import normalize_axis
from mindtorch.engine.tensor import full_flat
from mindtorch.engine.transforms.autocast import FULL

from .._api.out_rules import EXACT, LINALG_CASTABLE, OF_LINALG, Out
from .._api.publish import module_function
from ..functions.reduction import typed_input
from ..functions.reduction import vector_norm as compute
from ..functions.reduction import vector_norm as vector


@module_function(out=Out(EXACT), cacheable=True)
def vector_norm(
    x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None  # noqa: A002
) -> Any:
    """The vector norm of order ``ord``: ``sum(abs(x) ** ord) ** (1 / ord)``.

    Args:
        dtype: the type that the input is cast to first.
    """
    return compute(x, ord, dim, keepdim, dtype=dtype)


def _matrix_axes(A: Any, dim: Any) -> tuple[int, int]:  # noqa: N803
    if isinstance(dim, int):
        raise TypeError(
            "linalg_matrix_norm(): argument 'dim' (position 3) must be tuple of ints, not int"
        )
    if len(dim) != 2:
        raise RuntimeError(
            f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(str(d) for d in dim)}"
        )
    if A.aval.ndim < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    first, second = (normalize_axis(operator.index(d), A.aval.ndim) for d in dim)
    if first == second:
        raise RuntimeError(
            f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})"
        )
    return first, second


def _largest(values: Any, axis: int, keepdims: bool) -> Any:
    """The largest of norms or singular values; 0 where there are none."""
    if values.aval.shape[axis]:
        return reduction.amax(values, axis=(axis,), keepdims=keepdims)
    return reduction.sum_(values, axis=(axis,), keepdims=keepdims)


def _least(values: Any, axis: int, keepdims: bool) -> Any:
    if not values.aval.shape[axis]:
        place = axis if keepdims else -1
        raise IndexError(f"amin(): Expected reduction dim {place} to have non-zero size.")
    return reduction.amin(values, axis=(axis,), keepdims=keepdims)


@module_function(out=Out(OF_LINALG, recorded=True), cacheable=True)
def matrix_norm(
    A: Any,  # noqa: N803
    ord: Any = "fro",  # noqa: A002
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Any:
    """The norm of matrices: "fro", "nuc", 1, -1, 2, -2, inf or -inf.

    Args:
        ord: one of these.
        dtype: the type that ``A`` is cast to first.
    """
    ops.check_real_or_complex("linalg.matrix_norm", A.aval)
    if ord in (2, -2, "nuc"):
        ops.check_precision("linalg.matrix_norm", A.aval)
    first, second = _matrix_axes(A, dim)
    A = typed_input(A, dtype)  # noqa: N806
    if ord == "fro":
        return vector(A, 2, (first, second), keepdim)
    if ord in (1, -1, math.inf, -math.inf):
        folded, kept = (first, second) if abs(ord) == 1 else (second, first)
        sums = vector(A, 1, folded, True)
        pick = _largest if ord > 0 else _least
        result = pick(sums, kept, True)
    elif ord in (2, -2, "nuc"):
        rest = [i for i in range(A.aval.ndim) if i not in (first, second)]
        values = factorizations.svd_values(movement.permute(A, axes=(*rest, first, second)))
        last = values.aval.ndim - 1
        if ord == "nuc":
            folded_values = reduction.sum_(values, axis=(last,), keepdims=False)
            tape.named(folded_values, "SumBackward1")
        else:
            folded_values = (_largest if ord > 0 else _least)(values, last, False)
        if not keepdim:
            return folded_values
        shape = tuple(1 if i in (first, second) else n for i, n in enumerate(A.aval.shape))
        result = movement.reshape(folded_values, shape)
    elif isinstance(ord, str):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    else:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    return result if keepdim else movement.squeeze(result, axes=(first, second))


@module_function(out=Out(OF_LINALG, recorded=True), cacheable=True)
def norm(
    A: Any,  # noqa: N803
    ord: Any = None,  # noqa: A002
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Any:
    """A vector norm, or a matrix norm where two axes are meant and ``ord`` is given.

    Args:
        dtype: the type that the input is cast to first.
    """
    axes = dim if dim is None or isinstance(dim, (tuple, list)) else (dim,)
    if isinstance(ord, str):
        if axes is not None and len(axes) not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(axes)}"
            )
        if axes is not None and len(axes) != 2:
            raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {axes[0]}")
        return matrix_norm(A, ord, (-2, -1) if axes is None else axes, keepdim, dtype=dtype)
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if axes is not None and len(axes) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(axes)}"
        )
    if axes is None and A.aval.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{A.aval.ndim}D."
        )
    if (axes is None and A.aval.ndim == 2) or (axes is not None and len(axes) == 2):
        return matrix_norm(A, ord, (0, 1) if axes is None else axes, keepdim, dtype=dtype)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype)


@module_function(out=Out(cast=LINALG_CASTABLE, recorded=True), autocast=FULL)
def cond(A: Any, p: Any = None) -> Any:  # noqa: N803
    """The condition number for the norm ``p`` (a matrix norm; 2 by default)."""
    if A.aval.ndim < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p is not None and p not in (2, -2, 1, -1, math.inf, -math.inf, "fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {float(p)}")
    if p is None or p in (2, -2):
        return _by_singular_values(A, p)
    if A.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"linalg.cond: Expected a floating point or complex tensor as input. Got "
            f"{scalar_type_name(A.aval.dtype)}"
        )
    ops.check_square("linalg.cond", A.aval)
    if not A.aval.size:
        return full_flat(A.aval.shape[:-2], A.aval.dtype.to_real(), 0)
    inverse, info = ops.inverse_info(A, check="")
    size = el.multiply(matrix_norm(A, p), matrix_norm(inverse, p))
    is_regular = comparisons.equal(info, 0 * info)
    return comparisons.where(is_regular, size, full_flat((), size.aval.dtype, math.inf))


def _by_singular_values(A: Any, p: Any) -> Any:  # noqa: N803
    values = factorizations.svd_values(A)
    n = values.aval.ndim - 1
    if not values.aval.size:
        return full_flat(values.aval.shape[:-1], values.aval.dtype, 0)
    top = movement.select(values, axis=n, index=0)
    low = movement.select(values, axis=n, index=values.aval.shape[-1] - 1)
    return el.divide(low, top) if p == -2 else el.divide(top, low)
