"""What processes wait for, and whether some wait for each other for ever.

A process is stuck where its main thread waits for others. Processes that are in different
operations and need each other to end them never go on: each follows whom it waits for, asks them
whom they wait for, and raises where the way comes back.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ._mesh import Mesh

__all__ = ["Wait", "Waiting", "cycle_of", "told_of"]

_numbers = itertools.count()
_HERE = str(Path(__file__).parent)
_NAMES = ("_mesh", "_mpi_group", "_failure", "_waits")
_WAITING = (threading.__file__, *[f"{_HERE}/{name}.py" for name in _NAMES])
# whose calls wait for what a group's thread does
_CALLERS = (_HERE, str(Path(__file__).parents[1] / "nn" / "parallel"))
_LEAST = 0.3  # seconds that a wait must have taken
_AGAIN = 0.5  # seconds between two looks


class Wait(NamedTuple):
    """One thing that a process waits for.

    Attributes:
        key: the same in all processes that are in one collective; of a message nobody else's.
        text: what it is.
        ranks: the processes without which it does not end.
        since: when it began.
    """

    key: str
    text: str
    ranks: list[int]
    since: float


class Waiting:
    """A block in which this thread waits for others.

    Args:
        mesh: the connections.
        ranks: all that are needed.
        text: what it waits in.
        key: of a collective; "" for a message.
    """

    def __init__(self, mesh: Mesh, ranks: list[int], text: str, key: str = "") -> None:
        others = [r for r in ranks if r != mesh.rank]
        key = key or f"message {mesh.rank} {next(_numbers)}"
        self.wait = Wait(key, text, others, time.monotonic())
        self._mesh = mesh
        self._thread = threading.get_ident()
        self._before: Wait | None = None

    def __enter__(self) -> Waiting:
        self._before = self._mesh.waits.get(self._thread)
        self._mesh.waits[self._thread] = self.wait
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is None:
            self._mesh.waits.pop(self._thread, None)
        else:
            self._mesh.waits[self._thread] = self._before


def stuck_in(mesh: Mesh) -> list[Wait]:
    """What the main thread waits in, by itself or for a group's thread; nothing while it works, or
    while a thread sends what others may wait for."""
    if mesh.sending:
        return []
    main = threading.main_thread().ident or 0
    frame: Any = sys._current_frames().get(main)
    if frame is None or frame.f_code.co_filename not in _WAITING:
        return []
    waits = dict(mesh.waits)
    if main in waits:
        return [waits[main]]
    while frame is not None and frame.f_code.co_filename.endswith(
        ("threading.py", "concurrent/futures/_base.py")
    ):
        frame = frame.f_back
    if frame is None or not frame.f_code.co_filename.startswith(_CALLERS):
        return []
    return [wait for thread, wait in waits.items() if thread in mesh.turns]


def told_of(mesh: Mesh) -> str:
    """:func:`stuck_in`, for another process."""
    now = time.monotonic()
    return json.dumps([[w.key, w.text, w.ranks, now - w.since] for w in stuck_in(mesh)])


def cycle_of(
    mesh: Mesh, wait: Wait, ask: Callable[[list[int]], dict[int, str]]
) -> tuple[str, dict[int, str]]:
    """The processes that wait for each other, this one among them, and in what, as text and by
    their keys; "" where none do.

    Args:
        wait: what this thread waits in.
        ask: what :func:`told_of` gives in these processes, of those that answer.
    """
    first = _way(mesh, wait, ask)
    if not first:
        return "", {}
    time.sleep(_AGAIN)  # what was on its way has come
    if mesh.waits.get(threading.get_ident()) is not wait or _way(mesh, wait, ask) != first:
        return "", {}
    told = ", ".join(f"rank {rank} waits in {text}" for rank, (_, text) in sorted(first.items()))
    keys = {rank: key for rank, (key, _) in first.items()}
    return f"processes wait for each other: {told}", keys


def _way(
    mesh: Mesh, wait: Wait, ask: Callable[[list[int]], dict[int, str]]
) -> dict[int, tuple[str, str]]:
    """From this process to others and back: by rank, what each waits in."""
    if not any(own is wait for own in stuck_in(mesh)):
        return {}
    found: dict[int, Wait] = {mesh.rank: wait}
    reached: dict[int, int] = {}  # from whom
    frontier = [(mesh.rank, r) for r in wait.ranks]
    while frontier:
        reached.update({target: source for source, target in frontier})
        answers = ask([target for _, target in frontier])
        following = []
        for source, target in frontier:
            for key, text, ranks, age in json.loads(answers.get(target, "[]")):
                if key == found[source].key or age < _LEAST:
                    continue  # they are there as well, or have just come
                found[target] = Wait(key, text, ranks, 0.0)
                if mesh.rank in ranks:
                    return _back(mesh.rank, target, reached, found)
                following += [(target, r) for r in ranks if r not in found and r not in reached]
        frontier = list({target: (source, target) for source, target in following}.values())
    return {}


def _back(
    start: int, rank: int, reached: dict[int, int], found: dict[int, Wait]
) -> dict[int, tuple[str, str]]:
    way = {start: (found[start].key, found[start].text)}
    while rank != start:
        way[rank] = (found[rank].key, found[rank].text)
        rank = reached[rank]
    return way
