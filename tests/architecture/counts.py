"""What of the house is counted, and how often each of it may occur.

    python tests/architecture/counts.py             # a table: now, recorded, wanted
    python tests/architecture/counts.py --folders   # and files and lines of each folder
    python tests/architecture/counts.py --update    # records what is counted now

``budget.json`` holds for each count what was recorded and what is wanted ("bar").
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from mindtorch.kernels.support.gc_pause import gc_paused
from tests.architecture import import_graph, patterns
from tests.architecture.sources import PRODUCT, REPOSITORY

BUDGET = Path(__file__).with_name("budget.json")
CIRCLES = Path(__file__).with_name("circles.json")
COMPILER = ("engine/compile/",)


@dataclass(frozen=True)
class Count:
    """A count.

    Attributes:
        value: how many there are, or how large the largest is.
        places: where they are, to be named when there are more than before.
    """

    value: int
    places: tuple[str, ...] = ()


def _number_of(places: list[str]) -> Count:
    return Count(len(places), tuple(places))


def _largest_circle(part: str, root: Path) -> Count:
    every = import_graph.circles_of(root)
    folder = f"mindtorch/{part}/" if part in ("torch", "mindspore") else f"{part}/"
    own = [c for c in every if sum(p.startswith(folder) for p in c) * 2 > len(c)]
    return Count(len(own[0]), tuple(own[0])) if own else Count(0)


def _in_circles(root: Path) -> Count:
    every = import_graph.circles_of(root)
    return _number_of([path for circle in every for path in circle])


def _in_functions(root: Path) -> Count:
    return _number_of([str(each) for each in import_graph.statements_in_functions(root)])


def _by_name(root: Path) -> Count:
    return _number_of([str(each) for each in import_graph.imports(root) if each.by_name])


def _largest_folder(root: Path) -> Count:
    folders = patterns.files_by_folder("tests", root)
    return Count(
        max(folders.values()),
        tuple(f"{name}: {n} files" for name, n in sorted(folders.items(), key=lambda x: -x[1])),
    )


STATIC: dict[str, Callable[[Path], Count]] = {
    **{
        f"files in the largest import circle: {part}": functools.partial(_largest_circle, part)
        for part in ("engine", "torch", "mindspore", "kernels", "tools")
    },
    "files in import circles": _in_circles,
    "imports inside functions": _in_functions,
    "imports by name, import_module and __import__": _by_name,
    "imports that point up: engine": lambda r: _number_of(import_graph.pointing_up("engine", r)),
    "imports that point up: torch": lambda r: _number_of(import_graph.pointing_up("torch", r)),
    "private names imported": lambda r: _number_of(import_graph.private_imports(r)),
    "places that make a result tensor": lambda r: _number_of(patterns.result_makers(r)),
    "places that record a node": lambda r: _number_of(patterns.node_recorders(r)),
    "exchanged classes": lambda r: _number_of(patterns.exchanged_classes(r)),
    "patched classes and functions": lambda r: _number_of(patterns.patched(r)),
    "classes in engine/compile": lambda r: _number_of(patterns.classes(COMPILER, r)),
    "files of the largest folder of tests": _largest_folder,
    "files over 600 lines": lambda r: _number_of(patterns.long_files(r)),
    "functions over 60 lines": lambda r: _number_of(patterns.long_functions(r)),
}


@functools.cache
def static_counts(root: Path = REPOSITORY) -> dict[str, Count]:
    """The counts that follow from the sources alone."""
    with gc_paused():  # the syntax trees of all sources are two million objects
        return {name: count(root) for name, count in STATIC.items()}


@functools.cache
def measured() -> dict[str, Any]:
    """What ``measured_calls.py`` prints, in a process of its own."""
    script = Path(__file__).with_name("measured_calls.py")
    environment = dict(os.environ, PYTHONPATH=str(REPOSITORY), OMP_NUM_THREADS="1")
    environment = {k: v for k, v in environment.items() if not k.startswith("MINDTORCH_")}
    done = subprocess.run(
        [sys.executable, str(script), "--json"],
        env=environment, cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measured_counts() -> dict[str, Count]:
    """The counts of frames and wrappers, and of tables by the names that there are."""
    found = measured()
    counts = {name: Count(n, tuple(places)) for name, (n, places) in found["counts"].items()}
    tables = patterns.tables_by_name(frozenset(found["names"]))
    return {"tables keyed by names of ops or functions": _number_of(tables), **counts}


def budget() -> dict[str, dict[str, int]]:
    """By the names of the counts ``{"recorded": ..., "bar": ...}``."""
    loaded: dict[str, dict[str, int]] = json.loads(BUDGET.read_text())
    return loaded


@functools.cache
def places_before() -> dict[str, set[str]]:
    """By the names of the counts, the places where the commit that recorded the budget had them.

    Empty where git does not have that commit. Without line numbers, which move.
    """
    log = ["git", "log", "-1", "--format=%H", "--", str(BUDGET)]
    try:
        commit = subprocess.run(log, cwd=REPOSITORY, capture_output=True, text=True, check=True)
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / "sources.tar"
            command = ["git", "archive", "-o", str(archive), commit.stdout.strip()]
            subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True)
            root = Path(folder) / "sources"
            with tarfile.open(archive) as opened:
                opened.extractall(root, filter="data")
            return {n: set(map(_unnumbered, c.places)) for n, c in static_counts(root).items()}
    except (OSError, subprocess.CalledProcessError):
        return {}


def _unnumbered(place: str) -> str:
    return re.sub(r"(\.py):\d+", r"\1", place)


def new_places(name: str, count: Count) -> list[str]:
    """The places of a count that were not there when the budget was recorded; all if unknown."""
    before = places_before().get(name, set())
    return [place for place in count.places if _unnumbered(place) not in before]


def update() -> None:
    """Record what is counted now; the bars stay."""
    known = budget() if BUDGET.exists() else {}
    made = {}
    for name, count in {**static_counts(), **measured_counts()}.items():
        made[name] = {"recorded": count.value, "bar": known.get(name, {}).get("bar", count.value)}
    BUDGET.write_text(json.dumps(made, indent=2) + "\n")
    CIRCLES.write_text(json.dumps(import_graph.circles_of(), indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Counts of the house.")
    parser.add_argument("--update", action="store_true", help="record what is counted now")
    parser.add_argument("--folders", action="store_true", help="files and lines of each folder")
    parser.add_argument("--places", metavar="TEXT", help="print the places of counts so named")
    arguments = parser.parse_args()
    if arguments.update:
        update()
    known = budget() if BUDGET.exists() else {}
    print(f"{'count':<50} {'now':>6} {'recorded':>9} {'bar':>5}")
    for name, count in {**static_counts(), **measured_counts()}.items():
        row = known.get(name, {})
        numbers = f"{count.value:>6} {row.get('recorded', '-'):>9} {row.get('bar', '-'):>5}"
        print(f"{name:<50} {numbers}")
        if arguments.places and arguments.places in name:
            print(*[f"    {place}" for place in count.places], sep="\n")
    if arguments.folders:
        lines = patterns.lines_by_folder()
        for part in (*PRODUCT, "tests"):
            for folder, files in sorted(patterns.files_by_folder(part).items()):
                print(f"{folder:<50} {files:>6} files {lines[folder]:>7} lines")


if __name__ == "__main__":
    main()
