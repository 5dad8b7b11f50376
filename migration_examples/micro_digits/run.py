"""Digits on a microcontroller: a small network is trained, written as C in float and in int8 and
with a training step, compiled with gcc and run.

    python migration_examples/micro_digits/run.py [--output DIR] [--epochs 12]
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F
from mindtorch.lite import micro
from mindtorch.torch import nn

COUNT, TEST = 2000, 360  # calls that are timed; digits to test with
TIMING = """
#include <stdio.h>
#include <time.h>
#include "digits.h"

static float input[DIGITS_INPUT_SIZE], output[DIGITS_OUTPUT_SIZE];

int main(void)
{
    const clock_t begin = clock();
    for (int i = 0; i < %d; ++i) {
        input[i %% DIGITS_INPUT_SIZE] = (float)(i %% 16) / 16.0f;
        digits_run(input, output);
    }
    printf("%%g\\n", (double)(clock() - begin) / CLOCKS_PER_SEC / %d);
    return 0;
}
"""


class DigitsNet(nn.Module):
    """Two convolutions with batch norm and two linear layers: (n, 1, 8, 8) to (n, 10) scores."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 2 * 2, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.conv1(images))), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """Scikit-learn's 1,797 digits in an order of their own, numbers from 0 to 1."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.images))
    images = torch.tensor(data.images[order], dtype=torch.float32)[:, None] / 16
    return images, torch.tensor(data.target[order])


def train(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, epochs: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        for part in torch.randperm(len(images)).split(32):
            optimizer.zero_grad()
            F.cross_entropy(model(images[part]), labels[part]).backward()
            optimizer.step()


def compiled(folder: Path, main: str = "main.c") -> Path:
    """The project as a program, with the file that has `main`."""
    program = folder / Path(main).stem
    sources = [folder / name for name in ("digits.c", "digits_weights.c", main)]
    subprocess.run(
        ["gcc", "-std=c99", "-O2", "-Wall", "-Wextra", "-o", program, *sources, "-lm"], check=True
    )
    return program


def run(program: Path, *columns: torch.Tensor) -> np.ndarray:
    """What the program prints for rows of numbers."""
    rows = torch.cat([x.reshape(len(x), -1).float() for x in columns], 1).numpy()
    text = "\n".join(" ".join(map(repr, row)) for row in rows.tolist())
    made = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    return np.array([line.split() for line in made.stdout.splitlines()], float)


def measured(folder: Path, report: micro.Report, images, labels, ours) -> str:
    """One row of the table."""
    scores = run(compiled(folder), images)
    (folder / "timing.c").write_text(TIMING % (COUNT, COUNT))
    seconds = float(subprocess.run(
        [compiled(folder, "timing.c")], capture_output=True, text=True, check=True).stdout)
    right = (scores.argmax(1) == labels.numpy()).mean()
    return (
        f"{folder.name:8} {report.weight_bytes:10} {report.arena_bytes:8} {right:9.1%} "
        f"{seconds * 1e6:9.1f} {np.abs(scores - ours).max():10.2g}"
    )


def learn(folder: Path, model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> None:
    """20 steps of training in C beside our own."""
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x, y = images[: 20 * 16].reshape(20, 16, 1, 8, 8), labels[: 20 * 16].reshape(20, 16)
    report = micro.generate_training(
        model, F.cross_entropy, x[0], y[0], optimizer, folder, "digits")
    in_c = run(compiled(folder), x.reshape(20, -1), y)[:, 0]
    ours = []
    for images_, labels_ in zip(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images_), labels_)
        loss.backward()
        optimizer.step()
        ours.append(loss.item())
    print(f"\n20 steps of SGD with momentum on a new network, 16 digits each: arena "
          f"{report.arena_bytes} bytes, parameters and momentum {report.state_bytes} bytes")
    print(f"loss in C {in_c[0]:.4f} -> {in_c[-1]:.4f}, here {ours[0]:.4f} -> {ours[-1]:.4f}, "
          f"largest difference {np.abs(in_c - ours).max():.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="where the C code goes (a temporary folder)")
    parser.add_argument("--epochs", type=int, default=12)
    options = parser.parse_args()
    torch.manual_seed(1)
    images, labels = digits()
    model = DigitsNet()
    train(model, images[:-TEST], labels[:-TEST], options.epochs)
    model.eval()
    tests, truth = images[-TEST:], labels[-TEST:]
    with torch.no_grad():
        ours = model(tests).numpy()
    print(f"here: {(ours.argmax(1) == truth.numpy()).mean():.1%} of {TEST} digits")
    print("code      constants    arena     right   us/call difference")
    with tempfile.TemporaryDirectory() as temporary:
        root = options.output or Path(temporary)
        report = micro.generate(model, images[:1], root / "float32", "digits")
        print(measured(root / "float32", report, tests, truth, ours))
        samples = images[:100].split(1)
        report = micro.generate(model, images[:1], root / "int8", "digits", calibration=samples)
        print(measured(root / "int8", report, tests, truth, ours))
        learn(root / "training", DigitsNet(), images, labels)


if __name__ == "__main__":
    main()
