"""An optimizer of one's own, warm-up, mixed precision and clipping, in MindTorch's style."""

from mindtorch.tools import mstorch_enable

import mindspore as ms
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:1024] / 16).astype(np.float32))
label = torch.tensor(labels[:1024].astype(np.int64))


class Decayed(torch.optim.Optimizer):
    """Momentum, and a decay of the weights; gradients are passed in."""

    def __init__(self, params, lr, momentum=0.9, decay=1e-3):
        super().__init__(params, {"lr": lr, "momentum": momentum, "decay": decay})
        self.means = self.parameters.clone(prefix="mean", init="zeros")

    def step(self, grads, closure=None):
        i = 0
        for group in self.param_groups:
            for p in group["params"]:
                mean = group["momentum"] * self.means[i] + grads[i]
                ms.ops.assign(self.means[i], mean)
                ms.ops.assign(p, p * (1 - group["lr"] * group["decay"]) - mean * group["lr"])
                i += 1


class WarmUp:
    """Rates that rise for some steps."""

    def __init__(self, optimizer, steps):
        self.optimizer, self.steps, self.last = optimizer, steps, 0
        self.base = [float(group["lr"]) for group in optimizer.param_groups]
        self.step()

    def step(self):
        self.last += 1
        for group, lr in zip(self.optimizer.param_groups, self.base):
            ms.ops.assign(group["lr"], lr * min(1.0, self.last / self.steps))


torch.manual_seed(3)
model = nn.Sequential(nn.Linear(64, 48), nn.LayerNorm(48), nn.GELU(), nn.Linear(48, 10))
model = torch.amp.auto_mixed_precision(model, "O0")
optimizer = Decayed(model.trainable_params(), lr=0.1)
scheduler = WarmUp(optimizer, 5)
loss_fn = nn.CrossEntropyLoss()
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8)


def forward_fn(data, label):
    logits = torch.cast_to_adapter_tensor(model(data))
    return scaler.scale(loss_fn(logits, label)), logits


grad_fn = ms.ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)

for step in range(20):
    scale = scaler.get_scale()
    (loss, logits), grads = grad_fn(data, label)
    scaler.unscale_(optimizer, grads)
    grads = ms.ops.clip_by_global_norm(grads, 1.0)
    scaler.step(optimizer, grads)
    scaler.update()
    rate = optimizer.param_groups[0]["lr"]
    scheduler.step()
    if step % 4 == 3:
        right = (logits.argmax(1) == label).float().mean().asnumpy()
        print(f"step {step + 1}: loss {float(loss.asnumpy()) / scale:.5f}, accuracy {right:.3f}, "
              f"rate {rate:.3f}")
