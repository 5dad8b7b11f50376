"""Super resolution with sub-pixel convolution: from 8x8 to 16x16 pixels."""

import argparse
from math import log10

import torch
import torch.nn as nn
import torch.nn.init as init
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(16, 8, (3, 3), (1, 1), (1, 1))
        self.conv4 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        x = self.relu(self.conv3(x))
        return self.pixel_shuffle(self.conv4(x))

    def _initialize_weights(self) -> None:
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv4.weight)


def waves(count: int, size: int) -> torch.Tensor:
    """Images that are sums of two random plane waves."""
    axis = torch.arange(size).float() / size
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    directions = torch.randn(count, 2, 2, 1, 1) * 4
    phases = torch.rand(count, 2, 1, 1) * 6.28
    angle = directions[:, :, 0] * x + directions[:, :, 1] * y + phases
    return 0.5 + 0.25 * angle.sin().sum(dim=1, keepdim=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--upscale-factor", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.003)
    opt = parser.parse_args()
    torch.manual_seed(123)

    target = waves(160, 16)
    shrink = nn.functional.interpolate(
        target, scale_factor=1 / opt.upscale_factor, mode="bicubic", align_corners=False,
        antialias=False,
    )  # fmt: skip
    dataset = TensorDataset(shrink, target)
    train_loader = DataLoader(dataset, batch_size=16, shuffle=True)
    baseline = nn.functional.interpolate(shrink, scale_factor=opt.upscale_factor, mode="bilinear")
    print(f"bilinear PSNR: {10 * log10(1 / nn.functional.mse_loss(baseline, target).item()):.4f}")

    model = Net(opt.upscale_factor)
    criterion = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=opt.lr)
    for epoch in range(1, opt.epochs + 1):
        epoch_loss = 0.0
        for iteration, (low, high) in enumerate(train_loader, 1):
            optimizer.zero_grad()
            loss = criterion(model(low), high)
            epoch_loss += loss.item()
            loss.backward()
            optimizer.step()
            print(f"===> Epoch[{epoch}]({iteration}/{len(train_loader)}): {loss.item():.6f}")
        with torch.no_grad():
            psnr = 10 * log10(1 / criterion(model(shrink), target).item())
        print(f"===> Epoch {epoch}: loss {epoch_loss / len(train_loader):.6f}, PSNR {psnr:.4f} dB")


if __name__ == "__main__":
    main()
