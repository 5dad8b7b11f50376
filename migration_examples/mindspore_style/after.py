"""A small convolutional network on scikit-learn's digits, in MindSpore's style."""

from mindtorch.tools import mstorch_enable

import os
import tempfile

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.dataset import transforms
from sklearn.datasets import load_digits

draw = np.random.default_rng(0)
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)


def values(*shape):
    array = draw.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))
    return Tensor(array)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(
            1, 8, 3, pad_mode="valid", has_bias=True, weight_init=values(8, 1, 3, 3),
            bias_init="zeros",
        )
        self.norm = nn.BatchNorm2d(8, momentum=0.9)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.first = nn.Dense(72, 32, weight_init=values(32, 72), bias_init="zeros")
        self.last = nn.Dense(32, 10, weight_init=values(10, 32), bias_init="zeros")

    def construct(self, x):
        x = self.pool(self.relu(self.norm(self.conv(x))))
        return self.last(self.relu(self.first(self.flatten(x))))


@ms.jit_class
class Accumulator:
    def __init__(self, optimizer, accumulate_step, clip_norm):
        self.optimizer = optimizer
        self.clip_norm = clip_norm
        self.inner_grads = optimizer.parameters.clone(prefix="accumulate_", init="zeros")
        self.zeros = optimizer.parameters.clone(prefix="zeros_", init="zeros")
        self.counter = Parameter(Tensor(1, ms.int32), "counter_")
        self.accumulate_step = accumulate_step
        self.map = ops.HyperMap()

    def __call__(self, grads):
        self.map(ops.partial(ops.assign_add), self.inner_grads, grads)
        if self.counter % self.accumulate_step == 0:
            self.optimizer(ops.clip_by_global_norm(self.inner_grads, self.clip_norm))
            self.map(ops.partial(ops.assign), self.inner_grads, self.zeros)
        ops.assign_add(self.counter, Tensor(1, ms.int32))
        return True


def pipeline(start, stop, size, **options):
    dataset = ds.NumpySlicesDataset(
        (images[start:stop], labels[start:stop]), ["image", "label"], shuffle=False
    )
    return dataset.map(transforms.TypeCast(ms.int32), "label").batch(size, **options)


ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
model = Network()
train, test = pipeline(0, 1437, 32, drop_remainder=True), pipeline(1437, None, 90)
optimizer = nn.SGD(model.trainable_params(), 0.1, momentum=0.9, weight_decay=1e-4)
loss_fn = nn.CrossEntropyLoss()
accumulate = Accumulator(optimizer, 2, 2.0)


def forward_fn(data, label):
    logits = model(data)
    return loss_fn(logits, label) / 2, logits


grad_fn = ms.value_and_grad(forward_fn, None, model.trainable_params(), has_aux=True)


@ms.jit
def train_step(data, label):
    (loss, _), grads = grad_fn(data, label)
    accumulate(grads)
    return loss


def accuracy(network):
    network.set_train(False)
    right = total = 0
    for data, label in test.create_tuple_iterator():
        right += (network(data).argmax(1) == label).asnumpy().sum()
        total += len(label)
    return right / total


for epoch in range(3):
    model.set_train()
    losses = [train_step(*batch).asnumpy() for batch in train.create_tuple_iterator()]
    print(f"epoch {epoch + 1}: loss {np.mean(losses):.6f}, accuracy {accuracy(model):.4f}")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "digits.ckpt")
    ms.save_checkpoint(model, path)
    again = Network()
    ms.load_param_into_net(again, ms.load_checkpoint(path))
print(f"loaded again: accuracy {accuracy(again):.4f}")
