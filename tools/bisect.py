"""`mindtorch bisect script.py`: which mechanism of ours changes a result of the script?

The script runs with everything on and with everything off. Where what it prints or computes
differs, one mechanism after the other is turned off by itself, and those that change a result are
named, with the first step that differs. Each run is a process of its own in the current folder.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mindtorch
from mindtorch.engine.switches import DESCRIPTIONS, variable

from .progress import progress, telling

__all__ = ["Run", "add_arguments", "difference", "main"]

DESCRIPTION = (
    "Exit status 0: no mechanism changes a result; 1: one does, and is named; 2: the script fails "
    "whatever is off, computes nothing to compare, or something else in each run."
)
# mechanisms that are known to change the last bits
KNOWN = {
    "kernel_substitution": "known: Winograd convolutions in compiled functions add in another "
    "order, so a difference of rounding is no fault",
}
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)")
_TAIL = 5


@dataclass
class Run:
    """What one run of the script did.

    Attributes:
        off: the mechanisms that were off.
        status: how its process ended.
        lines: what it printed on standard output.
        events: of :mod:`.bisect_child`.
        errors: the end of what it wrote to standard error.
    """

    off: tuple[str, ...]
    status: int
    lines: list[str]
    events: list[dict[str, Any]]
    errors: list[str]


def run(options: argparse.Namespace, off: Collection[str]) -> Run:
    """Run the script with some mechanisms off and all others on."""
    environment = dict(os.environ)
    for name in DESCRIPTIONS:
        environment[variable(name)] = "0" if name in off else "1"
    environment.setdefault("PYTHONHASHSEED", "0")
    environment.pop("MINDTORCH_GRAPH", None)
    if options.graph:
        environment["MINDTORCH_GRAPH"] = "1"
    here = str(Path(mindtorch.__file__).resolve().parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), here]))
    with tempfile.TemporaryDirectory(prefix="mindtorch-bisect-") as folder:
        notes = Path(folder) / "events"
        command = [sys.executable, "-m", "mindtorch.tools.bisect_child", str(notes)]
        without = " and ".join(off) if len(off) < len(DESCRIPTIONS) else "all"
        with telling(lambda: f"mindtorch bisect: {options.script} without {without or 'nothing'}"):
            done = subprocess.run(
                [*command, str(options.script), *options.arguments], env=environment, text=True,
                stdin=subprocess.DEVNULL, capture_output=True, errors="replace", check=False,
            )  # fmt: skip
        text = notes.read_text(encoding="utf-8") if notes.exists() else ""
    events = [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]
    errors = done.stderr.splitlines()[-_TAIL:]
    return Run(tuple(off), done.returncode, done.stdout.splitlines(), events, errors)


# --- comparing ------------------------------------------------------------------------------------


def difference(
    a: Run, b: Run, tolerance: float = 0.0, ignored: Collection[int] = ()
) -> str:
    """Where two runs differ first, "" if nowhere.

    Args:
        tolerance: 0 compares all bits; else a part of the largest element that is allowed.
        ignored: the printed lines that are not compared.
    """
    counts: dict[str, int] = {}
    for ours, theirs in zip(a.events, b.events, strict=False):
        kind = ours["kind"]
        counts[kind] = counts.get(kind, 0) + 1
        if kind != theirs["kind"]:
            return f"{kind} {counts[kind]}: the other run comes to a {theirs['kind']}"
        for name, value in ours["values"].items():
            other = theirs["values"].get(name)
            reason = "is missing in one run" if other is None else _apart(value, other, tolerance)
            if reason:
                return f"{kind} {counts[kind]}: {name} {reason}"
    if a.status != b.status:
        return f"the script ends with status {a.status} and with status {b.status}"
    if len(a.events) != len(b.events):
        return f"{len(a.events)} steps and compiled calls in one run, {len(b.events)} in the other"
    for number, (line, other) in enumerate(zip(a.lines, b.lines, strict=False)):
        if number not in ignored and not _alike(line, other, tolerance):
            return f"printed line {number + 1}: {line.strip()!r} and {other.strip()!r}"
    if len(a.lines) != len(b.lines):
        return f"{len(a.lines)} printed lines in one run, {len(b.lines)} in the other"
    return ""


def _apart(a: dict[str, Any], b: dict[str, Any], tolerance: float) -> str:
    """How the summaries of two tensors differ, "" if they do not."""
    if (a["shape"], a["type"]) != (b["shape"], b["type"]):
        return f"is {a['type']}{a['shape']} and {b['type']}{b['shape']}"
    if a["checksum"] == b["checksum"]:
        return ""
    pairs = list(zip(a.get("sample", ()), b.get("sample", ()), strict=True))
    size = max((abs(x) for x, _ in pairs if math.isfinite(x)), default=0.0)
    largest = max((abs(x - y) if x == x and y == y else 0.0 if x != x and y != y else math.inf
                   for x, y in pairs if x != y), default=0.0)  # fmt: skip
    if tolerance:
        total = math.prod(a["shape"]) * max(size, 1e-300)
        sums = abs(a["sum"] - b["sum"]) / total
        if largest <= tolerance * size and (sums <= tolerance or a["sum"] != a["sum"]):
            return ""
    return f"differs, by {largest:.3g} where elements reach {size:.3g} (of those looked at)"


def _alike(a: str, b: str, tolerance: float) -> bool:
    """Whether two lines are equal, numbers as far as ``tolerance`` allows."""
    if a == b:
        return True
    if not tolerance or _NUMBER.sub("#", a) != _NUMBER.sub("#", b):
        return False
    pairs = zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True)
    return all(
        x == y or abs(float(x) - float(y)) <= tolerance * max(abs(float(x)), abs(float(y)))
        for x, y in pairs
    )


# --- searching ------------------------------------------------------------------------------------


@dataclass
class Finding:
    """Mechanisms that change a result, and where first."""

    names: tuple[str, ...]
    where: str


class Search:
    """Turns mechanisms off until what the script computes is what it does with all of them off.

    Attributes:
        findings: what changes a result.
        others: mechanisms that were turned off and change nothing.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.noise: set[int] = set()
        self.findings: list[Finding] = []
        self.others: list[str] = []
        self.on = run(options, ())
        self.off = run(options, tuple(DESCRIPTIONS))

    def apart(self, a: Run, b: Run) -> str:
        return difference(a, b, self.options.tolerance, self.noise)

    def unsteady(self) -> str:
        """Where two runs with everything on differ in more than what they print."""
        again = run(self.options, ())
        pairs = enumerate(zip(self.on.lines, again.lines, strict=False))
        self.noise = {i for i, (line, other) in pairs if line != other}
        return self.apart(self.on, again)

    def find(self) -> None:
        """Name the mechanisms. Those within compiled calls come before these themselves."""
        named: list[str] = []
        for name in progress(DESCRIPTIONS, "turning mechanisms off"):
            alone = run(self.options, (name,))
            where = self.apart(self.on, alone)
            if not where:
                self.others.append(name)
                continue
            self.findings.append(Finding((name,), where))
            named.append(name)
            together = alone if len(named) == 1 else run(self.options, named)
            if not self.apart(together, self.off):
                return
        before = run(self.options, named) if named else self.on
        for i in range(len(self.others)):  # no single one explains it: several do together
            now = run(self.options, [*named, *self.others[: i + 1]])
            where = self.apart(before, now)
            if where:
                self.findings.append(Finding((*self.others[: i + 1],), where))
                if not self.apart(now, self.off):
                    return
            before = now


# --- the command ----------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tolerance", type=_part, default=0.0, metavar="PART",
        help="allow such a part of a tensor's largest element, or of a printed number; 0: no bit",
    )  # fmt: skip
    parser.add_argument(
        "--graph", action="store_true", help="run the script as `mindtorch run --graph` does"
    )
    parser.add_argument("script", type=Path, help="the script whose result changes")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")


def _part(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"must be 0 to 1, but got {text}")
    return value


def main(options: argparse.Namespace) -> int:
    """Find the mechanism, and print what was found."""
    if not options.script.is_file():
        print(f"mindtorch bisect: there is no file {str(options.script)!r}", file=sys.stderr)
        return 2
    search = Search(options)
    on, off = search.on, search.off
    if on.status and on.status == off.status:
        print(f"mindtorch bisect: the script fails whatever is off (status {on.status}):",
              file=sys.stderr)  # fmt: skip
        print("\n".join(off.errors), file=sys.stderr)
        return 2
    if not (on.events or off.events or on.lines or off.lines or on.status or off.status):
        print("mindtorch bisect: no optimizer's step, no compiled call and no output to compare",
              file=sys.stderr)  # fmt: skip
        return 2
    if search.apart(on, off):
        where = search.unsteady()
        if where:
            print(f"mindtorch bisect: two runs with everything on differ: {where}\n"
                  "Set the seeds (torch.manual_seed), and perhaps OMP_NUM_THREADS=1",
                  file=sys.stderr)  # fmt: skip
            return 2
    where = search.apart(on, off)
    if where:
        search.find()
    show(search, where)
    return 1 if where else 0


def show(search: Search, where: str) -> None:
    """Print what was found, the mechanisms that change a result first."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console = console if console.is_terminal else Console(width=130)
    steps = sum(event["kind"] == "step" for event in search.on.events)
    calls = len(search.on.events) - steps
    compared = f"{steps} steps, {calls} compiled calls and {len(search.on.lines)} printed lines"
    if not where:
        console.print(f"no mechanism changes a result: {compared} are equal with all of them off")
        return
    console.print(f"everything on and everything off differ. {where}", markup=False)
    table = Table("turned off", "variable", "what changes first")
    for each in search.findings:
        variables = " ".join(f"{variable(name)}=0" for name in each.names)
        table.add_row(", ".join(each.names), variables, each.where)
    for name in search.others:
        table.add_row(name, f"{variable(name)}=0", "nothing")
    console.print(table)
    for each in search.findings:
        names = " with ".join(each.names)
        note = KNOWN.get(each.names[0], "") if len(each.names) == 1 else "together"
        text = f"{names} changes a result" + (f" ({note})" if note else "")
        console.print(text, markup=False, soft_wrap=True)
    if not search.findings:
        console.print("no mechanism, alone or with others, explains it")
