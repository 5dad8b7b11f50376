"""The pipes that a pipe is made of."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

_PIPES = (IterDataPipe, MapDataPipe)


def _pipes_in(value: Any, everywhere: bool, seen: set[int]) -> Iterator[Any]:
    """The pipes in a value: in collections, and everywhere also in attributes of objects."""
    if isinstance(value, _PIPES):
        yield value
        return
    if isinstance(value, (str, bytes)) or id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Mapping):
        parts: Any = value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        parts = value
    elif (everywhere or isinstance(value, Collection)) and not isinstance(value, type):
        parts = getattr(value, "__dict__", {}).values()
    else:
        return
    for part in parts:
        yield from _pipes_in(part, everywhere, seen)


def _graph(pipe: Any, everywhere: bool, above: frozenset[int]) -> dict[int, Any]:
    if not isinstance(pipe, _PIPES):
        raise RuntimeError(
            f"Expected `IterDataPipe` or `MapDataPipe`, but {type(pipe)} is found"
        )
    if id(pipe) in above:
        return {}
    above |= {id(pipe)}
    below: dict[int, Any] = {}
    for found in _pipes_in(list(vars(pipe).values()), everywhere, set()):
        below.update(_graph(found, everywhere, above))
    return {id(pipe): (pipe, below)}


def traverse_dps(datapipe: Any) -> dict[int, Any]:
    """The pipes that a pipe has among its attributes and in collections there.

    Args:
        datapipe: the pipe.

    Returns:
        A dict of one entry: the pipe's ``id``, and the pipe with such a dict of those below it.
    """
    return _graph(datapipe, False, frozenset())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> dict[int, Any]:
    """The pipes that a pipe is made of; deprecated.

    Args:
        datapipe: the pipe.
        only_datapipe: True looks where ``traverse_dps`` does; else also into other objects.
    """
    text = ("`traverse` function is deprecated and will be removed after 1.13. "
            "Please use `traverse_dps` instead.")
    if not only_datapipe:
        text += " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warnings.warn(text, FutureWarning, stacklevel=2)
    return _graph(datapipe, not only_datapipe, frozenset())


_own_names(globals())
