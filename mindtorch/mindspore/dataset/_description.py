"""What a pipeline is, told by its content: a key under which its rows can be kept.

Two pipelines with the same key make the same rows: the description holds operations, arguments
(arrays and functions by their content), and files with sizes and times of change.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import pickle
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Described", "content_key", "description"]

# what does not change a row
_IRRELEVANT = {
    "num_parallel_workers", "python_multiprocessing", "max_rowsize", "workers", "processes",
    "cache", "shuffle", "sampler", "num_shards", "shard_id", "num_samples",
}  # fmt: skip


class Described:
    """Keeps the arguments that an object was made with."""

    _given: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        made._given = args, kwargs
        return made

    def files(self) -> list[Path]:
        """The files that rows are read from."""
        return []


def description(node: Any) -> dict[str, Any]:
    """{"operation", "arguments", "files", "inputs"} of a data set, in values of JSON.

    Orders of rows (samplers, shuffles, shards) and workers are left out: they do not change a row.

    Raises:
        TypeError: an argument has no content that could be told.
    """
    args, kwargs = node._given
    bound = inspect.signature(type(node).__init__).bind(node, *args, **kwargs)
    bound.apply_defaults()
    held = dict(list(bound.arguments.items())[1:])
    inputs = list(node.inputs())
    arguments = {
        name: _content(value, name) for name, value in held.items()
        if name not in _IRRELEVANT and not isinstance(value, Described)
    }  # fmt: skip
    files = []
    for path in node.files():
        facts = path.stat()
        files.append([str(path.resolve()), facts.st_size, facts.st_mtime_ns])
    return {
        "operation": type(node).__qualname__, "arguments": arguments, "files": files,
        "inputs": [description(each) for each in inputs],
    }  # fmt: skip


def content_key(node: Any) -> str:
    """A digest of :func:`description`."""
    text = json.dumps(description(node), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _content(value: Any, name: str) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_content(each, name) for each in value]
    if isinstance(value, dict):
        return [[_content(k, name), _content(v, name)] for k, v in value.items()]
    if isinstance(value, bytes):
        return ["bytes", hashlib.sha256(value).hexdigest()]
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return ["array", str(value.dtype), list(value.shape), digest]
    if isinstance(value, Path):
        return ["path", str(value)]
    if isinstance(value, Described):
        return description(value)
    if isinstance(value, types.FunctionType):
        return _function(value, name)
    if isinstance(value, types.MethodType):
        return [_function(value.__func__, name), _content(value.__self__, name)]
    if isinstance(value, (type, types.BuiltinFunctionType)):
        return ["named", value.__module__, value.__qualname__]
    return _object(value, name)


def _function(function: Callable[..., Any], name: str) -> list[Any]:
    """Module, name, code, and what the function holds on to."""
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    held = [getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)]
    code = function.__code__
    return ["function", function.__module__, function.__qualname__, _code(code),
            _content(cells, name), _content(held, name)]  # fmt: skip


def _code(code: types.CodeType) -> list[Any]:
    constants = [_code(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return [hashlib.sha256(code.co_code).hexdigest(), constants, list(code.co_names)]


def _object(value: Any, name: str) -> list[Any]:
    kind = type(value)
    where = ["object", kind.__module__, kind.__qualname__]
    state = getattr(value, "__dict__", None)
    if state is not None and kind.__module__ != "builtins":
        return [*where, _content(dict(sorted(state.items())), name)]
    try:
        return [*where, hashlib.sha256(pickle.dumps(value, 5)).hexdigest()]
    except Exception as error:
        raise TypeError(
            f"the argument {name!r} holds {kind.__qualname__}, whose content cannot be told "
            f"({error}): rows of this pipeline have no key to be kept under"
        ) from None
