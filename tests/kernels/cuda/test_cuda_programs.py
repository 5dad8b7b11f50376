"""CUDA, on a GPU where there is one and in numba's simulator everywhere else.

numba chooses the simulator when it is imported, so the programs ``cuda_table.py``,
``cuda_program.py`` and ``cuda_models.py`` run in processes of their own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import cuda as benchmark
from benchmarks import gpu_page, processes
from mindtorch.tools.docs import cuda_coverage
from tests.support.paths import PROGRAMS, ROOT


def _run(program: str, *arguments: str, simulated: bool = True, last: bool = True) -> Any:
    """What a program of this folder prints last, or all of it, read as JSON objects."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    if simulated and not Path("/dev/nvidiactl").exists():
        environment["NUMBA_ENABLE_CUDASIM"] = "1"
    command = [sys.executable, str(PROGRAMS / program), *arguments]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = [json.loads(line) for line in done.stdout.strip().splitlines()]
    return told[-1] if last else {k: v for each in told for k, v in each.items()}


def test_kernels_agree_with_the_cpus() -> None:
    """Each kernel once: rows of the table that are not elementwise, and some that are."""
    found = _run("cuda_table.py", "--kernels")
    assert found["different"] == {}
    assert found["count"] >= 250


def test_kernels_take_cuda_from_launch() -> None:
    """numba's own would be taken away by threads of the simulator while others use it."""
    folder = ROOT / "kernels" / "cuda"
    numbas = re.compile(r"from numba import .*\bcuda\b")
    own = {path.stem for path in folder.glob("*.py") if numbas.search(path.read_text())}
    assert own == {"errors", "launch", "memory", "streams"}


def test_modules_that_are_asked_for_by_name_exist() -> None:
    """They are imported when a device is first used, which few tests do."""
    named = re.compile(r'\bkernels\("(\w+)"\)')
    asked = {
        name
        for folder in ("engine", "mindtorch/torch")
        for path in (ROOT / folder).rglob("*.py")
        for name in named.findall(path.read_text())
    }
    own = {path.stem for path in (ROOT / "kernels" / "cuda").glob("*.py")}
    assert len(asked) > 5 and asked - own == set()


def test_tensors_on_the_device_behave_as_torchs() -> None:
    """Copies, views, errors, memory, modules, streams, threads: one check for each subject."""
    found = _run("cuda_program.py")
    assert found["failed"] == {}
    assert found["checks"] >= 17


def test_libraries_are_asked_and_numbers_are_drawn() -> None:
    """cupy's functions behind a stand-in, complex numbers, images sampled in all modes."""
    found = _run("cuda_libraries.py")
    assert found["failed"] == {}
    assert found["checks"] >= 4


def test_compiled_kernels_are_read_from_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second process compiles none but one whose file is not whole; all names differ."""
    monkeypatch.setenv("MINDTORCH_CACHE_DIR", str(tmp_path))
    first = _run("cuda_cache.py", simulated=False)
    assert (first["compiled"], first["loaded"]) == (4, 0)
    files = sorted(Path(first["folder"]).iterdir())
    assert len(files) == 4 and Path(first["folder"]).parent == tmp_path
    files[1].write_bytes(files[1].read_bytes()[:-9])
    second = _run("cuda_cache.py", simulated=False)
    assert (second["compiled"], second["loaded"]) == (1, 3)
    same = [a == b for a, b in zip(first["codes"], second["codes"], strict=True)]
    assert sum(same) >= 3 and len(set(second["codes"])) == 4


def test_every_op_runs_on_the_device_or_has_a_reason() -> None:
    """A kernel of its own, or the host's with a row in the table of gaps."""
    rows = cuda_coverage.table()
    assert len(rows) > 300
    assert [r for r in rows if r.where == "missing" or (r.where == "host" and not r.reason)] == []
    assert (ROOT / "docs" / "cuda-ops.md").read_text() == cuda_coverage.as_markdown()


def test_the_page_of_a_gpu_says_what_did_not_run() -> None:
    """benchmarks/cuda.py writes its page from parts that ran and from parts that failed."""
    failed = {"error": "no such card"}
    results: dict[str, Any] = {"machine": failed, "ceilings": failed, "tensors": failed,
                               "models": failed, "table": failed, "times": failed}  # fmt: skip
    found = gpu_page.page(results)
    assert found.count("no such card") >= 6 and "Not run: sanitizer." in found
    results["table"] = {"rows": 1, "count": 3, "left": 0, "different": {"add": "2 epsilons"}}
    timed = {"mindtorch": 1.0, "torch": 2.0, "facts": [4e9, 0]}
    results["times"] = {"works": {"copy": timed, "sort": {"errors": {"torch": "x"}}}}
    found = gpu_page.page(results)
    assert "3 comparisons of 1 rows, 1 differ, 0 not reached" in found
    assert "- `add`: 2 epsilons" in found
    assert "| copy | 1.0000 | 2.0000 | 0.50 | 4000 GB/s | - / - |" in found
    assert "Not done" not in found
    results["times"]["complete"] = False
    assert "the same command goes on with it: times." in gpu_page.page(results)


def test_the_benchmark_goes_on_where_a_call_ended(tmp_path: Path) -> None:
    """What was found is kept by the same sources, and put aside by others."""
    results = benchmark.Results(tmp_path / "gpu.md")
    results.begin(False)
    results.take("times", {"works": {}, "complete": False})
    again = benchmark.Results(tmp_path / "gpu.md")
    again.begin(False)
    assert again.found["times"] == {"works": {}, "complete": False}
    again.begin(True)
    assert "times" not in again.found and (tmp_path / "gpu.before.json").exists()


def test_a_program_that_dies_or_hangs_is_reported(tmp_path: Path) -> None:
    """The benchmark waits no longer than its limit, and says what a dead process said last."""
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint('noise')\nprint('{\"a\": 1}', flush=True)\n"
                       "sys.stdin.readline()\nsys.exit('the device is lost')\n")  # fmt: skip
    running = processes.Program(str(program))
    try:
        assert running.answer(60) == {"a": 1}
        with pytest.raises(processes.Ended, match=r"no answer after 0 s"):
            running.answer(0.01)
        with pytest.raises(processes.Ended, match=r"ended with 1: the device is lost"):
            running.ask({}, 60)
    finally:
        running.end()


@pytest.mark.exhaustive
def test_the_benchmark_of_a_gpu_runs_to_its_end_in_the_simulator(tmp_path: Path) -> None:
    """All stages, started as on a GPU: from any folder, without the benchmarks' own in the way of
    NVIDIA's package ``cuda``."""
    page = tmp_path / "gpu.md"
    environment = dict(os.environ, NUMBA_ENABLE_CUDASIM="1")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "cuda.py"), "--tiny", "--out", str(page)],
        env=environment, capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(page.with_suffix(".json").read_text())
    assert results["table"]["count"] > 0 and results["table"]["different"] == {}
    assert results["tensors"]["failed"] == {} and results["models"]["mlp"]["loss"] < 1e-6
    assert set(results["times"]["works"]) >= {"copy 64M", "step of mlp"}
    assert all("mindtorch" in work for work in results["times"]["works"].values())


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
    found = _run("cuda_models.py", name, last=False)
    assert found[name]["loss"] <= 2e-6
    assert found[name]["gradients"] <= 2e-5
    assert found[name]["parameters"] <= (2e-5 if name in ("mlp", "lenet", "resnet18") else 6e-3)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["mlp", "lstm", "gpt", "vae"])
def test_compiled_models_train_as_eager_ones(name: str) -> None:
    """Two steps by torch.compile on CUDA are to the bit those of eager execution there."""
    found = _run("cuda_models.py", "--compiled", name, last=False)
    assert found[name] == {"loss": 0.0, "gradients": 0.0, "parameters": 0.0}


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
    assert found["kernels with"]["vectors"] >= 150 and found["kernels with"]["division"] <= 120
