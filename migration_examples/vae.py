"""A variational autoencoder on handwritten digits, its decoder made of transposed convolutions."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, latent: int = 6) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 12, 3, stride=2, padding=1),
            nn.ReLU(True),
            nn.Conv2d(12, 24, 3, stride=2, padding=1),
            nn.ReLU(True),
            nn.Flatten(),
        )
        self.mean = nn.Linear(24 * 2 * 2, latent)
        self.log_variance = nn.Linear(24 * 2 * 2, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, 24 * 2 * 2),
            nn.Unflatten(1, (24, 2, 2)),
            nn.ConvTranspose2d(24, 12, 4, stride=2, padding=1),
            nn.ReLU(True),
            nn.ConvTranspose2d(12, 1, 4, stride=2, padding=1),
            nn.Sigmoid(),
        )

    def reparameterize(self, mean: torch.Tensor, log_variance: torch.Tensor) -> torch.Tensor:
        std = torch.exp(0.5 * log_variance)
        return mean + torch.randn_like(std) * std

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        return self.decoder(self.reparameterize(mean, log_variance)), mean, log_variance


def loss_function(
    reconstruction: torch.Tensor, x: torch.Tensor, mean: torch.Tensor, log_variance: torch.Tensor
) -> torch.Tensor:
    """Negative evidence lower bound of a Bernoulli decoder and a normal prior."""
    likelihood = F.binary_cross_entropy(reconstruction, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return likelihood + divergence


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    images = torch.tensor(load_digits().images, dtype=torch.float32).div_(16).unsqueeze(1)
    train_loader = DataLoader(TensorDataset(images[:1280]), batch_size=64, shuffle=True)
    test_images = images[1280:].to(device)
    model = VAE().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(1, args.epochs + 1):
        model.train()
        train_loss = 0.0
        for (batch,) in train_loader:
            batch = batch.to(device, non_blocking=True)
            optimizer.zero_grad()
            reconstruction, mean, log_variance = model(batch)
            loss = loss_function(reconstruction, batch, mean, log_variance)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
        print(f"====> Epoch: {epoch} Average loss: {train_loss / 1280:.4f}")

        model.eval()
        with torch.no_grad():
            reconstruction, mean, log_variance = model(test_images)
            test_loss = loss_function(reconstruction, test_images, mean, log_variance)
            sample = model.decoder(torch.randn(16, 6, device=device)).cpu()
        print(f"====> Test set loss: {test_loss.item() / len(test_images):.4f}")
        print(f"      mean of a sample: {sample.mean():.5f}, of the images: {images.mean():.5f}")


if __name__ == "__main__":
    main()
