"""An optimizer (Lion), one that wraps another (Lookahead), and a schedule, all written here."""

import argparse
import math
from collections import defaultdict

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, SequentialLR, StepLR


class Lion(Optimizer):
    """Moves by the sign of an interpolated momentum."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0) -> None:
        if not 0.0 <= lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                exp_avg, (beta1, beta2) = state["exp_avg"], group["betas"]
                update = exp_avg.clone().mul_(beta1).add(p.grad, alpha=1 - beta1)
                # A soft sign: near zero the hard one would only amplify rounding.
                p.add_(update.div_(update.abs() + 1e-4), alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(p.grad, alpha=1 - beta2)
        return loss


class Lookahead(Optimizer):
    """Every `k` inner steps, slow weights move by `alpha` towards the fast ones."""

    def __init__(self, optimizer: Optimizer, k: int = 5, alpha: float = 0.5) -> None:
        self.optimizer, self.k, self.alpha = optimizer, k, alpha
        self.param_groups = optimizer.param_groups
        self.defaults = optimizer.defaults
        self.state = defaultdict(dict)
        self.counter = 0

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optimizer.zero_grad(set_to_none)

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        self.counter += 1
        for group in self.param_groups:
            for fast in group["params"]:
                state = self.state[fast]
                if "slow" not in state:
                    state["slow"] = torch.empty_like(fast.data).copy_(fast.data)
                if self.counter % self.k == 0:
                    slow = state["slow"]
                    slow.lerp_(fast.data, self.alpha)
                    fast.data.copy_(slow)
        return loss


class PlainAdam(Optimizer):
    """Adam by the book, with a counter in each state."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-6) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in filter(lambda p: p.grad is not None, group["params"]):
                state = self.state[p]
                if not state:
                    state.update(step=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["step"] += 1
                m, v = state["m"], state["v"]
                m.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                v.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                root = v.sqrt().div_(math.sqrt(1 - beta2 ** state["step"])).add_(group["eps"])
                p.addcdiv_(m, root, value=-group["lr"] / (1 - beta1 ** state["step"]))


class InverseRoot(LRScheduler):
    """Linear warm-up, then `1 / sqrt(step)`."""

    def __init__(self, optimizer: Optimizer, warmup: int, last_epoch: int = -1) -> None:
        self.warmup = warmup
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        step = self.last_epoch + 1
        scale = min(step / self.warmup, math.sqrt(self.warmup / step))
        return [base * scale for base in self.base_lrs]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=24)
    args = parser.parse_args()
    x = torch.linspace(-2, 2, 200).unsqueeze(1)
    y = torch.sin(3 * x) * torch.exp(-x.abs())
    makers = {
        "lion": lambda p: Lion(p, lr=3e-3, weight_decay=1e-2),
        "lookahead": lambda p: Lookahead(torch.optim.SGD(p, lr=0.1, momentum=0.9), k=4),
        "adam": lambda p: PlainAdam(p, lr=5e-3),
    }
    for name, make in makers.items():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Softplus())
        net.append(nn.Linear(32, 1))
        optimizer = make(net.parameters())
        schedulers = []
        if isinstance(optimizer, PlainAdam):
            first = InverseRoot(optimizer, warmup=6)
            second = StepLR(optimizer, step_size=4, gamma=0.7)
            schedulers.append(SequentialLR(optimizer, [first, second], milestones=[12]))
        elif isinstance(optimizer, Lion):
            schedulers.append(InverseRoot(optimizer, warmup=8))
        for step in range(args.steps):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            for scheduler in schedulers:
                scheduler.step()
            if step % 3 == 0:
                print(f"{name} {step}: {loss.item():.6f} lr {optimizer.param_groups[0]['lr']:.6f}")
    print(type(optimizer).__name__, len(optimizer.state_dict()["state"]), "states")


if __name__ == "__main__":
    main()
