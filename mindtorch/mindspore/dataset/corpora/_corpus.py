"""What corpora have in common: parts in files of a folder, read when the data set is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._folders import checked_usage, directory_of
from .._rows import Row
from ..memory import MappableDataset
from ..text_sources import Shuffle, shuffles
from ..vision import Decode

__all__ = ["Choice", "Corpus", "Lines", "Pictures", "bytes_of", "lines_of", "text"]


class Choice(NamedTuple):
    """Which rows, in which order, and who makes them: arguments that all sources have."""

    num_samples: Any = None
    workers: Any = None
    shuffle: Any = None
    sampler: Any = None
    num_shards: Any = None
    shard_id: Any = None
    cache: Any = None


def text(value: str) -> Any:
    """A text as a column's value."""
    return np.array(value)


def lines_of(path: Path) -> list[str]:
    """The lines of a file without what ends them.

    Raises:
        RuntimeError: there is no such file.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise RuntimeError(f"Invalid file path, {path} does not exist.") from None
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def bytes_of(path: Path) -> Any:
    """The bytes of a file.

    Raises:
        RuntimeError: there is no such file.
    """
    try:
        return np.fromfile(path, np.uint8)
    except FileNotFoundError:
        raise RuntimeError(f"Invalid file path, {path} does not exist.") from None


class Corpus(MappableDataset):
    """A data set in parts: subclasses say which there are and read one of them.

    Attributes:
        names: names of the columns.
        parts: what ``usage`` may be besides "all"; empty where there is none.
        whole: what "all" reads, in this order; ``parts`` unless given.
    """

    names: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()

    def __init__(
        self, dataset_dir: Any, usage: str | None = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        choice = Choice(num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                        cache)  # fmt: skip
        self.open(dataset_dir, usage, choice)

    def open(self, dataset_dir: Any, usage: Any, choice: Choice) -> None:
        """Read the items of all parts that are asked for.

        Raises:
            ValueError: there is no such folder, or no such part.
            RuntimeError: a file is missing, or nothing is in them.
        """
        names, shuffle = self.names, shuffles(choice.shuffle)
        super().__init__(
            list(names), False if choice.shuffle is False else None, choice.sampler,
            choice.num_shards, choice.shard_id, choice.num_samples, choice.workers,
            cache=choice.cache,
        )  # fmt: skip
        if choice.shuffle not in (None, False) and choice.sampler is not None and shuffle:
            raise RuntimeError("sampler and shuffle cannot be specified at the same time.")
        self.folder = directory_of(dataset_dir)
        self.used: list[Path] = []
        if self.parts:
            chosen = checked_usage(usage, (*self.parts, "all"))
            parts = (self.whole or self.parts) if chosen == "all" else (chosen,)
        else:
            parts = ("",)
        self.items: list[Any] = []
        self.file_of_row: list[int] = []
        for part in parts:
            before = len(self.used)
            found = list(self.read(part))
            self.items += found
            self.file_of_row += [before] * len(found)
        self.by_files = choice.shuffle is Shuffle.FILES
        self.length = len(self.items)
        if not self.items:
            raise RuntimeError(
                f"Invalid data, {type(self).__name__} found no data in {self.folder}."
            )

    def read(self, part: str) -> Any:
        """The items of a part; files that are read are added to ``used``."""
        raise NotImplementedError

    def use(self, *names: str) -> Path:
        """A file below the folder, of whose content rows are made."""
        path = self.folder.joinpath(*names)
        self.used.append(path)
        return path

    def files(self) -> list[Path]:
        """The files that rows are read from."""
        return [path for path in self.used if path.is_file()]

    def row(self, place: int) -> Row:
        found: Row = self.make(self.items[place])
        return found

    def make(self, item: Any) -> Row:
        """The row of an item; items are rows unless a subclass says otherwise."""
        found: Row = item
        return found


class Lines(Corpus):
    """Rows that are held as texts."""

    def works(self) -> bool:
        return False

    def make(self, item: Any) -> Row:
        return tuple(text(each) if isinstance(each, str) else each for each in item)


class Pictures(Corpus):
    """Rows with pictures, which stay in their files until they are asked for.

    Attributes:
        decode: whether pictures are decoded; their bytes otherwise.
    """

    decode = False

    def is_heavy(self) -> bool:
        return self.decode

    def files(self) -> list[Path]:
        """The files that rows are read from."""
        pictures = [each for item in self.items for each in item if isinstance(each, Path)]
        return [*super().files(), *pictures]

    def picture(self, path: Path) -> Any:
        """A picture as it was asked for."""
        content = bytes_of(path)
        return Decode()(content) if self.decode else content

    def make(self, item: Any) -> Row:
        return tuple(self.picture(each) if isinstance(each, Path) else each for each in item)
