"""Mixed precision: a level for the model, gradients passed to the scaler."""

from mindtorch.tools import mstorch_enable

import mindspore as ms
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.amp import GradScaler, auto_mixed_precision

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:512] / 16).astype(np.float32))
label = torch.tensor(labels[:512].astype(np.int64))


def train(level):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(64, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 10))
    model = auto_mixed_precision(model, level)
    optimizer = torch.optim.SGD(model.trainable_params(), lr=0.5, momentum=0.9)
    scaler = GradScaler("cpu", init_scale=2.0**17, growth_interval=4)
    loss_fn = nn.CrossEntropyLoss()

    def forward_fn(data, label):
        logits = torch.cast_to_adapter_tensor(model(data))
        loss = loss_fn(logits, label)
        return scaler.scale(loss), logits

    grad_fn = ms.ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
    for _ in range(12):
        scale = scaler.get_scale()
        (loss, logits), grads = grad_fn(data, label)
        scaler.unscale_(optimizer, grads)
        grads = ms.ops.clip_by_global_norm(grads, 1.0)
        scaler.step(optimizer, grads)
        scaler.update()
    right = (model(data).argmax(1) == label).float().mean().item()
    loss = loss.item() / scale
    print(f"{level}: {logits.dtype}, loss {loss:.2f}, scale {scale:.0f}, right {right:.2f}")


for level in ("O0", "O2", "O3"):
    train(level)
