"""LeNet-5: pad_mode="valid", weight_init=Normal(0.02), checkpoints."""

from mindtorch.tools import mstorch_enable

import os
import tempfile

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.common.initializer import Normal
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
images = np.kron((images / 16).reshape(-1, 1, 8, 8), np.ones((1, 1, 4, 4))).astype(np.float32)
labels = labels.astype(np.int32)
draw = np.random.default_rng(0)


class LeNet5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", weight_init=Normal(0.02))
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", weight_init=Normal(0.02))
        self.pool, self.relu, self.flatten = nn.MaxPool2d(2, 2), nn.ReLU(), nn.Flatten()
        self.fc1 = nn.Dense(16 * 5 * 5, 120, Normal(0.02), Normal(0.02))
        self.fc2 = nn.Dense(120, 84, Normal(0.02), Normal(0.02))
        self.fc3 = nn.Dense(84, 10, Normal(0.02), Normal(0.02))

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(self.flatten(x)))
        return self.fc3(self.relu(self.fc2(x)))


def accuracy(net):
    net.set_train(False)
    return (net(Tensor(images[1437:])).argmax(1).asnumpy() == labels[1437:]).mean()


net = LeNet5()
spread = np.concatenate([p.asnumpy().ravel() for p in net.get_parameters()])
print(f"{len(spread)} weights, normal: {abs(spread.mean()) < 1e-3}, {0.019 < spread.std() < 0.021}")
for p in net.get_parameters():  # known numbers in place of random ones
    size = 0.2 if p.ndim == 4 else 0.08
    p.set_data(Tensor(draw.normal(0, size, p.shape).astype(np.float32)))

loss_fn = nn.CrossEntropyLoss()
optimizer = nn.Momentum(net.trainable_params(), 0.02, 0.9)
grad_fn = ms.value_and_grad(
    lambda data, label: loss_fn(net(data), label), None, optimizer.parameters
)
for step in range(16):
    net.set_train()
    rows = slice(step * 48, step * 48 + 48)
    loss, grads = grad_fn(Tensor(images[rows]), Tensor(labels[rows]))
    optimizer(grads)
    if step % 4 == 3:
        print(f"step {step + 1}: loss {float(loss.asnumpy()):.4f}")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "lenet.ckpt")
    ms.save_checkpoint(net, path)
    parameters = ms.load_checkpoint(path)
again = LeNet5()
not_loaded, _ = ms.load_param_into_net(again, parameters)
print(f"{len(parameters)} tensors, not loaded: {not_loaded}")
print(f"accuracy {accuracy(net):.4f}, loaded again {accuracy(again):.4f}")
