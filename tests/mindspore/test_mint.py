"""mindspore.mint: torch's layers and optimizers on MindSpore's tensors, called with gradients."""

from typing import Any

import numpy as np
import pytest
import torch as oracle

import mindtorch.mindspore as ms
from mindtorch.mindspore import Tensor, mint, nn

RNG = np.random.default_rng(4)
X = RNG.standard_normal((16, 6)).astype(np.float32)
Y = RNG.integers(0, 3, 16).astype(np.int32)
FIRST = RNG.standard_normal((5, 6)).astype(np.float32)
SECOND = RNG.standard_normal((3, 5)).astype(np.float32)


class _Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = mint.nn.Linear(6, 5)
        self.norm = mint.nn.BatchNorm1d(5)
        self.second = mint.nn.Linear(5, 3, bias=False)

    def construct(self, x):
        return self.second(mint.nn.functional.relu(self.norm(self.first(x))))


def _theirs():
    net: Any = oracle.nn.Sequential(
        oracle.nn.Linear(6, 5), oracle.nn.BatchNorm1d(5), oracle.nn.ReLU(),
        oracle.nn.Linear(5, 3, bias=False),
    )  # fmt: skip
    with oracle.no_grad():
        net[0].weight.copy_(oracle.tensor(FIRST))
        net[0].bias.zero_()
        net[3].weight.copy_(oracle.tensor(SECOND))
    return net


@pytest.mark.parametrize("compiled", [False, True])
def test_a_network_of_mint_trains_as_in_torch(compiled):
    """Layers, loss with int32 labels and AdamW: six steps, the same losses as torch's."""
    net = _Net()
    net.set_train()
    net.first.weight.assign_value(Tensor(FIRST))
    net.first.bias.assign_value(Tensor(np.zeros(5, np.float32)))
    net.second.weight.assign_value(Tensor(SECOND))
    assert [p.name for p in net.trainable_params()] == [
        "first.weight", "first.bias", "norm.weight", "norm.bias", "second.weight"
    ]  # fmt: skip
    optimizer = mint.optim.AdamW(net.trainable_params(), lr=1e-2)
    gradient = ms.value_and_grad(
        lambda x, y: mint.nn.functional.cross_entropy(net(x), y), None, net.trainable_params()
    )

    def step(x, y):
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    run = ms.jit(step) if compiled else step
    theirs = _theirs()
    other = oracle.optim.AdamW(theirs.parameters(), lr=1e-2)
    for _ in range(6):
        found = run(Tensor(X), Tensor(Y))
        other.zero_grad()
        loss = oracle.nn.functional.cross_entropy(
            theirs(oracle.tensor(X)), oracle.tensor(Y).long()
        )
        loss.backward()
        other.step()
        assert isinstance(found, Tensor)
        np.testing.assert_allclose(float(found.asnumpy()), loss.item(), rtol=1e-5)


def test_what_torch_does_not_have_is_an_attribute_error():
    """Names are torch's; others raise as of any module."""
    with pytest.raises(AttributeError, match=r"mindspore.mint.nn' has no attribute 'Dense'"):
        _ = mint.nn.Dense


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [([True, False], 1, [0, -1]), (1, [True, False], [0, 1]), ([True, True], [True, False], [0, 1]),
     ([1.5, 1.5], [True, False], [0.5, 1.5]), ([2, 2], True, [1, 1])],
)  # fmt: skip
def test_differences_of_bool(first, second, expected):
    """bool counts as 0 and 1 (MindSpore's own results); torch refuses it."""
    x, y = (Tensor(v) if isinstance(v, list) else v for v in (first, second))
    assert (x - y).asnumpy().tolist() == expected
    if isinstance(x, Tensor):
        assert mint.sub(x, y).asnumpy().tolist() == ms.numpy.subtract(x, y).asnumpy().tolist()
