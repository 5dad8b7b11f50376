"""The data of the first migration example are what torchvision's MNIST reads."""

import ast
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

EXAMPLE = Path("migration_examples", "digits_cnn")


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """The folder of idx files that make_digits.py writes."""
    root = tmp_path_factory.mktemp("digits")
    script = repository / EXAMPLE / "make_digits.py"
    for _ in range(2):  # the second run replaces the files of the first
        subprocess.run([sys.executable, script, "--root", root], check=True, capture_output=True)
    return root / "MNIST" / "raw"


def read_idx(path: Path) -> np.ndarray:
    """The array of an idx file of bytes, by the format's definition."""
    content = path.read_bytes()
    assert content[:3] == bytes([0, 0, 8])
    rank = content[3]
    shape = [int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(rank)]
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * rank).reshape(shape)


def test_files_are_the_same_bytes_everywhere(raw: Path) -> None:
    """Loss curves are compared across machines, so the data may not depend on one."""
    digest = hashlib.sha256()
    for path in sorted(raw.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    assert digest.hexdigest() == (
        "ac3fd99a41a1e09cc24cdf7ca5d2fb83946b6e5bb5b0361f782ff0f47e0e8883"
    )


def test_split_holds_every_digit_once(raw: Path) -> None:
    """1,437 images to train on and 360 others to test on, each with its label."""
    images = [read_idx(raw / f"{part}-images-idx3-ubyte") for part in ("train", "t10k")]
    labels = [read_idx(raw / f"{part}-labels-idx1-ubyte") for part in ("train", "t10k")]
    assert [part.shape for part in images] == [(1437, 28, 28), (360, 28, 28)]
    assert [part.shape for part in labels] == [(1437,), (360,)]
    digits = load_digits()
    written = sorted(zip(np.concatenate(images).sum((1, 2)), np.concatenate(labels), strict=True))
    source = sorted(zip(digits.images.sum((1, 2)), digits.target, strict=True))
    # 12.25 pixels for one, 255 / 16 in value; rounding moves each of 784 by at most half.
    for (total, _), (small, _) in zip(written, source, strict=True):
        assert abs(total - small * 12.25 * 255 / 16) <= 784 / 2
    assert np.array_equal(np.bincount([label for _, label in written]), np.bincount(digits.target))


def test_enlarged_image_averages_to_the_small_one(raw: Path) -> None:
    """Interpolation keeps each image where it was, neither flipped nor turned nor shifted."""
    images = read_idx(raw / "t10k-images-idx3-ubyte")
    labels = read_idx(raw / "t10k-labels-idx1-ubyte")
    digits = load_digits()
    small = images.reshape(-1, 7, 4, 7, 4).mean((2, 4)).reshape(len(images), -1)
    rows = np.arange(7) * 8 / 7 + 1 / 14  # centres of the 7x7 blocks among the 8x8 pixels
    weights = np.maximum(0, 1 - abs(rows[:, None] - np.arange(8)))
    reference = (weights @ (digits.images * 255 / 16) @ weights.T).reshape(len(digits.images), -1)
    distances = ((small[:, None] - reference[None]) ** 2).mean(-1)
    nearest = distances.argmin(1)
    assert np.array_equal(digits.target[nearest], labels)
    assert len(set(nearest)) == len(nearest)


def test_script_is_an_ordinary_pytorch_script(repository: Path) -> None:
    """What the example shows is that nothing in it had to change."""
    text = (repository / EXAMPLE / "train.py").read_text()
    assert "mindtorch" not in text
    names = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert names - set(sys.stdlib_module_names) == {"torch", "torchvision"}
