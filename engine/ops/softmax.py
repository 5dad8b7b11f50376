"""Softmax and its logarithm along one axis."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..aval import Aval, aval
from ..dtype_support import refuse
from ..tensor import constant
from .convolution import NetworkOp
from .elementwise import exp, multiply, subtract
from .reduction import sum_


def _softmax_aval(x: Aval, *, axis: int) -> Aval:
    require_float(x, "softmax", axis)
    return aval(x.shape, x.dtype, None, x.device)


def _log_softmax_aval(x: Aval, *, axis: int) -> Aval:
    require_float(x, "log_softmax", axis)
    return aval(x.shape, x.dtype, None, x.device)


def require_float(x: Aval, name: str, axis: int) -> None:
    """PyTorch's error for types that its kernels do not take, where there are elements."""
    if x.dtype.category != dtypes.FLOAT and x.size:
        place = "_lastdim" if axis == max(x.ndim - 1, 0) else ""
        refuse(f"{name}{place}_kernel_impl", x.dtype)


# exp(x) / sum(exp(x))
softmax = NetworkOp(
    "softmax",
    _softmax_aval,
    "softmax.softmax",
    vjp=lambda g, out, axis: softmax_gradient(g, out, axis=axis),
    autocast_cuda="full",
)


def _gradient_in_result(g: Any, y: Any, result: Any, axis: int) -> Any:
    """For r * (y - sum(y r)), the gradient in r: g (y - sum(y r)) - y sum(g r)."""
    inner = sum_(multiply(y, result), axis=(axis,), keepdims=True)
    weighed = sum_(multiply(g, result), axis=(axis,), keepdims=True)
    return subtract(multiply(g, subtract(y, inner)), multiply(y, weighed))


# result * (y - sum(y * result))
softmax_gradient = NetworkOp(
    "softmax_gradient",
    lambda y, result, *, axis: aval(y.shape, y.dtype, None, y.device),
    "softmax.softmax_gradient",
    vjp=(lambda g, result, axis: softmax_gradient(g, result, axis=axis), _gradient_in_result),
    grad_name="SoftmaxBackwardDataBackward0",
)

# x - log(sum(exp(x)))
log_softmax = NetworkOp(
    "log_softmax",
    _log_softmax_aval,
    "softmax.log_softmax",
    vjp=lambda g, out, axis: log_softmax_gradient(g, out, axis=axis),
    autocast_cuda="full",
)


def _log_gradient_in_result(g: Any, y: Any, result: Any, axis: int) -> Any:
    total = sum_(y, axis=(axis,), keepdims=True)
    return multiply(multiply(g, exp(result)), multiply(total, _minus_one()))


def _log_gradient_in_y(g: Any, result: Any, axis: int) -> Any:
    return subtract(g, sum_(multiply(g, exp(result)), axis=(axis,), keepdims=True))


def _minus_one() -> Any:
    return constant(-1)


# y - exp(result) * sum(y)
log_softmax_gradient = NetworkOp(
    "log_softmax_gradient",
    lambda y, result, *, axis: aval(y.shape, y.dtype, None, y.device),
    "softmax.log_softmax_gradient",
    vjp=(_log_gradient_in_y, _log_gradient_in_result),
    grad_name="LogSoftmaxBackwardDataBackward0",
)
