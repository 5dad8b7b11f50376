"""The operators of Python on tensors and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace
from mindtorch.engine.dispatch import call_of
from mindtorch.engine.implementations import Implementations
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops.movement import contiguous
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, from_array

from .._api.arguments import require_power
from .._api.public import Public
from ..functions._powers import power_of_number

if TYPE_CHECKING:
    from .tensor import Tensor

NUMBERS = (float, int, bool, complex)


def _operator(op: Any, name: str) -> Callable[[Any, Any], Tensor]:
    """``self op other``: other may be a tensor or a number."""
    call = call_of(op, 2)

    def method(self: Any, other: Any = None) -> Any:
        if not isinstance(other, EngineTensor):
            if type(other) in NUMBERS:
                other = constant(other)
            else:
                other = _as_operand(other)
                if other is None:
                    return NotImplemented
        try:
            return call(self, other)
        except AttributeError:
            if isinstance(self, EngineTensor):
                raise
        raise TypeError(
            f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
            f"'{type(self).__name__}' object"
        )

    return method


def _reflected_operator(op: Any, numbers: bool) -> Callable[[Any, Any], Tensor]:
    """``other op self``; ``numbers``: of ``self`` as a number, too, as torch's functions are."""
    call = call_of(op, 2)

    def method(self: Any, other: Any = None) -> Any:
        if type(other) in NUMBERS:
            other = constant(other)
        elif not isinstance(other, EngineTensor):
            other = _as_operand(other)
            if other is None:
                return NotImplemented
        if not isinstance(self, EngineTensor):
            if not numbers:
                return NotImplemented
            self = constant(self)
        return call(other, self)

    return method


def _power_of(base_to: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    """``number ** self``, which torch computes in C order."""

    def method(self: Any, other: Any = None) -> Any:
        if isinstance(self, EngineTensor) and not isinstance(other, EngineTensor):
            self = contiguous(self)
        return base_to(self, other)

    return method


def _as_operand(other: Any) -> Any:
    """A number as a tensor, else None: on arrays numpy computes, as under PyTorch."""
    if isinstance(other, (np.generic, *NUMBERS)):
        return constant(other)
    return None


_equal = _operator(comparisons.equal, "__eq__")


def _is_equal(self: Any, other: Any = None) -> Any:
    """``self == other``, the one operator that takes numpy's arrays as tensors."""
    if isinstance(other, np.ndarray):
        other = from_array(np.asarray(other, order="C"))
    return _equal(self, other)


def _in_place_operator(op: Any) -> Callable[[Any, Any], Any]:
    others = Implementations()

    def method(self: Any, other: Any = None) -> Any:
        if others and (found := others.call((self, other), {})) is not NotImplemented:
            return found
        if not isinstance(other, EngineTensor):
            number = type(other) in NUMBERS
            other = constant(other) if number else _as_operand(other)
            if other is None:
                return NotImplemented
        return inplace.apply_in_place(op, self, self, other)

    made: Any = method
    made.public = Public(op.name, method, explained=False, implementations=others)
    return method


_reciprocal = call_of(pointwise.reciprocal, 1)
_negative = call_of(pointwise.negative, 1)


def _divided_by(self: Any, other: Any) -> Any:
    """``other / self`` with torch's two roundings."""
    try:
        return _reciprocal(self) * other
    except TypeError:
        return NotImplemented


def _raise(self: Any, other: Any) -> Any:
    """``self **= other``."""
    if type(other) is int and other < 0:
        require_power(self, other)
    op = pointwise.op_of_power(self, other) if type(other) in NUMBERS else None
    if op is not None:
        return inplace.apply_in_place(op, self, self)
    return _raise_any(self, other)


_raise_any = _in_place_operator(pointwise.power)


class Operators(EngineTensor):
    """Arithmetic and comparison."""

    __slots__ = ()

    __add__ = _operator(pointwise.add, "__add__")
    __radd__ = _operator(pointwise.add, "__radd__")
    __sub__ = _operator(pointwise.subtract, "__sub__")
    __rsub__ = _reflected_operator(pointwise.subtract, numbers=False)
    __mul__ = _operator(pointwise.multiply, "__mul__")
    __rmul__ = _operator(pointwise.multiply, "__rmul__")
    __truediv__ = _operator(pointwise.divide, "__div__")
    __rdiv__ = __rtruediv__ = _divided_by
    _power = _operator(pointwise.power, "__pow__")

    def __pow__(self, other: Any) -> Any:
        if type(other) in NUMBERS:
            return power_of_number(self, other)
        return self._power(other)

    def __delitem__(self, item: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    __rpow__ = _power_of(_reflected_operator(pointwise.power, numbers=True))
    __eq__ = _is_equal
    __ne__ = _operator(comparisons.not_equal, "__ne__")  # type: ignore[assignment]
    __lt__ = _operator(comparisons.less, "__lt__")
    __le__ = _operator(comparisons.less_equal, "__le__")
    __gt__ = _operator(comparisons.greater, "__gt__")
    __ge__ = _operator(comparisons.greater_equal, "__ge__")
    __iadd__ = _in_place_operator(pointwise.add)
    __isub__ = _in_place_operator(pointwise.subtract)
    __imul__ = _in_place_operator(pointwise.multiply)
    __itruediv__ = _in_place_operator(pointwise.divide)
    __ipow__ = _raise

    def __neg__(self) -> Any:
        return _negative(self)

    def __pos__(self) -> Any:
        if self.aval.dtype is dtypes.bool_:
            raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
        return self

    def __abs__(self) -> Any:
        return self.abs()
