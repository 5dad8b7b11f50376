"""A loss scale that follows overflows, and one that stays, by hand."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
images, labels = (images / 16).astype(np.float32), labels.astype(np.int64)
draw = np.random.default_rng(0)


def values(*shape):
    return draw.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(shape[-1]))


class Network(nn.Module):
    """float16 inside."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(64, 32), nn.Linear(32, 10)
        with torch.no_grad():
            for layer in (self.first, self.last):
                layer.weight.copy_(torch.tensor(values(*layer.weight.shape)))
                layer.bias.zero_()

    def forward(self, x):
        weights = [p.half() for p in self.parameters()]
        x = torch.relu(nn.functional.linear(x.half(), weights[0], weights[1]))
        return nn.functional.linear(x, weights[2], weights[3]).float()


def train(name, scale, window):
    model = Network()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    data, label = torch.tensor(images[:64]), torch.tensor(labels[:64])
    counter = left_out = 0
    for step in range(60):
        loss = loss_fn(model(data * (1e4 if step == 20 else 1)), label)
        optimizer.zero_grad()
        (loss * scale).backward()
        is_finite = all(p.grad.isfinite().all() for p in model.parameters())
        for p in model.parameters():
            p.grad /= scale
        if is_finite:
            optimizer.step()
        if window is not None:
            if not is_finite:
                scale, counter = scale / 2, 0
            else:
                counter += 1
                scale, counter = (scale * 2, 0) if counter == window else (scale, counter)
        left_out += not is_finite
        if step % 10 == 9:
            print(f"{name} step {step + 1}: loss {loss.item():.2f}, scale {scale:.0f}, "
                  f"left out {left_out}")


train("dynamic", 2.0**16, 50)
train("quick", 2.0**16, 4)
train("static", 1024.0, None)
