"""A small DCGAN on synthetic images: filled circles on a dark ground."""

import argparse
import random

import torch
import torch.nn as nn
import torch.optim as optim
import torch.utils.data


def circles(count: int, size: int) -> torch.Tensor:
    """Images (count, 1, size, size) in [-1, 1], each with one soft circle."""
    centre = torch.rand(count, 2, 1, 1) * 0.4 + 0.3
    radius = torch.rand(count, 1, 1) * 0.15 + 0.15
    ticks = torch.linspace(0, 1, size)
    rows, columns = torch.meshgrid(ticks, ticks, indexing="ij")
    distance = ((rows - centre[:, 0]) ** 2 + (columns - centre[:, 1]) ** 2).sqrt()
    return torch.tanh(12 * (radius - distance)).unsqueeze(1)


def weights_init(module: nn.Module) -> None:
    name = module.__class__.__name__
    if name.find("Conv") != -1:
        nn.init.normal_(module.weight.data, 0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        nn.init.normal_(module.weight.data, 1.0, 0.02)
        nn.init.constant_(module.bias.data, 0)


class Generator(nn.Module):
    def __init__(self, latent: int, features: int) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(latent, features * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(features * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(features * 2, features, 4, 2, 1, bias=False),
            nn.BatchNorm2d(features),
            nn.ReLU(True),
            nn.ConvTranspose2d(features, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, features, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(features, features * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(features * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(features * 2, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.main(images).view(-1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--niter", type=int, default=1, help="epochs")
    parser.add_argument("--nz", type=int, default=16, help="size of the noise")
    parser.add_argument("--nf", type=int, default=12, help="features of the widest images")
    parser.add_argument("--lr", type=float, default=0.0005)
    parser.add_argument("--beta1", type=float, default=0.5)
    parser.add_argument("--manualSeed", type=int, default=5)
    opt = parser.parse_args()
    random.seed(opt.manualSeed)
    torch.manual_seed(opt.manualSeed)
    torch.backends.cudnn.benchmark = True

    loader = torch.utils.data.DataLoader(
        circles(512, 16), batch_size=32, shuffle=True, drop_last=True
    )
    generator = Generator(opt.nz, opt.nf)
    generator.apply(weights_init)
    discriminator = Discriminator(opt.nf)
    discriminator.apply(weights_init)
    criterion = nn.BCELoss()
    fixed_noise = torch.randn(8, opt.nz, 1, 1)
    optimizer_d = optim.Adam(discriminator.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
    optimizer_g = optim.Adam(generator.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))

    for epoch in range(opt.niter):
        for i, real in enumerate(loader):
            # The discriminator: real images, then detached fakes.
            discriminator.zero_grad()
            label = torch.full((real.size(0),), 1.0, dtype=real.dtype)
            error_real = criterion(discriminator(real), label)
            error_real.backward()
            fake = generator(torch.randn(real.size(0), opt.nz, 1, 1))
            label.fill_(0.0)
            error_fake = criterion(discriminator(fake.detach()), label)
            error_fake.backward()
            optimizer_d.step()
            # The generator: its fakes are to be called real.
            generator.zero_grad()
            label.fill_(1.0)
            output = discriminator(fake)
            error_g = criterion(output, label)
            error_g.backward()
            optimizer_g.step()
            print(
                f"[{epoch}/{opt.niter}][{i}/{len(loader)}] "
                f"Loss_D: {(error_real + error_fake).item():.4f} Loss_G: {error_g.item():.4f} "
                f"D(G(z)): {output.mean().item():.4f}"
            )
        with torch.no_grad():
            print(f"mean of fixed fakes: {generator(fixed_noise).detach().mean():.5f}")


if __name__ == "__main__":
    main()
