"""The CUDA kernels, run on a GPU where there is one and in numba's simulator everywhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_cuda_kernels_agree_with_numpy() -> None:
    """The same functions as on the CPU, from the same scalar functions: within float32 rounding."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    if not Path("/dev/nvidiactl").exists():
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    command = [sys.executable, "-W", "ignore", str(ROOT / "tests" / "cuda_cases.py")]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    errors = json.loads(done.stdout.strip().splitlines()[-1])
    assert len(errors) >= 25
    assert {name: e for name, e in errors.items() if e > 2e-6} == {}
