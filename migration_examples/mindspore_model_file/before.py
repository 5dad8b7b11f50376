"""A network as a file with its graph: another program runs it and trains it further."""

import os
import tempfile
import warnings

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
images = (images / 16).reshape(-1, 1, 8, 8).astype(np.float32)
labels = labels.astype(np.int64)
draw = np.random.default_rng(0)

net = nn.Sequential(
    nn.Conv2d(1, 8, 3, bias=False), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Linear(72, 10)
)
with torch.no_grad():  # known numbers in place of random ones
    for p in net.parameters():
        p.copy_(torch.tensor(draw.normal(0, 0.2, tuple(p.shape)).astype(np.float32)))


def train(net, first, steps):
    loss_fn, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(net.parameters(), 0.5)
    for step in range(first, first + steps):
        rows = slice(step % 22 * 64, step % 22 * 64 + 64)
        loss = loss_fn(net(torch.tensor(images[rows])), torch.tensor(labels[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"step {first + steps}: loss {loss.item():.4f}")


def accuracy(net):
    with torch.no_grad():
        return (net(torch.tensor(images[1437:])).argmax(1).numpy() == labels[1437:]).mean()


train(net, 0, 20)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "digits.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(net, torch.zeros(64, 1, 8, 8)), path)
        again = torch.jit.load(path)
print(f"accuracy {accuracy(net):.4f}, from the file {accuracy(again):.4f}")
train(again, 20, 40)
print(f"accuracy {accuracy(again):.4f}, of the first one still {accuracy(net):.4f}")
