"""Save everything in the middle, start afresh, resume: the second half must be the same."""

import argparse
import io
import os
import random
import sys
import tempfile

import numpy as np
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"),
            nn.Dropout(0.2), nn.Linear(2 * width, width),
        )  # fmt: skip
        self.scale = nn.Parameter(torch.full((width,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.scale * self.body(x)


class Net(nn.Module):
    """Residual blocks whose activations are computed again in the backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(10, 24)
        self.blocks = nn.ModuleList(Residual(24) for _ in range(3))
        self.head = nn.utils.weight_norm(nn.Linear(24, 1), dim=0)
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.seen += len(x)
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return self.head(x).squeeze(-1)


def set_seed(seed: int) -> None:
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)


def build():
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, amsgrad=True, weight_decay=0.05)
    return model, optimizer, CosineAnnealingWarmRestarts(optimizer, T_0=3, T_mult=2)


def train(model, optimizer, scheduler, loader, epochs: range) -> list[float]:
    losses = []
    for epoch in epochs:
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            x = x + 0.01 * random.random() + 0.01 * float(np.random.rand())
            loss = nn.functional.smooth_l1_loss(model(x), y, beta=0.5)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        print(f"epoch {epoch}: loss {losses[-1]:.6f} lr {scheduler.get_last_lr()[0]:.6f}")
    return losses


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    args = parser.parse_args()
    set_seed(9)
    x = torch.randn(192, 10)
    y = (x[:, 0] * x[:, 1] + x[:, 2:].sum(1).cos()).contiguous()
    loader = DataLoader(TensorDataset(x, y), batch_size=48, shuffle=True)
    half = args.epochs // 2
    model, optimizer, scheduler = build()
    train(model, optimizer, scheduler, loader, range(half))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"checkpoint_{half:03d}.pt")
        torch.save(
            {
                "epoch": half,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "torch_rng": torch.get_rng_state(),
                "numpy_rng": np.random.get_state(),
                "python_rng": random.getstate(),
                "args": vars(args),
            },
            path,
        )
        first = train(model, optimizer, scheduler, loader, range(half, args.epochs))

        set_seed(1234)
        fresh, optimizer, scheduler = build()
        saved = torch.load(path, map_location="cpu", weights_only=False)
    missing = fresh.load_state_dict(saved["model"], strict=True)
    print(missing)
    optimizer.load_state_dict(saved["optimizer"])
    scheduler.load_state_dict(saved["scheduler"])
    torch.set_rng_state(saved["torch_rng"])
    np.random.set_state(saved["numpy_rng"])
    random.setstate(saved["python_rng"])
    second = train(fresh, optimizer, scheduler, loader, range(saved["epoch"], args.epochs))
    if first != second:
        sys.exit("the resumed run went another way")
    buffer = io.BytesIO()
    torch.save(fresh, buffer)
    buffer.seek(0)
    whole = torch.load(buffer, weights_only=False).eval()
    with torch.no_grad():
        print(f"resumed run is the same; whole model {whole(x).mean().item():.6f}, {whole.seen}")
    partial = {k: v for k, v in fresh.state_dict().items() if not k.startswith("head")}
    print(build()[0].load_state_dict(partial, strict=False))


if __name__ == "__main__":
    main()
