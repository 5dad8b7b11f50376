"""Data sets in files: MNIST, CIFAR-10, folders of images."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._folders import checked_usage, directory_of, idx_array
from ._rows import Row, refuse
from .memory import MappableDataset
from .vision import Decode

__all__ = [
    "Cifar10Dataset", "Cifar100Dataset", "FashionMnistDataset", "ImageFolderDataset",
    "MnistDataset",
]  # fmt: skip


class _FolderDataset(MappableDataset):
    """A data set whose files are those of a folder, read when it is made."""

    folder: Path

    def works(self) -> bool:
        return False

    def files(self) -> list[Path]:
        """The files of the folder."""
        return sorted(path for path in self.folder.iterdir() if path.is_file())


class MnistDataset(_FolderDataset):
    """Handwritten digits: "image" (28, 28, 1) uint8, "label" uint32.

    Args:
        dataset_dir: holds train-images-idx3-ubyte and the like, or these with .gz.
        usage: "train", "test" or "all"; all that is there when None.
    """

    _parts = {"train": "train", "test": "t10k"}  # noqa: RUF012

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            ["image", "label"], shuffle, sampler, num_shards, shard_id, num_samples,
            num_parallel_workers, cache=cache,
        )  # fmt: skip
        self.folder = folder = directory_of(dataset_dir)
        chosen = checked_usage(usage, ("train", "test", "all"))
        images, labels = [], []
        for part, prefix in self._parts.items():
            name = f"{prefix}-images-idx3-ubyte"
            there = (folder / name).exists() or (folder / f"{name}.gz").exists()
            if chosen == part or (chosen == "all" and there):
                images.append(idx_array(folder, name))
                labels.append(idx_array(folder, f"{prefix}-labels-idx1-ubyte"))
        if not images:
            raise RuntimeError(f"{folder} has no file of images in MNIST's format")
        self.images = np.concatenate(images)[..., None]
        self.labels = np.concatenate(labels).astype(np.uint32)
        if len(self.images) != len(self.labels):
            raise RuntimeError(f"{len(self.images)} images and {len(self.labels)} labels")
        self.length = len(self.labels)

    def row(self, place: int) -> Row:
        return self.images[place], self.labels[place]


class FashionMnistDataset(MnistDataset):
    """Clothes in MNIST's format."""


class Cifar10Dataset(_FolderDataset):
    """Small pictures: "image" (32, 32, 3) uint8, "label" uint32.

    Args:
        dataset_dir: holds data_batch_1.bin and the like, or CIFAR-10's pickled files.
        usage: "train", "test" or "all"; all when None.
    """

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            ["image", "label"], shuffle, sampler, num_shards, shard_id, num_samples,
            num_parallel_workers, cache=cache,
        )  # fmt: skip
        self.folder = folder = directory_of(dataset_dir)
        chosen = checked_usage(usage, ("train", "test", "all"))
        stems = {"train": "data_batch_", "test": "test_batch"}
        wanted = tuple(stems.values()) if chosen == "all" else (stems[chosen],)
        paths = sorted(
            p for p in folder.iterdir()
            if p.name.startswith(wanted) and p.suffix in ("", ".bin") and p.is_file()
        )  # fmt: skip
        if not paths:
            raise RuntimeError(f"{folder} has no files of CIFAR-10")
        parts = [_cifar_part(path) for path in paths]
        pixels = np.concatenate([p for p, _ in parts]).reshape(-1, 3, 32, 32)
        self.images = np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))
        self.labels = np.concatenate([labels for _, labels in parts]).astype(np.uint32)
        self.length = len(self.labels)

    def row(self, place: int) -> Row:
        return self.images[place], self.labels[place]


class Cifar100Dataset(_FolderDataset):
    """Small pictures of 100 kinds: "image" (32, 32, 3) uint8, "coarse_label" and "fine_label"
    uint32.

    Args:
        dataset_dir: holds train.bin and test.bin: rows of two labels and 3072 bytes.
        usage: "train", "test" or "all"; all that is there when None.
    """

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        names = ["image", "coarse_label", "fine_label"]
        super().__init__(
            names, shuffle, sampler, num_shards, shard_id, num_samples,
            num_parallel_workers, cache=cache,
        )  # fmt: skip
        self.folder = folder = directory_of(dataset_dir)
        chosen = checked_usage(usage, ("train", "test", "all"))
        wanted = ("train", "test") if chosen == "all" else (chosen,)
        paths = [folder / f"{part}.bin" for part in wanted if (folder / f"{part}.bin").exists()]
        if not paths:
            raise RuntimeError(f"{folder} has no files of CIFAR-100")
        content = np.concatenate([np.frombuffer(p.read_bytes(), np.uint8) for p in paths])
        if content.size % 3074:
            raise RuntimeError(f"{folder} has no files of CIFAR-100: rows have 3074 bytes")
        rows = content.reshape(-1, 3074)
        pixels = rows[:, 2:].reshape(-1, 3, 32, 32)
        self.images = np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))
        self.labels = rows[:, :2].astype(np.uint32)
        self.length = len(rows)

    def row(self, place: int) -> Row:
        return self.images[place], self.labels[place, 0], self.labels[place, 1]


class _Arrays(pickle.Unpickler):
    """Reads CIFAR-10's pickles: dicts of bytes, lists and numpy's arrays, nothing that acts."""

    _allowed = {  # noqa: RUF012
        ("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"),
        ("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode"),
    }  # fmt: skip

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._allowed:
            raise pickle.UnpicklingError(f"a file of CIFAR-10 does not hold {module}.{name}")
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _cifar_part(path: Path) -> tuple[Any, Any]:
    """(rows of 3072 bytes, labels) of a file."""
    if path.suffix == ".bin":
        content = np.frombuffer(path.read_bytes(), np.uint8)
        if content.size % 3073:
            raise RuntimeError(f"{path} is not a file of CIFAR-10: rows have 3073 bytes")
        rows = content.reshape(-1, 3073)
        return rows[:, 1:], rows[:, 0]
    with path.open("rb") as file:
        held = _Arrays(file, encoding="bytes").load()
    return np.asarray(held[b"data"], np.uint8), np.asarray(held[b"labels"])


class ImageFolderDataset(MappableDataset):
    """Images in one folder for each class: "image" bytes of the file (or the decoded picture),
    "label" int32, the number of the class among the sorted folders.

    Args:
        extensions: of the files that are used; .jpg, .jpeg, .png, .ppm, .bmp, .gif unless given.
        class_indexing: {folder: number}; other folders are left out.
        decode: decode the images here; needs Pillow.
    """

    def __init__(
        self, dataset_dir: Any, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        extensions: Sequence[str] | None = None, class_indexing: dict[str, int] | None = None,
        decode: bool = False, num_shards: int | None = None, shard_id: int | None = None,
        cache: Any = None, decrypt: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            ["image", "label"], shuffle, sampler, num_shards, shard_id, num_samples,
            num_parallel_workers, cache=cache,
        )  # fmt: skip
        refuse(decrypt=decrypt)
        folder = directory_of(dataset_dir)
        endings = extensions or (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".gif")
        classes = sorted(p.name for p in folder.iterdir() if p.is_dir())
        numbers = class_indexing or {name: i for i, name in enumerate(classes)}
        self.images = [
            (path, numbers[name])
            for name in classes if name in numbers
            for path in sorted((folder / name).iterdir())
            if path.suffix.lower() in endings and path.is_file()
        ]  # fmt: skip
        self.class_indexing, self.decode, self.length = numbers, decode, len(self.images)

    def files(self) -> list[Path]:
        """The files that rows are read from."""
        return [path for path, _ in self.images]

    def is_heavy(self) -> bool:
        return self.decode

    def num_classes(self) -> int | None:
        return len(self.class_indexing)

    def get_class_indexing(self) -> dict[str, int]:
        """{folder: number of the class}."""
        return dict(self.class_indexing)

    def row(self, place: int) -> Row:
        path, number = self.images[place]
        content: Any = np.frombuffer(path.read_bytes(), np.uint8)
        if self.decode:
            content = Decode()(content)
        return content, np.int32(number)
