"""A training loop with a loss scale, in PyTorch: losses, evaluation, checkpoints."""

import os
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

images, labels = load_digits(return_X_y=True)
images, labels = (images / 16).astype(np.float32), labels.astype(np.int64)


def network():
    draw = np.random.default_rng(0)
    net = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
    with torch.no_grad():
        for layer in (net[0], net[2]):
            values = draw.uniform(-0.2, 0.2, tuple(layer.weight.shape)).astype(np.float32)
            layer.weight.copy_(torch.tensor(values))
            layer.bias.zero_()
    return net


def forward(net, data, level):
    if level == "O0":
        return net(data)
    weights = {name: p.half() for name, p in net.named_parameters()}
    return torch.func.functional_call(net, weights, (data.half(),)).float()


def train(name, level, scale, window):
    """A loss scale that is halved by an overflow and doubled after some steps without one."""
    net = network()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    clean, losses, scales = 0, [], []
    for start in range(0, 512, 64):
        data = torch.tensor(images[start : start + 64])
        loss = nn.functional.cross_entropy(forward(net, data, level),
                                           torch.tensor(labels[start : start + 64]))
        optimizer.zero_grad()
        (loss * scale).backward()
        finite = all(p.grad.isfinite().all() for p in net.parameters())
        for p in net.parameters():
            p.grad /= scale
        if finite:
            optimizer.step()
        losses.append(f"{loss.item():.2f}")
        scales.append(int(scale))
        clean = clean + 1 if finite else 0
        if window and (not finite or clean == window):
            scale, clean = scale * 2 if finite else scale / 2, 0
    print(f"{name}: losses {' '.join(losses)}, scales {scales}")
    return net


train("fixed", "O2", 128.0, None)
train("dynamic", "O2", 2.0**18, 3)

net = network()
optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
with tempfile.TemporaryDirectory() as folder:
    for epoch in range(2):
        net.train()
        for start in range(0, 1408, 128):
            rows = slice(start, start + 128)
            loss = nn.functional.cross_entropy(net(torch.tensor(images[rows])),
                                               torch.tensor(labels[rows]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if start // 128 % 11 == 10:
                print(f"epoch: {epoch + 1} step: {start // 128 + 1}, loss is {loss.item():.4f}")
        torch.save(net.state_dict(), os.path.join(folder, f"digits-{epoch + 1}_11.ckpt"))
    print(sorted(name for name in os.listdir(folder) if name.endswith(".ckpt")))

net.eval()
with torch.no_grad():
    logits = net(torch.tensor(images[1437:]))
    loss = nn.functional.cross_entropy(logits, torch.tensor(labels[1437:])).item()
accuracy = (logits.argmax(1).numpy() == labels[1437:]).mean()
print(f"accuracy {accuracy:.4f}, loss {loss:.4f}")
print(f"predicted {logits[:8].argmax(1).tolist()}")
