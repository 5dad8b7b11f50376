"""Gradients of two batches of 32, accumulated, are those of one batch of 64."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
images, labels = (images / 16).astype(np.float32), labels.astype(np.int64)
draw = np.random.default_rng(0)


def values(*shape):
    return draw.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(shape[-1]))


def train(size, accumulate):
    global draw
    draw = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 10))
    with torch.no_grad():
        for layer in (model[0], model[2]):
            layer.weight.copy_(torch.tensor(values(*layer.weight.shape)))
            layer.bias.zero_()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for i, start in enumerate(range(0, 768, size), 1):
        data = torch.tensor(images[start : start + size])
        loss = nn.functional.cross_entropy(model(data), torch.tensor(labels[start : start + size]))
        (loss / accumulate).backward()
        if i % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
            if start % 256 >= 192:
                print(f"{start + size} rows: loss {loss.item():.5f}")
    return [p.detach().numpy() for p in model.parameters()]


halves, whole = train(32, 2), train(64, 1)
equal = all(np.allclose(a, b, rtol=1e-4, atol=1e-6) for a, b in zip(halves, whole))
print(f"the same parameters: {equal}, norm {np.sqrt(sum((p**2).sum() for p in halves)):.4f}")
