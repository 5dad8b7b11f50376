"""The files of a dump: ours, and MindSpore's where they are NumPy's."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = ["DumpError", "DumpedFile", "files_of", "ranks_of", "read_array", "read_json"]

# TYPE.NAME.TASK.STREAM.TIMESTAMP.input|output.SLOT.FORMAT.npy, where NAME may have points
_FILE = re.compile(
    r"(?P<type>[^.]+)\.(?P<name>.+)\.(?P<task>\d+)\.(?P<stream>\d+)\.(?P<time>\d+)"
    r"\.(?P<io>input|output)\.(?P<slot>\d+)(?:\.(?P<format>[^.]+))?\.npy"
)


class DumpError(ValueError):
    """A folder holds no dump, or one that cannot be read; the text says what was looked for."""


class DumpedFile(NamedTuple):
    """One tensor's file."""

    path: Path
    type: str
    name: str
    time: int
    is_output: bool
    slot: int


def read_json(path: Path) -> dict[str, Any]:
    """A file's content; {} where it is missing or broken."""
    with contextlib.suppress(OSError, ValueError):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return content
    return {}


def ranks_of(folder: Path) -> dict[int, Path]:
    """The folders of a dump's ranks.

    Raises:
        DumpError: there is none.
    """
    found = {}
    if folder.is_dir():
        for each in sorted(folder.iterdir()):
            name = re.fullmatch(r"rank_(\d+)", each.name)
            if name and each.is_dir():
                found[int(name[1])] = each
    if not found:
        raise DumpError(f"no dump in {str(folder)!r}: it has no folder rank_0")
    return dict(sorted(found.items()))


def iteration_folders(rank: Path) -> Iterator[tuple[str, int, int, Path]]:
    """Network, graph, iteration and folder of each iteration of a rank: NETWORK/GRAPH/ITERATION."""
    named = read_json(rank / ".dump_metadata" / "data_dump.json")
    network = named.get("common_dump_settings", {}).get("net_name")
    tops = [rank / str(network)] if network else sorted(x for x in rank.iterdir() if x.is_dir())
    for top in tops:
        if not top.is_dir() or top.name.startswith("."):
            continue
        for graph in sorted(x for x in top.iterdir() if x.name.isdigit()):
            numbered = (x for x in graph.iterdir() if x.name.isdigit())
            for each in sorted(numbered, key=lambda path: int(path.name)):
                yield top.name, int(graph.name), int(each.name), each


def files_of(folder: Path) -> Iterator[DumpedFile]:
    """The tensors' files of an iteration, in the order in which they were written."""
    found = []
    for path in folder.iterdir():
        parts = _FILE.fullmatch(path.name)
        if parts is not None:
            found.append(DumpedFile(
                path, parts["type"], parts["name"].replace("--", "/"), int(parts["time"]),
                parts["io"] == "output", int(parts["slot"]),
            ))  # fmt: skip
    yield from sorted(found, key=lambda each: (each.time, each.path.name))


def read_array(path: Path) -> np.ndarray:
    """A file's array.

    Raises:
        DumpError: it cannot be read.
    """
    try:
        array: np.ndarray = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DumpError(f"cannot read {str(path)!r}: {error}") from None
    return array
