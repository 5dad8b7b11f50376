"""CUDA, on a GPU where there is one and in numba's simulator everywhere else.

numba chooses the simulator when it is imported, so the programs ``cuda_table.py``,
``cuda_program.py`` and ``cuda_models.py`` run in processes of their own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mindtorch.engine import cuda_ops

ROOT = Path(__file__).resolve().parent.parent


def _run(program: str, *arguments: str, simulated: bool = True) -> Any:
    """What a program of this folder prints last, read as JSON."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    if simulated and not Path("/dev/nvidiactl").exists():
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    command = [sys.executable, str(ROOT / "tests" / program), *arguments]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_kernels_agree_with_the_cpus() -> None:
    """Each kernel once: rows of the table that are not elementwise, and some that are."""
    found = _run("cuda_table.py", "--kernels")
    assert found["different"] == {}
    assert found["count"] >= 250


def test_tensors_on_the_device_behave_as_torchs() -> None:
    """Copies, views, errors, memory, modules, streams, threads: one check for each subject."""
    found = _run("cuda_program.py")
    assert found["failed"] == {}
    assert found["checks"] >= 17


def test_every_op_runs_on_the_device_or_has_a_reason() -> None:
    """A kernel of its own, or the host's with a row in the table of gaps."""
    rows = cuda_ops.table()
    assert len(rows) > 300
    assert [r for r in rows if r.where == "missing" or (r.where == "host" and not r.reason)] == []
    assert (ROOT / "docs" / "cuda-ops.md").read_text() == cuda_ops.as_markdown()


def test_the_page_of_a_gpu_says_what_did_not_run() -> None:
    """benchmarks/cuda.py writes its page from parts that ran and from parts that failed."""
    place = ROOT / "benchmarks" / "cuda.py"
    spec = importlib.util.spec_from_file_location("gpu_benchmark", place)
    assert spec is not None and spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    failed = {"error": "no such card"}
    results: dict[str, Any] = {"machine": "m", "ceilings": failed, "program": failed,
                               "models": failed, "table": failed, "times": failed}  # fmt: skip
    assert program.page(results).count("no such card") >= 4
    results["table"] = {"count": 3, "different": {"add": "2 epsilons"}}
    timed = {"mindtorch": 1.0, "torch": 2.0, "facts": [4e9, 0]}
    results["times"] = {"copy": timed, "sort": {"errors": {"torch": "x"}}}
    page = program.page(results)
    assert "3 comparisons, 1 differ" in page and "- add: 2 epsilons" in page
    assert "| copy | 1.000 | 2.000 | 0.50 | 4000 GB/s |" in page


@pytest.mark.exhaustive
def test_all_rows_agree_with_the_cpus() -> None:
    """One small case of every row of the table, with its gradient."""
    found = _run("cuda_table.py")
    assert found["different"] == {}
    assert found["count"] >= 1100


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name", ["mlp", "lenet", "resnet18", "lstm", "gpt", "vae", "dcgan"]
)
def test_models_train_as_on_the_cpu(name: str) -> None:
    """A step of each of the seven models: the same loss, gradients and parameters after it.

    Adam divides a gradient by its own size, so one that is nothing but rounding moves a parameter
    by up to the rate (3e-3 at most here) in either direction.
    """
    found = _run("cuda_models.py", name)
    assert found[name]["loss"] <= 2e-6
    assert found[name]["gradients"] <= 2e-5
    assert found[name]["parameters"] <= (2e-5 if name in ("mlp", "lenet", "resnet18") else 6e-3)


@pytest.mark.exhaustive
@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason='translation to PTX needs numba-cuda and NVVM: pip install "numba-cuda[cu12]"',
)
def test_kernels_translate_to_ptx() -> None:
    """Kernels have types that numba's compiler accepts; the simulator runs them as Python."""
    found = _run("cuda_translate.py", simulated=False)
    assert found["failed"] == {}
    assert found["kernels"] >= 300
