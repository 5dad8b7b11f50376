"""Processes that share an empty cache compile each kernel once; a graph has helpers of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch.engine.compile.ir.ir import Graph
from mindtorch.engine.compile.runtime.parallel_compile import CompileWorkers
from mindtorch.kernels.codegen import compile_lock
from mindtorch.kernels.support.workspace import workspace

START = """
import json, sys
import mindtorch.torch as torch
from mindtorch.kernels.codegen.jit import statistics
"""

SEVERAL = START + """
for function in (torch.exp, torch.tanh, torch.sin, torch.erf):
    function(torch.full((3,), 0.5))
json.dump(statistics.compiled, sys.stdout)
"""

# once there are helpers, this process waits until they are done
HELPED = START + """
import os
from mindtorch.engine.compile.runtime import parallel_compile as ahead

def begin(self, begin=ahead.CompileWorkers._begin):
    begin(self)
    for child in self._children:
        os.waitpid(child, 0)

ahead.CompileWorkers._begin = begin

@torch.compile
def step(x):
    return torch.cumsum(x, 0), torch.softmax(x, 1), torch.cumprod(x, 1)

found = step(torch.full((3, 4), 2.0))
json.dump([statistics.compiled, [each.tolist() for each in found]], sys.stdout)
"""


def _environment(cache: Path, processes: int = 1) -> dict[str, str]:
    given = {"MINDTORCH_CACHE_DIR": str(cache), "MINDTORCH_COMPILE_PROCESSES": str(processes)}
    return {**os.environ, **given}


def _answer(program: Any) -> Any:
    out, errors = program.communicate(timeout=300)
    assert program.returncode == 0, errors
    return json.loads(out)


def _started(source: str, environment: dict[str, str]) -> Any:
    return subprocess.Popen(
        [sys.executable, "-c", source], env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip


def _files(cache: Path) -> list[str]:
    return [path.suffix for path in cache.rglob("*") if path.is_file()]


def test_each_kernel_is_compiled_by_one_process(tmp_path: Path) -> None:
    environment = _environment(tmp_path)
    running = [_started(SEVERAL, environment) for _ in range(2)]
    compiled = [_answer(program) for program in running]
    assert sum(compiled) == _files(tmp_path).count(".nbc") == len(_files(tmp_path))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="helpers are forked")
def test_a_graphs_kernels_are_compiled_by_helpers(tmp_path: Path) -> None:
    helped = _answer(_started(HELPED, _environment(tmp_path / "a", 3)))
    alone = _answer(_started(HELPED, _environment(tmp_path / "b")))
    assert helped[1:] == alone[1:]
    assert 0 < helped[0] < alone[0] / 2
    assert set(_files(tmp_path)) == {".nbc"}


def test_a_claim_waits_for_another_and_no_longer_than_asked(tmp_path: Path) -> None:
    first = compile_lock.Claim(tmp_path / "kernel")
    second = compile_lock.Claim(tmp_path / "kernel", 0.0)
    assert second.refused and not first.refused
    second.release()
    first.release()
    third = compile_lock.Claim(tmp_path / "kernel", 0.0)
    assert not third.refused
    third.release()
    assert not list(tmp_path.iterdir())


def test_who_waits_for_a_kernel_compiles_others_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compile_lock.Claim(tmp_path / "kernel")
    called = []

    def waits() -> bool:
        called.append(True)
        if len(called) == 2:
            first.release()
        return True

    monkeypatch.setattr(compile_lock.Compiling, "waits", waits)
    inner = compile_lock.Claim(tmp_path / "kernel", 0.01)  # in the middle of compiling another one
    assert inner.refused and not called
    inner.release()
    second = compile_lock.Claim(tmp_path / "kernel", 5.0, alone=True)
    assert not second.refused and len(called) == 2
    second.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="helpers are forked")
def test_an_optimizers_update_is_compiled_while_a_graphs_kernels_are(tmp_path: Path) -> None:
    source = HELPED.replace(
        "@torch.compile", "torch.optim.SGD([torch.ones(3)], 0.1)\n@torch.compile"
    )
    assert _answer(_started(source, _environment(tmp_path, 3)))[0]
    assert any(path.name.startswith("sgd-") for path in tmp_path.rglob("*.nbc"))


def test_a_killed_process_holds_no_claim(tmp_path: Path) -> None:
    holds = (
        "import sys, time; from pathlib import Path\n"
        "from mindtorch.kernels.codegen.compile_lock import Claim\n"
        "claim = Claim(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
    )
    path = tmp_path / "kernel"
    with subprocess.Popen([sys.executable, "-c", holds, path], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        refused = compile_lock.Claim(path, 0.0)
        other.kill()
    begin = time.monotonic()
    after = compile_lock.Claim(path, 30.0)
    assert refused.refused and not after.refused and time.monotonic() - begin < 20


def test_what_is_compiled_while_a_kernel_waits_has_buffers_of_its_own() -> None:
    """A convolution that has filled its buffers, and waits for the next of its kernels, finds them
    as they were when this process has run another convolution on zeros meanwhile."""
    workers = CompileWorkers(Graph())
    try:
        buffers = [workspace(8, np.float32, name) for name in ("packed 0 0", "made")]
        for buffer in buffers:
            buffer[:] = 5
        workers._later = [lambda: workspace(8, np.float32, "made").fill(0)]
        assert workers._while_waiting()
        assert not workers._while_waiting()
    finally:
        workers.stop()
    assert all((buffer == 5).all() for buffer in buffers)
    assert np.shares_memory(workspace(8, np.float32, "made"), buffers[1])
