"""Scalars as tables and samples as files, for other programs."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

from mindtorch.kernels.support.atomic_file import write_whole

from .reading.folder import RunFolder
from .reading.run import Run

__all__ = ["write"]


def _safe(name: str) -> str:
    """A part of a file's name: letters, digits and a few signs."""
    return re.sub(r"[^\w.+=-]", "_", name).strip(".")[:120] or "_"


def _write_run(run: Run, folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["tag", "step", "time", "value"])
    for tag in run.tags("scalars"):
        shown = f"'{tag}" if tag[:1] in "=+-@" else tag  # no formula of a spreadsheet
        for item in run.series("scalars", tag):
            writer.writerow([shown, item.step, repr(item.time), repr(item.value)])
    write_whole(folder / "scalars.csv", table.getvalue())
    count = 1
    for tag in run.tags("stored"):
        for item in run.series("stored", tag):
            ending = item.media.partition("/")[2]
            path = folder / f"{_safe(tag)}_{item.step}.{ending}"
            write_whole(path, run.content_of(item))
            count += 1
    return count


def write(base: Path, output: Path) -> int:
    """Write `scalars.csv` and the samples of each training. Returns the exit status.

    Args:
        base: the folder that the trainings are in.
        output: gets a folder for each training.
    """
    folder = RunFolder(base)
    folder.look()
    for name, run in sorted(folder.runs.items()):
        place = output / "_".join(map(_safe, name.split("/")))
        print(f"{name}: {_write_run(run, place)} files in {place}")
    if not folder.runs:
        print(f"no training in {folder.base}")
    return 0
