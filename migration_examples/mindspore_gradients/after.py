"""Gradients clipped by value and by their global norm; gradients of gradients by nesting."""

from mindtorch.tools import mstorch_enable

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, ops

draw = np.random.default_rng(3)
x = Tensor(draw.standard_normal((8, 5)).astype(np.float32))
w = Parameter(Tensor(draw.standard_normal((5, 3)).astype(np.float32)), name="w")
b = Parameter(Tensor(np.zeros(3, np.float32)), name="b")
weights = ParameterTuple([w, b])


def loss_of(x):
    return (ops.tanh(ops.matmul(x, w) + b) ** 3).sum()


loss, grads = ms.value_and_grad(loss_of, None, weights)(x)
print(f"loss {float(loss.asnumpy()):.5f}")
for name, clipped in (
    ("value", ops.clip_by_value(grads, -0.5, 0.5)),
    ("norm", ops.clip_by_global_norm(grads, 2.0)),
):
    sums = [f"{g.asnumpy().sum():.5f} {np.abs(g.asnumpy()).max():.5f}" for g in clipped]
    print(f"clipped by {name}: {', '.join(sums)}")


def function(t):
    return ops.sin(t) * t**3


t = Tensor([0.3, -1.2, 2.0], ms.float32)
first = ms.grad(function)
second = ms.grad(first)
third = ms.grad(second)
for name, each in (("first", first), ("second", second), ("third", third)):
    print(f"{name}: {' '.join(f'{v:.5f}' for v in each(t).asnumpy().tolist())}")


def penalty_of(x):
    inner = ms.grad(loss_of)(x)
    norms = ops.sqrt(ops.square(inner).sum(1))
    return ops.square(norms - 1).mean()


penalty, (of_w, of_b) = ms.value_and_grad(penalty_of, None, weights)(x)
print(f"penalty {float(penalty.asnumpy()):.5f}, of w {of_w.asnumpy().sum():.5f}, "
      f"of b {of_b.asnumpy().sum():.5f}")
