"""A small convolutional network on scikit-learn's digits, in PyTorch."""

import os
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

draw = np.random.default_rng(0)
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
labels = labels.astype(np.int64)


def values(*shape):
    return draw.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.norm = nn.BatchNorm2d(8, momentum=0.1)
        self.pool = nn.MaxPool2d(2, 2)
        self.first = nn.Linear(72, 32)
        self.last = nn.Linear(32, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.norm(self.conv(x))))
        return self.last(torch.relu(self.first(x.flatten(1))))


model = Network()
with torch.no_grad():
    model.conv.weight.copy_(torch.tensor(values(8, 1, 3, 3)))
    model.conv.bias.zero_()
    for layer in (model.first, model.last):
        layer.weight.copy_(torch.tensor(values(*layer.weight.shape)))
        layer.bias.zero_()

train = TensorDataset(torch.tensor(images[:1437]), torch.tensor(labels[:1437]))
test = TensorDataset(torch.tensor(images[1437:]), torch.tensor(labels[1437:]))
norm = list(model.norm.parameters())  # not decayed
others = [p for name, p in model.named_parameters() if not name.startswith("norm")]
optimizer = torch.optim.SGD(
    [{"params": others, "weight_decay": 1e-4}, {"params": norm}], lr=0.1, momentum=0.9
)
loss_fn = nn.CrossEntropyLoss()


def accuracy(network):
    network.eval()
    right = 0
    with torch.no_grad():
        for data, label in DataLoader(test, batch_size=90):
            right += (network(data).argmax(1) == label).sum().item()
    return right / len(test)


for epoch in range(3):
    model.train()
    losses = []
    for step, (data, label) in enumerate(DataLoader(train, batch_size=32, drop_last=True), 1):
        loss = loss_fn(model(data), label) / 2
        loss.backward()
        losses.append(loss.item())
        if step % 2 == 0:  # two batches make one step
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch + 1}: loss {np.mean(losses):.6f}, accuracy {accuracy(model):.4f}")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "digits.pt")
    torch.save(model.state_dict(), path)
    again = Network()
    again.load_state_dict(torch.load(path))
print(f"loaded again: accuracy {accuracy(again):.4f}")
