"""Classify handwritten digits by reading each image row by row with an LSTM."""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class RowClassifier(nn.Module):
    """An image is a sequence of its rows; the last hidden state is classified."""

    def __init__(self, row_size: int, hidden_size: int, classes: int) -> None:
        super().__init__()
        self.rnn = nn.LSTM(row_size, hidden_size, num_layers=2, batch_first=True, dropout=0.1)
        self.norm = nn.BatchNorm1d(hidden_size)
        self.head = nn.Linear(hidden_size, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        _, (hidden, _) = self.rnn(images)
        return torch.log_softmax(self.head(self.norm(hidden[-1])), dim=1)


def make_loaders(batch_size: int) -> tuple[DataLoader, DataLoader]:
    digits = load_digits()
    images = torch.from_numpy(digits.images).float() / 16
    labels = torch.from_numpy(digits.target).long()
    generator = torch.Generator().manual_seed(0)
    train, test, _ = random_split(TensorDataset(images, labels), [800, 200, 797], generator)
    return DataLoader(train, batch_size, shuffle=True), DataLoader(test, batch_size=100)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    train_loader, test_loader = make_loaders(args.batch_size)
    model = RowClassifier(8, 32, 10)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=args.gamma)
    loss_fn = nn.NLLLoss()
    for epoch in range(1, args.epochs + 1):
        model.train()
        for index, (images, labels) in enumerate(train_loader):
            optimizer.zero_grad(set_to_none=True)
            loss = loss_fn(model(images), labels)
            loss.backward()
            optimizer.step()
            if index % 5 == 0:
                print(f"epoch {epoch} [{index * len(images)}/800] loss {loss.item():.6f}")
        scheduler.step()

        model.eval()
        total, correct = 0.0, 0
        with torch.no_grad():
            for images, labels in test_loader:
                scores = model(images)
                total += nn.functional.nll_loss(scores, labels, reduction="sum").item()
                guess = scores.argmax(dim=1, keepdim=True)
                correct += guess.eq(labels.view_as(guess)).sum().item()
        print(f"test loss {total / 200:.6f}, {correct} of 200 right")


if __name__ == "__main__":
    main()
