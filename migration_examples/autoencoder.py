"""A denoising autoencoder on handwritten digits: tied weights, and a linear probe at the end."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset, Subset


class NoisyDigits(Dataset):
    """Pairs of a noisy image and the clean one."""

    def __init__(self, noise: float) -> None:
        digits = load_digits()
        self.images = torch.as_tensor(digits.data / 16, dtype=torch.float32)
        self.labels = torch.as_tensor(digits.target)
        self.noise = noise

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        clean = self.images[index]
        noisy = clean + self.noise * torch.randn(64)
        return {"noisy": noisy.clamp_(0.0, 1.0), "clean": clean, "label": self.labels[index]}

    def __len__(self) -> int:
        return self.images.shape[0]


class TiedAutoencoder(nn.Module):
    """The decoder uses the encoder's matrices transposed."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.weights = nn.ParameterList(
            [nn.Parameter(torch.empty(o, i)) for i, o in zip(sizes, sizes[1:])]
        )
        self.encoder_biases = nn.ParameterList([nn.Parameter(torch.zeros(o)) for o in sizes[1:]])
        self.decoder_biases = nn.ParameterList([nn.Parameter(torch.zeros(i)) for i in sizes[:-1]])
        for weight in self.weights:
            nn.init.xavier_uniform_(weight, gain=nn.init.calculate_gain("tanh"))

    def encode(self, x: torch.Tensor) -> torch.Tensor:
        for weight, bias in zip(self.weights, self.encoder_biases):
            x = torch.tanh(F.linear(x, weight, bias))
        return x

    def decode(self, code: torch.Tensor) -> torch.Tensor:
        pairs = list(zip(self.weights, self.decoder_biases))
        for weight, bias in reversed(pairs[1:]):
            code = torch.tanh(F.linear(code, weight.t(), bias))
        weight, bias = pairs[0]
        return torch.addmm(bias, code, weight).sigmoid()

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        code = self.encode(x)
        return self.decode(code), code


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--noise", type=float, default=0.3)
    args = parser.parse_args()
    torch.manual_seed(10)
    data = NoisyDigits(args.noise)
    train, test = Subset(data, range(1024)), Subset(data, range(1024, 1280))
    loader = DataLoader(train, batch_size=64, shuffle=True, generator=torch.Generator())
    model = TiedAutoencoder([64, 48, 16])
    optimizer = torch.optim.Adamax(model.parameters(), lr=4e-3, weight_decay=1e-5)
    for epoch in range(args.epochs):
        for batch in loader:
            reconstruction, code = model(batch["noisy"])
            mistake = F.mse_loss(reconstruction, batch["clean"], reduction="none").sum(1).mean()
            sparsity = code.abs().mean()
            loss = mistake + 0.1 * sparsity
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: mistake {mistake.item():.5f}, sparsity {sparsity.item():.5f}")
    whole = next(iter(DataLoader(test, batch_size=len(test))))
    with torch.no_grad():
        reconstruction, code = model(whole["noisy"])
        print(f"test mistake {F.mse_loss(reconstruction, whole['clean']).item():.6f}")
        train_codes = model.encode(data.images[:1024])
    # The probe: least squares from codes to one-hot labels, in closed form.
    ones = torch.ones(1024, 1)
    features = torch.hstack([train_codes, ones]).double()
    wanted = F.one_hot(data.labels[:1024], 10).double()
    solution = torch.linalg.solve(
        features.T @ features + 1e-2 * torch.eye(17, dtype=torch.float64), features.T @ wanted
    )
    scores = torch.hstack([code, torch.ones(len(code), 1)]).double() @ solution
    residual = (scores - F.one_hot(whole["label"], 10)).square().mean()
    print(f"probe residual {residual.item():.5f}")


if __name__ == "__main__":
    main()
