"""Comparison, logic and bits of each element, and ``where``, which chooses by them."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..dtype_support import unordered, without
from ..dtypes import scalar_type_name
from ..stored_types import computes, only_moves
from ..tensor import constant as c
from .base import Elementwise

equal = Elementwise("eq", arity=2, result="bool")
not_equal = Elementwise("ne", arity=2, result="bool")
less = Elementwise("lt", arity=2, result="bool", dtypes=without("complex", "lt_cpu"))
less_equal = Elementwise("le", arity=2, result="bool", dtypes=without("complex", "le_cpu"))
greater = Elementwise("gt", arity=2, result="bool", dtypes=without("complex", "gt_cpu"))
greater_equal = Elementwise("ge", arity=2, result="bool", dtypes=without("complex", "ge_cpu"))
logical_and = Elementwise("logical_and", arity=2, result="bool", writes_unrecorded=True)
logical_or = Elementwise("logical_or", arity=2, result="bool", writes_unrecorded=True)
logical_xor = Elementwise("logical_xor", arity=2, result="bool", writes_unrecorded=True)
logical_not = Elementwise("logical_not", arity=1, result="bool", writes_unrecorded=True)
is_nan = Elementwise("isnan", arity=1, result="bool")
is_infinite = Elementwise("isinf", arity=1, result="bool")
is_finite = Elementwise("isfinite", arity=1, result="bool")
signbit = Elementwise(
    "signbit",
    arity=1,
    result="bool",
    dtypes=unordered("signbit is not implemented for complex tensors.", NotImplementedError),
)


def _integers_only(name: str) -> Any:
    def check(dtype: Any) -> None:
        if dtype.category > 1:
            kind = scalar_type_name(dtype)
            raise NotImplementedError(f"\"{name}\" not implemented for '{kind}'")

    return check


def _of_numbers(name: str, kernel: str) -> Elementwise:
    """An op of whole numbers, which bool ones are not."""
    return Elementwise(
        name, arity=2, refuses=_integers_only(kernel), dtypes=without("bool", kernel)
    )


bitwise_and = Elementwise("bitwise_and", arity=2, refuses=_integers_only("bitwise_and_cpu"))
bitwise_or = Elementwise("bitwise_or", arity=2, refuses=_integers_only("bitwise_or_cpu"))
bitwise_xor = Elementwise("bitwise_xor", arity=2, refuses=_integers_only("bitwise_xor_cpu"))
bitwise_not = Elementwise("bitwise_not", arity=1, refuses=_integers_only("bitwise_not_cpu"))
shift_left = _of_numbers("left_shift", "lshift_cpu")
shift_right = _of_numbers("right_shift", "rshift_cpu")
gcd = _of_numbers("gcd", "gcd_cpu")
lcm = _of_numbers("lcm", "lcm_cpu")


class _Where(Elementwise):
    """The condition takes no part in promotion."""

    def types(self, avals: Any) -> Any:
        compute = dtypes.result_type(avals[1:])
        return compute, compute


where = _Where(
    "where",
    (None, lambda g, x: where(x, g, c(0)), lambda g, x: where(x, c(0), g)),
)


# what element types that are stored alone have of these ops
computes("both", equal, not_equal, is_nan)
computes("infinite", is_infinite, is_finite)
only_moves(where)
