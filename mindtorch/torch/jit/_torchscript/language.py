"""What TorchScript's code calls on numbers, strings, lists and dictionaries.

TorchScript writes these as `torch.add(n, 1)` too: `operators.py` tells from the arguments which is
meant.
"""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine.tensor import Tensor

__all__ = ["FUNCTIONS", "PRIMITIVES", "format_text"]


def _same(a: Any, b: Any) -> bool:
    """Equality, where lists of tensors are equal if all their elements are."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(*pair) for pair in zip(a, b, strict=True))
    made = a == b
    return bool(made.all()) if isinstance(made, Tensor) else bool(made)


def _contains(items: Any, item: Any) -> bool:
    if isinstance(items, list):
        return any(_same(each, item) for each in items)
    return item in items


def _position(items: list[Any], item: Any) -> int:
    for place, each in enumerate(items):
        if _same(each, item):
            return place
    raise ValueError(f"'{item}' is not in list")


def _remove(items: list[Any], item: Any) -> None:
    del items[_position(items, item)]


def _slice(items: Any, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return items[start:end:step]


def _add(a: Any, b: Any, alpha: Any = 1) -> Any:
    return a + b if alpha == 1 else a + alpha * b


def _sub(a: Any, b: Any, alpha: Any = 1) -> Any:
    return a - b if alpha == 1 else a - alpha * b


def _div(a: Any, b: Any, rounding_mode: Any = None) -> Any:
    if b == 0 and not isinstance(b, complex):
        if rounding_mode is None:
            raise ZeroDivisionError("division by zero")
    if rounding_mode == "trunc":
        return math.trunc(a / b)
    return a // b if rounding_mode == "floor" else a / b


def _pow(a: Any, b: Any) -> Any:
    made = a**b
    return float(made) if isinstance(made, int) else made


def _set_item(holder: Any, key: Any, value: Any) -> Any:
    holder[key] = value
    return holder


def _delete(holder: Any, key: Any) -> None:
    del holder[key]


def _insert(items: list[Any], place: int, item: Any) -> None:
    items.insert(place, item)


def _sort(items: list[Any], reverse: bool = False) -> None:
    items.sort(reverse=reverse)


def _extend(items: list[Any], more: Any) -> None:
    items.extend(more)


def _get_item(holder: Any, key: Any) -> Any:
    return holder[key]


def _length_of_range(low: int, high: int, step: int) -> int:
    return len(range(low, high, step))


def shown(value: Any) -> str:
    """A value as C++ prints it in a text: floats with all their digits, texts without quotes."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, complex):
        return f"{_float_text(value.real)}+{_float_text(value.imag)}j"
    if isinstance(value, list):
        return f"[{', '.join(shown(item) for item in value)}]"
    if isinstance(value, tuple):
        inner = ", ".join(shown(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        pairs = ", ".join(f"{shown(key)}: {shown(item)}" for key, item in value.items())
        return f"{{{pairs}}}"
    return f"Enum<{value}>" if isinstance(value, enum.Enum) else str(value)


def _float_text(value: float) -> str:
    if math.isinf(value) or math.isnan(value):
        return str(value)
    text = f"{value:.17g}"
    return text + "." if text.lstrip("-").isdigit() else text


def format_text(pattern: str, *values: Any) -> str:
    """``pattern`` with its ``{}`` replaced by the values, one after another."""
    pieces = pattern.split("{}")
    if len(pieces) - 1 < len(values):
        values = values[: len(pieces) - 1]
    filled = [shown(value) for value in values] + ["{}"] * (len(pieces) - 1 - len(values))
    return "".join(a + b for a, b in zip(pieces, [*filled, ""], strict=True))


def _percent_format(pattern: str, *values: Any) -> str:
    flat = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
    return pattern % flat


def _integer(function: Callable[[Any], Any]) -> Callable[[Any], int]:
    return lambda value: int(function(value))


def _as_in_c(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of math that gives nan or an infinity where Python's raises."""
    short = {"asin": "arcsin", "acos": "arccos", "atanh": "arctanh", "acosh": "arccosh"}
    name = function.__name__
    array = getattr(np, short.get(name, name), None)

    def compute(*values: Any) -> Any:
        if isinstance(values[0], complex) and array is not None:
            return complex(array(values[0]))
        try:
            return function(*values)
        except ValueError:
            with np.errstate(all="ignore"):
                return float(array(*map(float, values))) if array is not None else math.nan
        except OverflowError:
            return math.inf

    return compute


def _items(mapping: dict[Any, Any]) -> list[Any]:
    return list(mapping.items())


def _text_method(name: str) -> Callable[..., Any]:
    method = getattr(str, name)
    return lambda text, *args: method(text, *args)


_TEXT_METHODS = (
    "capitalize", "center", "endswith", "expandtabs", "find", "isalnum", "isalpha", "isdecimal",
    "isdigit", "isidentifier", "islower", "isnumeric", "isprintable", "isspace", "istitle",
    "isupper", "join", "ljust", "lower", "lstrip", "partition", "replace", "rfind", "rindex",
    "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip",
    "swapcase", "title", "upper", "zfill",
)  # fmt: skip
def _count(holder: Any, item: Any, *bounds: Any) -> int:
    if isinstance(holder, str):
        return holder.count(item, *bounds)
    return sum(_same(each, item) for each in holder)


def _index(holder: Any, item: Any, *bounds: Any) -> int:
    return holder.index(item, *bounds) if isinstance(holder, str) else _position(holder, item)


def _copy(holder: Any) -> Any:
    return holder.copy()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": _add, "add_": operator.iadd, "sub": _sub, "mul": operator.mul, "div": _div,
    "floordiv": operator.floordiv, "remainder": operator.mod, "pow": _pow, "neg": operator.neg,
    "mul_": operator.imul,
    "mod": operator.mod, "divmod": divmod, "eq": _same, "ne": lambda a, b: not _same(a, b),
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "__and__": operator.and_, "__or__": operator.or_, "__xor__": operator.xor,
    "__lshift__": operator.lshift, "__rshift__": operator.rshift,
    "bitwise_not": operator.invert, "__contains__": _contains, "len": len,
    "ceil": _integer(math.ceil), "floor": _integer(math.floor), "round": lambda a: float(round(a)),
    "trunc": _integer(math.trunc), "isnan": math.isnan, "isinf": math.isinf,
    "isfinite": math.isfinite,
    "factorial": math.factorial, "gcd": math.gcd, "modf": math.modf, "frexp": math.frexp,
    "mathremainder": math.remainder,
    "append": lambda items, item: items.append(item) or items, "extend": _extend,
    "insert": _insert, "pop": lambda holder, *args: holder.pop(*args), "remove": _remove,
    "clear": lambda holder: holder.clear(), "copy": _copy, "count": _count, "index": _index,
    "reverse": lambda items: items.reverse(), "sort": _sort, "slice": _slice,
    "Delete": _delete, "_set_item": _set_item, "__getitem__": _get_item,
    "keys": lambda holder: list(holder), "values": lambda holder: list(holder.values()),
    "items": _items, "get": lambda holder, key, *other: holder.get(key, *other),
    "setdefault": lambda holder, key, value: holder.setdefault(key, value),
    "update": lambda holder, more: holder.update(more),
    "popitem": lambda holder: holder.popitem(), "dict": dict, "list": list, "tuple": tuple,
    "any": any, "all": all, "sum": sum, "ord": ord, "chr": chr, "hex": hex, "oct": oct,
    "bin": bin, "hash": hash, "str": shown, "percentFormat": _percent_format,
    "__range_length": _length_of_range,
    "__derive_index": lambda index, start, step: start + index * step,
    "complex": complex, "real": lambda a: a.real, "imag": lambda a: a.imag,
    "angle": lambda a: float(np.angle(a)), "conj": lambda a: a.conjugate(),
    **{name: _text_method(name) for name in _TEXT_METHODS},
}  # fmt: skip

# math's functions of one number and of two
for _name, _function in vars(math).items():
    if callable(_function) and not _name.startswith("_"):
        FUNCTIONS.setdefault(_name, _as_in_c(_function))

PRIMITIVES: dict[str, Callable[..., Any]] = {
    "min": min, "max": max, "abs": abs, "rangelist": lambda n: list(range(n)),
    "unchecked_unwrap_optional": lambda value: value, "id": id,
}  # fmt: skip
