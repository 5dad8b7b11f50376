"""Distances between rows, and rows that are scaled to a norm."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.autograd import tape
from mindtorch.engine.dtypes import float32, scalar_type_name
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import linear_algebra as ops
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import constant
from mindtorch.engine.transforms.autocast import FULL

from .._api.arguments import normalize_axis, require_tensor
from .._api.invalid_arguments import type_name
from .._api.out_rules import EXACT, Out
from .._api.publish import function
from .._api.signatures import is_number
from .linear_algebra import require_one_type
from .reduction import vector_norm

_PRODUCTS_FROM = 25  # rows from which on torch takes Euclidean distances by products
_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": True,
    "donot_use_mm_for_euclid_dist": False,
}  # fmt: skip


@function(autocast=FULL, autocast_cuda=FULL, home="functional", cacheable=True)
def cdist(
    x1: Any, x2: Any, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Any:
    """The distance of order ``p`` between all pairs of rows of two (batches of) matrices.

    Euclidean distances are taken by a product of the matrices, which rounds more where rows are
    near to each other: always, never, or (the default) from 26 rows on, as ``compute_mode`` says.

    Args:
        x1, x2: (..., P, M) and (..., R, M); the result is (..., P, R).
    """
    require_tensor(x1, "cdist", "x1", 1)
    require_tensor(x2, "cdist", "x2", 2)
    if not is_number(p):
        raise TypeError(f"cdist(): argument 'p' (position 3) must be float, not {type_name(p)}")
    if not isinstance(compute_mode, str) or compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    _check_rows(x1.aval, x2.aval, p)
    require_one_type(x1, x2)
    many = x1.aval.shape[-2] > _PRODUCTS_FROM or x2.aval.shape[-2] > _PRODUCTS_FROM
    by_products = _MODES[compute_mode]
    if p == 2 and (many if by_products is None else by_products):
        return tape.named(_by_products(x1, x2), "CdistBackward0")
    if x1.aval.dtype.itemsize < 4:
        name = scalar_type_name(x1.aval.dtype)
        raise NotImplementedError(f"\"cdist\" not implemented for '{name}'")
    left = movement.unsqueeze(x1, axis=x1.aval.ndim - 1)
    right = movement.unsqueeze(x2, axis=x2.aval.ndim - 2)
    return tape.named(lengths(el.subtract(left, right), p), "CdistBackward0")


def lengths(differences: Any, p: float) -> Any:
    """Norms of rows. Of order 0 their gradient is 0, where that of torch's norm is None."""
    found = vector_norm(differences, p, -1)
    return found if p else found + (differences.sign() * 0).sum(-1)


def _by_products(x1: Any, x2: Any) -> Any:
    """Distances from |x|^2 - 2 x y + |y|^2; those of 16-bit types are rounded once, at the end."""
    dtype = x1.aval.dtype
    if dtype.itemsize >= 4:
        return ops.euclidean_distance(x1, x2)
    wide = [movement.cast(x, dtype=float32) for x in (x1, x2)]
    return movement.cast(ops.euclidean_distance(*wide), dtype=dtype)


def _check_rows(x: Any, y: Any, p: float) -> None:
    for name, each in (("X1", x), ("X2", y)):
        if each.ndim < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {each.ndim}D"
            )
    if x.shape[-1] != y.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x.shape[-1]} X2: {y.shape[-1]}"
        )
    for name, each in (("X1", x), ("X2", y)):
        if not each.dtype.is_floating_point:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: "
                f"{scalar_type_name(each.dtype)}"
            )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")


@function(out=Out(EXACT), in_place=True, autocast_cuda=FULL)
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:  # noqa: A002
    """``input`` with the slices along ``dim`` whose norm exceeds ``maxnorm`` scaled to it.

    Args:
        p: the order of the norm.
    """
    if not p > 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.aval.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.aval.ndim} dimensions"
        )
    axis = normalize_axis(dim, input.aval.ndim)
    others = tuple(i for i in range(input.aval.ndim) if i != axis)
    size = vector_norm(input, p, others, keepdim=True)
    factor = el.divide(constant(float(maxnorm)), el.add(size, constant(1e-7)))
    scale = comparisons.where(comparisons.greater(size, constant(maxnorm)), factor, constant(1))
    return tape.named(el.multiply(movement.contiguous(input), scale), "RenormBackward0")
