"""A VQ-VAE: nearest code, straight-through gradient, codebook by moving averages or by loss."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import BatchSampler, SequentialSampler


class Quantizer(nn.Module):
    def __init__(self, codes: int, dim: int, moving: bool, decay: float = 0.9) -> None:
        super().__init__()
        self.codes, self.decay, self.moving = codes, decay, moving
        embedding = torch.randn(codes, dim)
        if moving:
            self.register_buffer("embedding", embedding)
            self.register_buffer("count", torch.zeros(codes))
            self.register_buffer("total", embedding.clone())
        else:
            self.embedding = nn.Parameter(embedding)

    def forward(self, z: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        z = z.permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, z.shape[-1])
        distances = (
            torch.sum(flat**2, dim=1, keepdim=True)
            + torch.sum(self.embedding**2, dim=1)
            - 2 * torch.matmul(flat, self.embedding.t())
        )
        indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(indices.shape[0], self.codes)
        encodings.scatter_(1, indices, 1)
        quantized = torch.matmul(encodings, self.embedding).view(z.shape)
        loss = 0.25 * F.mse_loss(quantized.detach(), z)
        if not self.moving:
            loss = loss + F.mse_loss(quantized, z.detach())
        elif self.training:
            self.update(flat.detach(), encodings)
        quantized = z + (quantized - z).detach()
        usage = encodings.mean(dim=0)
        perplexity = torch.exp(-torch.sum(usage * torch.log(usage + 1e-10)))
        return quantized.permute(0, 3, 1, 2), loss, perplexity

    @torch.no_grad()
    def update(self, flat: torch.Tensor, encodings: torch.Tensor) -> None:
        self.count.mul_(self.decay).add_(encodings.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(encodings.t() @ flat, alpha=1 - self.decay)
        n = self.count.sum()
        smoothed = (self.count + 1e-5) / (n + self.codes * 1e-5) * n
        self.embedding.copy_(self.total / smoothed.unsqueeze(1))


class VQVAE(nn.Module):
    def __init__(self, moving: bool) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 4, 2, 1), nn.ELU(), nn.Conv2d(16, 8, 3, padding=1)
        )
        self.quantizer = Quantizer(16, 8, moving)
        self.decoder = nn.Sequential(
            nn.Conv2d(8, 16, 3, padding="same"),
            nn.ELU(),
            nn.Upsample(scale_factor=2, mode="nearest"),
            nn.ReflectionPad2d(1),
            nn.Conv2d(16, 1, 3),
        )

    def forward(self, x: torch.Tensor):
        quantized, loss, perplexity = self.quantizer(self.encoder(x))
        return self.decoder(quantized), loss, perplexity


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--moving", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1)
    x = torch.tensor(load_digits().images[:768]).float().sub_(8).div_(8)[:, None]
    variance = x.var()
    model = VQVAE(args.moving)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, eps=1e-6)
    for epoch in range(args.epochs):
        order = torch.randperm(len(x))
        for step, batch in enumerate(BatchSampler(SequentialSampler(x), 64, drop_last=False)):
            images = x[order[batch]]
            optimizer.zero_grad()
            reconstruction, vq_loss, perplexity = model(images)
            error = F.mse_loss(reconstruction, images) / variance
            (error + vq_loss).backward()
            optimizer.step()
            if step % 3 == 0:
                print(
                    f"{epoch}/{step}: error {error.item():.5f} codes {vq_loss.item():.5f} "
                    f"perplexity {perplexity.item():.4f}"
                )
    model.eval()
    with torch.no_grad():
        reconstruction, _, _ = model(x)
    print(f"final error {F.mse_loss(reconstruction, x).item():.6f}")


if __name__ == "__main__":
    main()
