"""A network of Dense cells on digits: three epochs of SGD."""

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


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.SequentialCell(
            nn.Dense(64, 48, weight_init=values(48, 64), bias_init="zeros"),
            nn.ReLU(),
            nn.Dense(48, 10, weight_init=values(10, 48), bias_init="zeros"),
        )

    def construct(self, x):
        return self.layers(self.flatten(x))


model = Network()
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.SGD(model.trainable_params(), 1e-2, momentum=0.9)


def forward_fn(data, label):
    logits = model(data)
    return loss_fn(logits, label), logits


grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)


def train_step(data, label):
    (loss, _), grads = grad_fn(data, label)
    optimizer(grads)
    return loss


for epoch in range(3):
    model.set_train()
    for start in range(0, 1408, 64):
        data = Tensor(images[start : start + 64]).reshape(-1, 8, 8)
        loss = train_step(data, Tensor(labels[start : start + 64]))
    model.set_train(False)
    logits = model(Tensor(images[1437:]).reshape(-1, 8, 8))
    accuracy = (logits.argmax(1).asnumpy() == labels[1437:]).mean()
    print(f"epoch {epoch + 1}: last loss {float(loss.asnumpy()):.5f}, accuracy {accuracy:.4f}")
