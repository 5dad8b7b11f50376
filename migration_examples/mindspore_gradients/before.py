"""Gradients clipped by value and by their global norm; gradients of gradients."""

import numpy as np
import torch

draw = np.random.default_rng(3)
x = torch.tensor(draw.standard_normal((8, 5)).astype(np.float32))
w = torch.tensor(draw.standard_normal((5, 3)).astype(np.float32), requires_grad=True)
b = torch.zeros(3, requires_grad=True)


def loss_of(x):
    return (torch.tanh(x @ w + b) ** 3).sum()


loss = loss_of(x)
grads = torch.autograd.grad(loss, (w, b))
print(f"loss {loss.item():.5f}")
for name, clipped in (
    ("value", [g.clamp(-0.5, 0.5) for g in grads]),
    ("norm", [g * min(1.0, 2.0 / torch.cat([g.flatten() for g in grads]).norm()) for g in grads]),
):
    sums = [f"{g.sum().item():.5f} {g.abs().max().item():.5f}" for g in clipped]
    print(f"clipped by {name}: {', '.join(sums)}")

t = torch.tensor([0.3, -1.2, 2.0], requires_grad=True)
value = torch.sin(t) * t**3
first = torch.autograd.grad(value.sum(), t, create_graph=True)[0]
second = torch.autograd.grad(first.sum(), t, create_graph=True)[0]
third = torch.autograd.grad(second.sum(), t)[0]
for name, row in (("first", first), ("second", second), ("third", third)):
    print(f"{name}: {' '.join(f'{v:.5f}' for v in row.tolist())}")

for p in (w, b):
    p.grad = None
x.requires_grad_()
inner = torch.autograd.grad(loss_of(x), x, create_graph=True)[0]
penalty = (inner.norm(dim=1) - 1).square().mean()
penalty.backward()
print(f"penalty {penalty.item():.5f}, of w {w.grad.sum().item():.5f}, "
      f"of b {b.grad.sum().item():.5f}")
