"""Runs programs of migration_examples one after another in this process under `mindtorch check`,
and tells what was found in each.

    python tests/programs/checked_programs.py "gcn --epochs 12" ...   # prints JSON: run -> findings
"""

import contextlib
import io
import json
import os
import random
import sys
import tempfile
from pathlib import Path

import numpy as np

import mindtorch.torch as torch
from mindtorch.module_hooker import torch_disable
from mindtorch.tools.check.checker import Checker, EnoughError
from mindtorch.tools.run_script import execute

EXAMPLES = Path(__file__).resolve().parents[2] / "migration_examples"
STEPS = 40


def checked(run: str) -> list[str]:
    """The findings of a program, as texts."""
    name, *arguments = run.split()
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (the generator that scripts use)
    torch.manual_seed(0)
    checker = Checker(STEPS)
    ending = contextlib.suppress(EnoughError, SystemExit)
    with contextlib.redirect_stdout(io.StringIO()), ending, checker:
        execute(EXAMPLES / f"{name}.py", arguments)
    return [f"{x.check}: {x.evidence} ({x.place})" for x in checker.findings()]


def main() -> None:
    torch_disable()
    torch.set_num_threads(1)
    os.chdir(tempfile.mkdtemp())
    print(json.dumps({run: checked(run) for run in sys.argv[1:]}))


if __name__ == "__main__":
    main()
