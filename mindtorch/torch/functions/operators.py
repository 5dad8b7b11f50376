"""The operators ``@ & | ^ ~ // % << >>`` and their reflected and in-place forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.publish import METHODS, operand, write_result
from .linear_algebra import matmul

_OPERATORS = {
    "and": comparisons.bitwise_and, "or": comparisons.bitwise_or, "xor": comparisons.bitwise_xor,
    "floordiv": el.floor_divide, "mod": el.remainder, "lshift": comparisons.shift_left,
    "rshift": comparisons.shift_right,
}  # fmt: skip


# those that are functions in PyTorch, and so take numbers in the tensor's place
_OF_NUMBERS = ("__floordiv__", "__rfloordiv__", "__rmod__", "__rlshift__", "__rrshift__")


def _number(value: Any, name: str) -> Any:
    """A number in the place of the tensor that a method is called on."""
    if name not in _OF_NUMBERS:
        raise TypeError(
            f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
            f"'{type(value).__name__}' object"
        )
    return operand(value, name, "input")


def _define(name: str, op: Any) -> None:
    def forward(self: Any, other: Any = None) -> Any:
        if not isinstance(self, EngineTensor):
            self = _number(self, forward.__name__)
        try:
            return op(self, operand(other, name, "other"))
        except TypeError:
            return NotImplemented

    def reflected(self: Any, other: Any = None) -> Any:
        if not isinstance(self, EngineTensor):
            self = _number(self, reflected.__name__)
        try:
            return op(operand(other, name, "other"), self)
        except TypeError:
            return NotImplemented

    def in_place(self: Any, other: Any = None) -> Any:
        if not isinstance(self, EngineTensor):
            self = _number(self, in_place.__name__)
        if isinstance(other, np.ndarray):
            return NotImplemented
        try:
            other = operand(other, name, "other")
        except TypeError:
            return NotImplemented
        return inplace.apply_in_place(op, self, self, other)

    for prefix, body in (("", forward), ("r", reflected), ("i", in_place)):
        body.__name__ = body.__qualname__ = f"__{prefix}{name}__"
        METHODS[body.__name__] = body


for _name, _op in _OPERATORS.items():
    _define(_name, _op)


def _matmul(self: Any, other: Any) -> Any:
    """``self @ other``."""
    return matmul(self, other) if isinstance(other, EngineTensor) else NotImplemented


def _reflected_matmul(self: Any, other: Any = None) -> Any:
    """``other @ self``."""
    both = isinstance(other, EngineTensor) and isinstance(self, EngineTensor)
    return matmul(other, self) if both else NotImplemented


def _in_place_matmul(self: Any, other: Any) -> Any:
    """``self @= other``."""
    if not isinstance(other, EngineTensor):
        return NotImplemented
    return write_result(self, matmul(self, other))


def _invert(self: Any) -> Any:
    """``~self``."""
    if self.aval.dtype.category > dtypes.INTEGER:
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return comparisons.bitwise_not(self)


METHODS.update({
    "__matmul__": _matmul, "__rmatmul__": _reflected_matmul, "__imatmul__": _in_place_matmul,
    "__invert__": _invert,
})  # fmt: skip
