"""An optimizer and a scheduler of one's own, gradients passed in."""

from mindtorch.tools import mstorch_enable

import mindspore as ms
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:512] / 16).astype(np.float32))
label = torch.tensor(labels[:512].astype(np.int64))


class Lion(torch.optim.Optimizer):
    """Steps of one size: the sign of a moving average."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))
        self.means = self.parameters.clone(prefix="mean", init="zeros")

    def step(self, grads, closure=None):
        i = 0
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                mean = self.means[i]
                direction = torch.sign(beta1 * mean + (1 - beta1) * grads[i])
                decayed = p * (1 - group["lr"] * group["weight_decay"])
                ms.ops.assign(p, decayed - group["lr"] * direction)
                ms.ops.assign(mean, beta2 * mean + (1 - beta2) * grads[i])
                i += 1


class Cosine:
    """Rates that fall along half a cosine."""

    def __init__(self, optimizer, steps):
        self.optimizer, self.steps, self.last_epoch = optimizer, steps, 0
        self.base_lrs = [float(group["lr"]) for group in optimizer.param_groups]

    def step(self):
        self.last_epoch += 1
        for param_group, base in zip(self.optimizer.param_groups, self.base_lrs):
            lr = base * (1 + np.cos(np.pi * self.last_epoch / self.steps)) / 2
            ms.ops.assign(param_group["lr"], lr)


torch.manual_seed(4)
model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
optimizer = Lion(model.trainable_params(), lr=0.004, weight_decay=0.1)
scheduler = Cosine(optimizer, 24)
loss_fn = nn.CrossEntropyLoss()
grad_fn = ms.ops.value_and_grad(
    lambda data, label: loss_fn(model(data), label), None, optimizer.parameters
)

for step in range(24):
    loss, grads = grad_fn(data, label)
    optimizer(grads)
    rate = float(optimizer.param_groups[0]["lr"])
    scheduler.step()
    if step % 4 == 3:
        print(f"step {step + 1}: loss {float(loss.asnumpy()):.5f}, rate {rate:.6f}")
