"""The training loop: forward, backward, step."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

images, labels = load_digits(return_X_y=True)
data = torch.tensor((images[:512] / 16).astype(np.float32))
label = torch.tensor(labels[:512].astype(np.int64))

torch.manual_seed(1)
loader = DataLoader(TensorDataset(data, label), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(3):
    total = right = 0
    for X, y in loader:
        logits = model(X)
        loss = loss_fn(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        right += (logits.argmax(1) == y).sum().item()
    print(f"epoch {epoch + 1}: loss {total / len(loader):.5f}, right {right} of {len(data)}")
