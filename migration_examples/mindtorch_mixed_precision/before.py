"""Mixed precision: the weights are cast where they are used, losses and gradients are scaled."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.amp import GradScaler

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:512] / 16).astype(np.float32))
label = torch.tensor(labels[:512].astype(np.int64))


class Half(nn.Module):
    """All layers but normalisation (level O2), or all of them (O3), computed in float16."""

    def __init__(self, layers, level):
        super().__init__()
        self.layers, self.level = layers, level

    def forward(self, x):
        for layer in self.layers:
            kept = self.level == "O2" and isinstance(layer, nn.LayerNorm)
            kind = torch.float32 if kept else torch.float16
            weights = {k: v.to(kind) for k, v in layer.named_parameters()}
            x = torch.func.functional_call(layer, weights, (x.to(kind),)).to(torch.float16)
        return x.float()


def train(level):
    torch.manual_seed(3)
    layers = nn.Sequential(nn.Linear(64, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 10))
    model = layers if level == "O0" else Half(layers, level)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    scaler = GradScaler("cpu", init_scale=2.0**17, growth_interval=4)
    for _ in range(12):
        scale = scaler.get_scale()
        logits = model(data)
        loss = nn.functional.cross_entropy(logits, label)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    right = (model(data).argmax(1) == label).float().mean().item()
    print(f"{level}: {logits.dtype}, loss {loss.item():.2f}, scale {scale:.0f}, right {right:.2f}")


for level in ("O0", "O2", "O3"):
    train(level)
