"""Nested states as flat ones, and back."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

Path = tuple[str | int, ...]


def _is_leaf(value: Any) -> bool:
    """Dicts are opened, and lists that have tensors or dicts in them."""
    if isinstance(value, Mapping):
        return False
    if not isinstance(value, list):
        return True
    return not any(
        isinstance(each, EngineTensor) or (isinstance(each, (Mapping, list)) and not _is_leaf(each))
        for each in value
    )


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _leaves((*path, str(key)), each)
    elif _is_leaf(value):
        yield path, value
    else:
        for index, each in enumerate(value):
            yield from _leaves((*path, index), each)


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """The leaves by names joined by dots, and the path of each name.

    Args:
        state_dict: nested dicts and lists.

    Raises:
        ValueError: two leaves have one name.
    """
    flat: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    for path, value in _leaves((), state_dict):
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path
    return flat, paths


def set_element(root: Any, path: Path, value: Any) -> None:
    """Put a value at a path; dicts and lists on the way are made.

    Args:
        root: a dict.
        path: keys, and places in lists.
        value: what is put there.
    """
    holder: Any = root
    for key, following in itertools.pairwise(path):
        made: Any = {} if isinstance(following, str) else []
        holder = _entry(holder, key, made)
    if isinstance(holder, list):
        _entry(holder, path[-1], None)
    holder[path[-1]] = value


def _entry(holder: Any, key: Any, made: Any) -> Any:
    if isinstance(holder, list):
        holder.extend(None for _ in range(key + 1 - len(holder)))
        if holder[key] is None:
            holder[key] = made
        return holder[key]
    return holder.setdefault(key, made)


def unflatten_state_dict(flat: Mapping[str, Any], paths: Mapping[str, Path]) -> dict[str, Any]:
    """The nested state of a flat one.

    Args:
        flat: values by name.
        paths: the path of each name.
    """
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        set_element(nested, paths[name], value)
    return nested
