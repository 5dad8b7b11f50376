"""Some layers in float16, by hand."""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
images, labels = (images / 16).astype(np.float32), labels.astype(np.int64)
draw = np.random.default_rng(0)


def values(*shape):
    return draw.uniform(-1, 1, shape).astype(np.float32) / np.float32(np.sqrt(shape[-1]))


def half(layer, x):
    return nn.functional.linear(x.half(), layer.weight.half(), layer.bias.half())


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Linear(64, 48), nn.Linear(48, 32), nn.Linear(32, 10)
        with torch.no_grad():
            for layer in (self.first, self.second, self.last):
                layer.weight.copy_(torch.tensor(values(*layer.weight.shape)))
                layer.bias.zero_()

    def forward(self, x):
        x = torch.relu(half(self.first, x))
        x = torch.relu(self.second(x.float()))
        x = x.to(torch.float16)
        return half(self.last, x * 2)


model = Network()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
data, label = torch.tensor(images[:256]), torch.tensor(labels[:256])

for step in range(10):
    logits = model(data)
    loss = loss_fn(logits.float(), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 0:
        kinds = sorted({str(p.grad.dtype).rpartition(".")[2] for p in model.parameters()})
        print(f"step {step + 1}: logits {str(logits.dtype).rpartition('.')[2]}, gradients {kinds}, "
              f"loss {loss.item():.2f}")
