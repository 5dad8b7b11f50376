"""LeNet-5 on handwritten digits, exported to digits/1/digits.mindir."""

from mindtorch.tools import mstorch_enable

from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
images = np.kron((images / 16).reshape(-1, 1, 8, 8), np.ones((1, 1, 4, 4))).astype(np.float32)
labels = labels.astype(np.int32)


class LeNet5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.pool, self.relu, self.flatten = nn.MaxPool2d(2, 2), nn.ReLU(), nn.Flatten()
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(self.flatten(x)))
        return self.fc3(self.relu(self.fc2(x)))


ms.set_seed(0)
net = LeNet5()
net.set_train()
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
grad_fn = ms.value_and_grad(
    lambda data, label: loss_fn(net(data), label), None, optimizer.parameters
)
for step in range(300):
    rows = slice(step % 29 * 48, step % 29 * 48 + 48)
    loss, grads = grad_fn(Tensor(images[rows]), Tensor(labels[rows]))
    optimizer(grads)
net.set_train(False)
right = net(Tensor(images[1437:])).argmax(1).asnumpy() == labels[1437:]
print(f"trained: {right.mean():.0%} of the digits that were not seen are right")

folder = Path(__file__).parent / "digits" / "1"
folder.mkdir(exist_ok=True)
batch = Tensor(np.zeros((16, 1, 32, 32), np.float32))  # the server joins and pads to 16
ms.export(net, batch, file_name=str(folder / "digits.mindir"), file_format="MINDIR")
print("exported digits/1/digits.mindir")
