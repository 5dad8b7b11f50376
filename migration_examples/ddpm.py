"""Denoising diffusion on two-dimensional points: noise schedule, time embedding, EMA, sampling."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR


def spiral(count: int) -> torch.Tensor:
    t = torch.sqrt(torch.rand(count)) * 3 * math.pi
    points = torch.stack((t * torch.cos(t), t * torch.sin(t)), dim=-1) / 6
    return points + 0.03 * torch.randn_like(points)


def extract(table: torch.Tensor, t: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """`table[t]`, shaped to broadcast against `shape`."""
    return table.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))


class TimeEmbedding(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        half = width // 2
        frequencies = torch.exp(torch.arange(half) * -(math.log(10000) / (half - 1)))
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.net = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, t: torch.Tensor) -> torch.Tensor:
        angles = t[:, None].float() * self.frequencies[None, :]
        return self.net(torch.cat((angles.sin(), angles.cos()), dim=-1))


class Block(nn.Module):
    """Residual; scale and shift come from the time."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, width)
        self.time = nn.Linear(width, 2 * width)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(width, width))

    def forward(self, x: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
        scale, shift = self.time(F.silu(embedded)).chunk(2, dim=-1)
        return x + self.body(self.norm(x) * (scale + 1) + shift)


class Denoiser(nn.Module):
    def __init__(self, width: int = 48, depth: int = 3) -> None:
        super().__init__()
        self.time = TimeEmbedding(width)
        self.enter = nn.Linear(2, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.leave = nn.Linear(width, 2)
        nn.init.zeros_(self.leave.weight)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        embedded, x = self.time(t), self.enter(x)
        for block in self.blocks:
            x = block(x, embedded)
        return self.leave(x)


class Diffusion(nn.Module):
    def __init__(self, model: nn.Module, steps: int) -> None:
        super().__init__()
        self.model, self.steps = model, steps
        grid = torch.linspace(0, steps, steps + 1, dtype=torch.float64) / steps
        cumulative = torch.cos((grid + 0.008) / 1.008 * math.pi * 0.5) ** 2
        betas = torch.clip(1 - cumulative[1:] / cumulative[:-1], 0, 0.999)
        alphas = 1 - betas
        bar = torch.cumprod(alphas, dim=0)
        before = F.pad(bar[:-1], (1, 0), value=1.0)
        tables = {
            "sqrt_bar": bar.sqrt(),
            "sqrt_one_minus_bar": (1 - bar).sqrt(),
            "sqrt_recip_alphas": alphas.rsqrt(),
            "betas": betas,
            "posterior_variance": betas * (1 - before) / (1 - bar),
        }
        for name, table in tables.items():
            self.register_buffer(name, table.to(torch.float32))

    def loss(self, x: torch.Tensor) -> torch.Tensor:
        t = torch.randint(0, self.steps, (len(x),), device=x.device).long()
        noise = torch.randn_like(x)
        noisy = extract(self.sqrt_bar, t, x.shape) * x
        noisy = noisy + extract(self.sqrt_one_minus_bar, t, x.shape) * noise
        return F.smooth_l1_loss(self.model(noisy, t), noise)

    @torch.inference_mode()
    def sample(self, count: int) -> torch.Tensor:
        x = torch.randn(count, 2)
        for step in reversed(range(self.steps)):
            t = torch.full((count,), step, dtype=torch.long)
            share = extract(self.betas, t, x.shape) / extract(self.sqrt_one_minus_bar, t, x.shape)
            mean = extract(self.sqrt_recip_alphas, t, x.shape) * (x - share * self.model(x, t))
            noise = torch.randn_like(x) if step > 0 else torch.zeros_like(x)
            x = mean + extract(self.posterior_variance, t, x.shape).sqrt() * noise
        return x


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--timesteps", type=int, default=40)
    args = parser.parse_args()
    torch.manual_seed(0)
    diffusion = Diffusion(Denoiser(), args.timesteps)
    optimizer = torch.optim.AdamW(diffusion.parameters(), lr=2e-3, weight_decay=0.0)
    scheduler = LambdaLR(optimizer, lambda step: min((step + 1) / 10, 1.0))
    for iteration in range(args.iterations):
        loss = diffusion.loss(spiral(128))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(diffusion.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if iteration % 5 == 0:
            print(f"{iteration}: loss {loss.item():.5f} lr {scheduler.get_last_lr()[0]:.5f}")
    points = diffusion.eval().sample(256)
    print(f"samples: mean {points.mean().item():.5f}, std {points.std().item():.5f}")
    distance = torch.cdist(points, spiral(512)).min(dim=1).values.mean()
    print(f"mean distance to the data {distance.item():.5f}")


if __name__ == "__main__":
    main()
