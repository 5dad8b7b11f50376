"""Writes docs/torchvision.md: `python -m tests.support.vision_report FOLDER [NAMES]`.

FOLDER keeps one JSON file for each model that was run, with what was measured; models in NAMES are
run (all without a file there when NAMES is "rest"), and the page is written from all files.
"""

from __future__ import annotations

import importlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.conformance.vision.test_models import CLASSIFICATION, DETECTION, OTHERS
from tests.support.paths import ROOT
from tests.support.vision_compare import Apart, apart, read_side, run_side, with_operators

PAGE = ROOT / "docs" / "torchvision.md"
TEXT = """# torchvision's models against real torch

Written by `python -m tests.support.vision_report`; what is compared, and within which bounds, is in
`tests/support/vision_compare.py`. Every model is built from one seed and run in eval and in train
mode with a backward pass, by torchvision {version} on mindtorch and on torch, in float32 and in
float64.

- state: names, shapes, `repr` and all bits of the initial state are the same.
- float64: the greatest difference of any output, buffer or gradient to torch's, relative to the
  greatest value of its array.
- outputs, gradients: how far float32 is from torch's float64, ours | torch's own; outputs and
  buffers by their greatest difference, gradients as one vector of all parameters.
- within: whether all of this is within the bounds of the test.

{within} of {count} models are within; {wanting}

| model | state | float64 | outputs | torch's | gradients | torch's | within |
|---|---|---|---|---|---|---|---|
"""


def measure(name: str, folder: Path) -> Apart:
    """Run both sides in a temporary folder."""
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        environment = with_operators(scratch) if name in DETECTION else None
        run_side("ours", scratch, name)
        run_side("real", scratch, name, environment=environment)
        found = apart(read_side("ours", scratch, name), read_side("real", scratch, name))
    (folder / f"{name}.json").write_text(json.dumps(found._asdict()))
    return found


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "**no**"
    return "" if value is None else f"{value:.0e}"


def page(folder: Path) -> str:
    names = [*CLASSIFICATION, *OTHERS, *DETECTION]
    rows = {
        name: Apart(**json.loads((folder / f"{name}.json").read_text()))
        for name in names
        if (folder / f"{name}.json").exists()
    }
    missing = [name for name in names if name not in rows]
    wanting = "not run: " + ", ".join(missing) + "." if missing else "every model was run."
    version = importlib.import_module("importlib.metadata").version("torchvision")
    head = TEXT.format(
        version=version.partition("+")[0],
        within=sum(row.within for row in rows.values()),
        count=len(rows),
        wanting=wanting,
    )
    lines = (f"| {name} | {' | '.join(map(_cell, row))} |\n" for name, row in rows.items())
    return head + "".join(lines)


def main(place: str, *names: str) -> None:
    folder = Path(place)
    folder.mkdir(parents=True, exist_ok=True)
    if names == ("rest",):
        every = [*CLASSIFICATION, *OTHERS, *DETECTION]
        names = tuple(name for name in every if not (folder / f"{name}.json").exists())
    for name in names:
        print(name, measure(name, folder), flush=True)
    PAGE.write_text(page(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
