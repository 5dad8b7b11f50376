"""LeNet-5: convolutions without padding, normal initial weights, save and load."""

import os
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
images = np.kron((images / 16).reshape(-1, 1, 8, 8), np.ones((1, 1, 4, 4))).astype(np.float32)
labels = labels.astype(np.int64)
draw = np.random.default_rng(0)


class LeNet5(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, bias=False)
        self.conv2 = nn.Conv2d(6, 16, 5, bias=False)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)
        for p in self.parameters():
            nn.init.normal_(p, 0.0, 0.02)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc3(torch.relu(self.fc2(x)))


def accuracy(net):
    net.eval()
    with torch.no_grad():
        logits = net(torch.tensor(images[1437:]))
    return (logits.argmax(1).numpy() == labels[1437:]).mean()


net = LeNet5()
spread = np.concatenate([p.detach().numpy().ravel() for p in net.parameters()])
print(f"{len(spread)} weights, normal: {abs(spread.mean()) < 1e-3}, {0.019 < spread.std() < 0.021}")
with torch.no_grad():  # known numbers in place of random ones
    for p in net.parameters():
        size = 0.2 if p.dim() == 4 else 0.08
        p.copy_(torch.tensor(draw.normal(0, size, tuple(p.shape)).astype(np.float32)))

loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), 0.02, momentum=0.9)
for step in range(16):
    net.train()
    rows = slice(step * 48, step * 48 + 48)
    loss = loss_fn(net(torch.tensor(images[rows])), torch.tensor(labels[rows]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 3:
        print(f"step {step + 1}: loss {loss.item():.4f}")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "lenet.pt")
    torch.save(net.state_dict(), path)
    parameters = torch.load(path)
again = LeNet5()
missing = again.load_state_dict(parameters)
print(f"{len(parameters)} tensors, not loaded: {list(missing.missing_keys)}")
print(f"accuracy {accuracy(net):.4f}, loaded again {accuracy(again):.4f}")
