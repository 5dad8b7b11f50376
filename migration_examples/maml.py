"""Model-agnostic meta-learning on sine waves: gradients of gradient steps, and a Hessian."""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import grad


class SineTasks:
    """Regression tasks `a * sin(x + phase)`, each with points to adapt on and points to test."""

    def __init__(self, shots: int) -> None:
        self.shots = shots

    def sample(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        amplitude = torch.rand(1) * 4.9 + 0.1
        phase = torch.rand(1) * math.pi
        x = torch.rand(2 * self.shots, 1) * 10 - 5
        y = amplitude * torch.sin(x + phase)
        return x[: self.shots], y[: self.shots], x[self.shots :], y[self.shots :]


def initial_weights(width: int) -> list[Tensor]:
    weights = []
    for inputs, outputs in ((1, width), (width, width), (width, 1)):
        bound = math.sqrt(6 / (inputs + outputs))
        weights.append(torch.empty(outputs, inputs).uniform_(-bound, bound).requires_grad_())
        weights.append(torch.zeros(outputs, requires_grad=True))
    return weights


def forward(weights: list[Tensor], x: Tensor) -> Tensor:
    for i in range(0, len(weights), 2):
        x = F.linear(x, weights[i], weights[i + 1])
        if i < len(weights) - 2:
            x = torch.tanh(x)
    return x


def adapt(weights: list[Tensor], x: Tensor, y: Tensor, steps: int, lr: float, first_order: bool):
    """Weights after some gradient steps; the way back leads through the steps."""
    for _ in range(steps):
        loss = F.mse_loss(forward(weights, x), y)
        gradients = grad(loss, weights, create_graph=not first_order)
        weights = [w - lr * g for w, g in zip(weights, gradients)]
    return weights


def sharpness(weights: list[Tensor], x: Tensor, y: Tensor, iterations: int) -> float:
    """The largest eigenvalue of the loss's Hessian, by power iteration with products."""
    gradients = grad(F.mse_loss(forward(weights, x), y), weights, create_graph=True)
    flat = torch.cat([g.reshape(-1) for g in gradients])
    vector = torch.ones_like(flat) / math.sqrt(flat.numel())
    value = torch.zeros(())
    for _ in range(iterations):
        products = grad(flat @ vector.detach(), weights, retain_graph=True)
        product = torch.cat([p.reshape(-1) for p in products])
        value = vector @ product
        vector = product / product.norm()
    return value.item()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=15)
    parser.add_argument("--meta-batch", type=int, default=4)
    parser.add_argument("--first-order", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1)
    tasks, weights = SineTasks(10), initial_weights(40)
    optimizer = torch.optim.Adam(weights, lr=1e-3)
    for iteration in range(args.iterations):
        optimizer.zero_grad()
        before, after = 0.0, 0.0
        for _ in range(args.meta_batch):
            x, y, test_x, test_y = tasks.sample()
            adapted = adapt(weights, x, y, 2, 0.01, args.first_order)
            loss = F.mse_loss(forward(adapted, test_x), test_y)
            (loss / args.meta_batch).backward()
            before += F.mse_loss(forward(weights, test_x), test_y).item() / args.meta_batch
            after += loss.item() / args.meta_batch
        optimizer.step()
        print(f"{iteration}: loss before {before:.5f}, after adaptation {after:.5f}")
    x, y, _, _ = tasks.sample()
    print(f"largest curvature {sharpness(weights, x, y, 10):.4f}")

    def loss_of_bias(bias: Tensor) -> Tensor:
        return F.mse_loss(forward([*weights[:-1], bias], x), y)

    hessian = torch.autograd.functional.hessian(loss_of_bias, weights[-1].detach())
    print(f"curvature of the last bias {hessian.item():.4f}")


if __name__ == "__main__":
    main()
