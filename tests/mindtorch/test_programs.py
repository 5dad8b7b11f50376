"""Programs as MindTorch's users write them: torch's modules, gradients passed in, `ms.ops`."""

import collections

import numpy as np
import pytest
import torch as oracle

import mindtorch.mindspore as ms
from mindtorch import torch

X = np.random.default_rng(0).standard_normal((32, 6)).astype(np.float32)
Y = X[:, :3].argmax(1)


def network(namespace):
    namespace.manual_seed(1)
    nn = namespace.nn
    return nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 3))


def losses_of_real_torch(steps, clip=None, scale=1.0):
    """Plain training in PyTorch."""
    model = network(oracle)
    optimizer = oracle.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = oracle.nn.functional.cross_entropy(
            model(oracle.from_numpy(X)), oracle.from_numpy(Y)
        )
        loss.backward()
        if clip is not None:
            oracle.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("way", ["call", "step"])
def test_value_and_grad_with_a_module_of_torch(way):
    """`ms.ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)`."""
    model = network(torch)
    optimizer = torch.optim.SGD(model.trainable_params(), lr=0.1, momentum=0.9)
    loss_fn = torch.nn.CrossEntropyLoss()

    def forward_fn(data, label):
        logits = model(data)
        return loss_fn(logits, label), logits

    grad_fn = ms.ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
    found = []
    for _ in range(4):
        (loss, _), grads = grad_fn(torch.tensor(X), torch.tensor(Y))
        optimizer(grads) if way == "call" else optimizer.step(grads)
        found.append(float(loss.asnumpy()))
    assert found == pytest.approx(losses_of_real_torch(4), rel=1e-5)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("level", ["O0", "O2", "O3"])
def test_mixed_precision_with_gradients_passed_in(level):
    """auto_mixed_precision, GradScaler with gradients, clipping by the global norm."""
    model = torch.amp.auto_mixed_precision(network(torch), level)
    optimizer = torch.optim.SGD(model.trainable_params(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    loss_fn = torch.nn.CrossEntropyLoss()

    def forward_fn(data, label):
        logits = torch.cast_to_adapter_tensor(model(data))
        assert logits.dtype is torch.float32
        return scaler.scale(loss_fn(logits, label)), logits

    grad_fn = ms.ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
    found = []
    for _ in range(4):
        (loss, _), grads = grad_fn(torch.tensor(X), torch.tensor(Y))
        scaler.unscale_(optimizer, grads)
        grads = ms.ops.clip_by_global_norm(grads, 0.5)
        scaler.step(optimizer, grads)
        scaler.update()
        found.append(loss.item() / 2.0**10)
    tolerance = 1e-5 if level == "O0" else 3e-3
    assert found == pytest.approx(losses_of_real_torch(4, clip=0.5), rel=tolerance)
    assert {p.dtype for p in model.parameters()} == {torch.float32}


def test_auto_needs_a_level_on_the_cpu():
    """The default is for devices that there are not."""
    with pytest.raises(ValueError, match="on the CPU"):
        torch.amp.auto_mixed_precision(network(torch))


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("beforehand", [True, False])
def test_scaler_follows_real_torch_with_gradients_given(kind, beforehand):
    """Scale and parameters after each step of overflows and successes are real PyTorch's."""
    draw = np.random.default_rng(4)
    p, q = torch.nn.Parameter(torch.ones(3)), oracle.nn.Parameter(oracle.ones(3))
    mine, theirs = torch.optim.SGD([p], lr=0.01), oracle.optim.SGD([q], lr=0.01)
    scaler = torch.amp.GradScaler("cpu", 2.0**4, growth_interval=3)
    expected = oracle.amp.GradScaler("cpu", 2.0**4, growth_interval=3)
    for _ in range(60):
        value = draw.standard_normal(3).astype(np.float32)
        value[0] = np.inf if draw.random() < 0.2 else value[0]
        scaler.scale(torch.zeros(1)), expected.scale(oracle.zeros(1))
        grads = kind([torch.tensor(value)])
        q.grad = oracle.tensor(value)
        if beforehand:
            scaler.unscale_(mine, grads)
            with pytest.raises(RuntimeError, match="already been called on this optimizer"):
                scaler.unscale_(mine, grads)
        scaler.step(mine, grads)
        expected.step(theirs)
        with pytest.raises(RuntimeError, match="already been called since the last update"):
            scaler.step(mine, grads)
        scaler.update()
        expected.update()
        assert scaler.get_scale() == expected.get_scale()
        assert p.tolist() == q.tolist() and p.grad is None


def test_tensors_change_their_kind_and_keep_everything_else():
    """Tuples and lists anew, dicts in place; memory, history and gradient are shared."""
    pair = collections.namedtuple("pair", "a b")
    x = ms.Tensor([1.0, 2.0])
    cast = torch.cast_to_adapter_tensor(x)
    assert type(cast) is torch.Tensor and cast.data_ptr() == x.data_ptr()
    table = {"x": x, "n": 3}
    assert torch.cast_to_adapter_tensor(table) is table and type(table["x"]) is torch.Tensor
    both = torch.cast_to_adapter_tensor(pair(x, [x]))
    assert type(both) is pair and type(both.b[0]) is torch.Tensor
    w = torch.ones(2, requires_grad=True)
    there = torch.cast_to_ms_tensor(w * 3)
    assert type(there) is ms.Tensor and there.size == 2
    back = torch.cast_to_adapter_tensor(there)
    assert back.grad_fn is there.grad_fn
    back.sum().backward()
    assert w.grad.tolist() == [3.0, 3.0]
    assert torch.cast_to_adapter_tensor(w) is w and torch.cast_to_adapter_tensor("s") == "s"
