"""SimCLR: contrastive learning from two random views of each image, then a linear probe."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def random_views(images: torch.Tensor) -> torch.Tensor:
    """Shift, scale and turn by a random affine map of each image, then change the contrast."""
    count = len(images)
    angle = (torch.rand(count) - 0.5) * 0.7
    scale = 0.85 + 0.3 * torch.rand(count)
    shift = (torch.rand(count, 2, 1) - 0.5) * 0.4
    rotation = torch.stack(
        [torch.cos(angle), -torch.sin(angle), torch.sin(angle), torch.cos(angle)], dim=1
    ).view(count, 2, 2)
    theta = torch.cat([rotation / scale.view(-1, 1, 1), shift], dim=2)
    grid = F.affine_grid(theta, list(images.shape), align_corners=False)
    moved = F.grid_sample(images, grid, padding_mode="zeros", align_corners=False)
    contrast = torch.empty(count, 1, 1, 1).uniform_(0.7, 1.3)
    return (moved * contrast).clamp(0, 1)


def nt_xent(z: torch.Tensor, temperature: float) -> torch.Tensor:
    """Cross entropy of cosine similarities; rows i and i + n are views of one image."""
    n = z.shape[0] // 2
    z = F.normalize(z, dim=1)
    similarity = torch.matmul(z, z.T) / temperature
    itself = torch.eye(2 * n, dtype=torch.bool)
    similarity = similarity[~itself].view(2 * n, -1)
    labels = torch.cat([torch.arange(n) for _ in range(2)])
    labels = (labels.unsqueeze(0) == labels.unsqueeze(1))[~itself].view(2 * n, -1)
    positives = similarity[labels].view(2 * n, -1)
    negatives = similarity[~labels].view(2 * n, -1)
    logits = torch.cat([positives, negatives], dim=1)
    return F.cross_entropy(logits, torch.zeros(2 * n, dtype=torch.long))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.SiLU(),
            nn.AvgPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, groups=4, bias=False),
            nn.BatchNorm2d(32),
            nn.SiLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.projector = nn.Sequential(
            nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.projector(self.backbone(x))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--temperature", type=float, default=0.5)
    args = parser.parse_args()
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.from_numpy(digits.images).float().div(16).unsqueeze(1)
    labels = torch.from_numpy(digits.target)
    loader = DataLoader(TensorDataset(images[:768]), batch_size=64, shuffle=True, drop_last=True)
    model = Encoder()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimizer, T_max=args.epochs * len(loader), eta_min=0.0
    )
    for epoch in range(args.epochs):
        for (batch,) in loader:
            views = torch.cat([random_views(batch), random_views(batch)])
            loss = nt_xent(model(views), args.temperature)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        print(f"epoch {epoch}: loss {loss.item():.5f}, lr {scheduler.get_last_lr()[0]:.6f}")

    model.eval()
    with torch.no_grad():
        features = model.backbone(images)
    probe = nn.Linear(32, 10)
    optimizer = torch.optim.LBFGS(probe.parameters(), max_iter=15, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(probe(features[:768]), labels[:768])
        loss = loss + 1e-2 * sum(p.pow(2).sum() for p in probe.parameters())
        loss.backward()
        return loss

    first = optimizer.step(closure)
    with torch.no_grad():
        last = F.cross_entropy(probe(features[768:]), labels[768:])
    print(f"probe: loss {first.item():.5f} before, {last.item():.5f} on other images")


if __name__ == "__main__":
    main()
