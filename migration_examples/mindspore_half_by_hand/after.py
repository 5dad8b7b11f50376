"""Some layers in float16: to_float for cells, astype for tensors."""

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


def dense(inputs, outputs):
    return nn.Dense(inputs, outputs, weight_init=values(outputs, inputs), bias_init="zeros")


def kind_of(tensor):
    return str(tensor.asnumpy().dtype)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = dense(64, 48).to_float(ms.float16)
        self.second = dense(48, 32)
        self.last = dense(32, 10).to_float(ms.float16)
        self.relu = nn.ReLU()

    def construct(self, x):
        x = self.relu(self.first(x))
        x = self.relu(self.second(x.astype(ms.float32)))
        x = x.astype(ms.float16)
        return self.last(x * 2)


model = Network()
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.SGD(model.trainable_params(), 0.05, momentum=0.9)
data, label = Tensor(images[:256]), Tensor(labels[:256])


def forward_fn(data, label):
    logits = model(data)
    return loss_fn(logits.astype(ms.float32), label), logits


grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)

for step in range(10):
    (loss, logits), grads = grad_fn(data, label)
    optimizer(grads)
    if step % 3 == 0:
        kinds = sorted({kind_of(g) for g in grads})
        print(f"step {step + 1}: logits {kind_of(logits)}, gradients {kinds}, "
              f"loss {float(loss.asnumpy()):.2f}")
