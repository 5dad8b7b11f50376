"""Numbers and words of the format (schema 8.20), and how containers are written."""

from __future__ import annotations

import json
import operator
from collections import OrderedDict, namedtuple
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.torch._tensor.size_and_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
    strided,
)
from mindtorch.torch.utils._pytree import NAMED_TUPLES, LeafSpec, TreeSpec

__all__ = [
    "DTYPES", "DTYPE_NUMBERS", "LAYOUTS", "MEMORY_FORMATS", "OPSET", "SCHEMA", "fields_of",
    "length_function", "length_word", "spec_of", "spec_text",
]  # fmt: skip

SCHEMA = (8, 20)  # what is written; what is read has this major version and at most this minor one
OPSET = 10  # of aten
_TREE_VERSION = 1
DTYPES = {
    number: dtypes.by_name(name)
    for number, name in {
        1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32",
        8: "float64", 9: "complex32", 10: "complex64", 11: "complex128", 12: "bool",
        13: "bfloat16", 28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2",
        31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu", 34: "uint32",
        35: "uint64",
    }.items()
}  # fmt: skip
DTYPE_NUMBERS = {dtype: number for number, dtype in DTYPES.items()}
MEMORY_FORMATS = {
    1: contiguous_format, 2: channels_last, 3: channels_last_3d, 4: preserve_format,
}  # fmt: skip
LAYOUTS = {7: strided}
_CONTAINERS = {
    "builtins.tuple": tuple, "builtins.list": list, "builtins.dict": dict,
    "collections.OrderedDict": OrderedDict,
}  # fmt: skip
_NAMED_TUPLE = "collections.namedtuple"


def length_function(word: str) -> Any:
    """Python's function that computes a length, by the file's word; None for other words."""
    module, _, name = word.rpartition(".")
    of_integers = name in operator.__all__ and hasattr(int, f"__{name}__")
    return getattr(operator, name) if module == "_operator" and of_integers else None


def length_word(function: Any) -> str | None:
    """The file's word for such a function; None for others."""
    word = f"_operator.{getattr(function, '__name__', '')}"
    return word if length_function(word) is function else None


def spec_text(spec: TreeSpec) -> str:
    """How a container is put together, as a text.

    Raises:
        NotImplementedError: the format has no word for one of the classes.
    """
    return json.dumps([_TREE_VERSION, _spec_data(spec)])


def _spec_data(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    children = [_spec_data(each) for each in spec.children_specs]
    if spec.type is namedtuple:
        name = _name_of(spec.context)
        return {"type": _NAMED_TUPLE, "context": name, "children_spec": children}
    words = [word for word, kind in _CONTAINERS.items() if kind is spec.type]
    keys = spec.context if words and issubclass(spec.type, dict) else ()
    plain = all(key is None or isinstance(key, (str, int, float)) for key in keys)
    if not words or not plain:
        raise NotImplementedError(
            f"torch.export.save: a {spec.type.__name__} among the arguments or results cannot be "
            "kept in a file, only tuples, lists, and dicts with texts or numbers as keys"
        )
    return {"type": words[0], "context": json.dumps(spec.context), "children_spec": children}


def _name_of(kind: type[Any]) -> str:
    """The name by which files know a class of named tuples."""
    found = next((name for name, each in NAMED_TUPLES.items() if each is kind), None)
    if found is None:
        raise NotImplementedError(
            f"torch.export.save: a {kind.__name__} among the arguments or results cannot be kept "
            "in a file: give the class a name with torch.utils._pytree._register_namedtuple"
        )
    return found


def fields_of(*specs: TreeSpec) -> dict[str, Any]:
    """The fields of the named tuples in containers, by the names of their classes."""
    found: dict[str, Any] = {}
    for spec in specs:
        if spec.type is namedtuple:
            found[_name_of(spec.context)] = {"field_names": list(spec.context._fields)}
        found |= fields_of(*spec.children_specs)
    return found


def spec_of(text: str) -> TreeSpec:
    """What :func:`spec_text` wrote.

    Raises:
        ValueError: it is something else.
        NotImplementedError: a class is not known.
    """
    version, data = json.loads(text)
    if version != _TREE_VERSION:
        raise NotImplementedError(f"containers of version {version}")
    return _spec_of(data)


def _spec_of(data: dict[str, Any]) -> TreeSpec:
    word, children = data["type"], data["children_spec"]
    if word is None:
        return LeafSpec()
    if word == _NAMED_TUPLE:
        return _named_tuple_of(data["context"], children)
    kind = _CONTAINERS.get(word)
    if kind is None:
        raise NotImplementedError(f"a {word} among the arguments or results")
    specs = [_spec_of(each) for each in children]
    context = json.loads(data["context"])
    if not issubclass(kind, dict):
        return TreeSpec(kind, None, specs)
    if len(context) != len(specs) or len({*context}) != len(specs):
        raise ValueError("a dict's keys do not fit")
    return TreeSpec(kind, context, specs)


def _named_tuple_of(name: Any, children: list[Any]) -> TreeSpec:
    kind = NAMED_TUPLES.get(name) if isinstance(name, str) else None
    if kind is None:
        raise NotImplementedError(
            f"the named tuple {str(name)[:80]!r} among the arguments or results: give its class "
            "this name with torch.utils._pytree._register_namedtuple"
        )
    if len(children) != len(kind._fields):
        raise ValueError("a named tuple's fields do not fit")
    return TreeSpec(namedtuple, kind, [_spec_of(each) for each in children])
