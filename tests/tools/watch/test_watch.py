"""Watchpoints: each is told with its step, layer, op, figure and the user's line, and a sound
training meets none."""

from __future__ import annotations

import inspect
import os
import pdb
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.mindspore import Model
from mindtorch.mindspore import dataset as ds
from mindtorch.mindspore import nn as ms_nn
from mindtorch.tools import WatchCallback, cli, watch
from mindtorch.tools.watchpoints.conditions import CHECKS, Hit
from mindtorch.tools.watchpoints.watcher import Watch, WatchpointError
from mindtorch.torch import nn
from mindtorch.torch.nn import functional as F
from tests.support.paths import ROOT


class Net(nn.Module):
    def __init__(self, middle: Callable[[Any], Any] = torch.tanh) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.last = nn.Linear(8, 2)
        self.middle = middle

    def forward(self, x: Any) -> Any:
        return self.last(self.middle(self.first(x)))


def train(model: Any, steps: int = 2, rate: float = 0.01, scale: float = 1.0) -> None:
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    data, target = torch.randn(16, 4), torch.randn(16, 2)
    for _ in range(steps):
        loss = F.mse_loss(model(data), target) * scale
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # of all


def seen(check: str, work: Callable[[], object], **options: Any) -> Hit:
    """The first hit of a check."""
    with watch(check, on_hit="collect", **options) as found:
        work()
    assert {hit.check for hit in found.hits} == {check}
    return found.hits[0]


def line_of(text: str) -> int:
    """The line of this file that has a text, which is there once."""
    lines = inspect.getsource(sys.modules[__name__]).splitlines()
    (found,) = (at for at, line in enumerate(lines, 1) if line.endswith(text))
    return found


def test_a_sound_training_meets_nothing() -> None:
    """Otherwise nobody would leave the watch on."""
    with watch(on_hit="collect") as found:
        train(Net(), steps=5)
    assert found.hits == [] and found.step == 6
    assert found.summary() == "watch: nothing was met"


def test_an_overflow_is_told_where_it_arises() -> None:
    """Not in the hundred ops that carry it on."""

    def middle(x: Any) -> Any:
        return x.exp().mul(1e38) * 0.5  # overflows

    model = Net(middle)
    hit = seen("overflow", lambda: train(model), model=model)
    assert (hit.step, hit.place.layer, hit.place.op) == (1, "Net", "multiply")
    assert (hit.place.file, hit.place.line) == (__file__, line_of("# overflows"))
    assert "infinite of 128 elements" in hit.statistic


def test_an_overflow_in_the_backward_pass_names_the_forward_line() -> None:
    """The line that says `backward()` would be of no use."""

    def middle(x: Any) -> Any:
        return torch.sqrt(x - x)  # the root of zero

    hit = seen("overflow", lambda: train(Net(middle)))
    assert (hit.place.layer, hit.place.op) == ("Net", "backward of sqrt")
    assert hit.place.line == line_of("# the root of zero")


def test_masks_of_infinity_are_no_overflow() -> None:
    """Attention fills with -inf; the softmax of that is finite."""

    def middle(x: Any) -> Any:
        scores = x.masked_fill(x < 0, float("-inf")) + torch.zeros(8)
        return F.softmax(scores, -1).nan_to_num()

    with watch("overflow", on_hit="collect") as found:
        x = torch.randn(3, 8)
        x[:, 0] = 1.0
        middle(x)
    assert found.hits == []
    with watch("overflow", on_hit="collect") as found:
        x = torch.full((3,), float("inf"))
        x - x
    assert [hit.place.op for hit in found.hits] == ["subtract"]


def test_numbers_that_masks_are_made_of_are_not_too_large() -> None:
    """`(1 - mask) * finfo.min` and a large diagonal are what the code says, not results."""
    with watch("too_large", on_hit="collect") as found:
        mask = (1.0 - torch.ones(4, 4).tril()) * torch.finfo(torch.float32).min
        (torch.randn(4, 4) + mask).softmax(-1) + torch.cdist(mask, torch.eye(4) * 1e9)
    assert found.hits == []


def test_the_logarithms_that_ctc_loss_keeps_are_no_overflow() -> None:
    """They are of paths that cannot be; the loss is finite."""
    lengths = torch.full((4,), 6), torch.full((4,), 2)
    scores = torch.zeros(6, 4, 5).log_softmax(-1)
    with watch("overflow", on_hit="collect") as found:
        loss = F.ctc_loss(scores, torch.tensor([[1, 2]] * 4), *lengths)
    assert found.hits == [] and loss.isfinite()


@pytest.mark.parametrize("optimizer", ["Adam", "SGD"])
def test_layers_that_begin_as_zeros_are_sound(optimizer: str) -> None:
    """A zeroed last layer hands on no gradient in the first step, and a bias of zeros grows by as
    much as it is under Adam; after that a bias may cross zero."""
    torch.manual_seed(0)
    model = Net()
    for parameter in (*model.last.parameters(), model.first.bias):
        torch.nn.init.zeros_(parameter)
    steps = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)
    sign = 1.0
    with watch("weight_change_too_large", "gradient_vanishing", on_hit="collect") as found:
        for step in range(40):
            sign = -sign if step == 20 else sign
            loss = (model(torch.randn(16, 4)) - sign).square().mean()
            steps.zero_grad()
            loss.backward()
            steps.step()
    assert found.hits == []


def test_one_number_may_begin_near_zero() -> None:
    """The bias of a layer with one output moves by a multiple of itself; its weight tells what is
    usual, and a change that is large beside that is told."""
    layer = torch.nn.Linear(40, 1)
    torch.nn.init.constant_(layer.bias, 1e-5)
    for rate, wanted in ((1e-3, []), (10.0, ["bias", "weight"])):
        optimizer = torch.optim.Adam(layer.parameters(), rate)
        with watch("weight_change_too_large", model=layer, on_hit="collect") as seen:
            layer(torch.ones(3, 40)).sum().backward()
            optimizer.step()
        assert sorted(hit.place.op for hit in seen.hits) == wanted


def test_gradients_of_zeros_in_two_steps_are_told() -> None:
    """A unit that stays dead."""
    model = Net(lambda x: F.relu(x - 100))
    hit = seen("gradient_vanishing", lambda: train(model))
    assert (hit.step, hit.place.layer, hit.statistic) == (2, "first", "largest |element| 0")


def test_a_cast_to_half_that_overflows_is_told() -> None:
    """The usual accident of mixed precision."""
    hit = seen("overflow", lambda: torch.full((3,), 1e5).half())
    assert hit.place.op == "_to_copy"


@pytest.mark.parametrize(
    ("check", "work", "op"),
    [
        ("too_large", lambda: torch.full((3,), 2.0) * 1e9, "multiply"),
        ("too_large", lambda: torch.full((3,), 1.2).half() * 5e4, "multiply"),
        ("too_small", lambda: torch.ones(3) * 1e-25, "multiply"),
        ("dead_relu", lambda: F.relu(-torch.rand(4, 5) - 1), "relu"),
        ("activation_saturation", lambda: torch.sigmoid(torch.full((4,), 50.0)), "sigmoid"),
        ("activation_saturation", lambda: torch.tanh(torch.full((4,), -50.0)), "tanh"),
    ],
)
def test_a_figure_of_a_result_is_told(check: str, work: Callable[[], Any], op: str) -> None:
    """Each check on results, by the op."""
    hit = seen(check, work)
    assert hit.place.op == op and hit.place.file == __file__


def test_a_layer_of_zeros_is_told() -> None:
    """A layer whose weights were zeroed gives nothing on."""
    model = Net()
    torch.nn.init.zeros_(model.last.weight)
    torch.nn.init.zeros_(model.last.bias)
    hit = seen("all_zero", lambda: model(torch.randn(2, 4)), model=model)
    assert hit.place.layer == "last"


def test_units_of_a_convolution_are_its_channels() -> None:
    """One channel that lives is a share below the limit."""
    x = -torch.rand(4, 10, 3, 3) - 1
    x[2, 7, 1, 1] = 1.0
    assert seen("dead_relu", lambda: F.relu(x), dead_relu=0.85).value == pytest.approx(0.9)
    with watch("dead_relu", on_hit="collect") as found:
        F.relu(x)
    assert found.hits == []


@pytest.mark.parametrize(
    ("check", "options"),
    [
        ("gradient_vanishing", {"scale": 1e-20}),
        ("gradient_exploding", {"scale": 1e8}),
        ("weight_change_too_large", {"rate": 100.0}),
        ("weight_unchanged", {"rate": 0.0, "steps": 3}),
    ],
)
def test_a_figure_of_a_step_is_told(check: str, options: dict[str, Any]) -> None:
    """By the parameter and its layer."""
    model = Net()
    hit = seen(check, lambda: train(model, **options))
    assert hit.place.layer in ("first", "last") and hit.place.op in ("weight", "bias")
    assert hit.step == (2 if check == "weight_unchanged" else 1)
    assert hit.place.line == line_of("# of all")


def test_a_loss_that_does_not_fall_is_told() -> None:
    """After so many steps without a lower one."""
    hit = seen("loss_not_falling", lambda: train(Net(), 8, rate=0.0), loss_not_falling=4)
    assert hit.step == 5 and "was 4 steps ago" in hit.statistic


def test_weights_that_are_not_finite_at_the_start_are_told() -> None:
    """They are no op's result."""
    model = Net()
    with torch.no_grad():
        model.last.bias[0] = float("nan")
    hit = seen("overflow", lambda: model(torch.randn(2, 4)))
    assert (hit.place.layer, hit.place.op) == ("last", "bias")


def test_compiled_steps_are_seen() -> None:
    """A step that was compiled before the watch came, with the same line and layer."""
    model = Net(lambda x: x.exp() * 1e38)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)

    @torch.compile
    def step(x: Any) -> Any:
        loss = model(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    x = torch.full((2, 4), -20.0)
    with torch.no_grad():
        model.first.weight.copy_(torch.ones(8, 4))
    step(x)
    step(x)
    with watch("overflow", on_hit="collect", model=model) as found:
        step(-x)
    assert found.step == 2
    assert (found.hits[0].place.layer, found.hits[0].place.op) == ("Net", "multiply")


def test_results_do_not_change() -> None:
    """A watch looks and does not touch: bit-equal parameters, the same random numbers."""
    results = []
    for on in (False, True):
        torch.manual_seed(3)
        model = nn.Sequential(Net(), nn.Dropout(0.5))
        with watch(on_hit="collect") if on else torch.enable_grad():
            train(model, steps=3)
        results.append([p.detach().numpy().tobytes() for p in model.parameters()])
    assert results[0] == results[1]


def test_nothing_is_left_behind() -> None:
    """After the block everything is as it was, after an error, too."""
    from mindtorch.engine.autograd import tape
    from mindtorch.engine.dispatch import state

    before = (nn.Module.__call__, nn.Module.__init__, torch.Tensor.backward, tape.Node.apply)
    with pytest.raises(ZeroDivisionError), watch():
        raise ZeroDivisionError
    after = (nn.Module.__call__, nn.Module.__init__, torch.Tensor.backward, tape.Node.apply)
    assert before == after and state.interpreters == ()


def test_a_watch_may_raise() -> None:
    """At the very op, so that the traceback shows it."""
    text = "step 1: overflow in no layer, divide"
    with pytest.raises(WatchpointError, match=text) as raised, watch("overflow", on_hit="raise"):
        torch.ones(2) / torch.zeros(2)
    assert raised.value.hit.value == 2


def test_a_watch_may_open_the_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the user's frame."""
    frames = []
    monkeypatch.setattr(pdb.Pdb, "set_trace", lambda self, frame: frames.append(frame))
    with watch("overflow", on_hit="debug"):
        torch.ones(2) / torch.zeros(2)
    assert [frame.f_code.co_filename for frame in frames] == [__file__]


def test_repeats_are_counted_not_told(capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand steps with one fault are three lines and a count."""
    with watch("overflow") as found:
        for _ in range(10):
            torch.ones(2) / torch.zeros(2)
    told = capsys.readouterr().err
    assert told.count("watch: step 1: overflow") == 3 and "no more of these" in told
    assert "10 x from step 1: overflow in no layer, divide" in found.summary()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: watch("nonsense"), ValueError, "no watchpoint named nonsense"),
        (lambda: watch("overflow", dead=1), TypeError, "no limit named dead"),
        (lambda: watch(on_hit="shout"), ValueError, "on_hit must be"),
    ],
)
def test_wrong_arguments_are_refused(
    call: Callable[[], Watch], error: type[Exception], text: str
) -> None:
    """A check that is not there would never be met."""
    with pytest.raises(error, match=text):
        call()


def test_the_facades_callback_watches() -> None:
    """Model.train with MindSpore's optimizer, which has no hooks."""
    torch.manual_seed(0)
    data = {"x": np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)}
    data["y"] = data["x"][:, :2].copy()
    network = ms_nn.Dense(4, 2)
    model = Model(network, ms_nn.MSELoss(), ms_nn.SGD(network.trainable_params(), 0.0))
    callback = WatchCallback("weight_unchanged", on_hit="collect")
    dataset = ds.NumpySlicesDataset(data, shuffle=False).batch(4)
    model.train(2, dataset, callbacks=[callback], dataset_sink_mode=False)
    assert callback.watch is not None and callback.watch.step == 5
    assert {hit.check for hit in callback.watch.hits} == {"weight_unchanged"}


SCRIPT = """import torch
x = torch.zeros(2)
y = (x / x).sum()
print("result", y.item())
"""


def test_a_run_may_be_watched(tmp_path: Path) -> None:
    """`mindtorch run --watch all script.py`: the script's output, and what was met."""
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "mindtorch", "run", "--watch", "all", "script.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "result nan\n")
    assert "watch: step 1: overflow in no layer, divide, script.py:3: 2 NaN" in done.stderr
    assert "    y = (x / x).sum()\n" in done.stderr


def test_a_watchpoint_that_is_not_there_is_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the script is not run."""
    (tmp_path / "script.py").write_text("raise SystemExit(7)")
    assert cli.main(["run", "--watch", "nope", str(tmp_path / "script.py")]) == 2
    error = capsys.readouterr().err
    assert all(name in error for name in CHECKS)


def test_what_follows_from_the_first_nan_is_folded(capsys: pytest.CaptureFixture[str]) -> None:
    """One NaN in the loss was told by every parameter's gradient and change: sixteen lines a
    step."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    with watch("all", model=model) as seen:
        for step in range(1, 6):
            optimizer.zero_grad()
            loss = model(torch.ones(2, 4)).mean()
            if step == 3:
                loss = (loss - loss).log()
            loss.backward()
            optimizer.step()
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if line.startswith("watch")] == [str(x) for x in told[:1]]
    assert "step 3: overflow in no layer, log" in told[0]
    assert told[-1] == "    (what follows from it is counted at the end)"
    assert {hit.check for hit in seen.hits} >= {"overflow", "gradient_exploding"}
    summary = seen.summary().splitlines()
    assert summary[0] == "watch: 1 watchpoint was met" and "overflow" in summary[1]
    text = "  follows from that: gradient_exploding in 4 places, "
    assert any(line.startswith(text) for line in summary[2:]), summary


def test_several_layers_in_one_step_are_told_below_one_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), 1e-9)
    with watch("gradient_exploding", "weight_change_too_large", gradient_exploding=1e-3):
        (model(torch.ones(2, 4)).mean() * 1e3).backward()
        optimizer.step()
    told = capsys.readouterr().err
    assert told.count("watch: ") == 1 and told.count("    also in ") == 3
    assert "    also in 1, bias: norm 1000" in told
