"""A trained digits network on 8 bits: dynamic, calibrated, its graph, and trained so."""

import argparse
import io
import warnings

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.ao import quantization
from torch.ao.quantization import quantize_fx

warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("ignore", category=UserWarning)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.relu1, self.relu2 = nn.ReLU(), nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.fc1, self.relu3, self.fc2 = nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.quant(x)
        x = self.pool(self.relu1(self.bn1(self.conv1(x))))
        x = self.pool(self.relu2(self.bn2(self.conv2(x))))
        x = self.fc2(self.relu3(self.fc1(torch.flatten(x, 1))))
        return self.dequant(x)


FUSED = [["conv1", "bn1", "relu1"], ["conv2", "bn2", "relu2"], ["fc1", "relu3"]]


def train(
    model: nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int, lr: float,
    shown: bool = True,
) -> None:  # fmt: skip
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for epoch in range(epochs):
        order, total = torch.randperm(len(images)), 0.0
        for batch in order.split(64):
            loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        if shown:
            print(f"epoch {epoch}: loss {total / len(images):.4f}")


def size_of(model: nn.Module) -> int:
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    return file.getbuffer().nbytes // 1000


def accuracy(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    model.eval()
    with torch.no_grad():
        return 100 * (model(images).argmax(1) == labels).float().mean().item()


def report(name: str, percent: float, exact: float, model: nn.Module, details: bool) -> None:
    """One image more or less is rounding, so that accuracies are only printed with --details."""
    text = f"{percent:.1f} %" if details else f"as good as float32: {percent > exact - 2}"
    print(f"{name}: {text}, {size_of(model)} kB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--details", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    digits = load_digits()
    images = torch.from_numpy(digits.images).float().unsqueeze(1) / 16.0
    labels = torch.from_numpy(digits.target)
    train_images, train_labels = images[:1400], labels[:1400]
    test_images, test_labels = images[1400:], labels[1400:]
    model = Network()
    train(model, train_images, train_labels, args.epochs, 0.05)
    exact = accuracy(model, test_images, test_labels)

    def show(name: str, quantized: nn.Module) -> None:
        report(name, accuracy(quantized, test_images, test_labels), exact, quantized, args.details)

    show("float32", model)

    dynamic = quantization.quantize_dynamic(model, {nn.Linear})
    show("dynamic (linear maps)", dynamic)

    static = quantization.fuse_modules(model.eval(), FUSED)
    static.qconfig = quantization.get_default_qconfig("x86")
    static = quantization.prepare(static)
    for batch in train_images[:512].split(128):
        static(batch)
    static = quantization.convert(static)
    show("static", static)

    mapping = quantization.get_default_qconfig_mapping("x86")
    graph = quantize_fx.prepare_fx(model.eval(), mapping, (train_images[:1],))
    for batch in train_images[:512].split(128):
        graph(batch)
    show("graph", quantize_fx.convert_fx(graph))

    trained = quantization.fuse_modules_qat(model.train(), FUSED)
    trained.qconfig = quantization.get_default_qat_qconfig("x86")
    trained = quantization.prepare_qat(trained)
    train(trained, train_images, train_labels, 1, 0.01, args.details)
    show("trained with fake quantisation", quantization.convert(trained.eval()))


if __name__ == "__main__":
    main()
