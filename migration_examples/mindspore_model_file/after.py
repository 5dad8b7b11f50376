"""A network as a MindIR file: mindspore.export, mindspore.load, nn.GraphCell."""

from mindtorch.tools import mstorch_enable

import os
import tempfile

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
images = (images / 16).reshape(-1, 1, 8, 8).astype(np.float32)
labels = labels.astype(np.int32)
draw = np.random.default_rng(0)

net = nn.SequentialCell(
    nn.Conv2d(1, 8, 3, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(),
    nn.Dense(72, 10),
)
for p in net.get_parameters():  # known numbers in place of random ones
    p.set_data(Tensor(draw.normal(0, 0.2, p.shape).astype(np.float32)))


def train(net, first, steps):
    loss_fn, optimizer = nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.5)
    grad_fn = ms.value_and_grad(
        lambda data, label: loss_fn(net(data), label), None, optimizer.parameters
    )
    for step in range(first, first + steps):
        rows = slice(step % 22 * 64, step % 22 * 64 + 64)
        loss, grads = grad_fn(Tensor(images[rows]), Tensor(labels[rows]))
        optimizer(grads)
    print(f"step {first + steps}: loss {float(loss.asnumpy()):.4f}")


def accuracy(net):
    return (net(Tensor(images[1437:])).argmax(1).asnumpy() == labels[1437:]).mean()


train(net, 0, 20)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "digits.mindir")
    example = Tensor(np.zeros((64, 1, 8, 8), np.float32))
    ms.export(net, example, file_name=path, file_format="MINDIR", open_batch=True)
    again = nn.GraphCell(ms.load(path))
print(f"accuracy {accuracy(net):.4f}, from the file {accuracy(again):.4f}")
train(again, 20, 40)
print(f"accuracy {accuracy(again):.4f}, of the first one still {accuracy(net):.4f}")
