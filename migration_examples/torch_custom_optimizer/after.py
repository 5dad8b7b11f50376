"""An optimizer and a scheduler of one's own: Ranger's rule and the Transformer's rates."""

from mindtorch.tools import mstorch_enable

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:512] / 16).astype(np.float32))
label = torch.tensor(labels[:512].astype(np.int64))


class Ranger(torch.optim.Optimizer):
    """Adam whose variance is rectified, and slow weights that follow every k steps."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), eps=1e-5, alpha=0.5, k=4):
        defaults = dict(lr=lr, betas=betas, eps=eps, alpha=alpha, k=k)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.update(p, group)
        return loss

    def update(self, p, group):
        state = self.state[p]
        if len(state) == 0:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(p)
            state["exp_avg_sq"] = torch.zeros_like(p)
            state["slow"] = p.detach().clone()
        grad = p.grad - p.grad.mean(dim=tuple(range(1, p.dim())), keepdim=True) if p.dim() > 1 \
            else p.grad
        beta1, beta2 = group["betas"]
        state["step"] += 1
        t = state["step"]
        state["exp_avg"].mul_(beta1).add_(grad, alpha=1 - beta1)
        state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * t * beta2**t / (1 - beta2**t)
        if length > 5:
            part = (length - 4) * (length - 2) * longest
            part /= (longest - 4) * (longest - 2) * length
            size = group["lr"] * (part * (1 - beta2**t)) ** 0.5 / (1 - beta1**t)
            p.addcdiv_(state["exp_avg"], state["exp_avg_sq"].sqrt().add_(group["eps"]), value=-size)
        else:
            p.add_(state["exp_avg"], alpha=-group["lr"] / (1 - beta1**t))
        if t % group["k"] == 0:
            state["slow"].add_(p - state["slow"], alpha=group["alpha"])
            p.copy_(state["slow"])


class Transformer:
    """Rates that rise for some steps and fall with the root of the step's number."""

    def __init__(self, optimizer, width, warm_up):
        self.optimizer, self.width, self.warm_up, self.number = optimizer, width, warm_up, 0

    def step(self):
        self.number += 1
        rate = self.width**-0.5 * min(self.number**-0.5, self.number * self.warm_up**-1.5)
        for param_group in self.optimizer.param_groups:
            param_group["lr"] = rate


torch.manual_seed(2)
model = nn.Sequential(nn.Linear(64, 48), nn.GELU(), nn.Linear(48, 10))
optimizer = Ranger(model.parameters(), lr=0.0)
scheduler = Transformer(optimizer, 64, 10)

for step in range(30):
    scheduler.step()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(data), label)
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        rate = optimizer.param_groups[0]["lr"]
        print(f"step {step + 1}: loss {loss.item():.5f}, rate {rate:.5f}")
