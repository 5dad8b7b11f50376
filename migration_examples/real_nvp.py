"""A normalising flow (RealNVP with invertible linear maps) fitted to two moons by likelihood."""

import argparse
import math

import torch
from sklearn.datasets import make_moons
from torch import nn


class Coupling(nn.Module):
    """Half of the coordinates scale and shift the other half."""

    def __init__(self, mask: list[float], hidden: int) -> None:
        super().__init__()
        self.register_buffer("mask", torch.tensor(mask))
        self.scale = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 2), nn.Tanh())
        self.shift = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        fixed = x * self.mask
        s = self.scale(fixed) * (1 - self.mask)
        t = self.shift(fixed) * (1 - self.mask)
        return fixed + (1 - self.mask) * (x * torch.exp(s) + t), s.sum(dim=1)

    def inverse(self, y: torch.Tensor) -> torch.Tensor:
        fixed = y * self.mask
        s, t = self.scale(fixed), self.shift(fixed)
        return fixed + (1 - self.mask) * (y - t) * torch.exp(-s)


class Rotation(nn.Module):
    """A learned square matrix; its log-determinant is part of the likelihood."""

    def __init__(self) -> None:
        super().__init__()
        q, _ = torch.linalg.qr(torch.tensor([[0.8, -0.6], [0.6, 0.9]]))
        self.weight = nn.Parameter(q)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        _, logabsdet = torch.linalg.slogdet(self.weight)
        return x @ self.weight, logabsdet.expand(len(x))

    def inverse(self, y: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve(self.weight.t(), y.t()).t()


class Flow(nn.Module):
    def __init__(self, depth: int, hidden: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for i in range(depth):
            layers += [Coupling([1.0, 0.0] if i % 2 else [0.0, 1.0], hidden), Rotation()]
        self.layers = nn.ModuleList(layers)

    def log_prob(self, x: torch.Tensor) -> torch.Tensor:
        log_det = x.new_zeros(x.shape[0])
        for layer in self.layers:
            x, change = layer(x)
            log_det = log_det + change
        return -0.5 * (x.square().sum(dim=1) + 2 * math.log(2 * math.pi)) + log_det

    @torch.no_grad()
    def sample(self, count: int) -> torch.Tensor:
        z = torch.randn(count, 2)
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.manual_seed(0)
    points, _ = make_moons(600, noise=0.06, random_state=0)
    x = torch.from_numpy(points).float()
    x = (x - x.mean(0)) / x.std(0, unbiased=False)
    flow = Flow(4, 24)
    optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CyclicLR(
        optimizer, base_lr=2e-3, max_lr=6e-3, step_size_up=8, cycle_momentum=False
    )
    for step in range(args.steps):
        batch = x[torch.randint(0, len(x), (128,))]
        loss = -flow.log_prob(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 4 == 0:
            print(f"{step}: {loss.item():.5f} lr {scheduler.get_last_lr()[0]:.5f}")
    sample = flow.sample(500)
    covariance = torch.cov(sample.t())
    print("covariance of samples:", [round(v, 4) for v in covariance.flatten().tolist()])
    print(f"quartile {torch.quantile(sample[:, 0], 0.25).item():.5f}")


if __name__ == "__main__":
    main()
