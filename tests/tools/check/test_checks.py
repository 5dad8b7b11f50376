"""Each check finds its planted fault, at the user's line, and nothing in a sound training."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.tools.check.checker import Checker, EnoughError
from mindtorch.tools.check.findings import CHECKS, Finding
from mindtorch.tools.check.report import page, sparkline
from mindtorch.torch import nn
from mindtorch.torch.nn import functional as F
from mindtorch.torch.utils.data import DataLoader, TensorDataset

Loss = Callable[[Any, Any], Any]


def findings(work: Callable[[], Any], steps: int = 40) -> list[Finding]:
    torch.manual_seed(0)
    checker = Checker(steps)
    with contextlib.suppress(EnoughError, ValueError, IndexError, RuntimeError), checker:
        work()
    return checker.findings()


def training(
    model: Any = None, steps: int = 10, rate: float = 0.05, loss_of: Loss | None = None,
    scale: float = 1.0, shift: float = 0.0, clear: bool = True, parameters: Any = None,
    after: Callable[[Any], None] | None = None, labels: Any = None,
) -> None:  # fmt: skip
    """Three classes told apart by a small model."""
    model = classifier() if model is None else model
    optimizer = torch.optim.SGD(model.parameters() if parameters is None else parameters, lr=rate)
    weight = torch.randn(4, 3)
    for _ in range(steps):
        data = torch.randn(32, 4)
        target = (data @ weight).argmax(1) if labels is None else labels
        if clear:
            optimizer.zero_grad()
        output = model(data * scale + shift)
        loss = F.cross_entropy(output, target) if loss_of is None else loss_of(output, target)
        loss.backward()
        optimizer.step()
        if after is not None:
            after(model)


def classifier(*more: Any) -> Any:
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3), *more)


def same_data() -> None:
    loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,))), 16)
    model = classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(6):
        data, target = next(iter(loader))
        optimizer.zero_grad()
        F.cross_entropy(model(data), target).backward()
        optimizer.step()


def evaluated_otherwise() -> None:
    def evaluate(model: Any) -> None:
        with torch.no_grad():
            model((torch.randn(32, 4) + 3) * 4)

    training(after=evaluate)


def in_evaluation_mode() -> None:
    training(nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 3)).eval())


class HalfUsed(nn.Module):
    def __init__(self, used: bool) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 3), nn.Linear(4, 3)
        self.used = used

    def forward(self, x: Any) -> Any:
        return self.first(x) + self.second(x) * 0.0 if self.used else self.first(x)


def dead() -> None:
    model = classifier()
    nn.init.constant_(model[0].bias, -100.0)
    training(model)


def without_a_layer() -> None:
    model = classifier()
    training(model, parameters=model[0].parameters())


def frozen() -> None:
    model = classifier()
    model[0].weight.requires_grad_(False)
    training(model)


def kept() -> None:
    model = classifier()
    groups = [{"params": model[0].parameters(), "lr": 0.0}, {"params": model[2].parameters()}]
    training(model, parameters=groups)


def too_high() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    training(model, steps=20, rate=30.0)


def falling_scale() -> None:
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    model = classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(10):
        optimizer.zero_grad()
        scaler.scale(model(torch.randn(8, 4)).sum() * math.inf).backward()
        scaler.step(optimizer)
        scaler.update()


def by_logits(last: Any, low: float = 0.0) -> Callable[[], None]:
    def work() -> None:
        model = nn.Sequential(nn.Linear(4, 1), last)
        targets = torch.rand(32).round() * (1 - low) + low
        loss_of = lambda x, y: F.binary_cross_entropy_with_logits(x[:, 0], targets)  # noqa: E731
        training(model, loss_of=loss_of)

    return work


class BytesNet(nn.Module):
    """Takes pictures of bytes; divides them or does not."""

    def __init__(self, divisor: float) -> None:
        super().__init__()
        self.conv, self.divisor = nn.Conv2d(3, 4, 3), divisor
        self.last = nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        return self.last(self.conv(x.float() / self.divisor - 0.5).mean((2, 3)))


def on_bytes(divisor: float) -> None:
    model = BytesNet(divisor)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for _ in range(5):
        data = torch.randint(0, 256, (8, 3, 6, 6), dtype=torch.uint8)
        optimizer.zero_grad()
        F.cross_entropy(model(data), torch.randint(0, 3, (8,))).backward()
        optimizer.step()


class Hidden(nn.Module):
    """Layers in a Python list, which modules do not see."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.last = [nn.Linear(4, 4)], nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        return self.last(self.hidden[0](x).tanh())


class Bounded(nn.Module):
    """A rectifier written as a bound."""

    def __init__(self, rectify: Callable[[Any], Any]) -> None:
        super().__init__()
        self.first, self.last, self.rectify = nn.Linear(4, 16), nn.Linear(16, 3), rectify

    def forward(self, x: Any) -> Any:
        return self.last(self.rectify(self.first(x) - 100))


def never_trained_again() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))

    def evaluate(model: Any) -> None:
        model.eval()

    training(model, after=evaluate)


def overflowing_scale() -> None:
    """Inputs of the size of float32's range."""
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    model = classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        optimizer.zero_grad()
        scaler.scale(model(torch.full((16, 4), 1e38)).square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()


def adam_too_high() -> None:
    model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0)
    for _ in range(16):
        data = torch.randn(32, 4)
        optimizer.zero_grad()
        F.cross_entropy(model(data), (data[:, 0] * data[:, 1] > 0).long()).backward()
        optimizer.step()


PLANTED: list[tuple[str, str, Callable[[], Any]]] = [
    ("unnormalised_inputs", "mean", lambda: training(scale=64.0, shift=128.0, rate=1e-6)),
    ("labels_out_of_range", "labels are from 1 to 3, the output has 3 classes",
     lambda: training(labels=torch.randint(1, 4, (32,)))),
    ("labels_out_of_range", "targets from -1 to 1",
     by_logits(nn.Identity(), -1.0)),
    ("same_data_each_step", "the inputs of all 6 steps are the same", same_data),
    ("softmax_before_cross_entropy", "cross_entropy is given probabilities",
     lambda: training(classifier(nn.Softmax(1)))),
    ("softmax_before_cross_entropy", "nll_loss is given probabilities",
     lambda: training(classifier(nn.Softmax(1)), loss_of=lambda x, y: F.nll_loss(x, y))),
    ("softmax_before_cross_entropy", "numbers from 0 to 1 in every call",
     by_logits(nn.Sigmoid())),
    ("train_eval_preprocessing", "in evaluation", evaluated_otherwise),
    ("eval_mode_in_training", "evaluation mode", in_evaluation_mode),
    ("zero_gradients", "second.weight, second.bias is zero",
     lambda: training(HalfUsed(used=True))),
    ("zero_gradients", "second.weight, second.bias is missing",
     lambda: training(HalfUsed(used=False))),
    ("dead_relu", "16 of 16 units", dead),
    ("missing_zero_grad", "SGD's gradients were not cleared", lambda: training(clear=False)),
    ("not_in_optimizer", "2.weight, 2.bias have gradients", without_a_layer),
    ("frozen_parameters", "0.weight, which requires no gradient", frozen),
    ("frozen_parameters", "0.weight, 0.bias has a gradient and kept its value", kept),
    ("exploding_loss", "the loss is", lambda: training(loss_of=lambda x, y: (x - 9).log().sum())),
    ("exploding_loss", "the loss went from",
     lambda: training(loss_of=lambda x, y: x.square().mean(), rate=3.0, steps=5)),
    ("learning_rate_too_high", "of their size", too_high),
    ("falling_loss_scale", "fell from 1024 to", falling_scale),
    ("unnormalised_inputs", "BytesNet is given numbers from", lambda: on_bytes(1.0)),
    ("eval_mode_in_training", "in the last 9 of 10 training calls", never_trained_again),
    ("dead_relu", "16 of 16 units", lambda: training(Bounded(lambda x: x.clamp(min=0)))),
    ("dead_relu", "16 of 16 units", lambda: training(Bounded(lambda x: F.relu(x, inplace=True)))),
    ("dead_relu", "16 of 16 units", lambda: training(Bounded(F.relu6))),
    ("not_in_optimizer", "Linear.weight, used by Hidden, which is not among its parameters",
     lambda: training(Hidden())),
    ("falling_loss_scale", "fell from 1024 to", overflowing_scale),
    ("learning_rate_too_high", "of their size", adam_too_high),
]  # fmt: skip


@pytest.mark.parametrize(("check", "evidence", "work"), PLANTED)
def test_a_planted_fault_is_found(check: str, evidence: str, work: Callable[[], Any]) -> None:
    found = [x for x in findings(work) if x.check == check and evidence in x.evidence]
    assert found, [(x.check, x.evidence) for x in findings(work)]
    assert found[0].place.file == __file__
    text = page("train.py", found, "1 step")
    assert check in text and "<script" not in text
    assert found[0].title and (sparkline(found[0].series) or math.isnan(found[0].series[0]))


def test_every_check_has_a_planted_fault() -> None:
    assert {check for check, _, _ in PLANTED} == set(CHECKS)


def sound_by_batches() -> None:
    loader = DataLoader(TensorDataset(torch.randn(96, 4), torch.randint(0, 3, (96,))), 16)
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(2):
        model.train()
        for data, target in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(data), target).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for data, _ in loader:
                model(data).softmax(1)


def sound_accumulation() -> None:
    """Gradients of four backward passes in each step."""
    model = classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(24):
        F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
        if step % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()


def sound_opponents() -> None:
    """Two optimizers: the loss of one leaves gradients in the other's parameters."""
    maker, judge = nn.Linear(2, 4), nn.Linear(4, 1)
    making = torch.optim.Adam(maker.parameters(), lr=0.01)
    judging = torch.optim.Adam(judge.parameters(), lr=0.01)
    for _ in range(8):
        judge.zero_grad()
        fake = maker(torch.randn(8, 2))
        F.softplus(judge(fake.detach()) - judge(torch.randn(8, 4))).mean().backward()
        judging.step()
        maker.zero_grad()
        F.softplus(-judge(fake)).mean().backward()
        making.step()


def sound_closure() -> None:
    model, data = nn.Linear(4, 1), torch.randn(32, 4)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (model(data) - data[:, :1]).square().mean()
        loss.backward()
        return loss

    for _ in range(6):
        optimizer.step(closure)


def sound_fine_tuning() -> None:
    """A frozen body whose parameters the optimizer has not."""
    body, head = nn.Linear(4, 8), nn.Linear(8, 3)
    body.requires_grad_(False)
    model = nn.Sequential(body, nn.Tanh(), head)
    training(model, parameters=head.parameters())


def sound_manual_clearing() -> None:
    def clear(model: Any) -> None:
        for parameter in model.parameters():
            parameter.grad = None

    training(clear=False, after=clear)


def sound_hidden_state() -> None:
    """In evaluation the state of a recurrent model begins with zeros; tokens are no quantities."""

    class Tokens(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.cell, self.last = nn.Embedding(500, 8), nn.GRU(8, 8), nn.Linear(8, 3)

        def forward(self, tokens: Any, state: Any) -> Any:
            found, state = self.cell(self.table(tokens), state)
            return self.last(found[-1]), state

    model = Tokens()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        output, _ = model(torch.randint(0, 500, (5, 16)), torch.randn(1, 16, 8))
        optimizer.zero_grad()
        F.cross_entropy(output, torch.randint(0, 3, (16,))).backward()
        optimizer.step()
    with torch.no_grad():
        model(torch.randint(0, 500, (5, 16)), torch.zeros(1, 16, 8))


def sound_bytes() -> None:
    """The model prepares its pictures itself."""
    on_bytes(255.0)


def sound_margins() -> None:
    """A bound outside of models makes no rectifier of a loss."""
    training(loss_of=lambda x, y: x.square().mean() + (x - 9).clamp(min=0).sum())


@pytest.mark.parametrize(
    "work",
    [
        sound_hidden_state, sound_bytes, sound_margins,
        training, sound_by_batches, sound_accumulation, sound_opponents, sound_closure,
        sound_fine_tuning, sound_manual_clearing,
    ],
)  # fmt: skip
def test_nothing_is_found_in_sound_trainings(work: Callable[[], Any]) -> None:
    assert [(x.check, x.evidence) for x in findings(work)] == []


def test_everything_is_as_before_afterwards() -> None:
    before = F.cross_entropy, nn.Module.__call__, torch.optim.Optimizer.__init__
    findings(training)
    assert before == (F.cross_entropy, nn.Module.__call__, torch.optim.Optimizer.__init__)


def test_looking_changes_no_number() -> None:
    def weights(checked: bool) -> Any:
        model = classifier()
        if checked:
            findings(lambda: training(model))
        else:
            torch.manual_seed(0)
            training(model)
        return model[0].weight.detach()

    torch.manual_seed(1)
    first = weights(False)
    torch.manual_seed(1)
    assert torch.equal(first, weights(True))


def test_plots() -> None:
    assert sparkline([0.0, 1.0, math.nan, 2.0]) == "▁▄█" or sparkline([0.0, 1.0, 2.0]) == "▁▅█"
    assert sparkline([]) == "" and sparkline([5.0]) == "▁"
    assert len(sparkline([float(x) for x in range(1000)])) <= 60
