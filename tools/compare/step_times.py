"""How long a training step takes in each run, the runs in turns (`mindtorch compare --time`).

Both processes are started, without a recorder. A token goes to and fro: who has it makes one step
(up to the end of the optimizer's), and waits for it again. So both see the same machine, and no
thread of one works while the other is timed. What is told is the minimum, the median and the
quartiles.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..progress import telling
from .run_frameworks import RUNS, environment, labels, make_place

__all__ = ["StepTimes", "time_steps"]

WARM = 3  # steps of which no time counts: kernels are compiled, memory is taken


@dataclass
class StepTimes:
    """Times of one run's steps in seconds, those of its first steps left out."""

    name: str
    seconds: list[float]

    @property
    def minimum(self) -> float:
        return min(self.seconds)

    def quantile(self, share: float) -> float:
        return float(np.quantile(self.seconds, share))


def _command(options: argparse.Namespace, framework: str, ends: Sequence[int], output: Path) -> Any:
    command = [sys.executable, "-P", "-m", "mindtorch.tools.compare.step_times_child"]
    command += ["--framework", framework, "--turns", *map(str, ends), "--output", str(output)]
    command += ["--seed", str(options.seed), "--threads", str(options.threads)]
    if options.module:
        command += ["--module", str(Path.cwd()), str(options.script)]
    else:
        command.append(str(options.script.resolve()))
    return [*command, *options.arguments]


def time_steps(options: argparse.Namespace) -> list[StepTimes]:
    """The times of both runs' steps, made in turns; [] where there are too few steps, or a run
    fails."""
    with tempfile.TemporaryDirectory(prefix="mindtorch-times-") as text:
        folder = Path(text)
        first, second = os.pipe(), os.pipe()  # what the first and the second run read
        ends = ((first[0], second[1]), (second[0], first[1]))
        processes, both = [], labels(options.frameworks)
        os.write(first[1], b".")
        for position, ((_, framework), own) in enumerate(zip(both, ends, strict=True), 1):
            place = folder / f"work{position}"
            make_place(Path.cwd(), place, folder)
            with (folder / f"output{position}").open("w") as output:
                processes.append(subprocess.Popen(
                    _command(options, framework, own, folder / f"{position}.json"),
                    env=environment(framework, RUNS[position - 1], options.threads), cwd=place,
                    stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=own,
                ))  # fmt: skip
        for end in (*first, *second):
            os.close(end)
        try:
            with telling(lambda: f"mindtorch compare: timing steps of {options.script} in turns"):
                failed = any(process.wait(options.timeout) for process in processes)
        except subprocess.TimeoutExpired:
            failed = True
        finally:
            for process in processes:
                process.kill()
                process.wait()
        if failed:
            return []
        found = [json.loads((folder / f"{at}.json").read_text()) for at in (1, 2)]
    count = min(map(len, found))
    if count <= WARM:
        return []
    pairs = zip(both, found, strict=True)
    return [StepTimes(label, seconds[WARM:count]) for (label, _), seconds in pairs]

