"""`mindtorch bisect` names the mechanism that changes a result."""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.call_cache import call_cache, vjp_cache
from mindtorch.engine.compile.jit import Jitted
from mindtorch.engine.compile.passes.fusion import Fused
from mindtorch.engine.compile.passes.kernel_substitution import SubstitutedOp
from mindtorch.engine.compile.runtime.compiled_call import CompiledCall
from mindtorch.engine.compile.runtime.grad_buffer_reuse import GradBufferReuse
from mindtorch.engine.op import forget_plans
from mindtorch.engine.switches import DESCRIPTIONS, off
from mindtorch.tools import bisect, cli
from mindtorch.tools.bisect_child import summary

JIT: Any = sys.modules[Jitted.__module__]
WRONG = 1.01


def _scaled(result: Any) -> Any:
    for x in result if isinstance(result, (list, tuple)) else [result]:
        if x is not None:
            x.flat *= WRONG
    return result


def _after(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that does what the real one does, and then changes its result."""
    return lambda real: functools.wraps(real)(lambda *args: change(real(*args)))


def _calls_scaled(call: Any) -> Any:
    return None if call is None else lambda *given: _scaled(call(*given))


def _cached_scaled(real: Any) -> Any:
    """Cached calls of softmax are wrong."""

    def call_for(recorder: Any, result: Any) -> Any:
        call = real(recorder, result)
        return _calls_scaled(call) if recorder.nodes[-1].op.name == "softmax" else call

    return call_for


def _plan_scaled(real: Any) -> Any:
    """The first result of an op in a graph is wrong."""

    def plan_for(*args: Any) -> Any:
        plan = real(*args)
        run = plan.run

        def wrong(*flats: Any) -> None:
            run(*flats)
            flats[0][...] *= WRONG

        plan.run = wrong
        return plan

    return plan_for


def _given_scaled(real: Any) -> Any:
    def give(reused: Any, flat: Any, arguments: Any) -> None:
        flat *= WRONG
        real(reused, flat, arguments)

    return give


# Where a mechanism is broken, how, and the part of the program that uses it beside "eager".
FAULTS: dict[str, tuple[Any, str, Callable[[Any], Any], str]] = {
    "call_cache": (call_cache.CallRecorder, "call_for", _cached_scaled, "eager"),
    "vjp_cache": (vjp_cache, "cached_rule", _after(_calls_scaled), "eager"),
    "fusion": (Fused, "plan_for", _plan_scaled, "elementwise"),
    "kernel_substitution": (SubstitutedOp, "plan_for", _plan_scaled, "convolution"),
    "grad_buffer_reuse": (GradBufferReuse, "set_gradient", _given_scaled, "step"),
    "lazy": (JIT, "run_lazily", _after(lambda x: x * WRONG), "looks"),
    "compile": (CompiledCall, "finished", _after(_scaled), "elementwise"),
}
PARTS = frozenset(part for *_, part in FAULTS.values())


def _program(parts: Collection[str]) -> list[dict[str, Any]]:
    """What uses each mechanism, or some; the results, an event for each."""
    torch.manual_seed(0)
    x = torch.randn(64, 96)
    weight = torch.randn(96, 96, requires_grad=True)
    images, filters = torch.randn(4, 32, 28, 28), torch.randn(32, 32, 3, 3)
    compiled = torch.compile(lambda x: ((x * 2 + 1).sigmoid() * x))
    convolve = torch.compile(lambda x: torch.conv2d(x, filters, padding=1))
    looks = torch.compile(lambda x: x + 1 if x.sum().item() else x)

    @torch.compile
    def step(x: Any) -> None:
        weight.grad = None
        (x @ weight).sum().backward()

    found: list[Any] = []
    for _ in range(4):
        loss = torch.softmax(torch.relu(x @ weight), 1).square().sum()
        weight.grad = None
        loss.backward()
        found += [loss, weight.grad.clone()]
        if "step" in parts:
            step(x)
            found.append(weight.grad.clone())
        with torch.no_grad():
            if "elementwise" in parts:
                found.append(compiled(x))
            if "convolution" in parts:
                found.append(convolve(images))
            if "looks" in parts:
                found.append(looks(x))
    return [summary(x.detach()) for x in found]


def _in_process(options: Any, off_: Any, parts: Collection[str] = PARTS) -> bisect.Run:
    """A run of the program without a process of its own."""
    forget_plans()
    try:
        if not off_:
            values = _program(parts)
        else:
            with off(*off_):
                values = _program(parts)
    finally:
        forget_plans()
    events: list[Any] = [{"kind": "step", "values": {"x": value}} for value in values]
    return bisect.Run(tuple(off_), 0, [], events, [])


@pytest.fixture(scope="module")
def _met() -> None:
    """The call cache has met all signatures, which it remembers when its calls are forgotten."""
    _in_process(None, ())


@pytest.mark.usefixtures("_met")
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_by_name(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In each mechanism, alone among those whose results are right but for rounding."""
    owner, attribute, fault, part = FAULTS[name]
    monkeypatch.setattr(bisect, "run", functools.partial(_in_process, parts={part}))
    monkeypatch.setattr(owner, attribute, fault(getattr(owner, attribute)))
    options = argparse.Namespace(script=tmp_path, arguments=[], graph=False, tolerance=1e-4)
    search = bisect.Search(options)
    assert search.apart(search.on, search.off) and not search.unsteady()
    search.find()
    assert [each.names for each in search.findings] == [(name,)]
    assert "differs" in search.findings[0].where


def test_a_clean_program_is_clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """But for the bits of Winograd's convolution."""
    monkeypatch.setattr(bisect, "run", _in_process)
    options = argparse.Namespace(script=tmp_path, arguments=[], graph=False, tolerance=1e-4)
    search = bisect.Search(options)
    assert not search.apart(search.on, search.off)
    options.tolerance = 0.0
    search.find()
    assert [each.names for each in search.findings] == [("kernel_substitution",)]


def _runs(**events: list[Any]) -> dict[str, bisect.Run]:
    return {name: bisect.Run((), 0, [], each, []) for name, each in events.items()}


def _event(kind: str, **values: Any) -> dict[str, Any]:
    return {"kind": kind, "values": {name: summary(x) for name, x in values.items()}}


def test_the_first_difference_is_named() -> None:
    """The step's number and what differs in it; a tolerance is a part of the largest element."""
    x = torch.tensor([1.0, 2.0, -4.0])
    runs = _runs(
        a=[_event("step", p=x), _event("compiled call", r=x), _event("step", p=x)],
        b=[_event("step", p=x), _event("compiled call", r=x), _event("step", p=x + 1e-4)],
        c=[_event("step", p=x), _event("step", p=x)],
        d=[_event("step", p=x.double())],
    )
    a = runs["a"]
    assert bisect.difference(a, a) == ""
    assert bisect.difference(a, runs["b"]).startswith("step 2: p differs, by 0.0001")
    assert bisect.difference(a, runs["b"], 1e-3) == ""
    assert bisect.difference(a, runs["b"], 1e-5)
    assert bisect.difference(a, runs["c"]).startswith("compiled call 1: the other")
    assert bisect.difference(a, runs["d"]) == "step 1: p is float32[3] and float64[3]"


@pytest.mark.parametrize(
    ("a", "b", "tolerance", "equal"),
    [
        ("loss 1.50", "loss 1.50", 0.0, True),
        ("loss 1.50", "loss 1.51", 0.0, False),
        ("loss 1.50", "loss 1.51", 0.1, True),
        ("loss nan", "loss nan", 0.1, True),
        ("loss nan", "loss 1.0", 0.1, False),
        ("step 1 1.50", "step 1 1.50 done", 0.1, False),
    ],
)
def test_printed_lines(a: str, b: str, tolerance: float, equal: bool) -> None:
    """Text is compared as it is, numbers in it by the tolerance."""
    first, second = (bisect.Run((), 0, [line], [], []) for line in (a, b))
    assert (bisect.difference(first, second, tolerance) == "") is equal


CLEAN = """
import sys, time, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = model(torch.randn(3, 4)).square().sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
"""
FAULTY = """
from mindtorch.engine.switches import switches
with torch.no_grad():
    model.weight.mul_(1.01 if switches.lazy else 1.0)
optimizer.step()
"""


def _bisected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, *options: str
) -> tuple[int, str, str]:
    script = tmp_path / "script.py"
    script.write_text(text, encoding="utf-8")
    status = cli.main(["bisect", *options, str(script)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_script_without_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 0, and what was compared."""
    status, out, _ = _bisected(tmp_path, capsys, CLEAN)
    assert status == 0
    assert "no mechanism changes a result: 2 steps, 0 compiled calls and 2 printed lines" in out


@pytest.mark.exhaustive
def test_a_script_with_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 1, the mechanism's name and variable, and the step."""
    status, out, _ = _bisected(tmp_path, capsys, CLEAN + FAULTY)
    assert status == 1
    assert "lazy changes a result" in out and "MINDTORCH_LAZY=0" in out
    assert "step 3: parameter 0 differs" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ValueError('of the script')", "ValueError: of the script"),
        ("x = 1", "no optimizer's step, no compiled call and no output"),
        (CLEAN.replace("torch.manual_seed(0)", "torch.manual_seed(time.time_ns())"),
         "two runs with everything on differ"),
    ],
)  # fmt: skip
def test_nothing_to_compare(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 2: the script fails, computes nothing, or something else each time."""
    status, _, err = _bisected(tmp_path, capsys, text)
    assert status == 2 and said in err


def test_mechanisms_are_described() -> None:
    """Each has a fault in these tests."""
    assert FAULTS.keys() == DESCRIPTIONS.keys()
    assert bisect.KNOWN.keys() < DESCRIPTIONS.keys()
