"""Programs in MindTorch's and MindSpore's spelling: rates that are assigned, scaled losses, half
precision by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore as ms
import mindtorch.torch as torch
from mindtorch.mindspore.amp import auto_mixed_precision
from mindtorch.torch.cuda.amp import GradScaler

nn, optim = torch.nn, torch.optim


class ByHand(optim.Optimizer):
    """Momentum as users write it, with gradients as an argument."""

    def __init__(self, params: Any, lr: float) -> None:
        super().__init__(params, {"lr": lr})

    def step(self, grads: Any, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p, g in zip(group["params"], grads, strict=True):
                state = self.state[p]
                if "m" not in state:
                    state["m"] = torch.zeros_like(p)
                state["m"].mul_(0.9).add_(g)
                p.sub_(state["m"] * group["lr"])


class ByPrimitives(optim.Optimizer):
    """The same with MindSpore's functions."""

    def __init__(self, params: Any, lr: float) -> None:
        super().__init__(params, {"lr": lr})
        self.moments = [ms.Parameter(ms.ops.zeros_like(p)) for p in self.parameters]

    def step(self, grads: Any) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p, m, g in zip(group["params"], self.moments, grads, strict=True):
                ms.ops.assign(m, m * 0.9 + g)
                ms.ops.assign_sub(p, group["lr"] * m)


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "built in": lambda p: optim.SGD(p, lr=0.1, momentum=0.9), "by hand": lambda p: ByHand(p, 0.1),
    "by primitives": lambda p: ByPrimitives(p, 0.1),
}  # fmt: skip


def losses_of(make: Callable[[Any], Any], mode: str) -> list[float]:
    """Losses of five steps whose rates are assigned before each."""
    torch.manual_seed(0)
    net, loss_of = nn.Linear(3, 1), nn.MSELoss()
    optimizer = make(net.parameters())
    x, y = torch.randn(8, 3), torch.randn(8, 1)

    def forward(x: Any, y: Any) -> Any:
        out = net(x)
        return loss_of(out, y), out

    grad_fn = ms.ops.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def train(x: Any, y: Any, rate: Any) -> Any:
        (loss, _), grads = grad_fn(x, y)
        if mode == "assigned inside":
            ms.ops.assign(optimizer.param_groups[0]["lr"], rate)
        optimizer(grads)
        return loss

    step = train if mode == "eager" else ms.jit(train)
    losses = []
    for i in range(5):
        rate = 0.2 / (i + 1)
        if mode != "assigned inside":
            ms.ops.assign(optimizer.param_groups[0]["lr"], rate)
            assert optimizer.param_groups[0]["lr"] == rate
        losses.append(float(step(x, y, ms.Tensor(rate, ms.float32))))
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.04)
    assert f"{optimizer.param_groups[0]['lr']:.2f}" == "0.04"
    return losses


def losses_of_torch() -> list[float]:
    import torch as real

    real.manual_seed(0)
    net = real.nn.Linear(3, 1)
    optimizer = real.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, y = real.randn(8, 3), real.randn(8, 1)
    losses = []
    for i in range(5):
        optimizer.param_groups[0]["lr"] = 0.2 / (i + 1)
        loss = real.nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("mode", ["eager", "compiled", "assigned inside"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rates_are_assigned(name: str, mode: str) -> None:
    np.testing.assert_allclose(losses_of(OPTIMIZERS[name], mode), losses_of_torch(), rtol=1e-5)


@pytest.mark.parametrize("make", [
    lambda o: optim.lr_scheduler.StepLR(o, 1), lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 5),
    lambda o: optim.lr_scheduler.LambdaLR(o, lambda epoch: 0.5**epoch),
])  # fmt: skip
def test_rates_of_schedules_are_plain_floats(make: Callable[[Any], Any]) -> None:
    optimizer = optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1)
    schedule = make(optimizer)
    optimizer.step()
    schedule.step()
    assert type(schedule.get_last_lr()[0]) is float
    assert schedule.__module__ == optim.lr_scheduler.__name__


def network() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
        nn.Linear(64, 10),
    )  # fmt: skip


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3"])
def test_losses_are_scaled_on_every_device(level: str, compiled: bool) -> None:
    net = auto_mixed_precision(network(), amp_level=level)
    optimizer = optim.SGD(net.trainable_params(), lr=0.01, momentum=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaler = GradScaler(init_scale=1024.0)
    seen = []

    def forward(x: Any, y: Any) -> Any:
        logits = torch.cast_to_adapter_tensor(net(x))
        return scaler.scale(nn.functional.cross_entropy(logits, y)), logits

    grad_fn = ms.ops.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def train(x: Any, y: Any) -> Any:
        (loss, _), grads = grad_fn(x, y)
        scaler.unscale_(optimizer, grads)
        grads = ms.ops.clip_by_global_norm(grads, 1.0)
        scaler.step(optimizer, grads)
        scaler.update()
        return loss

    step = ms.jit(train) if compiled else train
    torch.manual_seed(1)
    x, y = torch.randn(6, 1, 4, 4), torch.arange(6)
    seen = [float(step(x, y)) / 1024 for _ in range(3)]
    assert scaler.is_enabled() and scaler.get_scale() == 1024
    np.testing.assert_allclose(seen, [2.353, 2.3316, 2.2911], rtol=1e-4)


def test_torchs_style_keeps_torchs_disabled_scaler() -> None:
    with pytest.warns((FutureWarning, UserWarning)) as caught:
        scaler = GradScaler()
    assert any("CUDA is not available.  Disabling." in str(w.message) for w in caught)
    net = nn.Linear(2, 1)
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    loss = net(torch.ones(1, 2)).sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert not scaler.is_enabled() and scaler.get_scale() == 1.0 and scaler.state_dict() == {}


class HalfByHand(ms.nn.Cell):
    def __init__(self, layers: Any) -> None:
        super().__init__()
        self.layers = layers

    def construct(self, x: Any) -> Any:
        return self.layers(x.astype(ms.float16))


@pytest.mark.parametrize("compiled", [False, True])
def test_layers_take_half_inputs(compiled: bool) -> None:
    """As MindSpore's accelerators do; the weights stay float32."""
    ms.set_seed(0)
    net = HalfByHand(ms.nn.SequentialCell(
        ms.nn.Conv2d(1, 2, 3), ms.nn.BatchNorm2d(2), ms.nn.ReLU(), ms.nn.Flatten(),
        ms.nn.Dense(32, 8), ms.nn.ReLU(), ms.nn.Dense(8, 4),
    ))  # fmt: skip
    optimizer, loss_of = ms.nn.SGD(net.trainable_params(), 0.1), ms.nn.CrossEntropyLoss()
    x = ms.Tensor(np.random.RandomState(0).randn(5, 1, 4, 4).astype(np.float32))
    y = ms.Tensor(np.arange(5) % 4, ms.int32)
    assert net(x).dtype == ms.float16

    def forward(x: Any, y: Any) -> Any:
        return loss_of(net(x).astype(ms.float32), y)

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)

    def train(x: Any, y: Any) -> Any:
        loss, grads = grad_fn(x, y)
        optimizer(grads)
        return loss

    step = ms.jit(train) if compiled else train
    losses = [float(step(x, y).asnumpy()) for _ in range(4)]
    assert losses == sorted(set(losses), reverse=True)
    assert all(p.dtype == ms.float32 for p in net.trainable_params())


@pytest.mark.parametrize(("level", "kind"), [
    ("O0", ms.float32), ("O1", ms.float32), ("O2", ms.float16), ("O3", ms.float16),
])  # fmt: skip
def test_predictions_of_a_model_have_the_type_it_computes_in(level: str, kind: Any) -> None:
    net = ms.nn.SequentialCell(ms.nn.Dense(4, 3), ms.nn.ReLU(), ms.nn.Dense(3, 2))
    optimizer = ms.nn.SGD(net.trainable_params(), 0.1)
    model = ms.Model(net, ms.nn.CrossEntropyLoss(), optimizer, amp_level=level)
    assert model.predict(ms.Tensor(np.ones((2, 4), np.float32))).dtype == kind


def test_rates_are_set_as_parameters_are() -> None:
    optimizer = optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
    optimizer.param_groups[0]["lr"].set_data(ms.Tensor(0.5, ms.float32))
    assert optimizer.param_groups[0]["lr"] == 0.5


@pytest.mark.parametrize("call", [
    lambda x: nn.MSELoss()(x, x * 2), lambda x: nn.functional.l1_loss(x, x * 2),
    lambda x: nn.functional.huber_loss(x, x * 2), lambda x: nn.GaussianNLLLoss()(x, x * 2, x * x),
    lambda x: nn.MultiLabelSoftMarginLoss()(x, x), lambda x: nn.LSTM(3, 2)(x)[0],
    lambda x: nn.GRUCell(3, 2)(x), lambda x: nn.MultiheadAttention(3, 1)(x, x, x)[0],
    lambda x: nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
])  # fmt: skip
def test_torch_s_layers_take_mindspore_s_tensors(call: Callable[[Any], Any]) -> None:
    """``size`` is a number there."""
    values = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    found = []
    for make in (ms.Tensor, torch.tensor):
        torch.manual_seed(0)
        found.append(call(make(values)).detach().numpy())
    assert np.array_equal(*found)
