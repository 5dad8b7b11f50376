"""Make one run's steps, in turns with the other run's (see `step_times`).

python -m mindtorch.tools.compare.step_times_child --framework torch|mindtorch --turns IN OUT
    --output FILE script.py [args]
"""

import argparse
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from mindtorch.kernels.support.atomic_file import write_whole

from ..run_script import end_with_parent, execute, report_failure
from ..watchpoints.training_steps import Steps
from .child import prepare

__all__ = ["Turns", "main"]

SETTLE = 2e-3  # seconds until the other run's threads sleep


class Turns:
    """Waits for the token when a step ends, and times what lies between: a listener of steps."""

    def __init__(self, given: int, passed: int) -> None:
        self.given = given
        self.passed = passed
        self.seconds: list[float] = []
        self.began = 0.0

    def wait(self) -> None:
        """Until it is this run's turn; at once where the other run has ended."""
        os.read(self.given, 1)
        time.sleep(SETTLE)
        self.began = time.perf_counter()

    def on_loss(self, loss: Any) -> None:
        """A step goes on."""

    def on_gradients(self, optimizer: Any) -> None:
        """A step goes on."""

    def on_step(self, optimizer: Any) -> None:
        """A step has ended: the other run's turn."""
        self.seconds.append(time.perf_counter() - self.began)
        with suppress(BrokenPipeError):
            os.write(self.passed, b".")
        self.wait()


def main(arguments: list[str] | None = None) -> int:
    """Make one run's steps; the exit status is the script's."""
    parser = argparse.ArgumentParser(prog="python -m mindtorch.tools.compare.step_times_child")
    parser.add_argument("--framework", choices=["torch", "mindtorch"], required=True)
    parser.add_argument("--turns", type=int, nargs=2, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--module", type=Path)
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    end_with_parent()
    torch = prepare(options.framework, options.seed, options.threads)
    turns = Turns(*options.turns)
    steps = Steps(torch, turns)
    steps.install()
    turns.wait()
    try:
        execute(options.script, options.arguments, options.module)
    except SystemExit:
        raise
    except BaseException as error:
        return report_failure(error)
    finally:
        os.close(turns.passed)
        write_whole(options.output, json.dumps(turns.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
