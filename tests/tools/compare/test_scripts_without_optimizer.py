"""`mindtorch compare` on scripts without an optimizer or without any module (what is written by
hand has phases too), on lazy modules, and on means that are nothing but rounding."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.support.compare_in_process import compared

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the comparison is with real torch"
)


def module(torch: Any, fault: str, steps: int) -> None:
    """A module whose parameters are moved under `no_grad`, or through `.data`."""
    net = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    x, y = torch.randn(40, 5), torch.randint(0, 2, (40,))
    rate = 0.2 if fault == "rate" else 0.1
    for step in range(steps):
        at = slice(10 * step, 10 * step + 10)
        torch.nn.functional.cross_entropy(net(x[at]), y[at]).backward()
        with torch.no_grad():
            for each in net.parameters():
                each -= rate * each.grad
        net.zero_grad()


def data(torch: Any, fault: str, steps: int) -> None:
    """The same through `.data`, where gradients stay enabled."""
    net, x = torch.nn.Linear(5, 3), torch.randn(40, 5)
    rate = 0.2 if fault == "rate" else 0.1
    for step in range(steps):
        net.zero_grad()
        net(x[10 * step : 10 * step + 10]).square().mean().backward()
        for each in net.parameters():
            each.data.sub_(rate * each.grad.data)


def leaves(torch: Any, fault: str, steps: int) -> None:
    """No module at all; gradients are asked for and the parameters made anew."""
    weights = [(torch.randn(8, 5) / 3).requires_grad_(), (torch.randn(2, 8) / 3).requires_grad_()]
    x, y = torch.randn(40, 5), torch.randint(0, 2, (40,))
    rate, reduction = (0.2 if fault == "rate" else 0.1), ("sum" if fault == "loss" else "mean")
    for step in range(steps):
        at = slice(10 * step, 10 * step + 10)
        hidden = x[at] @ weights[0].T
        hidden = hidden.relu() if fault == "relu" else hidden.tanh()
        found = hidden @ weights[1].T
        loss = torch.nn.functional.cross_entropy(found, y[at], reduction=reduction)
        gradients = torch.autograd.grad(loss, weights)
        weights = [
            (a - rate * b).detach().requires_grad_(True)
            for a, b in zip(weights, gradients, strict=True)
        ]


def transforms(torch: Any, fault: str, steps: int) -> None:
    """Gradients of each example by `torch.func`: no `backward`, no loss that is seen."""
    net = torch.nn.Linear(4, 2)
    values = {name: each.detach() for name, each in net.named_parameters()}
    rate, factor = (0.2 if fault == "rate" else 0.1), (1.1 if fault == "factor" else 1.0)

    def loss(values: Any, x: Any, y: Any) -> Any:
        found = torch.func.functional_call(net, values, (x.unsqueeze(0),)) * factor
        return torch.nn.functional.cross_entropy(found, y.unsqueeze(0))

    for _ in range(steps):
        x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
        x = x + 0.1 if fault == "batch" else x
        found = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(values, x, y)
        values = {name: each - rate * found[name].mean(0) for name, each in values.items()}


def lazy(torch: Any, fault: str, steps: int) -> None:
    """A module that has its shape from its first call; its values are changed after that."""
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(3))
    net(torch.zeros(1, 2, 2))
    if fault == "value":
        with torch.no_grad():
            net[1].weight[0, 0] += 1
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.randn(5, 2, 2)).square().mean().backward()
        optimizer.step()


def stray(torch: Any, fault: str, steps: int) -> None:
    """Parameters that no module has: what Adam makes of a gradient that is nothing but rounding
    (that of the mean of what has no mean) has its whole step size."""
    a, b = (torch.nn.Parameter(torch.randn(7)) for _ in range(2))
    optimizer = torch.optim.Adam([a, b], 0.01, betas=(0.9, 0.99 if fault == "beta" else 0.999))
    if fault == "value":
        with torch.no_grad():
            b[3] += 1
    for _ in range(steps):
        optimizer.zero_grad()
        centred = a - a.mean()
        (centred.sum() * 1e-3 + b.square().mean()).backward()
        optimizer.step()


def searched(torch: Any, fault: str, steps: int) -> None:
    """L-BFGS's line search makes much of little: its calls are looked at where they are made."""
    nn: Any = torch.nn
    net = nn.Sequential(nn.Linear(4, 10), nn.Sigmoid(), nn.Linear(10, 1))
    optimizer = torch.optim.LBFGS(net.parameters(), 1, max_iter=6, line_search_fn="strong_wolfe")
    x = torch.randn(30, 4)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), x.sum(1, keepdim=True).sin())
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)


CASES = [
    (stray, "beta", "update"),
    (stray, "value", "start"),
    (transforms, "rate", "update"),
    (transforms, "factor", "forward"),
    (transforms, "batch", "data"),
    (module, "rate", "update"),
    (data, "rate", "update"),
    (leaves, "rate", "update"),
    (leaves, "relu", "forward"),
    (leaves, "loss", "loss"),
]


@pytest.mark.parametrize(
    ("program", "fault", "phase"), CASES, ids=lambda x: getattr(x, "__name__", x)
)
def test_the_phase_of_a_fault_is_named(
    program: Any, fault: str, phase: str, tmp_path: Path
) -> None:
    """An update by hand that is wrong was once taken for rounding: no optimizer told of it."""
    outcome = compared(program, fault, tmp_path, steps=2)
    assert outcome.kind == "differ" and outcome.real is not None, outcome.words()
    assert (outcome.real.phase, outcome.real.path) == (phase, "")


@pytest.mark.parametrize(
    "program", [module, data, leaves, transforms, lazy, stray, searched], ids=lambda x: x.__name__
)
def test_a_faithful_update_by_hand_agrees(program: Any, tmp_path: Path) -> None:
    """Each `backward` (or `autograd.grad`) is a step, and the update belongs to it; transforms of
    functions can be looked at from outside alone."""
    outcome = compared(program, "", tmp_path, steps=3)
    assert outcome.status == 0, outcome.words()
    assert outcome.agreement is not None
    assert len(outcome.agreement.steps) == (1 if program is transforms else 3)


def test_a_value_changed_after_the_first_call_is_found(tmp_path: Path) -> None:
    """Once taken for rounding: the step's values had been read before, and a second look gives
    each call the first side's."""
    outcome = compared(lazy, "value", tmp_path, steps=1)
    assert outcome.real is not None, outcome.words()
    assert (outcome.real.phase, outcome.real.what, outcome.real.path) == ("start", "value", "1")


@pytest.mark.parametrize("fault", ["", "momentum"])
def test_a_running_mean_that_is_nothing_but_rounding_is_no_alarm(
    fault: str, tmp_path: Path
) -> None:
    """What a layer before has centred has a mean of zero, as in every MobileNet; another momentum
    still shows, in the variance."""

    def centred(torch: Any, fault: str, steps: int) -> None:
        nn: Any = torch.nn
        momentum = 0.2 if fault else 0.1
        layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 16, 1, bias=False)]
        net = nn.Sequential(*layers, nn.BatchNorm2d(16, momentum=momentum), nn.Flatten())
        optimizer = torch.optim.SGD(net.parameters(), 0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            found = net(torch.randn(8, 3, 8, 8))
            nn.functional.cross_entropy(found, torch.randint(0, 2, (8,))).backward()
            optimizer.step()

    outcome = compared(centred, fault, tmp_path, steps=3)
    if not fault:
        assert outcome.status == 0, outcome.words()
    else:
        assert outcome.real is not None
        assert (outcome.real.phase, outcome.real.name) == ("update", "3.running_var")
