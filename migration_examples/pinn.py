"""A physics-informed network solves Burgers' equation: derivatives by autograd, Adam then LBFGS."""

import argparse
import math

import torch
import torch.nn as nn


class PINN(nn.Module):
    def __init__(self, layers: list[int]) -> None:
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(a, b) for a, b in zip(layers, layers[1:])])
        self.slope = nn.Parameter(torch.tensor(1.0))
        for linear in self.linears:
            nn.init.xavier_normal_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        h = torch.cat([x, t], dim=1)
        for linear in self.linears[:-1]:
            h = torch.tanh(self.slope * linear(h))
        return self.linears[-1](h)


def derivative(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(
        y, x, grad_outputs=torch.ones_like(y), retain_graph=True, create_graph=True
    )[0]


def residual(model: nn.Module, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """`u_t + u u_x - (0.05 / pi) u_xx`"""
    u = model(x, t)
    u_x, u_t = derivative(u, x), derivative(u, t)
    return u_t + u * u_x - 0.05 / math.pi * derivative(u_x, x)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--adam", type=int, default=30)
    parser.add_argument("--lbfgs", type=int, default=10)
    args = parser.parse_args()
    torch.manual_seed(1234)
    torch.set_default_dtype(torch.float64)
    model = PINN([2, 20, 20, 20, 1])
    engine = torch.quasirandom.SobolEngine(dimension=2, scramble=False)
    inside = engine.draw(200, dtype=torch.float64)
    x = (2 * inside[:, :1] - 1).requires_grad_(True)
    t = inside[:, 1:].clone().requires_grad_(True)
    x0 = torch.linspace(-1, 1, 50).view(-1, 1)
    start = (x0, torch.zeros_like(x0), -torch.sin(math.pi * x0))
    walls = torch.where(torch.rand(40, 1) < 0.5, -1.0, 1.0)
    edge = (walls, torch.rand(40, 1), torch.zeros(40, 1))
    mse = nn.MSELoss()

    def parts() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        f = residual(model, x, t)
        initial = mse(model(*start[:2]), start[2])
        boundary = mse(model(*edge[:2]), edge[2])
        return f.pow(2).mean(), initial, boundary

    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(args.adam):
        optimizer.zero_grad()
        physics, initial, boundary = parts()
        (physics + initial + boundary).backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"adam {step}: {physics:.6f} {initial:.6f} {boundary:.6f}")

    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=args.lbfgs, history_size=20, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = sum(parts())
        loss.backward()
        return loss

    before = optimizer.step(closure)
    print(f"lbfgs: {before.item():.6f} -> {closure().item():.6f}")
    u = torch.vmap(lambda a: model(a.view(1, 1), torch.full((1, 1), 0.5)))(torch.linspace(-1, 1, 9))
    print("u(x, 0.5):", " ".join(f"{value:.4f}" for value in u.flatten().tolist()))


if __name__ == "__main__":
    main()
