"""torch's list of a function's signatures, in the error of a call that fits none of them.

torch reads the texts of the signatures again there: a parameter's name is the last word of its
text (`int dim = -1` is called -1), the star is one, and a value fits if its type has the very name
that the text has. Keywords come in the order of the hash table that holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.devices.device import Device

from .._tensor.generator import Generator
from .._tensor.size_and_formats import Size, layout, memory_format

__all__ = ["listed", "type_name"]

_NAMES = {
    Device: "torch.device", Generator: "torch._C.Generator", Size: "torch.Size",
    layout: "torch.layout", memory_format: "torch.memory_format",
}  # fmt: skip
_WORD, _MULTIPLIER, _SEED, _BUCKETS = (1 << 64) - 1, 0xC6A4A7935BD1E995, 0xC70F6907, 13


def type_name(value: Any) -> str:
    """An object's type, as C code calls it."""
    if isinstance(value, dtypes.DType):
        return "torch.dtype"
    kind = type(value)
    if kind in _NAMES:
        return _NAMES[kind]
    heap = kind.__flags__ & (1 << 9)
    if heap or kind.__module__ == "builtins":
        return kind.__name__
    return f"{kind.__module__}.{kind.__qualname__}"


def listed(
    name: str, forms: Sequence[list[str]], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str:
    """The error's text.

    Args:
        name: the function's.
        forms: the texts of the parameters of each signature, stars among them.
    """
    kwargs = {key: kwargs[key] for key in _in_a_hash_table(list(kwargs))}
    start = f"{name}() received an invalid combination of arguments - got "
    if len(forms) == 1:
        strange = _unmatched(forms[0], kwargs)
        if strange:
            return f"{start}unrecognized keyword arguments: {', '.join(strange)}"
        fits = len(args) + len(kwargs) == len(forms[0])
        given = _marked(forms[0], args, kwargs) if fits else _kinds(args, kwargs)
        return f"{start}{given}, but expected {_text(forms[0])}"
    lines = [f"{start}{_kinds(args, kwargs)}, but expected one of:\n"]
    for parts in forms:
        lines.append(f" * {_text(parts)}\n")
        if len(args) + len(kwargs) != max(len(parts), 1):
            continue
        strange = _unmatched(parts, kwargs)
        why = "some of the keywords were incorrect: " + ", ".join(strange)
        if not strange:
            shown = _marked(parts, args, kwargs)
            why = f"some of the arguments have invalid types: {shown}"
        lines.append(f"      didn't match because {why}\n")
    return "".join(lines)


def _text(parts: list[str]) -> str:
    return f"({', '.join(parts)})"


def _kinds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    text = "".join(f"{type_name(x)}, " for x in args)
    text += "".join(f"{name}={type_name(x)}, " for name, x in kwargs.items())
    return f"({text[:-2] if args else text})"


def _unmatched(parts: list[str], kwargs: dict[str, Any]) -> list[str]:
    """The keywords that none of the last parameters is called."""
    names = [part.rpartition(" ")[2] for part in parts[max(len(parts) - len(kwargs), 0) :]]
    return [key for key in kwargs if key not in names]


def _marked(parts: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The types of the arguments, those that do not fit between exclamation marks."""
    shown = []
    for place, part in enumerate(parts or [""]):
        kind, _, name = part.rpartition(" ")
        named = place >= len(args)
        value = kwargs[name] if named else args[place]
        text = f"{name}={_kind(value)}" if named else _kind(value)
        shown.append(text if _fits(kind, value) else f"!{text}!")
    end = ", " if kwargs and not args else ""  # as torch has it
    return f"({', '.join(shown)}{end})"


def _fits(kind: str, value: Any) -> bool:
    found = type_name(value)
    return found in {"float": ("float", "int", "long"), "int": ("int", "long")}.get(kind, (kind,))


def _kind(value: Any) -> str:
    """A type's name, with those of a list's elements."""
    if not isinstance(value, (list, tuple)):
        return type_name(value)
    inside = ", ".join(map(type_name, value))
    if isinstance(value, list):
        return f"{type_name(value)} of [{inside}]"
    return f"{type_name(value)} of ({inside}{',' * (len(value) == 1)})"


def _in_a_hash_table(keys: list[str]) -> list[str]:
    """The keys as the C++ library's table of 13 buckets gives them: a key comes in front of all,
    or in front of those of its bucket."""
    order: list[str] = []
    places = {key: _hash(key.encode()) % _BUCKETS for key in keys}
    for key in keys:
        same = [i for i, other in enumerate(order) if places[other] == places[key]]
        order.insert(same[0] if same else 0, key)
    return order


def _hash(text: bytes) -> int:
    """The C++ library's hash of a string (MurmurHash of 64 bits)."""
    found = _SEED ^ (len(text) * _MULTIPLIER & _WORD)
    whole = len(text) & ~7
    for start in range(0, whole, 8):
        data = int.from_bytes(text[start : start + 8], "little") * _MULTIPLIER & _WORD
        found ^= _mixed(data) * _MULTIPLIER & _WORD
        found = found * _MULTIPLIER & _WORD
    if whole < len(text):
        found ^= int.from_bytes(text[whole:], "little")
        found = found * _MULTIPLIER & _WORD
    return _mixed(_mixed(found) * _MULTIPLIER & _WORD)


def _mixed(word: int) -> int:
    return word ^ (word >> 47)
