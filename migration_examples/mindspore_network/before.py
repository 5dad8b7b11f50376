"""A network of linear layers on digits: three epochs of SGD."""

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
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10)
        )
        with torch.no_grad():
            for layer in (self.layers[1], self.layers[3]):
                layer.weight.copy_(torch.tensor(values(*layer.weight.shape)))
                layer.bias.zero_()

    def forward(self, x):
        return self.layers(x)


model = Network()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), 1e-2, momentum=0.9)

for epoch in range(3):
    model.train()
    for start in range(0, 1408, 64):
        data = torch.tensor(images[start : start + 64]).reshape(-1, 8, 8)
        loss = loss_fn(model(data), torch.tensor(labels[start : start + 64]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        logits = model(torch.tensor(images[1437:]).reshape(-1, 8, 8))
    accuracy = (logits.argmax(1).numpy() == labels[1437:]).mean()
    print(f"epoch {epoch + 1}: last loss {loss.item():.5f}, accuracy {accuracy:.4f}")
