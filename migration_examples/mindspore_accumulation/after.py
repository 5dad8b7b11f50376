"""Gradients of two batches of 32, accumulated, are those of one batch of 64: an Accumulator."""

from mindtorch.tools import mstorch_enable

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
images, labels = (images / 16).astype(np.float32), labels.astype(np.int32)
draw = np.random.default_rng(0)


def values(*shape):
    return Tensor(draw.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(shape[-1])))


@ms.jit_class
class Accumulator:
    def __init__(self, optimizer, accumulate_step):
        self.optimizer = optimizer
        self.inner_grads = optimizer.parameters.clone(prefix="accumulate_", init="zeros")
        self.zeros = optimizer.parameters.clone(prefix="zeros_", init="zeros")
        self.counter = ms.Parameter(Tensor(1, ms.int32), "counter_")
        self.accumulate_step = accumulate_step
        self.map = ops.HyperMap()

    def __call__(self, grads):
        self.map(ops.partial(ops.assign_add), self.inner_grads, grads)
        if self.counter % self.accumulate_step == 0:
            self.optimizer(self.inner_grads)
            self.map(ops.partial(ops.assign), self.inner_grads, self.zeros)
        ops.assign_add(self.counter, Tensor(1, ms.int32))
        return True


def train(size, accumulate):
    global draw
    draw = np.random.default_rng(0)
    model = nn.SequentialCell(
        nn.Dense(64, 48, values(48, 64), "zeros"), nn.Tanh(),
        nn.Dense(48, 10, values(10, 48), "zeros"),
    )
    optimizer = nn.SGD(model.trainable_params(), 0.1, momentum=0.9)
    accumulator = Accumulator(optimizer, accumulate)
    loss_fn = nn.CrossEntropyLoss()

    def forward_fn(data, label):
        loss = loss_fn(model(data), label)
        return loss / accumulate

    grad_fn = ms.value_and_grad(forward_fn, None, model.trainable_params())

    @ms.jit
    def train_step(data, label):
        loss, grads = grad_fn(data, label)
        accumulator(grads)
        return loss

    for i, start in enumerate(range(0, 768, size), 1):
        rows = slice(start, start + size)
        loss = train_step(Tensor(images[rows]), Tensor(labels[rows]))
        if i % accumulate == 0 and start % 256 >= 192:
            print(f"{start + size} rows: loss {float(loss.asnumpy()) * accumulate:.5f}")
    return [p.asnumpy() for p in model.trainable_params()]


halves, whole = train(32, 2), train(64, 1)
equal = all(np.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(halves, whole))
print(f"the same parameters: {equal}, norm {np.sqrt(sum((p**2).sum() for p in halves)):.4f}")
