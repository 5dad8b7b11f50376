"""Corpora of small pictures that lie in arrays: digits, letters, STL-10, SVHN, patches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # its parts are imported when they are used

from .._folders import idx_array
from ..schema import Schema
from ..text_sources import Shuffle
from ..vision import Decode
from ._corpus import Corpus, bytes_of, lines_of

__all__ = [
    "EMnistDataset", "FakeImageDataset", "KMnistDataset", "PhotoTourDataset", "QMnistDataset",
    "RandomDataset", "STL10Dataset", "SVHNDataset", "SemeionDataset", "USPSDataset", "mat_file",
]  # fmt: skip


class _Arrays(Corpus):
    """Pictures and labels of arrays.

    Args:
        dataset_dir: the corpus's folder.
        usage: a part; all when None.
    """

    names: tuple[str, ...] = ("image", "label")

    def works(self) -> bool:
        return False

    def digits(self, images: str, labels: str) -> Iterator[tuple[Any, Any]]:
        """Pictures and labels of two files of MNIST's format."""
        for name in (images, labels):
            self.use(name)
        pictures, numbers = idx_array(self.folder, images), idx_array(self.folder, labels)
        if len(pictures) != len(numbers):
            raise RuntimeError(f"{len(pictures)} images and {len(numbers)} labels in {images} and "
                               f"{labels}")  # fmt: skip
        return zip(pictures[..., None], numbers.astype(np.uint32), strict=True)


class KMnistDataset(_Arrays):
    """Japanese letters in MNIST's format: "image" (28, 28, 1) uint8, "label" uint32."""

    parts = ("train", "test")

    def read(self, part: str) -> Iterator[tuple[Any, Any]]:
        stem = "t10k" if part == "test" else part
        return self.digits(f"{stem}-images-idx3-ubyte", f"{stem}-labels-idx1-ubyte")


class EMnistDataset(_Arrays):
    """Handwritten letters and digits in MNIST's format: "image" (28, 28, 1) uint8, "label" uint32.

    Args:
        name: "byclass", "bymerge", "balanced", "letters", "digits" or "mnist".
    """

    parts = ("train", "test")

    def __init__(
        self, dataset_dir: Any, name: str, usage: str | None = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        allowed = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
        if name not in allowed:
            raise ValueError(f"name should be one of {list(allowed)}, but got {name!r}")
        self.name = name
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler,
                         num_shards, shard_id, cache)  # fmt: skip

    def read(self, part: str) -> Iterator[tuple[Any, Any]]:
        stem = f"emnist-{self.name}-{part}"
        return self.digits(f"{stem}-images-idx3-ubyte", f"{stem}-labels-idx1-ubyte")


class QMnistDataset(_Arrays):
    """MNIST with its history: "image" (28, 28, 1) uint8, "label" uint32, all eight numbers with
    ``compat=False``.

    Args:
        usage: "train", "test", "test10k" and "test50k" (the first 10,000 and the others), "nist".
    """

    parts, whole = ("train", "test", "test10k", "test50k", "nist"), ("train", "test", "nist")

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, compat: bool = True,
        num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        self.compat = compat
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler,
                         num_shards, shard_id, cache)  # fmt: skip

    def read(self, part: str) -> Iterator[tuple[Any, Any]]:
        stem = {"train": "qmnist-train", "nist": "xnist"}.get(part, "qmnist-test")
        rows = list(self.digits(f"{stem}-images-idx3-ubyte", f"{stem}-labels-idx2-int"))
        used = {"test10k": slice(10_000), "test50k": slice(10_000, None)}.get(part, slice(None))
        return ((image, label[0] if self.compat else label) for image, label in rows[used])


class STL10Dataset(_Arrays):
    """Pictures of ten kinds: "image" (96, 96, 3) uint8, "label" int32, -1 where there is none.

    Args:
        dataset_dir: holds train_X.bin, train_y.bin, test_X.bin, test_y.bin, unlabeled_X.bin.
        usage: "train", "test", "unlabeled", "train+unlabeled" or "all".
    """

    parts = ("train", "test", "unlabeled", "train+unlabeled")
    whole = ("test", "train+unlabeled")

    def read(self, part: str) -> Iterator[tuple[Any, Any]]:
        for name in part.split("+"):
            pixels = bytes_of(self.use(f"{name}_X.bin"))
            if pixels.size % (3 * 96 * 96):
                raise RuntimeError(f"Invalid file, {name}_X.bin does not hold pictures of 96 x 96")
            images = pixels.reshape(-1, 3, 96, 96).transpose(0, 3, 2, 1)
            labels = np.full(len(images), -1, np.int32)
            if name != "unlabeled":
                labels[:] = bytes_of(self.use(f"{name}_y.bin")).astype(np.int32) - 1
            yield from zip(images, labels, strict=True)

    def make(self, item: Any) -> tuple[Any, ...]:
        return np.ascontiguousarray(item[0]), item[1]


class SemeionDataset(_Arrays):
    """Digits in the lines of semeion.data: "image" (16, 16) uint8, "label" uint32."""

    def __init__(
        self, dataset_dir: Any, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler,
                         num_shards, shard_id, cache)  # fmt: skip

    def read(self, part: str) -> Iterator[tuple[Any, Any]]:
        for line in filter(str.strip, lines_of(self.use("semeion.data"))):
            values = np.array(line.split(), np.float64)
            if values.size != 266:
                raise RuntimeError("Invalid file, a line of semeion.data has 256 pixels and 10 "
                                   f"marks, and this one {values.size} numbers")  # fmt: skip
            yield values[:256].astype(np.uint8).reshape(16, 16), np.uint32(values[256:].argmax())


class USPSDataset(_Arrays):
    """Digits in the lines of usps and usps.t: "image" (16, 16, 1) uint8, "label" uint32."""

    parts = ("train", "test")

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, None,
                         num_shards, shard_id, cache)  # fmt: skip

    def read(self, part: str) -> Iterator[tuple[Any, Any]]:
        for line in lines_of(self.use("usps" if part == "train" else "usps.t")):
            label, *pairs = line.split()
            values = np.array([pair.partition(":")[2] for pair in pairs], np.float32)
            if values.size != 256:
                raise RuntimeError(f"Invalid file, a line has 256 pixels, and this one "
                                   f"{values.size}")  # fmt: skip
            pixels = ((values.astype(np.float64) + 1) / 2 * 255).astype(np.uint8)
            yield pixels.reshape(16, 16, 1), np.uint32(int(label) - 1)


def mat_file(path: Path) -> Any:
    """What a file of MATLAB holds, by name.

    Raises:
        RuntimeError: there is no such file.
    """
    if not path.is_file():
        raise RuntimeError(f"Invalid file path, {path} does not exist.")
    return scipy.io.loadmat(path)


class SVHNDataset(_Arrays):
    """House numbers: "image" (32, 32, 3) uint8, "label" uint32.

    Args:
        dataset_dir: holds train_32x32.mat, test_32x32.mat, extra_32x32.mat.
        usage: "train", "test", "extra" or "all".
    """

    parts = ("train", "test", "extra")

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler,
                         num_shards, shard_id)  # fmt: skip

    def read(self, part: str) -> Iterator[tuple[Any, Any]]:
        held = mat_file(self.use(f"{part}_32x32.mat"))
        labels = held["y"].reshape(-1).astype(np.uint32) % 10
        return zip(np.ascontiguousarray(held["X"].transpose(3, 0, 1, 2)), labels, strict=True)


class PhotoTourDataset(_Arrays):
    """Patches of 64 x 64 pixels: "image", or with usage "test" "image1", "image2" and "matches"
    uint32, 1 for the same point.

    Args:
        dataset_dir: holds liberty/patches0000.bmp, info.txt and m50_100000_100000_0.txt.
        name: "notredame", "yosemite" or "liberty", or one of these with "_harris".
        usage: "train" unless given, or "test".
    """

    parts = ("train", "test")

    def __init__(
        self, dataset_dir: Any, name: str, usage: str | None = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
        shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        places = ("notredame", "yosemite", "liberty")
        if name.removesuffix("_harris") not in places:
            raise ValueError(f"name should be one of {places} or one with _harris, got {name!r}")
        if usage == "all":
            raise ValueError("usage should be train or test, but got 'all'")
        self.name = name
        self.names = ("image1", "image2", "matches") if usage == "test" else ("image",)
        super().__init__(dataset_dir, usage or "train", num_samples, num_parallel_workers, shuffle,
                         sampler, num_shards, shard_id, cache)  # fmt: skip

    def patches(self, count: int) -> list[Any]:
        """The first patches: 16 x 16 of them in each picture."""
        found: list[Any] = []
        for path in sorted((self.folder / self.name).glob("patches*.bmp")):
            pixels = Decode()(bytes_of(self.use(self.name, path.name)))[..., :1]
            cut = pixels.reshape(16, 64, 16, 64, 1).transpose(0, 2, 1, 3, 4)
            found += list(np.ascontiguousarray(cut.reshape(-1, 64, 64, 1)))
            if len(found) >= count:
                break
        return found[:count]

    def read(self, part: str) -> Iterator[tuple[Any, ...]]:
        points = [line.split()[0] for line in lines_of(self.use(self.name, "info.txt"))]
        patches = self.patches(len(points))
        if part == "train":
            yield from ((patch,) for patch in patches)
            return
        for line in lines_of(self.use(self.name, "m50_100000_100000_0.txt")):
            first, point, _, second, other = line.split()[:5]
            yield patches[int(first)], patches[int(second)], np.uint32(point == other)


class FakeImageDataset(_Arrays):
    """Random pictures: "image" uint8, "label" uint32.

    Args:
        num_images: how many.
        image_size: (height, width, channels).
        num_classes: how many labels there are.
        base_seed: the same pictures for the same seed.
    """

    def __init__(
        self, num_images: int = 1000, image_size: Any = (224, 224, 3), num_classes: int = 10,
        base_seed: int = 0, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if num_images < 1 or num_classes < 1 or len(image_size) != 3:
            raise ValueError("num_images and num_classes are positive, image_size has three "
                             f"lengths, but got {num_images}, {num_classes}, {image_size}")
        self.count, self.shape = num_images, tuple(image_size)
        self.classes, self.base = num_classes, base_seed
        super().__init__(".", None, num_samples, num_parallel_workers, shuffle, sampler,
                         num_shards, shard_id, cache)  # fmt: skip

    def read(self, part: str) -> Iterator[int]:
        return iter(range(self.count))

    def works(self) -> bool:
        return True

    def make(self, item: int) -> tuple[Any, ...]:
        draw = np.random.default_rng([self.base, item])
        image = draw.integers(0, 256, self.shape, dtype=np.uint8)
        return image, np.uint32(draw.integers(self.classes))


class RandomDataset(_Arrays):
    """Random values of the columns of a schema.

    Args:
        total_rows: how many; between 1 and 10,000 at random unless given.
        schema: a :class:`Schema`, or the path of its file.
        columns_list: some of its columns, or names for random ones.
    """

    def __init__(
        self, total_rows: int | None = None, schema: Any = None, columns_list: Any = None,
        num_samples: int | None = None, num_parallel_workers: int | None = None,
        cache: Any = None, shuffle: Any = None, num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:  # fmt: skip
        held = schema if isinstance(schema, Schema) else Schema(schema)
        if not held.columns:
            for name in columns_list or ("c0",):
                held.add_column(name, "uint8", [4])
        chosen = [c for c in held.columns if columns_list is None or c["name"] in columns_list]
        if not chosen:
            raise RuntimeError(f"columns_list {columns_list} is not in the schema")
        self.described = chosen
        self.names = tuple(column["name"] for column in chosen)
        self.count = total_rows or held.num_rows or int(np.random.default_rng().integers(1, 10_000))
        super().__init__(".", None, num_samples, num_parallel_workers, shuffle, None, num_shards,
                         shard_id, cache)  # fmt: skip

    def read(self, part: str) -> Iterator[int]:
        return iter(range(self.count))

    def make(self, item: int) -> tuple[Any, ...]:
        draw = np.random.default_rng([self.seed, item])
        return tuple(self._value(draw, column) for column in self.described)

    @staticmethod
    def _value(draw: Any, column: dict[str, Any]) -> Any:
        shape = [max(1, n) for n in column["shape"] or ()]
        kind = np.dtype(column["type"])
        if kind.kind == "f":
            return draw.random(shape).astype(kind)
        if kind.kind == "b":
            return draw.integers(0, 2, shape).astype(kind)
        limits = np.iinfo(kind)
        return draw.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
