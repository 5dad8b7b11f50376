"""Which processor kernels are compiled for."""

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding
import pytest
from numba.core import config

from mindtorch.kernels.codegen import target as targets
from mindtorch.kernels.support import processors
from mindtorch.kernels.support.processors import AMD, INTEL, V3, V4

BY_HAND = """
import sys
from mindtorch.kernels.codegen.jit import cache_directory
from mindtorch.kernels.cpu import processor
from mindtorch.kernels.cpu.vectors import simd
import mindtorch.torch as torch
print(torch.full((1000,), 0.5).exp().sum().item(), simd.vector_bytes(), processor.mkl_kernels())
"""


def made_by(monkeypatch: pytest.MonkeyPatch, maker: str, level: frozenset[str]) -> None:
    """A processor of a maker with these instructions, and one that no kernel may use."""
    monkeypatch.delenv("MINDTORCH_PROCESSOR", raising=False)
    monkeypatch.setattr(processors, "cpuinfo", lambda: {"vendor_id": maker})
    has = {**dict.fromkeys(V4, False), **dict.fromkeys(level, True), "amx-tile": True}
    monkeypatch.setattr(targets, "_host", lambda: has)
    monkeypatch.setattr(config, "CPU_NAME", None)
    monkeypatch.setattr(config, "CPU_FEATURES", None)


@pytest.mark.parametrize(
    ("maker", "level", "name"),
    [(INTEL, V4, "icelake-server"), (INTEL, V3, "skylake"), (AMD, V4, "znver4"),
     (AMD, V3, "znver3"), ("HygonGenuine", V3, "znver3"), ("", V3, "skylake")],
)  # fmt: skip
def test_one_processor_stands_for_all_of_a_kind(
    monkeypatch: pytest.MonkeyPatch, maker: str, level: frozenset[str], name: str
) -> None:
    made_by(monkeypatch, maker, level)
    found = targets.target()
    features = found.features.split(",")
    assert found.name == name
    assert {each[1:] for each in features if each[0] == "+"} == level
    assert ("-prefer-256-bit" in features) == (level == V4)


def test_a_processor_without_either_level_is_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    made_by(monkeypatch, INTEL, V3 - {"fma"})
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_name", lambda: "ivybridge")
    found = targets.target()
    assert found.name == "ivybridge" and "+amx-tile" in found.features


def test_a_variable_names_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    made_by(monkeypatch, INTEL, V4)
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_name", lambda: "this")
    for given, name in (("native", "this"), ("znver3", "znver3"), ("", "icelake-server")):
        monkeypatch.setenv("MINDTORCH_PROCESSOR", given)
        assert targets.target().name == name
    monkeypatch.setenv("MINDTORCH_PROCESSOR", "z80")
    with pytest.raises(ValueError, match=r"MINDTORCH_PROCESSOR=z80 is neither native nor one of"):
        targets.target()


@pytest.mark.skipif(
    not all(targets._host().get(each) for each in V3), reason="a processor without AVX2"
)
def test_kernels_for_a_lesser_processor_of_another_maker_run(tmp_path: Path) -> None:
    """As `make wheel` compiles them: as wide, and in the order, as they would be there."""
    environment = {
        **os.environ, "MINDTORCH_PROCESSOR": "znver3", "MINDTORCH_CACHE_DIR": str(tmp_path)
    }
    done = subprocess.run(
        [sys.executable, "-c", BY_HAND], env=environment, capture_output=True, text=True, check=True
    )
    total, width, order = done.stdout.split()
    assert float(total) == pytest.approx(1648.7213)
    assert (width, order) == ("32", "sse")
    (folder,) = tmp_path.iterdir()
    assert "-znver3-" in folder.name
