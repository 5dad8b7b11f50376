"""Whole numbers divided by one that a launch knows: a product and a shift in place of a division.

For ``0 <= i < 2^31`` and ``1 <= n < 2^31``, with the least ``s`` for which ``2^s >= n`` and
``m = floor(2^(31 + s) / n) + 1``, the quotient ``floor(i / n)`` is ``(i m) >> (31 + s)``: for
``m n`` is greater than ``2^(31 + s)`` by no more than ``2^s``, so ``i m / 2^(31 + s)`` by less than
``1 / n`` than ``i / n``. ``m`` has 32 bits, so that the product is one instruction. A launch passes
both as one number, or, where the numbers are larger, ``n`` itself, by which kernels then divide.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .launch import SIMULATED, device

_BITS, _LIMIT = 31, 1 << 31
_LOW = 0xFFFFFFFF


@functools.lru_cache(maxsize=4096)
def divisor(n: int, bound: int) -> Any:
    """What a launch passes to have numbers below ``bound`` divided by ``n``."""
    n = max(int(n), 1)
    if max(n, bound) >= _LIMIT:
        return n
    shift = (n - 1).bit_length()
    return np.uint64((((1 << (_BITS + shift)) // n) + 1) | ((_BITS + shift) << 32))


def divisors(bound: int, *numbers: int) -> tuple[Any, ...]:
    """:func:`divisor` of each."""
    return tuple(divisor(n, bound) for n in numbers)


if SIMULATED:

    def over(i: Any, by: Any) -> int:
        """The quotient of a number that is not negative and a :func:`divisor`."""
        if isinstance(by, np.uint64):
            return int(i) * (int(by) & _LOW) >> (int(by) >> 32)
        return int(i) // int(by)
else:
    from llvmlite import ir
    from numba.core import types  # of one name whatever was imported before: it is in digests
    from numba.cuda.extending import intrinsic

    @intrinsic
    def over(context: Any, i: Any, by: Any) -> Any:
        """The quotient of a number that is not negative and a :func:`divisor`."""
        made = isinstance(by, types.Integer) and not by.signed

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            word, half = ir.IntType(64), ir.IntType(32)
            number = context.cast(builder, arguments[0], i, types.uint64)
            if not made:
                return builder.udiv(number, arguments[1])
            low = [builder.zext(builder.trunc(x, half), word) for x in (number, arguments[1])]
            product = builder.mul(*low, flags=("nuw",))
            return builder.lshr(product, builder.lshr(arguments[1], ir.Constant(word, 32)))

        return types.int64(i, types.uint64 if made else types.int64), code


@device
def rest(i: Any, n: Any, by: Any) -> Any:
    """What is left of ``i`` over ``n``, whose :func:`divisor` is ``by``."""
    return i - over(i, by) * n


@device
def along(i: Any, inner: Any, n: Any, by_inner: Any, by_n: Any) -> Any:
    """``(i // inner) % n``, the place along an axis of ``n``, behind which ``inner`` elements lie,
    with the divisors of both."""
    return rest(over(i, by_inner), n, by_n)


@device
def three(q: Any, h: Any, w: Any, by_h: Any, by_w: Any) -> Any:
    """The places along three axes of element ``q``; the last two have lengths ``h`` and ``w``."""
    row = over(q, by_w)
    plane = over(row, by_h)
    return plane, row - plane * h, q - row * w
