"""16-bit floating-point arrays in kernels that compute in float32, on any device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Kernel = Callable[..., None]


def through_float32(
    is_half: Callable[[Any], bool],
    empty: Callable[[Any], Any],
    widen: Callable[[Any], Any],
    assign: Callable[[Any, Any], None],
) -> Callable[[Kernel], Kernel]:
    """A decorator: a kernel that, given 16-bit floating-point arrays, runs on float32 copies.

    Its attribute ``of_wide`` is the kernel itself, for arrays of which none has 16 bits.

    Args:
        is_half: whether an argument is such an array of the device.
        empty: a new float32 array like one, in the order that kernels are told of it.
        widen: the array as float32.
        assign: ``assign(out, wide)`` writes float32 elements into a 16-bit array.
    """

    def decorate(function: Kernel) -> Kernel:
        @functools.wraps(function)
        def wrapper(out: Any, *ins: Any, **params: Any) -> None:
            outs = out if isinstance(out, tuple) else (out,)
            if not any(is_half(x) for x in (*outs, *ins)):
                function(out, *ins, **params)
                return
            wide = tuple(empty(o) if is_half(o) else o for o in outs)
            given = [widen(x) if is_half(x) else x for x in ins]
            function(wide if isinstance(out, tuple) else wide[0], *given, **params)
            for o, w in zip(outs, wide, strict=True):
                if o is not w:
                    assign(o, w)

        vars(wrapper)["of_wide"] = function
        return wrapper

    return decorate
