"""An optimizer and a scheduler of one's own."""

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

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p)
                mean = state["mean"]
                direction = torch.sign(beta1 * mean + (1 - beta1) * p.grad)
                p.copy_(p * (1 - group["lr"] * group["weight_decay"]) - group["lr"] * direction)
                mean.copy_(beta2 * mean + (1 - beta2) * p.grad)


class Cosine(torch.optim.lr_scheduler.LRScheduler):
    """Rates that fall along half a cosine."""

    def __init__(self, optimizer, steps):
        self.steps = steps
        super().__init__(optimizer)

    def get_lr(self):
        return [lr * (1 + np.cos(np.pi * self.last_epoch / self.steps)) / 2 for lr in self.base_lrs]


torch.manual_seed(4)
model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
optimizer = Lion(model.parameters(), lr=0.004, weight_decay=0.1)
scheduler = Cosine(optimizer, 24)

for step in range(24):
    loss = nn.functional.cross_entropy(model(data), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    rate = optimizer.param_groups[0]["lr"]
    scheduler.step()
    if step % 4 == 3:
        print(f"step {step + 1}: loss {loss.item():.5f}, rate {rate:.6f}")
