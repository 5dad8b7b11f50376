"""Write scikit-learn's handwritten digits as MNIST's files, for a machine with no network.

The 1,797 digits of 8x8 pixels that scikit-learn ships are enlarged to 28x28 and split into 1,437
for training and 360 for testing. The files lie where `torchvision.datasets.MNIST(root)` looks for
them, in `<root>/MNIST/raw`, and are the same bytes on every run.
"""

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

SIDE = 28
TEST_COUNT = 360


def resize_matrix(source: int, target: int) -> np.ndarray:
    """Integers `W` of shape (target, source): `W @ x / (2 * target)` interpolates `x` linearly.

    Pixel centres are aligned; beyond the outermost centres the edge pixel is repeated.
    """
    unit = 2 * target
    rows = np.arange(target)
    centres = np.clip((2 * rows + 1) * source - target, 0, (source - 1) * unit)
    left = np.minimum(centres // unit, source - 2)
    weights = np.zeros((target, source), dtype=np.int64)
    weights[rows, left + 1] = centres - unit * left
    weights[rows, left] = unit - weights[rows, left + 1]
    return weights


def enlarge(images: np.ndarray) -> np.ndarray:
    """Images of shape (n, 8, 8), values 0 to 16, as uint8 images of shape (n, 28, 28), 0 to 255.

    In integers, rounded half up at the end, so that every machine writes the same bytes.
    """
    weights = resize_matrix(images.shape[-1], SIDE)
    numerators = 255 * (weights @ images.astype(np.int64) @ weights.T)
    denominator = 16 * (2 * SIDE) ** 2
    return ((2 * numerators + denominator) // (2 * denominator)).astype(np.uint8)


def idx_bytes(array: np.ndarray) -> bytes:
    """`array` (uint8) as an idx file: two zeros, type 8, rank, big-endian sizes, then the data."""
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    return header + np.ascontiguousarray(array, dtype=np.uint8).tobytes()


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside `path`, then rename: a reader sees the whole file or none."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_digits(root: Path) -> Path:
    """Write the four files under `root` and return their folder."""
    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    images = enlarge(digits.images)[order]
    labels = digits.target.astype(np.uint8)[order]
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": slice(None, -TEST_COUNT), "t10k": slice(-TEST_COUNT, None)}
    for name, part in parts.items():
        write_atomically(folder / f"{name}-images-idx3-ubyte", idx_bytes(images[part]))
        write_atomically(folder / f"{name}-labels-idx1-ubyte", idx_bytes(labels[part]))
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the digits data of this example.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent / "data")
    print(f"wrote {write_digits(parser.parse_args().root)}")


if __name__ == "__main__":
    main()
