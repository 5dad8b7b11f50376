"""Comparisons, logic and bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.counted_values import loops as counting
from mindtorch.engine.devices.device import cpu, meta
from mindtorch.engine.dispatch import GRAD, state
from mindtorch.engine.dtype_support import refuse
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as ops
from mindtorch.engine.ops import movement
from mindtorch.engine.ops import reduction as reductions
from mindtorch.engine.ops.complex import imag
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import captures, constant, from_array, full_flat

from .._api.arguments import require_tensor
from .._api.meta_kernels import lacks_elements, require_kernel
from .._api.out_rules import EXACT, FOUND, ONLY_BOOLEAN, Out
from .._api.publish import binary, elementwise, function, operand
from .gathering import nonzero

for _name, _op, _aliases, _formula in (
    ("eq", comparisons.equal, (), "x == y"),
    ("ne", comparisons.not_equal, ("not_equal",), "x != y"),
    ("lt", comparisons.less, ("less",), "x < y"),
    ("le", comparisons.less_equal, ("less_equal",), "x <= y"),
    ("gt", comparisons.greater, ("greater",), "x > y"),
    ("ge", comparisons.greater_equal, ("greater_equal",), "x >= y"),
    ("logical_and", comparisons.logical_and, (), "whether both are not 0"),
    ("logical_or", comparisons.logical_or, (), "whether one is not 0"),
    ("logical_xor", comparisons.logical_xor, (), "whether just one is not 0"),
    ("bitwise_and", comparisons.bitwise_and, (), "x & y"),
    ("bitwise_or", comparisons.bitwise_or, (), "x | y"),
    ("bitwise_xor", comparisons.bitwise_xor, (), "x ^ y"),
    ("bitwise_left_shift", comparisons.shift_left, (), "x << y"),
    ("bitwise_right_shift", comparisons.shift_right, (), "x >> y"),
):
    _numbers = "none" if _name.startswith("logical") else "one" if "bitwise" in _name else "other"
    binary(_name, _op, _formula, aliases=_aliases, numbers=_numbers)

elementwise("logical_not", comparisons.logical_not, "whether x is 0")
elementwise("bitwise_not", comparisons.bitwise_not, "~x", out=Out(FOUND))
for _name, _op, _formula in (
    ("isnan", comparisons.is_nan, "whether x is nan"),
    ("isinf", comparisons.is_infinite, "whether x is inf or -inf"),
    ("isfinite", comparisons.is_finite, "whether x is neither nan nor infinite"),
):
    elementwise(_name, _op, _formula, in_place=False)


def _require_real(x: Any, text: str) -> None:
    if x.aval.dtype.is_complex:
        raise RuntimeError(text)


@function(out=Out(ONLY_BOOLEAN, untracked=True))
def isposinf(input: Any) -> Any:  # noqa: A002
    """Where ``input`` is +inf."""
    _require_real(input, "isposinf does not support complex inputs.")
    return comparisons.equal(input, constant(float("inf")))


@function(out=Out(ONLY_BOOLEAN, untracked=True))
def isneginf(input: Any) -> Any:  # noqa: A002
    """Where ``input`` is -inf."""
    _require_real(input, "isneginf does not support complex inputs.")
    return comparisons.equal(input, constant(float("-inf")))


@function()
def isreal(input: Any) -> Any:  # noqa: A002
    """Where the imaginary part is 0."""
    if not input.aval.dtype.is_complex:
        return full_flat(input.aval.shape, dtypes.bool_, True, input.aval.device)
    return comparisons.equal(imag(input), constant(0))


@function(cacheable=True)
def isclose(
    input: Any,  # noqa: A002
    other: Any,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Any:
    """``abs(input - other) <= atol + rtol * abs(other)``, equal infinities included."""
    require_tensor(input, "isclose", "input", 1)
    require_tensor(other, "isclose", "other", 2)
    if input.aval.dtype is not other.aval.dtype:
        raise RuntimeError(
            f"{dtypes.scalar_type_name(input.aval.dtype)} did not match "
            f"{dtypes.scalar_type_name(other.aval.dtype)}"
        )
    close = comparisons.equal(input, other)
    if equal_nan and input.aval.dtype.category >= dtypes.FLOAT:
        both = comparisons.logical_and(comparisons.is_nan(input), comparisons.is_nan(other))
        close = comparisons.logical_or(close, both)
    for name, bound in (("rtol", rtol), ("atol", atol)):
        if not bound >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {bound:g}")
    if rtol == 0 and atol == 0:
        return close
    x, y = input, other
    if x.aval.dtype.category < dtypes.FLOAT:
        x = movement.cast(x, dtype=dtypes.default)
        y = movement.cast(y, dtype=dtypes.default)
    allowed = ops.add(constant(float(atol)), ops.absolute(ops.multiply(constant(float(rtol)), y)))
    error = ops.absolute(ops.subtract(x, y))
    finite = comparisons.is_finite(error)
    within = comparisons.logical_and(finite, comparisons.less_equal(error, allowed))
    return comparisons.logical_or(close, within)


@function(checked=True)
def allclose(
    input: Any,  # noqa: A002
    other: Any,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> bool:
    """Whether :func:`isclose` holds everywhere."""
    return bool(_all_close(input, other, rtol, atol, equal_nan).item())


@cached
def _all_close(input: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:  # noqa: A002
    return _all(isclose(input, other, rtol, atol, equal_nan))


def _all(x: Any) -> Any:
    return reductions.all_(x, axis=tuple(range(x.aval.ndim)), keepdims=False)


@function()
def equal(input: Any, other: Any) -> bool:  # noqa: A002
    """Whether both have the same shape and the same elements."""
    if isinstance(input, EngineTensor) and isinstance(other, EngineTensor):
        require_kernel("equal", input, other)
        known = _differ_early(input, other)
        if known is not None:
            return not known
    require_tensor(input, "equal", "input", 1)
    require_tensor(other, "equal", "other", 2)
    if input.aval.shape != other.aval.shape:
        return False
    if input.aval.dtype in dtypes.STORED and input is other:
        refuse("equal_notnan_cpu", input.aval.dtype)
    if input.aval.dtype is dtypes.complex32:
        refuse("equal_cpu", input.aval.dtype)
    return bool(_all_equal(input, other).item())


_EARLY = 4096  # elements that are compared first


def _differ_early(x: Any, y: Any) -> bool | None:
    """Whether two tensors differ; None where the first elements, all alike, do not tell."""
    first, second = x.aval, y.aval
    if first is not second or first.sharded or not first.contiguous or (
        first.device is not cpu or state.mode > GRAD or captures or first.dtype in dtypes.STORED
    ):
        return None
    mine, others = x.flat, y.flat
    whole = mine.size == others.size == first.size <= _EARLY
    if not whole:
        size = min(first.size, _EARLY)
        mine, others = mine[:size], others[:size]
    if b"\0" in (mine == others).tobytes():  # without numpy's functions, which take longer
        return True
    return False if whole or first.size <= _EARLY else None


@cached
def _all_equal(x: Any, y: Any) -> Any:
    return _all(comparisons.equal(x, y))


@function(out=Out("Expected out type to be {result} but got {out}"), method=False, cacheable=True)
def where(condition: Any, input: Any = None, other: Any = None) -> Any:  # noqa: A002
    """``input`` where ``condition``, else ``other``; the places of ``condition`` if given alone."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if condition.aval.dtype is not dtypes.bool_ and condition.aval.dtype is not dtypes.uint8:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{dtypes.scalar_type_name(condition.aval.dtype)}"
        )
    if condition.aval.dtype is dtypes.uint8:
        condition = movement.cast(condition, dtype=dtypes.bool_)
    return comparisons.where(
        condition, operand(input, "where", "input"), operand(other, "where", "other")
    )


@function(namespace=False, cacheable=True, name="where")
def _tensor_where(self: Any, condition: Any, other: Any) -> Any:
    """``self`` where ``condition``, else ``other``."""
    return where(condition, self, other)


@function(out=Out(EXACT, untracked=True), method=False, checked=True)
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Any:
    """Where an element of ``elements`` is among ``test_elements``.

    Args:
        assume_unique: neither has equal elements, which may be faster.
        invert: where it is not among them.
    """

    def array_of(value: Any) -> Any:
        if not isinstance(value, EngineTensor):
            return value
        half = value.aval.dtype is dtypes.bfloat16
        return value.detach().float().array() if half else value.array()

    for each in (elements, test_elements):
        kind = "Bool" if isinstance(each, bool) else ""
        if hasattr(each, "aval") and each.aval.dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
            kind = dtypes.scalar_type_name(each.aval.dtype)
        if kind:
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind}")
    if lacks_elements(elements) or lacks_elements(test_elements):
        shape = elements.aval.shape if isinstance(elements, EngineTensor) else ()
        return full_flat(shape, dtypes.bool_, False, meta)
    given, known = array_of(elements), array_of(test_elements)
    found = None
    if given.__class__ is np.ndarray and known.__class__ is np.ndarray:
        found = counting().among(given, known)
    if found is None:
        found = np.isin(given, known, assume_unique=assume_unique, invert=invert)
    elif invert:
        found = ~found
    place = next((x.aval.device for x in (elements, test_elements) if hasattr(x, "aval")), cpu)
    return from_array(found, place)
