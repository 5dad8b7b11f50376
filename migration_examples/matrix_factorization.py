"""Recommend by matrix factorisation: embeddings of users and items with biases, some sparse."""

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MatrixFactorization(nn.Module):
    """`<user, item> + user's bias + item's bias + mean`"""

    def __init__(self, users: int, items: int, factors: int, mean: float) -> None:
        super().__init__()
        self.user_factors = nn.Embedding(users, factors, sparse=False)
        self.item_factors = nn.Embedding(items, factors, sparse=False)
        self.user_biases = nn.Embedding(users, 1)
        self.item_biases = nn.Embedding(items, 1)
        self.register_buffer("mean", torch.tensor(mean))
        for embedding in (self.user_factors, self.item_factors):
            nn.init.normal_(embedding.weight, std=0.1)
        for embedding in (self.user_biases, self.item_biases):
            embedding.weight.data.zero_()

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        product = (self.user_factors(user) * self.item_factors(item)).sum(dim=1, keepdim=True)
        return (self.mean + product + self.user_biases(user) + self.item_biases(item)).squeeze()


class BagRegression(nn.Module):
    """An EmbeddingBag over everything known about a pair, and a small network on top."""

    def __init__(self, users: int, items: int) -> None:
        super().__init__()
        self.users = users
        self.bag = nn.EmbeddingBag(users + items, 16, mode="mean")
        self.net = nn.Sequential(nn.Linear(16, 16), nn.SELU(), nn.AlphaDropout(0.1))
        self.head = nn.Bilinear(16, 16, 1)

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> torch.Tensor:
        both = torch.stack([user, item + self.users], dim=1)
        hidden = self.net(self.bag(both))
        return 3.0 + self.head(hidden, hidden).flatten()


def ratings(users: int, items: int, count: int) -> tuple[torch.Tensor, ...]:
    """Known ratings of a low-rank taste with noise, between 1 and 5."""
    rng = np.random.default_rng(0)
    taste = rng.normal(size=(users, 3)) @ rng.normal(size=(3, items)) / 2
    user, item = rng.integers(users, size=count), rng.integers(items, size=count)
    rating = np.clip(np.round(3 + taste[user, item] + rng.normal(0, 0.3, count)), 1, 5)
    return torch.LongTensor(user), torch.LongTensor(item), torch.FloatTensor(rating)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--bag", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    user, item, rating = ratings(150, 80, 4000)
    train = TensorDataset(user[:3200], item[:3200], rating[:3200])
    loader = DataLoader(train, batch_size=128, shuffle=True)
    model = BagRegression(150, 80) if args.bag else MatrixFactorization(150, 80, 12, 3.0)
    if args.bag:
        optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    else:
        biases = [p for n, p in model.named_parameters() if "biases" in n]
        factors = [p for n, p in model.named_parameters() if "factors" in n]
        optimizer = torch.optim.SGD(
            [{"params": factors}, {"params": biases, "lr": 2.0, "weight_decay": 0.0}],
            lr=6.0,
            weight_decay=1e-4,
        )
    loss_fn = nn.MSELoss()
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for users, items, target in loader:
            prediction = model(users, items)
            loss = loss_fn(prediction, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * target.shape[0]
        model.eval()
        with torch.no_grad():
            rest = model(user[3200:], item[3200:])
            rmse = loss_fn(rest, rating[3200:]).sqrt().item()
            mae = nn.functional.l1_loss(rest, rating[3200:]).item()
        print(f"epoch {epoch}: train {total / 3200:.6f}, rmse {rmse:.6f}, mae {mae:.6f}")


if __name__ == "__main__":
    main()
