"""A data pipeline over MNIST's files: MnistDataset, map, batch, shuffle."""

from mindtorch.tools import mstorch_enable

import os
import struct
import tempfile

import mindspore as ms
import numpy as np
from mindspore.dataset import MnistDataset, NumpySlicesDataset, transforms, vision
from mindspore.dataset import zip as zipped
from sklearn.datasets import load_digits


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


def pipeline(usage, **options):
    dataset = MnistDataset(folder, usage=usage, **options)
    scale = [vision.Rescale(1.0 / 255.0, 0), vision.Normalize((0.1307,), (0.3081,))]
    dataset = dataset.map([*scale, vision.HWC2CHW()], "image")
    return dataset.map(transforms.TypeCast(ms.int32), "label")


def kind(tensor):
    return f"{tensor.shape} {tensor.asnumpy().dtype}"


with tempfile.TemporaryDirectory() as folder:
    write(folder)
    train, test = pipeline("train", shuffle=False), pipeline("test", shuffle=False)
    print(f"rows {train.get_dataset_size()} and {test.get_dataset_size()}")
    batches = train.shuffle(640).batch(64, drop_remainder=True)
    print(f"batches {batches.get_dataset_size()}")
    total, counts = 0.0, np.zeros(10, int)
    for image, label in batches.create_tuple_iterator():
        total += image.asnumpy().astype(float).mean() / batches.get_dataset_size()
        counts += np.bincount(label.asnumpy(), minlength=10)
    print(f"{kind(image)}, {kind(label)}")
    print(f"mean {total:.5f}, labels {counts.tolist()}")
    for i, row in enumerate(test.batch(100).create_dict_iterator(output_numpy=True)):
        print(f"test batch {i}: {len(row['label'])} rows, mean {row['image'].mean():.5f}, "
              f"labels {row['label'][:6].tolist()}")
    rows = pipeline("test", shuffle=False).skip(5).take(4).repeat(2)
    print(f"skipped, taken, repeated: {[int(label) for _, label in rows.create_tuple_iterator()]}")
    numbers = NumpySlicesDataset(np.arange(100, 104), column_names="number", shuffle=False)
    pairs = zipped((pipeline("test", shuffle=False), numbers)).create_tuple_iterator()
    print(f"zipped: {[(int(label), int(number)) for _, label, number in pairs]}")
