"""A data pipeline over MNIST's files, with torch's loaders."""

import os
import struct
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


def write(folder):
    """Digits as the four files of MNIST."""
    images, labels = load_digits(return_X_y=True)
    images = np.kron(images.reshape(-1, 8, 8), np.ones((1, 3, 3))) * 15
    images = np.pad(images, ((0, 0), (2, 2), (2, 2))).astype(np.uint8)
    for name, rows in (("train", slice(0, 640)), ("t10k", slice(640, 800))):
        part = images[rows]
        with open(os.path.join(folder, f"{name}-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">4i", 2051, *part.shape) + part.tobytes())
        with open(os.path.join(folder, f"{name}-labels-idx1-ubyte"), "wb") as file:
            digits = labels[rows].astype(np.uint8)
            file.write(struct.pack(">2i", 2049, len(part)) + digits.tobytes())


class Digits(Dataset):
    def __init__(self, folder, name):
        with open(os.path.join(folder, f"{name}-images-idx3-ubyte"), "rb") as file:
            self.images = np.frombuffer(file.read()[16:], np.uint8).reshape(-1, 28, 28, 1)
        with open(os.path.join(folder, f"{name}-labels-idx1-ubyte"), "rb") as file:
            self.labels = np.frombuffer(file.read()[8:], np.uint8)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i] / np.float32(255)
        image = (image - np.float32(0.1307)) / np.float32(0.3081)
        return torch.tensor(image.transpose(2, 0, 1)), torch.tensor(self.labels[i].astype(np.int32))


with tempfile.TemporaryDirectory() as folder:
    write(folder)
    train, test = Digits(folder, "train"), Digits(folder, "t10k")

print(f"rows {len(train)} and {len(test)}")
loader = DataLoader(train, batch_size=64, shuffle=True, drop_last=True)
print(f"batches {len(loader)}")
total, counts = 0.0, np.zeros(10, int)
for image, label in loader:
    total += image.double().mean().item() / len(loader)
    counts += np.bincount(label.numpy(), minlength=10)
print(f"{tuple(image.shape)} {str(image.dtype)[6:]}, {tuple(label.shape)} {str(label.dtype)[6:]}")
print(f"mean {total:.5f}, labels {counts.tolist()}")
for i, (image, label) in enumerate(DataLoader(test, batch_size=100)):
    print(f"test batch {i}: {len(label)} rows, mean {image.mean().item():.5f}, "
          f"labels {label[:6].tolist()}")
rows = [row for _ in range(2) for row in list(test)[5:9]]
print(f"skipped, taken, repeated: {[int(label) for _, label in rows]}")
pairs = list(zip(test, range(100, 104)))
print(f"zipped: {[(int(label), number) for (_, label), number in pairs]}")
