"""Wasserstein GAN with gradient penalty on a ring of eight Gaussians."""

import argparse
import math

import numpy as np
import torch
from torch import autograd, nn, optim


def ring(batch_size: int, rng: np.random.RandomState) -> torch.Tensor:
    """Points near eight centres on a circle of radius 2, scaled to variance about 1."""
    angles = rng.randint(0, 8, batch_size) * math.pi / 4
    points = 2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points += 0.02 * rng.randn(batch_size, 2)
    return torch.Tensor(points / 1.414)


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.ReLU(True),
        nn.Linear(hidden, hidden),
        nn.ReLU(True),
        nn.Linear(hidden, outputs),
    )


def gradient_penalty(
    critic: nn.Module, real: torch.Tensor, fake: torch.Tensor, weight: float
) -> torch.Tensor:
    """`weight * mean((|grad of critic at points between real and fake| - 1)**2)`."""
    alpha = torch.rand(real.size(0), 1).expand_as(real)
    between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = critic(between)
    (gradients,) = autograd.grad(
        outputs=scores,
        inputs=between,
        grad_outputs=torch.ones_like(scores),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * weight


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--critic-steps", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--penalty", type=float, default=0.1)
    args = parser.parse_args()
    torch.manual_seed(1)
    rng = np.random.RandomState(1)

    generator, critic = mlp(2, 64, 2), mlp(2, 64, 1)
    for network in (generator, critic):
        for layer in network:
            if isinstance(layer, nn.Linear):
                nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                nn.init.zeros_(layer.bias)
    optimizer_c = optim.Adam(critic.parameters(), lr=1e-4, betas=(0.5, 0.9))
    optimizer_g = optim.Adam(generator.parameters(), lr=1e-4, betas=(0.5, 0.9))
    one = torch.tensor(1.0)
    minus_one = one * -1

    for iteration in range(args.iterations):
        for parameter in critic.parameters():
            parameter.requires_grad = True
        for _ in range(args.critic_steps):
            real = ring(args.batch_size, rng)
            critic.zero_grad()
            critic_real = critic(real).mean()
            critic_real.backward(minus_one)
            with torch.no_grad():
                fake = generator(torch.randn(args.batch_size, 2))
            critic_fake = critic(fake).mean()
            critic_fake.backward(one)
            penalty = gradient_penalty(critic, real.data, fake.data, args.penalty)
            penalty.backward()
            wasserstein = critic_real - critic_fake
            optimizer_c.step()

        for parameter in critic.parameters():
            parameter.requires_grad = False
        generator.zero_grad()
        loss = -critic(generator(torch.randn(args.batch_size, 2))).mean()
        loss.backward()
        optimizer_g.step()
        print(
            f"{iteration}: distance {wasserstein.data:.5f} penalty {penalty.item():.5f} "
            f"generator {loss.item():.5f}"
        )


if __name__ == "__main__":
    main()
