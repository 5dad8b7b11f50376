"""A tensor's elements: as text, and where an index finds them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["numbers", "turned"]


def numbers(array: Any) -> str:
    """Elements as MindSpore writes them: floats in rows with eight decimals, float16 with four."""
    if array.dtype.kind == "c":
        texts = [f"{x.real:g}{x.imag:+g}j" for x in array.ravel().tolist()]
        if not array.ndim:
            return texts[0]
        words = np.array(texts, dtype=object).reshape(array.shape)
        return np.array2string(words, separator=", ", formatter={"all": str})
    if not array.ndim:
        return f"{array.item():g}" if array.dtype.kind == "f" else str(array)
    digits = "{:11.4e}" if array.dtype == np.float16 else "{:15.8e}"
    plain = array.dtype.kind == "f"
    return np.array2string(
        array, separator=", ", formatter={"float_kind": digits.format} if plain else None
    )


def turned(x: Any, item: Any) -> Any:
    """(a tensor, an index) of the same elements where ``item`` has slices with negative steps:
    these axes are turned round first. None where it has none."""
    items = list(item) if isinstance(item, tuple) else [item]
    used = sum(i is not None and i is not Ellipsis for i in items)
    axis, flips = 0, []
    for at, each in enumerate(items):
        if each is Ellipsis:
            axis += x.aval.ndim - used
        elif each is not None:
            if isinstance(each, slice) and isinstance(each.step, int) and each.step < 0:
                start, stop, step = each.indices(x.aval.shape[axis])
                last = x.aval.shape[axis] - 1
                items[at] = slice(last - start, last - stop, -step)
                flips.append(axis)
            axis += 1
    return (x.flip(flips), tuple(items)) if flips else None
