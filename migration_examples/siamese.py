"""A siamese network: do two images show the same digit? Contrastive loss on their distance."""

import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class PairsDataset(Dataset):
    """Pairs of images, in turn of the same and of different classes."""

    def __init__(self, count: int, seed: int) -> None:
        super().__init__()
        rng = random.Random(seed)
        digits = load_digits()
        self.images = torch.from_numpy(digits.images).float().unsqueeze(1) / 16.0
        classes = [[i for i, t in enumerate(digits.target) if t == c] for c in range(10)]
        self.pairs = []
        for index in range(count):
            first = rng.randrange(10)
            second = first if index % 2 == 0 else (first + rng.randrange(1, 10)) % 10
            pair = rng.choice(classes[first]), rng.choice(classes[second])
            self.pairs.append((*pair, float(first == second)))

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        first, second, same = self.pairs[index]
        return self.images[first], self.images[second], torch.tensor(same)


class ContrastiveLoss(nn.Module):
    """`mean(same * d**2 + (1 - same) * max(margin - d, 0)**2)`"""

    def __init__(self, margin: float = 1.0) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, a: torch.Tensor, b: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        distance = F.pairwise_distance(a, b, keepdim=False)
        attract = same * torch.pow(distance, 2)
        repel = (1 - same) * torch.pow(torch.clamp(self.margin - distance, min=0.0), 2)
        return torch.mean(attract + repel)


class SiameseNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.PReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.PReLU(),
            nn.AdaptiveAvgPool2d((2, 2)),
        )
        self.fc = nn.Sequential(nn.Linear(64, 32), nn.ReLU(inplace=True), nn.Linear(32, 8))
        self.apply(self.init_weights)

    @staticmethod
    def init_weights(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            torch.nn.init.xavier_uniform_(module.weight)
            module.bias.data.fill_(0.01)

    def forward_once(self, x: torch.Tensor) -> torch.Tensor:
        output = self.features(x)
        return self.fc(output.view(output.size()[0], -1))

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_once(a), self.forward_once(b)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(4)
    train_loader = DataLoader(PairsDataset(384, 0), shuffle=True, batch_size=32)
    test_loader = DataLoader(PairsDataset(128, 1), batch_size=64)
    model, criterion = SiameseNetwork(), ContrastiveLoss(margin=1.0)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.95)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)
    for epoch in range(args.epochs):
        model.train()
        for step, (a, b, same) in enumerate(train_loader):
            optimizer.zero_grad()
            loss = criterion(*model(a, b), same)
            loss.backward()
            optimizer.step()
            if step % 3 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.6f}")
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(criterion(*model(a, b), same).item() for a, b, same in test_loader)
        print(f"epoch {epoch} test loss {total / len(test_loader):.6f}")


if __name__ == "__main__":
    main()
