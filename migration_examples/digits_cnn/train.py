"""Train a small convolutional network on handwritten digits, the way most PyTorch scripts do."""

import argparse
import sys
import tempfile
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import MNIST

HERE = Path(__file__).resolve().parent


class DigitsCNN(nn.Module):
    """Two convolutions, two linear layers: (n, 1, 28, 28) images to (n, 10) scores."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=5, padding=2)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=5)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.conv1(images)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = self.dropout(F.relu(self.fc1(x)))
        return self.fc2(x)


def train_epoch(model: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer) -> float:
    """One pass over the training data; the mean loss of its images."""
    model.train()
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader) -> float:
    """The share of images whose highest score is at their label."""
    model.eval()
    correct = 0
    for images, labels in loader:
        correct += (model(images).argmax(dim=1) == labels).sum().item()
    return correct / len(loader.dataset)


def load_data(root: Path, batch_size: int) -> tuple[DataLoader, DataLoader]:
    """Loaders of the training data (shuffled) and of the test data."""
    transform = transforms.Compose(
        [transforms.ToTensor(), transforms.Normalize((0.3053,), (0.3244,))]
    )
    try:
        train_set = MNIST(root, train=True, transform=transform, download=False)
        test_set = MNIST(root, train=False, transform=transform, download=False)
    except RuntimeError as error:
        sys.exit(f"no digits in {root} ({error}): run `python {HERE / 'make_digits.py'}` first")
    train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, num_workers=0)
    test_loader = DataLoader(test_set, batch_size=256, num_workers=0)
    return train_loader, test_loader


def accuracy_after_reload(model: nn.Module, loader: DataLoader) -> float:
    """Save the weights, load them into a new network and evaluate that one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits_cnn.pt"
        torch.save(model.state_dict(), path)
        reloaded = DigitsCNN()
        reloaded.load_state_dict(torch.load(path))
    return evaluate(reloaded, loader)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--data", type=Path, default=HERE / "data")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    torch.manual_seed(arguments.seed)
    train_loader, test_loader = load_data(arguments.data, arguments.batch_size)
    model = DigitsCNN()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=arguments.lr, momentum=0.9, weight_decay=1e-4
    )
    accuracy = evaluate(model, test_loader)
    for epoch in range(1, arguments.epochs + 1):
        loss = train_epoch(model, train_loader, optimizer)
        accuracy = evaluate(model, test_loader)
        print(f"epoch {epoch}: loss {loss:.6f}, test accuracy {accuracy:.2%}", flush=True)

    if accuracy_after_reload(model, test_loader) != accuracy:
        sys.exit("the reloaded network disagrees with the saved one")
    print(f"final test accuracy {accuracy:.2%}, the same after save and load")


if __name__ == "__main__":
    main()
