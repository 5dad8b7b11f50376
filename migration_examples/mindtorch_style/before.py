"""An optimizer of one's own, warm-up, mixed precision and clipping, in PyTorch."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:1024] / 16).astype(np.float32))
label = torch.tensor(labels[:1024].astype(np.int64))


class Decayed(torch.optim.Optimizer):
    """Momentum, and a decay of the weights."""

    def __init__(self, params, lr, momentum=0.9, decay=1e-3):
        super().__init__(params, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "mean" not in state:
                    state["mean"] = torch.zeros_like(p)
                state["mean"].mul_(group["momentum"]).add_(p.grad)
                p.mul_(1 - group["lr"] * group["decay"]).add_(state["mean"], alpha=-group["lr"])


class WarmUp(torch.optim.lr_scheduler.LRScheduler):
    """Rates that rise for some steps."""

    def __init__(self, optimizer, steps):
        self.steps = steps
        super().__init__(optimizer)

    def get_lr(self):
        return [lr * min(1.0, (self.last_epoch + 1) / self.steps) for lr in self.base_lrs]


torch.manual_seed(3)
model = nn.Sequential(nn.Linear(64, 48), nn.LayerNorm(48), nn.GELU(), nn.Linear(48, 10))
optimizer = Decayed(model.parameters(), lr=0.1)
scheduler = WarmUp(optimizer, 5)
loss_fn = nn.CrossEntropyLoss()
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8)

for step in range(20):
    logits = model(data)
    loss = loss_fn(logits, label)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    rate = optimizer.param_groups[0]["lr"]
    scheduler.step()
    if step % 4 == 3:
        right = (logits.argmax(1) == label).float().mean().item()
        print(f"step {step + 1}: loss {loss.item():.5f}, accuracy {right:.3f}, rate {rate:.3f}")
