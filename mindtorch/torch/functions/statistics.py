"""Covariances, and numerical derivatives of samples."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.dtype_support import TWO_BOOLS
from mindtorch.engine.ops.base import normalize_axis
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.arguments import require_tensor
from .._api.publish import FUNCTIONS, function
from .._api.warn_caller import warn_caller


def _weights(x: Any, given: Any, name: str) -> None:
    count = x.aval.shape[1]
    if given.aval.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with "
            f"{given.aval.ndim} dimensions"
        )
    integral = given.aval.dtype.category < dtypes.FLOAT and given.aval.dtype is not dtypes.bool_
    if name == "fweights" and not integral:
        raise RuntimeError(
            f"cov(): expected fweights to have integral dtype but got fweights with "
            f"{dtypes.scalar_type_name(given.aval.dtype)} dtype"
        )
    if name == "aweights" and given.aval.dtype.category != dtypes.FLOAT:
        raise RuntimeError(
            f"cov(): expected aweights to have floating point dtype but got aweights with "
            f"{dtypes.scalar_type_name(given.aval.dtype)} dtype"
        )
    if given.aval.size != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the "
            f"input but got {given.aval.size} != {count}"
        )
    if count and bool((given < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@function()
def cov(
    input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None  # noqa: A002
) -> Any:
    """The covariances of the rows of ``input``, whose columns are observations.

    ``sum of w (x - mean) (x - mean)^H / (sum of w - correction * sum of w a / sum of w)`` with
    ``w = fweights * aweights``.
    """
    require_tensor(input, "cov", "input", 1)
    if input.aval.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.aval.ndim} dimensions"
        )
    if input.aval.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if input.aval.ndim < 2 else input
    if fweights is not None:
        _weights(x, fweights, "fweights")
    if aweights is not None:
        _weights(x, aweights, "aweights")
    weights = fweights
    if aweights is not None:
        weights = aweights if weights is None else weights * aweights
    count: Any = x.aval.shape[1]
    total: Any = count
    if weights is not None:
        total = weights.sum()
        if count and bool(total == 0):
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    if x.aval.dtype.category < dtypes.FLOAT:
        x = x.to(dtypes.default)
    mean = x.mean(1, keepdim=True) if weights is None else (x * weights).sum(1, True) / total
    if weights is None or correction == 0 or aweights is None:
        norm = total - correction
    else:
        norm = total - correction * (weights * aweights).sum() / total
    if isinstance(norm, EngineTensor):
        norm = norm.clamp(min=0)
    else:
        norm = max(norm, 0)
        if norm == 0:

            warn_caller("cov(): degrees of freedom is <= 0. Correction should be strictly less "
                          "than the number of observations.",
            )
    deviations = x - mean
    weighted = deviations if weights is None else deviations * weights
    return (weighted @ deviations.t().conj() / norm).squeeze()


@function()
def corrcoef(input: Any) -> Any:  # noqa: A002
    """The covariances of the rows over the products of their standard deviations."""
    require_tensor(input, "corrcoef", "input", 1)
    if input.aval.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions but got an input with "
            f"{input.aval.ndim} dimensions"
        )
    made = cov(input)
    if not made.aval.ndim:
        return made / made
    variances = made.diag()
    spread = (variances.real if made.aval.dtype.is_complex else variances).sqrt()
    result = made / spread.reshape(-1, 1) / spread.reshape(1, -1)
    if result.aval.dtype.is_complex:
        return FUNCTIONS["complex"](result.real.clamp(-1, 1), result.imag.clamp(-1, 1))
    return result.clamp(-1, 1)


def _slope(x: Any, axis: int, spacing: Any, edge_order: int) -> Any:
    """The derivative along one axis: central differences inside, one-sided at the edges."""
    n = x.aval.shape[axis]

    def at(start: int, stop: int) -> Any:
        return x.narrow(axis, start % n, stop)

    shape = tuple(-1 if i == axis else 1 for i in range(x.aval.ndim))
    if isinstance(spacing, EngineTensor) and spacing.aval.ndim:
        steps = spacing.diff()
        left, right = steps[:-1].reshape(shape), steps[1:].reshape(shape)
        inner = (
            -right / (left * (left + right)) * at(0, n - 2)
            + (right - left) / (left * right) * at(1, n - 2)
            + left / (right * (left + right)) * at(2, n - 2)
        )
        first, second = steps[0], steps[1] if n > 2 else steps[0]
        last, before = steps[-1], steps[-2] if n > 2 else steps[-1]
    else:
        inner = (at(2, n - 2) - at(0, n - 2)) / (2 * spacing)
        first = second = last = before = spacing
    if edge_order == 1:
        head = (at(1, 1) - at(0, 1)) / first
        tail = (at(-1, 1) - at(-2, 1)) / last
    else:
        a = -(2 * first + second) / (first * (first + second))
        b, c = (first + second) / (first * second), -first / (second * (first + second))
        head = a * at(0, 1) + b * at(1, 1) + c * at(2, 1)
        a = last / (before * (last + before))
        b = -(last + before) / (last * before)
        c = (2 * last + before) / (last * (last + before))
        tail = a * at(-3, 1) + b * at(-2, 1) + c * at(-1, 1)
    return FUNCTIONS["cat"]([head, inner, tail], axis)


def _check_gradient(
    x: Any, spacing: Any, axes: list[int], axes_given: bool, edge_order: int
) -> None:
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    if isinstance(spacing, (list, tuple)) and len(spacing) != len(axes):
        start = "torch.gradient expected spacing to be unspecified, a scalar"
        if axes_given:
            raise RuntimeError(
                f"{start} or it's spacing and dim arguments to have the same length, but got a "
                f"spacing argument of length {len(spacing)} and a dim argument of length "
                f"{len(axes)}."
            )
        raise RuntimeError(
            f"{start}, or a list of length equal to 'self.dim() = {len(axes)}', since dim argument "
            f"was not given, but got a list of length {len(spacing)}"
        )
    for each in spacing if isinstance(spacing, (list, tuple)) else ():
        if isinstance(each, EngineTensor) and each.aval.device is not x.aval.device:
            raise RuntimeError(
                "torch.gradient expected each tensor to be on the same device, but got devices "
                f"{x.aval.device} and {each.aval.device}!"
            )
    for axis in axes:
        if x.aval.shape[axis] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )


@function(method=False)
def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> Any:  # noqa: A002
    """Derivatives of a sampled function along its axes, by differences of second order.

    Args:
        spacing: the distance of samples, one for each axis, or a tensor of coordinates for each.
        edge_order: 1 or 2, the order of the one-sided differences at the edges.
    """
    if input.aval.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if dim is None:
        wanted: Any = tuple(range(input.aval.ndim))
    else:
        wanted = (dim,) if isinstance(dim, int) else tuple(dim)
    axes = [normalize_axis(d, input.aval.ndim) for d in wanted]
    if len(set(axes)) != len(axes):
        raise RuntimeError(
            f"dim {next(a for a in axes if axes.count(a) > 1)} appears multiple times in the list "
            "of dims"
        )
    _check_gradient(input, spacing, axes, dim is not None, edge_order)
    if input.aval.dtype is dtypes.bool_:
        raise RuntimeError(TWO_BOOLS)
    if input.aval.dtype.category < dtypes.FLOAT:
        input = input.to(dtypes.default)  # noqa: A001
    spacing = 1 if spacing is None else spacing
    each = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(axes)
    return tuple(
        _slope(input, axis, step, edge_order) for axis, step in zip(axes, each, strict=True)
    )
