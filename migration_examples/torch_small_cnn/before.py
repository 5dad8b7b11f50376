"""LeNet on digits of 28x28 pixels: training, evaluation, save, reload."""

import os
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
images, labels = load_digits(return_X_y=True)
images = np.kron(((images - 4.9) / 6.0).reshape(-1, 1, 8, 8), np.ones((1, 1, 3, 3)))
images = torch.tensor(np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2))), dtype=torch.float32)
labels = torch.tensor(labels.astype(np.int64))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(torch.relu(self.fc2(x)))


def accuracy(net):
    net.eval()
    right = 0
    with torch.no_grad():
        for data, target in test:
            data, target = data.to(device), target.to(device)
            right += (net(data).argmax(1) == target).sum().item()
    return right / len(test.dataset)


torch.manual_seed(1)
train = DataLoader(TensorDataset(images[:768], labels[:768]), batch_size=64, shuffle=True)
test = DataLoader(TensorDataset(images[1437:], labels[1437:]), batch_size=180)
net = LeNet().to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)

for epoch in range(3):
    net.train()
    total = 0.0
    for data, target in train:
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = criterion(net(data), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch + 1}: loss {total / len(train):.5f}, accuracy {accuracy(net):.4f}")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "lenet.pth")
    torch.save(net.state_dict(), path)
    again = LeNet().to(device)
    again.load_state_dict(torch.load(path, map_location=device))
print(f"loaded again: accuracy {accuracy(again):.4f}")
