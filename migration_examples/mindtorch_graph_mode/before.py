"""A training step, compiled."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:512] / 16).astype(np.float32))
label = torch.tensor(labels[:512].astype(np.int64))

torch.manual_seed(1)
model = nn.Sequential(
    nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10)
)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


@torch.compile(backend="eager")
def train_step(data, label):
    loss = loss_fn(model(data), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for epoch in range(3):
    losses = [train_step(*batch).item() for batch in zip(data.split(64), label.split(64))]
    print(f"epoch {epoch + 1}: loss {np.mean(losses):.5f}")
    optimizer.param_groups[0]["lr"] *= 0.5
