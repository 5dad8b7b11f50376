"""torch.jit: scripts and traces are compiled, and what they keep of a module and in files."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch


def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh())


@pytest.mark.parametrize("how", ["script", "trace", "trace_module"])
def test_a_saved_script_computes_the_same_when_loaded(how: str, tmp_path: Path) -> None:
    """`scripted.save(path)` is how programs deploy; parameters and the code's class come back."""
    x = torch.randn(5, 3)
    net = model().eval()
    made: Any = {
        "script": lambda: torch.jit.script(net),
        "trace": lambda: torch.jit.trace(net, x),
        "trace_module": lambda: torch.jit.trace_module(net, {"forward": x}),
    }[how]()
    made.save(tmp_path / "model.pt")
    loaded = torch.jit.load(tmp_path / "model.pt", map_location="cpu")
    np.testing.assert_array_equal(loaded(x).detach().numpy(), net(x).detach().numpy())
    assert list(loaded.state_dict()) == list(net.state_dict())
    again = io.BytesIO()
    loaded.save(again)
    assert again.getvalue()


def test_extra_files_come_back_as_bytes() -> None:
    """A file may carry texts beside the module, asked for by name."""
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(model()), file, _extra_files={"words": "a b"})
    found: dict[str, Any] = {"words": ""}
    torch.jit.load(io.BytesIO(file.getvalue()), _extra_files=found)
    assert found == {"words": b"a b"}
    with pytest.raises(RuntimeError, match="no extra file 'other'"):
        torch.jit.load(io.BytesIO(file.getvalue()), _extra_files={"other": ""})


def test_freezing_needs_eval_mode() -> None:
    """As in torch, whose error it is."""
    script = torch.jit.script(model())
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        torch.jit.freeze(script)
    assert torch.jit.freeze(script.eval()) is script
    assert not torch.jit.optimize_for_inference(torch.jit.script(model())).training
    for function in (torch.jit.freeze, torch.jit.optimize_for_inference):
        with pytest.raises(RuntimeError, match="expects a ScriptModule as input"):
            function(model())


def test_a_script_module_is_a_module_that_runs_as_python() -> None:
    """Older programs derive from ScriptModule and mark methods."""

    class Doubled(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x: Any) -> Any:
            return x * 2

    assert Doubled()(torch.ones(2)).tolist() == [2, 2]


class Branching(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.dropout = torch.nn.Dropout(0.5)
        self.scale = 2

    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            x = x * self.scale
        return self.dropout(self.linear(x))


def test_a_scripted_module_is_compiled_and_follows_its_python_code() -> None:
    """Both branches, train and eval mode, attributes set later, gradients: all as eagerly."""
    torch.manual_seed(0)
    net = Branching()
    plain = copy.deepcopy(net)
    scripted = torch.jit.script(net)
    for i in range(9):
        if i == 4:
            scripted.eval(), plain.eval()
        if i == 6:
            scripted.scale = plain.scale = 3
        x = torch.full((2, 3), 1.0 if i % 2 else -1.0)
        for module in (scripted, plain):
            torch.manual_seed(i)
            module(x).sum().backward()
        torch.manual_seed(i)
        result = scripted(x)
        torch.manual_seed(i)
        assert result.tolist() == plain(x).tolist()
    assert net.linear.weight.grad.tolist() == plain.linear.weight.grad.tolist()
    assert list(scripted.state_dict()) == list(plain.state_dict())
    assert net._compiled_call_impl.trace_tree.runs > 0
    for name in ("code", "graph"):
        with pytest.raises(AttributeError, match="there is no TorchScript"):
            getattr(scripted, name)


@torch.jit.script
def gated(x: Any, k: float = 2.0) -> Any:
    return x * torch.sigmoid(k * x)


def test_a_scripted_function_is_compiled_and_can_be_pickled() -> None:
    """A function that is captured: called with defaults, saved, and known by its type."""
    x = torch.ones(2)
    made = [gated(x), gated(x, 2.0), gated(x, 3.0)]
    assert isinstance(gated, torch.jit.ScriptFunction) and gated.name == "gated"
    assert made[0].tolist() == made[1].tolist() == (x * torch.sigmoid(2 * x)).tolist()
    assert made[2].tolist() == (x * torch.sigmoid(3 * x)).tolist() and not gated.eager
    assert pickle.loads(pickle.dumps(gated)) is gated
    with pytest.raises(AttributeError, match="there is no TorchScript"):
        gated.graph


def test_traces_take_examples_by_place_or_by_name() -> None:
    """The example inputs are run; branches stay Python's, so checks of traces find nothing."""
    seen = []

    def f(a: Any, b: Any) -> Any:
        seen.append(1)
        return a + b if a.sum() > 0 else a - b

    one = torch.ones(2)
    traced = torch.jit.trace(f, (one, one), check_inputs=[(one, -one)])
    assert len(seen) == 2 and traced(-one, one).tolist() == [-2, -2]
    torch.jit.trace(f, example_kwarg_inputs={"a": one, "b": one})
    with pytest.raises(RuntimeError, match="should be given, but not both"):
        torch.jit.trace(f)


def test_scripted_modules_are_script_modules() -> None:
    """Programs ask, to know whether a module can be saved as one."""
    plain = torch.nn.Linear(2, 2)
    assert not isinstance(plain, torch.jit.ScriptModule)
    assert isinstance(torch.jit.script(torch.nn.Linear(2, 2)), torch.jit.ScriptModule)
    traced = torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2))
    assert isinstance(traced, torch.jit.ScriptModule)


def test_execution_without_optimization_compiles_nothing() -> None:
    """Each call in the block runs the Python code."""
    runs = []

    @torch.jit.script
    def call(x: Any) -> Any:
        runs.append(1)
        return x * 2

    with torch.jit.optimized_execution(False):
        for _ in range(3):
            assert call(torch.ones(2)).tolist() == [2, 2]
    assert len(runs) == 3 and not call.traces
