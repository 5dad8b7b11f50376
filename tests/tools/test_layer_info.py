"""The printout that users compare by eye."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mindtorch.module_hooker import torch_disable, torch_pop
from mindtorch.tools import debug_layer_info
from mindtorch.tools.layer_info import report
from mindtorch.tools.layer_info.torch_counterpart import CounterpartError

FRAMES = {"pytorch": "torch", "mindtorch": "mindtorch.torch"}

EXPECTED = """
>>> parameter and buffer info from {frame} :
'0.weight' with shape: (3, 2), and type: float32.
The max value in '0.weight' is 0.5000, min value is 0.5000, mean value is 0.5000.
'0.bias' with shape: (3,), and type: float32.
The max value in '0.bias' is 0.2500, min value is 0.2500, mean value is 0.2500.
'1.weight' with shape: (3,), and type: float32.
The max value in '1.weight' is 1.0000, min value is 1.0000, mean value is 1.0000.
'1.bias' with shape: (3,), and type: float32.
The max value in '1.bias' is 0.0000, min value is 0.0000, mean value is 0.0000.{zeros}
'1.running_mean' with shape: (3,), and type: float32.
The max value in '1.running_mean' is 0.0000, min value is 0.0000, mean value is 0.0000.{zeros}
'1.running_var' with shape: (3,), and type: float32.
The max value in '1.running_var' is 1.0000, min value is 1.0000, mean value is 1.0000.
'1.num_batches_tracked' with shape: (), and type: int64.
1.num_batches_tracked is 0.

>>> layer input and output info from {frame} :
------------------------------ [forward]:0 ------------------------------
The inputs[0] is a tensor with shape: (2, 2), and type: float32.
The max value in inputs[0] is 4.0000, min value is 1.0000, mean value is 2.5000.
The outputs[0] is a tensor with shape: (2, 3), and type: float32.
The max value in outputs[0] is 3.7500, min value is 1.7500, mean value is 2.7500.
------------------------------ [forward]:1 ------------------------------
The inputs[0] is a tensor with shape: (2, 3), and type: float32.
The max value in inputs[0] is 3.7500, min value is 1.7500, mean value is 2.7500.
The outputs[0] is a tensor with shape: (2, 3), and type: float32.
The max value in outputs[0] is 3.7500, min value is 1.7500, mean value is 2.7500.
------------------------------ [forward]: ------------------------------
The inputs[0] is a tensor with shape: (2, 2), and type: float32.
The max value in inputs[0] is 4.0000, min value is 1.0000, mean value is 2.5000.
The outputs[0] is a tensor with shape: (2, 3), and type: float32.
The max value in outputs[0] is 3.7500, min value is 1.7500, mean value is 2.7500.
------------------------------ [backward]:1 ------------------------------
The outputs[0] is a tensor with shape: (2, 3), and type: float32.
The max value in outputs[0] is 2.0000, min value is 2.0000, mean value is 2.0000.
------------------------------ [backward]: ------------------------------
The outputs[0] is a tensor with shape: (2, 3), and type: float32.
The max value in outputs[0] is 2.0000, min value is 2.0000, mean value is 2.0000.
------------------------------ [backward]:0 ------------------------------
The outputs[0] is a tensor with shape: (2, 3), and type: float32.
The max value in outputs[0] is 2.0000, min value is 2.0000, mean value is 2.0000.
"""


@pytest.fixture(params=FRAMES)
def frame(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each library's name for the tool, with no header printed yet."""
    monkeypatch.setattr(report, "_announced", set())
    monkeypatch.delenv("MSA_LOG", raising=False)
    if request.param == "pytorch":
        pytest.importorskip("torch")
    name: str = request.param
    return name


@pytest.fixture
def torch(frame: str) -> Any:
    return importlib.import_module(FRAMES[frame])


def make_model(torch: Any) -> Any:
    """A linear layer and a batch norm whose numbers have few digits."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3, eps=0.0)).eval()
    with torch.no_grad():
        model[0].weight.fill_(0.5)
        model[0].bias.fill_(0.25)
    return model


def test_the_whole_text_is_as_documented(
    frame: str, torch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Users compare the texts of two libraries line by line, and with logs kept from before."""
    model = make_model(torch)
    debug_layer_info(model, frame)
    output = model(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    (2 * output).sum().backward()
    assert capsys.readouterr().out == EXPECTED.format(frame=frame, zeros=" Of 3 elements 3 zero.")


def test_removing_the_handle_ends_the_printing(
    frame: str, torch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The original's hooks stay for ever; ours can be taken off."""
    model = make_model(torch)
    handle = debug_layer_info(model, frame, params_info=False)
    handle.remove()
    handle.remove()
    model(torch.ones(2, 2))
    assert capsys.readouterr().out == ""


def test_the_header_is_printed_once(
    frame: str, torch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two models of one run share a section."""
    for _ in range(2):
        model = make_model(torch)
        debug_layer_info(model, frame, params_info=False)
        model(torch.ones(2, 2))
    assert capsys.readouterr().out.count(">>> layer input and output info") == 1


def test_tuples_are_walked_and_keep_their_gradients(
    frame: str, torch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is in a tuple says where, and the model's result is not changed by being watched."""

    class Pair(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + 1, (x * 2, x > 0)

    debug_layer_info(Pair(), frame, params_info=False)
    model = Pair()
    debug_layer_info(model, frame, params_info=False)
    x = torch.ones(2, requires_grad=True)
    first, (second, positive) = model(x)
    (first + 3 * second).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]
    assert positive.tolist() == [True, True]
    lines = capsys.readouterr().out.splitlines()
    shapes = [line.split()[1] for line in lines if "with shape" in line]
    # The gradients arrive in the order in which backward reaches the two results.
    assert shapes[:4] == ["inputs[0]", "outputs[0]", "outputs[1][0]", "outputs[1][1]"]
    assert sorted(shapes[4:]) == ["outputs[0]", "outputs[1][0]"]
    assert "The max value in outputs[1][1] is True, min value is True." in lines


def test_a_recurrent_model_computes_under_watch_what_it_computes_alone(
    frame: str, torch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Defects (d) and (e) of the original: its hooks put ``[None, ...]`` in the place of tuples of
    results, and it printed the words ``param_np.shape``."""

    class Reader(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(2, 3)
            self.last = torch.nn.Linear(3, 1)

        def forward(self, x: Any) -> Any:
            steps, (hidden, cell) = self.lstm(x)
            return self.last(steps), [hidden, {"cell": cell}]

    def trained(watched: bool) -> list[Any]:
        torch.manual_seed(0)
        model = Reader()
        if watched:
            debug_layer_info(model, frame)
        result, (hidden, rest) = model(torch.ones(4, 2, 2))
        (result.sum() + hidden.sum() + rest["cell"].sum()).backward()
        values = [result, hidden, rest["cell"], *(p.grad for p in model.parameters())]
        return [value.tolist() for value in values]

    assert trained(watched=True) == trained(watched=False)
    text = capsys.readouterr().out
    assert "param_np" not in text
    assert "'lstm.weight_ih_l0' with shape: (12, 2), and type: float32." in text


def test_types_are_printed_when_asked_for(
    frame: str, torch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the tensors switched off, the types and the order of the layers remain."""
    model = make_model(torch)
    debug_layer_info(model, frame, type_info=True, tensor_info=False, params_info=False)
    model(torch.ones(2, 2))
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == 9
    assert lines[1] == f"The inputs[0] is a {torch.Tensor}."
    assert all(re.match(r"The (in|out)puts\[0\] is a <class|-{30} \[forward\]:", x) for x in lines)


@pytest.mark.parametrize("value", [3, "net", None])
def test_what_is_no_module_is_refused(frame: str, value: object) -> None:
    """The text is the original's."""
    text = f"For debug_layer_info, `model` must be a nn.Module, but get a {type(value)} type."
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        debug_layer_info(value, frame)


def test_another_frame_is_refused() -> None:
    """A misspelt frame must not print under a wrong heading."""
    with pytest.raises(ValueError, match="`frame` must be one of"):
        debug_layer_info(None, "torch")


def test_the_tool_is_the_function_not_a_module(repository: Path) -> None:
    """Scripts write `from mindtorch.tools import debug_layer_info` and call it."""
    assert callable(debug_layer_info)
    assert "mindtorch.tools.debug_layer_info" not in sys.modules


TWIN = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.first = nn.Linear(4, width)
        self.norm = nn.BatchNorm1d(width)
        self.drop = nn.Dropout(0.5)
        self.last = nn.Linear(width, 2)

    def forward(self, x, scale=1.0):
        return self.last(self.drop(torch.relu(self.norm(self.first(x))))) * scale


def make():
    return Net(9)
"""


@pytest.fixture
def twin_module(tmp_path: Path) -> Any:
    """A user's module, imported with mindtorch in torch's place."""
    path = tmp_path / "twin_net.py"
    path.write_text(TWIN)
    torch_disable()
    try:
        spec = importlib.util.spec_from_file_location("twin_net", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        torch_pop()


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the counterpart is real torch's"
)


@needs_torch
def test_layers_are_compared_with_a_twin_made_by_real_torch(
    twin_module: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In training mode, with the same dropout mask; and the model is left as it was."""
    torch = importlib.import_module("mindtorch.torch")
    model = twin_module.make()
    before = [each.clone() for each in (*model.parameters(), *model.buffers())]
    state = torch.get_rng_state()
    handle = debug_layer_info(
        model, params_info=False, against="pytorch", factory=f"{tmp_path / 'twin_net.py'}:make"
    )
    model(torch.randn(5, 4), scale=2.0)
    names = [row.name for row in handle.differences or ()]
    assert names == ["first", "norm", "drop", "last", ""]
    assert all(row.output < 1e-5 for row in handle.differences or ())
    shown = capsys.readouterr().out
    assert shown.count("[forward]:first") == 1
    assert "largest differences of the layers' outputs, mindtorch against pytorch" in shown
    handle.remove()
    model.eval()(torch.randn(5, 4))
    assert capsys.readouterr().out == ""
    assert not torch.equal(state, torch.get_rng_state())
    for each, old in zip(model.parameters(), before, strict=False):
        assert torch.equal(each, old)
    assert int(model.norm.num_batches_tracked) == 1


@needs_torch
def test_a_twin_that_cannot_be_made_says_why(twin_module: Any, tmp_path: Path) -> None:
    """The class alone makes another width; a function without a name cannot be found at all."""
    model = twin_module.make()
    place = f"{tmp_path / 'twin_net.py'}:Net"
    given = importlib.import_module("mindtorch.torch").ones(5, 4)
    with pytest.raises(CounterpartError, match="size mismatch"):
        debug_layer_info(model, params_info=False, against="pytorch", inputs=given, factory=place)
    with pytest.raises(CounterpartError, match="cannot be found by its name"):
        debug_layer_info(model, params_info=False, against="pytorch", inputs=given,
                         factory=lambda: model)  # fmt: skip
    with pytest.raises(ValueError, match="go with `against`"):
        debug_layer_info(model, factory=place)


@pytest.mark.parametrize("frame", sorted(FRAMES))
def test_outputs_in_a_dict_are_told_by_their_keys(frame, capsys):
    """Modules that return dicts (and tuples in them), in both frames."""
    torch: Any = importlib.import_module(FRAMES[frame])

    class Named(torch.nn.Module):
        def forward(self, x):
            return {"loss": x * 2, "rest": (x * 3, None)}

    module = Named()
    debug_layer_info(module, frame=frame, params_info=False)
    outputs = module(torch.ones(2, requires_grad=True))
    (outputs["loss"].sum() + outputs["rest"][0].sum()).backward()
    lines = capsys.readouterr().out.splitlines()
    told = [line.split(" is")[0] for line in lines if "with shape" in line]
    assert told == ["The inputs[0]", "The outputs['loss']", "The outputs['rest'][0]"] + told[3:]
    assert sorted(told[3:]) == ["The outputs['loss']", "The outputs['rest'][0]"]


def test_small_numbers_counts_and_names_are_shown(
    frame: str, torch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Gradients were 0.0000, a NaN hid the other numbers, an LSTM had three results of one name."""
    model = torch.nn.ModuleDict({"lstm": torch.nn.LSTM(2, 3), "gru": torch.nn.GRU(2, 3)})
    debug_layer_info(model, frame, params_info=False)
    x = torch.ones(4, 2, 2)
    output, _ = model["lstm"](x)
    (output * 1e-8).sum().backward()
    model["gru"](x.clone().index_fill_(0, torch.tensor([3]), float("nan")))
    text = capsys.readouterr().out
    for name in ("outputs[0] (output)", "outputs[1][0] (h_n)", "outputs[1][1] (c_n)"):
        assert f"The {name} is a tensor" in text
    assert "The outputs[1] (h_n) is a tensor" in text
    assert (
        "The max value in outputs[0] (output) is 1.000e-08, min value is 1.000e-08, "
        "mean value is 1.000e-08."
    ) in text
    assert (
        "The max value in inputs[0] is 1.0000, min value is 1.0000, mean value is 1.0000. "
        "Of 16 elements 4 NaN."
    ) in text
    assert "Of 6 elements 6 NaN." in text


@needs_torch
def test_a_script_is_its_own_counterpart(tmp_path: Path, repository: Path) -> None:
    """A model that a script defines at top level: what follows is not run a second time, and the
    table comes first."""
    text = f"""
from mindtorch.tools import mstorch_enable, debug_layer_info
{TWIN}
net = Net()
debug_layer_info(net, against="pytorch", inputs=torch.ones(3, 4))
print("trained")
"""
    (tmp_path / "program.py").write_text(text)
    result = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(repository)}, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    table, parameters = result.stdout.index(">>> largest"), result.stdout.index(">>> parameter")
    assert table < parameters and result.stdout.count("trained") == 1


def test_torchs_own_container_asks_for_a_factory() -> None:
    torch = importlib.import_module("mindtorch.torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    with pytest.raises(CounterpartError, match=r"torch's own class.*pass `factory`"):
        debug_layer_info(model, params_info=False, against="pytorch", inputs=torch.ones(1, 2))
