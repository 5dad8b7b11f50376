"""How a call of a compiled function is run, and the reason that ``explain`` prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.decision import Decision
from mindtorch.engine.compile.explain import explain
from mindtorch.engine.switches import off


def _told(function: Any, *args: Any) -> str:
    function(*args)
    decision: Decision = function.decision
    return str(decision)


def test_a_capture_is_run_while_its_guards_hold() -> None:
    """Capture, run, and capture again where a guard fails, which is named."""
    scale = [2.0]
    function = torch.compile(lambda x: x * scale[0])
    x = torch.ones(3)
    assert _told(function, x) == "capture: no capture has been made for such arguments"
    assert _told(function, x) == "run: the guards of an earlier capture hold"
    scale[0] = 3.0
    assert _told(function, x).startswith("capture: a guard of an earlier one fails: ")
    assert function(x)[0].item() == 3


def test_a_call_that_needs_data_runs_in_lazy_mode(caplog: pytest.LogCaptureFixture) -> None:
    """Its reason is the line that asks; without lazy mode it runs eagerly."""
    function = torch.compile(lambda x: x + 1 if x.sum().item() else x)
    x = torch.ones(3)
    function(x)
    assert _told(function, x).startswith("lazy: ") and "item" in str(function.decision)
    with off("lazy"):
        assert _told(function, x).startswith("eager: ")
        assert "MINDTORCH_LAZY=0" in str(function.decision)
    with off("compile"):
        assert _told(function, x) == "eager: MINDTORCH_COMPILE=0"


def test_too_many_captures_are_told(caplog: pytest.LogCaptureFixture) -> None:
    """The warning says what becomes of the call, in words of its user."""
    count = [0]
    function = torch.compile(lambda x: x + count[0])
    for count[0] in range(10):
        function(torch.ones(2))
    assert str(function.decision).startswith("lazy: it was traced too often because of ")
    assert "its Python code runs at each call, and its ops run in lazy mode" in caplog.text


def _observed(function: Any) -> None:
    with torch.profiler.profile():
        function(torch.ones(2))


def _disabled(function: Any) -> None:
    with torch.compiler.set_stance("force_eager"):
        function(torch.ones(2))


@pytest.mark.parametrize(
    ("call", "reason"),
    [(_observed, "each op is seen by something"), (_disabled, "the stance is force_eager")],
)
def test_eager_calls(call: Callable[[Any], None], reason: str) -> None:
    """Nothing is captured, and the reason is kept."""
    function = torch.compile(lambda x: x + 1)
    call(function)
    assert str(function.decision).startswith(f"eager: {reason}") and not function.traces


def test_a_refused_recompilation_is_a_decision() -> None:
    """The record does not hold the error, whose frames hold tensors."""
    function = torch.compile(lambda x: x + 1)
    with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError):
        function(torch.ones(2))
    assert str(function.decision).startswith("raise: Detected recompile")
    assert function.decision.error is None


def test_explain_prints_the_decision() -> None:
    """Of the call that is explained."""
    call = explain(torch.compile(lambda x: x * 2))
    assert "how this call was run: capture: no capture has been made" in str(call(torch.ones(2)))
    assert "how this call was run: run: the guards" in str(call(torch.ones(2)))
