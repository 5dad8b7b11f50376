"""Mixed precision: autocast, a gradient scaler, clipping of unscaled gradients."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.amp import GradScaler, autocast

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:512] / 16).astype(np.float32)).reshape(-1, 1, 8, 8)
label = torch.tensor(labels[:512].astype(np.int64))

torch.manual_seed(5)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 32), nn.ReLU(),
    nn.Linear(32, 10),
)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = GradScaler("cpu", init_scale=2.0**12, growth_interval=3)

for step in range(12):
    rows = slice(step * 32, step * 32 + 32)
    optimizer.zero_grad()
    with autocast("cpu", dtype=torch.bfloat16):
        output = model(data[rows])
        loss = loss_fn(output, label[rows])
    if step == 5:  # a batch gone wrong: this step is left out and the scale halved
        loss = loss * float("inf")
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    scale = scaler.get_scale()
    print(f"step {step + 1}: {output.dtype}, loss {loss.item():.2f}, scale {scale:.0f}, "
          f"norm finite {bool(norm.isfinite())}")

model.eval()
with torch.no_grad():
    right = (model(data).argmax(1) == label).float().mean().item()
print(f"accuracy {right:.2f}")
