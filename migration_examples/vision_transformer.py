"""A vision transformer on handwritten digits, with mixup, stochastic depth and layer-wise rates."""

import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def drop_path(x: torch.Tensor, share: float, training: bool) -> torch.Tensor:
    """Leaves out whole examples of a residual branch, and scales up the others."""
    if share == 0.0 or not training:
        return x
    keep = 1 - share
    mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
    return x * mask.div_(keep)


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        attn = attn.softmax(dim=-1)
        out = torch.einsum("bhij,bhjd->bhid", attn, v)
        return self.proj(out.transpose(1, 2).reshape(B, N, C))


class Block(nn.Module):
    def __init__(self, dim: int, heads: int, share: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.attn, self.share = Attention(dim, heads), share
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))
        self.gamma = nn.Parameter(0.1 * torch.ones(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + drop_path(self.gamma * self.attn(self.norm1(x)), self.share, self.training)
        return x + drop_path(self.gamma * self.mlp(self.norm2(x)), self.share, self.training)


class ViT(nn.Module):
    def __init__(self, dim: int = 32, depth: int = 3, heads: int = 4) -> None:
        super().__init__()
        self.patch_embed = nn.Conv2d(1, dim, kernel_size=2, stride=2)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(torch.zeros(1, 17, dim))
        shares = [s.item() for s in torch.linspace(0, 0.1, depth)]
        self.blocks = nn.Sequential(*[Block(dim, heads, share) for share in shares])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 10)
        nn.init.trunc_normal_(self.pos_embed, std=0.02)
        nn.init.trunc_normal_(self.cls_token, std=0.02)
        self.apply(self._init)

    @staticmethod
    def _init(m: nn.Module) -> None:
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=0.1, a=-0.2, b=0.2)
            if m.bias is not None:
                nn.init.constant_(m.bias, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch_embed(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
        return self.head(self.norm(self.blocks(x))[:, 0])


def parameter_groups(model: ViT, lr: float, decay: float) -> list[dict]:
    """Deeper layers learn faster; vectors and embeddings do not decay."""
    groups: dict[tuple[int, bool], dict] = {}
    depth = len(model.blocks) + 1
    for name, parameter in model.named_parameters():
        layer = 0 if name.startswith(("patch", "cls", "pos")) else depth
        if name.startswith("blocks"):
            layer = int(name.split(".")[1]) + 1
        plain = parameter.ndim == 1 or name in ("cls_token", "pos_embed")
        group = groups.setdefault((layer, plain), {"params": []})
        group["lr"] = lr * 0.8 ** (depth - layer)
        group["weight_decay"] = 0.0 if plain else decay
        group["params"].append(parameter)
    return list(groups.values())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--alpha", type=float, default=0.2)
    args = parser.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
    y = torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(x[:960], y[:960]), batch_size=64, shuffle=True)
    model = ViT()
    optimizer = torch.optim.AdamW(parameter_groups(model, 2e-3, 0.05), betas=(0.9, 0.98))
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=5)
    rest = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60)
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, rest], milestones=[5])
    for epoch in range(args.epochs):
        model.train()
        for step, (images, labels) in enumerate(loader):
            share = float(rng.beta(args.alpha, args.alpha))
            order = torch.randperm(images.size(0))
            mixed = torch.lerp(images[order], images, share)
            target = F.one_hot(labels, 10) * share + F.one_hot(labels[order], 10) * (1 - share)
            loss = F.cross_entropy(model(mixed), target, label_smoothing=0.1)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
            optimizer.step()
            scheduler.step()
            if step % 5 == 0:
                print(f"{epoch}/{step}: loss {loss.item():.5f} norm {norm.item():.4f}")
        model.eval()
        with torch.no_grad():
            scores = model(x[960:1440])
        rates = [f"{group['lr']:.6f}" for group in optimizer.param_groups[:3]]
        print(f"test {F.cross_entropy(scores, y[960:1440]).item():.5f}, rates {rates}")


if __name__ == "__main__":
    main()
