"""Mechanisms are turned off one by one, by the environment and within a process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.call_cache import call_cache, vjp_cache
from mindtorch.engine.compile.jit import Jitted
from mindtorch.engine.compile.lazy import script_mode
from mindtorch.engine.compile.passes.fusion import Fused
from mindtorch.engine.compile.runtime.partition import Partition
from mindtorch.engine.op import forget_plans
from mindtorch.engine.settings import policy
from mindtorch.engine.switches import DESCRIPTIONS, Switches, off, switches, variable
from mindtorch.kernels.cpu.matrix_products import amx

SAID = """
import mindtorch.torch as torch
from mindtorch.engine.switches import DESCRIPTIONS, switches
print(*[name for name in DESCRIPTIONS if not getattr(switches, name)])
"""


@pytest.fixture(autouse=True)
def _plans() -> Iterator[None]:
    forget_plans()
    yield
    forget_plans()


def _network() -> tuple[Any, Any]:
    torch.manual_seed(0)
    x = torch.randn(64, 96)
    return torch.nn.Sequential(torch.nn.Linear(96, 96), torch.nn.GELU()), x


def _partitions(jitted: Any) -> list[Any]:
    steps = [step for found in jitted.compiled.values() for c in found for step in c.steps]
    return [step for step in steps if isinstance(step, Partition)] + jitted.trace_tree.partitions()


def test_variables_name_the_mechanisms() -> None:
    """All are on unless their variable is 0."""
    assert all(getattr(Switches({}), name) for name in DESCRIPTIONS)
    for name in DESCRIPTIONS:
        found = Switches({variable(name): "0"})
        assert [each for each in DESCRIPTIONS if not getattr(found, each)] == [name]
        assert getattr(Switches({variable(name): "1"}), name)


def test_the_environment_is_read_at_import() -> None:
    """As a user sets it, for a process."""
    environment = {**os.environ, "MINDTORCH_FUSION": "0", "MINDTORCH_VJP_CACHE": "0"}
    command = [sys.executable, "-c", SAID]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["vjp_cache", "fusion"]


def test_off_is_undone_after_an_error() -> None:
    """Tests that fail leave the switches to others as they were."""
    before = dict(vars(switches))
    with pytest.raises(KeyError), off():
        assert not any(vars(switches).values())
        raise KeyError
    assert vars(switches) == before


@pytest.mark.parametrize("name", ["call_cache", "vjp_cache"])
def test_no_call_is_recorded_without_its_cache(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was recorded before is forgotten."""
    module: Any = {"call_cache": call_cache, "vjp_cache": vjp_cache}[name]
    recorded, record = [], module._record

    def note(*args: Any) -> Any:
        recorded.append(args)
        return record(*args)

    monkeypatch.setattr(module, "_record", note)

    def train() -> list[float]:
        network, x = _network()
        losses = []
        for _ in range(4):
            loss = torch.softmax(network(x), 1).square().sum()
            loss.backward()
            losses += [loss.item(), network[0].weight.grad.sum().item()]
        return losses

    with off(name):
        without = train()
    assert not recorded
    assert train() == without and recorded


def test_without_fusion_each_op_is_a_loop() -> None:
    """The bits stay."""
    network, x = _network()
    with off("fusion"):
        alone = torch.compile(lambda x: network(x) * 2 + x)
        expected = alone(x)
    fused = torch.compile(lambda x: network(x) * 2 + x)
    assert torch.equal(fused(x), expected)
    found = [[isinstance(n.op, Fused) for s in _partitions(f) for n in s.graph.nodes]
             for f in (alone, fused)]  # fmt: skip
    assert not any(found[0]) and any(found[1])


def test_without_kernel_substitution_convolutions_have_eager_bits() -> None:
    """Quick kernels add in another order; without them a compiled call is the eager one."""
    torch.manual_seed(0)
    layer = torch.nn.Conv2d(32, 32, 3, padding=1, bias=False)
    x = torch.randn(4, 32, 28, 28)
    with torch.no_grad(), off("kernel_substitution"):
        plain = torch.compile(lambda x: layer(x))
        assert torch.equal(plain(x), layer(x))
        other = torch.compile(lambda x: layer(x))
    with torch.no_grad():
        other(x)
    names = [[n.op.name for s in _partitions(f) for n in s.graph.nodes] for f in (plain, other)]
    quick = "amx_convolution" if amx.available() else "winograd"
    assert names == [["convolution"], [f"convolution by {quick}"]]


@pytest.mark.parametrize("on", [True, False])
def test_without_buffer_reuse_results_have_new_memory(on: bool) -> None:
    """No executable looks at who still holds what it handed out."""
    network, x = _network()

    @torch.compile
    def step(x: Any) -> Any:
        network.zero_grad()
        network(x).sum().backward()

    with contextlib.nullcontext() if on else off("grad_buffer_reuse"):
        for _ in range(4):
            step(x)
        (partition,) = _partitions(step)
        assert any(each is not None for each in partition._reuses) is on
        assert all((buffer.held >= 0) is on for buffer in partition.executable.outputs)


def _lazy_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    module: Any = sys.modules[Jitted.__module__]
    seen, lazily = [], module.run_lazily

    def note(*args: Any) -> Any:
        seen.append(args)
        return lazily(*args)

    monkeypatch.setattr(module, "run_lazily", note)
    return seen


def test_without_lazy_mode_calls_run_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled functions that need data on the way, and scripts."""
    seen = _lazy_calls(monkeypatch)
    function: Callable[[Any], Any] = lambda x: x * 2 if x.sum().item() > 0 else x  # noqa: E731
    x = torch.ones(3)
    for on in (False, True):
        compiled = torch.compile(function)
        with contextlib.nullcontext() if on else off("lazy"):
            for _ in range(3):
                assert torch.equal(compiled(x), x * 2)
        assert bool(seen) is on
    with off("lazy"):
        script_mode.begin()
        assert script_mode.trace_tree() is None


def test_without_compilation_functions_run_their_python() -> None:
    """At each call, whatever the stance; and they are compiled again afterwards."""

    @torch.compile
    def function(x: Any) -> Any:
        return x + 1

    with off("compile"):
        function(torch.ones(2))
        assert function.traces == 0
        with torch.compiler.set_stance("default"):
            function(torch.ones(2))
        assert function.traces == 0 and "MINDTORCH_COMPILE" in policy.eager
    function(torch.ones(2))
    assert function.traces == 1 and not policy.eager
