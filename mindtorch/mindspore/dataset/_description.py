"""What a pipeline is made of: its data sets, the arguments they were made with, and their files."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

__all__ = ["Described", "content_of"]

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


def content_of(node: Any) -> list[Any]:
    """[class of the operation, {argument: value}, files, contents of the inputs].

    Orders of rows (samplers, shuffles, shards) and workers are left out: they do not change a row.
    """
    args, kwargs = node._given
    bound = inspect.signature(type(node).__init__).bind(node, *args, **kwargs)
    bound.apply_defaults()
    arguments = {
        name: value for name, value in list(bound.arguments.items())[1:]
        if name not in _IRRELEVANT and not isinstance(value, Described)
    }  # fmt: skip
    inputs = [content_of(each) for each in node.inputs()]
    files = [str(path.resolve()) for path in node.files()]
    return [type(node), arguments, files, inputs]
