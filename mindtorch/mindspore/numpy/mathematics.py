"""numpy's functions of numbers: elementwise ones, sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch import torch

from ..common.tensor import difference
from ._values import BOOL, axes_of, floating, public, tensor_of


def _unary(name: str, torch_name: str = "", needs_float: bool = True) -> Callable[..., Any]:
    function = getattr(torch, torch_name or name)
    prepare = floating if needs_float else tensor_of

    def call(x: Any, dtype: Any = None) -> Any:
        return tensor_of(function(prepare(x)), dtype)

    call.__name__ = name
    call.__doc__ = f"torch.{torch_name or name} of each element of ``x``, in ``dtype`` if given."
    return public(call)


def _binary(name: str, torch_name: str = "") -> Callable[..., Any]:
    function = difference if torch_name == "sub" else getattr(torch, torch_name or name)

    def call(x1: Any, x2: Any, dtype: Any = None) -> Any:
        return tensor_of(function(tensor_of(x1), _beside(x2, x1)), dtype)

    call.__name__ = name
    call.__doc__ = f"torch.{torch_name or name} of the elements of two tensors or numbers."
    return public(call)


def _beside(value: Any, other: Any) -> Any:
    """A number beside a tensor has the tensor's type where that can hold it."""
    made = tensor_of(value)
    if isinstance(value, (bool, int, float)) and not isinstance(other, (bool, int, float)):
        model = tensor_of(other)
        if model.is_floating_point() or not made.is_floating_point():
            return made.to(model.dtype) if model.dtype is not BOOL else made
    return made


_UNARY = (
    "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "sin", "cos", "tan",
    "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "sinh", "cosh", "tanh",
    "deg2rad", "rad2deg", "sqrt", "ceil", "floor", "trunc", "reciprocal",
)  # fmt: skip
_SAME_TYPE = {
    "abs": "abs", "absolute": "abs", "negative": "neg", "positive": "positive", "sign": "sign",
    "square": "square", "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan",
    "isneginf": "isneginf", "isposinf": "isposinf", "signbit": "signbit",
    "logical_not": "logical_not", "bitwise_not": "bitwise_not", "invert": "bitwise_not",
}  # fmt: skip
_RENAMED = {"radians": "deg2rad", "rint": "round", "fix": "trunc"}
_BINARY = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "true_divide",
    "true_divide": "true_divide", "floor_divide": "floor_divide", "mod": "remainder",
    "remainder": "remainder", "fmod": "fmod", "power": "pow", "arctan2": "atan2",
    "hypot": "hypot", "copysign": "copysign", "maximum": "maximum", "minimum": "minimum",
    "logaddexp": "logaddexp", "logaddexp2": "logaddexp2", "gcd": "gcd", "lcm": "lcm",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "equal": "eq", "not_equal": "ne", "greater": "gt", "greater_equal": "ge", "less": "lt",
    "less_equal": "le", "logical_and": "logical_and", "logical_or": "logical_or",
    "logical_xor": "logical_xor", "heaviside": "heaviside", "inner": "inner", "matmul": "matmul",
}  # fmt: skip


def _cube_root(x: Any) -> Any:
    return torch.sign(x) * torch.pow(torch.abs(x), 1 / 3)


def _made() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in _UNARY:
        made[name] = _unary(name)
    for name, theirs in _RENAMED.items():
        made[name] = _unary(name, theirs)
    for name, theirs in _SAME_TYPE.items():
        made[name] = _unary(name, theirs, needs_float=False)
    for name, theirs in _BINARY.items():
        made[name] = _binary(name, theirs)
    return made


globals().update(_made())


@public
def cbrt(x: Any, dtype: Any = None) -> Any:
    """The real cube root."""
    return tensor_of(_cube_root(floating(x)), dtype)


@public
def outer(a: Any, b: Any) -> Any:
    """a_i b_j of all elements, in rows and columns."""
    return torch.outer(tensor_of(a).reshape(-1), tensor_of(b).reshape(-1))


@public
def float_power(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """``x1 ** x2`` in float32 at least."""
    return tensor_of(torch.pow(floating(x1), floating(x2)), dtype)


@public
def divmod(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """(floor(x1 / x2), x1 - floor(x1 / x2) x2)."""
    left, right = tensor_of(x1), _beside(x2, x1)
    quotient = torch.floor_divide(left, right)
    return tensor_of(quotient, dtype), tensor_of(left - quotient * right, dtype)


@public
def around(a: Any, decimals: int = 0) -> Any:
    """Rounded to ``decimals`` places, halves to the even neighbour."""
    return torch.round(tensor_of(a), decimals=decimals)


@public
def clip(x: Any, xmin: Any = None, xmax: Any = None, dtype: Any = None) -> Any:
    """``x`` between two bounds, tensors or numbers, either of which may be None.

    Args:
        xmin, xmax: the bounds.
    """
    given = tensor_of(x)
    if xmin is not None:
        given = torch.maximum(given, _beside(xmin, given))
    if xmax is not None:
        given = torch.minimum(given, _beside(xmax, given))
    return tensor_of(given, dtype)


@public
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Whether |a - b| <= atol + rtol |b|; with ``equal_nan`` nan equals nan."""
    return torch.isclose(tensor_of(a), _beside(b, a), rtol, atol, equal_nan)


# --- products ----------------------------------------------------------------------------------


@public
def dot(a: Any, b: Any) -> Any:
    """Sum over the last axis of ``a`` and the last but one of ``b``."""
    left, right = tensor_of(a), tensor_of(b)
    if not left.ndim or not right.ndim:
        return left * right
    return torch.tensordot(left, right, ([left.ndim - 1], [max(right.ndim - 2, 0)]))


@public
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Products summed over ``axes``: a number of last and first ones, or two lists."""
    return torch.tensordot(tensor_of(a), tensor_of(b), axes)


@public
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product: ``b`` times each element of ``a``."""
    return torch.kron(tensor_of(a), tensor_of(b))


@public
def multi_dot(arrays: Any) -> Any:
    """The matrix product of all, in the order that is cheapest."""
    return torch.linalg.multi_dot([tensor_of(a) for a in arrays])


@public
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of order ``ord`` of vectors, or of matrices over two axes."""
    return torch.linalg.norm(floating(x), ord, axes_of(axis), keepdims)


@public
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Vector products, of vectors of three elements along an axis.

    Args:
        axisa, axisb, axisc: the vectors' axes in both, and in the result.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    left, right = torch.movedim(tensor_of(a), axisa, -1), torch.movedim(tensor_of(b), axisb, -1)
    return torch.movedim(torch.linalg.cross(left, right), -1, axisc)


@public
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Discrete convolution of two vectors: "full", "same" or "valid"."""
    return _slide(floating(a), floating(v).flip(0), mode)


@public
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The sums of ``a`` times ``v`` shifted: "full", "same" or "valid" places."""
    return _slide(floating(a), floating(v), mode)


def _slide(a: Any, v: Any, mode: str) -> Any:
    swapped = len(v) > len(a)
    if swapped:
        a, v = v.flip(0), a.flip(0)
    n = len(v)
    before, after = {"full": (n - 1, n - 1), "same": (n // 2, n - 1 - n // 2), "valid": (0, 0)}[
        mode
    ]
    padded = torch.nn.functional.pad(a, (before, after))
    return torch.nn.functional.conv1d(padded.reshape(1, 1, -1), v.reshape(1, 1, -1)).reshape(-1)


@public
def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral by trapezia along an axis.

    Args:
        dx: the distance of neighbours, where ``x`` is not given.
    """
    values = floating(y)
    if x is not None:
        return torch.trapezoid(values, floating(x), dim=axis)
    return torch.trapezoid(values, dx=dx, dim=axis)


@public
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Linear between the points ``(xp, fp)``; ``left`` and ``right`` of them constant."""
    at, places, values = floating(x), floating(xp), floating(fp)
    upper = torch.searchsorted(places, at).clamp(1, len(places) - 1)
    x0, x1, y0, y1 = places[upper - 1], places[upper], values[upper - 1], values[upper]
    found = y0 + (y1 - y0) / (x1 - x0) * (at - x0)
    found = torch.where(at < places[0], values[0] if left is None else floating(left), found)
    return torch.where(at > places[-1], values[-1] if right is None else floating(right), found)


# --- polynomials -------------------------------------------------------------------------------


def _same_length(a: Any, b: Any) -> tuple[Any, Any]:
    a, b = torch.atleast_1d(tensor_of(a)), torch.atleast_1d(tensor_of(b))
    n = max(len(a), len(b))
    a, b = (torch.cat([p.new_zeros(n - len(p)), p]) for p in (a, b))
    return a, b


@public
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials, by their coefficients."""
    left, right = _same_length(a1, a2)
    return left + right


@public
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials, by their coefficients."""
    left, right = _same_length(a1, a2)
    return left - right


@public
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials, by their coefficients."""
    return convolve(a1, a2)


@public
def polyval(p: Any, x: Any) -> Any:
    """The polynomial with coefficients ``p``, the highest power first, by Horner's rule."""
    at, total = tensor_of(x), None
    for coefficient in tensor_of(p):
        total = coefficient + torch.zeros_like(at) if total is None else total * at + coefficient
    return torch.zeros_like(at) if total is None else total


@public
def polyder(p: Any, m: int = 1) -> Any:
    """The ``m``-th derivative's coefficients."""
    found = tensor_of(p)
    for _ in range(m):
        found = found[:-1] * torch.arange(len(found) - 1, 0, -1).to(found.dtype)
    return found


@public
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The ``m``-th integral's coefficients; ``k``: constants of integration."""
    found = floating(p)
    constants = [0.0] * m if k is None else list(k) if isinstance(k, (list, tuple)) else [k] * m
    for constant in constants:
        powers = torch.arange(len(found), 0, -1).to(found.dtype)
        found = torch.cat([found / powers, found.new_full((1,), float(constant))])
    return found


__all__ = [
    "around", "cbrt", "clip", "convolve", "correlate", "cross", "divmod", "dot", "float_power",
    "interp", "isclose", "kron", "multi_dot", "norm", "outer", "polyadd", "polyder", "polyint",
    "polymul", "polysub", "polyval", "tensordot", "trapz",
]  # fmt: skip
__all__ += list(_made())
