"""Time forty short programs: textbook chapters and papers in small, each a process of its own.

Processor time of the whole process, imports included, beside PyTorch's: with all kernels on disk,
and with ``--first`` from one empty folder of kernels that the programs share, in which only those
of `mindtorch warm --installed` are found if ``--installed`` names their folder. The sides take
turns; printed are minima, the total, and by how much what is printed differs.

    python benchmarks/short_programs.py [--rounds 2] [--first] [--installed FOLDER]
                                        [--only NAME ...]
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from _short_models import PAPERS, SEQUENCES
from _short_programs import BASICS, COMMON, PICTURES
from training import ROOT, machine

PROGRAMS = {**BASICS, **PICTURES, **SEQUENCES, **PAPERS}
OURS = "from mindtorch.tools import mstorch_enable\n"


def run(source: str, environment: dict[str, str]) -> tuple[float, str]:
    """Processor seconds of a process, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", source], capture_output=True, text=True, cwd=ROOT,
        env=environment,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{source}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout


def difference(ours: str, theirs: str) -> float:
    """The largest relative difference of two printed numbers; infinite where the texts differ."""
    number = r"-?\d+\.?\d*(?:e[-+]?\d+)?"
    if re.sub(number, "#", ours).split() != re.sub(number, "#", theirs).split():
        return float("inf")
    pairs = zip(re.findall(number, ours), re.findall(number, theirs), strict=True)
    values = [(float(a), float(b)) for a, b in pairs]
    return max((abs(a - b) / max(abs(b), 1e-3) for a, b in values), default=0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--first", action="store_true", help="from an empty folder of kernels")
    parser.add_argument("--installed", help="folder that `mindtorch warm --installed` filled")
    parser.add_argument("--only", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    arguments = parser.parse_args()
    environment = {**os.environ, "OMP_NUM_THREADS": str(arguments.threads)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPATH"] = str(ROOT)
    environment["MINDTORCH_INSTALLED_KERNELS"] = arguments.installed or "0"
    print(f"Machine: {machine()}. Processor seconds of the whole process.\n")
    print("| program | ours | torch | ratio | printed numbers differ by |\n|---|---|---|---|---|")
    rows = []
    with tempfile.TemporaryDirectory(prefix="mindtorch-short-") as folder:
        if arguments.first:
            environment["MINDTORCH_CACHE_DIR"] = str(Path(folder))
        for name in arguments.only:
            source = COMMON + PROGRAMS[name]
            ours, theirs, texts = [], [], ("", "")
            if not arguments.first:
                run(OURS + source, environment)
            for _ in range(1 if arguments.first else arguments.rounds):
                seconds, found = run(OURS + source, environment)
                ours.append(seconds)
                seconds, expected = run(source, environment)
                theirs.append(seconds)
                texts = (found, expected)
            rows.append((min(ours), min(theirs)))
            a, b = rows[-1]
            print(f"| {name} | {a:.2f} | {b:.2f} | {a / b:.2f} | {difference(*texts):.0e} |",
                  flush=True)  # fmt: skip
    ours_total, theirs_total = (sum(each[i] for each in rows) for i in (0, 1))
    ratios = [a / b for a, b in rows]
    print(f"| all {len(rows)} | {ours_total:.1f} | {theirs_total:.1f} | "
          f"**{ours_total / theirs_total:.2f}** | |\n\nRatios: median "
          f"{statistics.median(ratios):.2f}, worst {max(ratios):.2f}.")  # fmt: skip


if __name__ == "__main__":
    main()
