"""Data sets in text files: lines, and values separated by a character."""

from __future__ import annotations

import csv
import enum
import glob
from pathlib import Path
from typing import Any

import numpy as np

from ._rows import Row
from .memory import MappableDataset

__all__ = ["CSVDataset", "Shuffle", "TextFileDataset", "files_of", "shuffles"]


class Shuffle(str, enum.Enum):  # noqa: UP042
    """What is shuffled: all rows, files, or files and rows near each other; INFILE rows in files.

    Rows are known by number here, so that GLOBAL and INFILE order all rows at random.
    """

    GLOBAL, FILES, INFILE, ADAPTIVE, PARTIAL = "global", "file", "infile", "adaptive", "partial"


def files_of(given: Any) -> list[Path]:
    """The files that a path, a pattern, or a list of them names."""
    patterns = [given] if isinstance(given, (str, Path)) else list(given)
    found = [Path(name) for pattern in patterns for name in sorted(glob.glob(str(pattern)))]
    if not found or not all(path.is_file() for path in found):
        raise ValueError(f"The following patterns did not match any files: {patterns}")
    return found


def shuffles(shuffle: Any) -> bool:
    """Whether an argument ``shuffle`` of a source of files asks for random order.

    Raises:
        TypeError: it is neither a bool nor a :class:`Shuffle`.
    """
    if shuffle is not None and not isinstance(shuffle, (bool, Shuffle)):
        raise TypeError("shuffle must be of boolean or enum of 'Shuffle' values like 'Shuffle."
                        "GLOBAL' or 'Shuffle.FILES' or 'Shuffle.INFILE'.")  # fmt: skip
    return shuffle is not False


class TextFileDataset(MappableDataset):
    """The lines of files without those that are empty: "text".

    Args:
        dataset_files: a path, a pattern as of a shell, or a list of them.
        shuffle: another order in each epoch.
    """

    def __init__(
        self, dataset_files: Any, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Any = True,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            ["text"], shuffles(shuffle), None, num_shards, shard_id, num_samples,
            num_parallel_workers, cache=cache,
        )  # fmt: skip
        self.paths = files_of(dataset_files)
        texts = [path.read_text(encoding="utf-8") for path in self.paths]
        held = [[line for line in text.split("\n") if line] for text in texts]
        self.lines = [line for lines in held for line in lines]
        self.file_of_row = [number for number, lines in enumerate(held) for _ in lines]
        self.by_files = shuffle is Shuffle.FILES
        self.length = len(self.lines)

    def files(self) -> list[Path]:
        """The files that rows are read from."""
        return self.paths

    def row(self, place: int) -> Row:
        return (np.array(self.lines[place]),)


class CSVDataset(MappableDataset):
    """The rows of files of separated values.

    Args:
        dataset_files: a path, a pattern as of a shell, or a list of them.
        field_delim: what separates values.
        column_defaults: a value for each column, used where one is empty; its type, int, float or
            str, is the column's. Texts without it.
        column_names: the first line of each file unless given.
    """

    def __init__(
        self, dataset_files: Any, field_delim: str = ",", column_defaults: Any = None,
        column_names: Any = None, num_samples: int | None = None,
        num_parallel_workers: int | None = None, shuffle: Any = True,
        num_shards: int | None = None, shard_id: int | None = None, cache: Any = None,
    ) -> None:  # fmt: skip
        if len(field_delim) != 1:
            raise ValueError("field_delim should be a character")
        names, rows = list(column_names or []), []
        self.paths, of_row = files_of(dataset_files), []
        for number, path in enumerate(self.paths):
            with path.open(encoding="utf-8", newline="") as file:
                read = [row for row in csv.reader(file, delimiter=field_delim) if row]
            if column_names is None:
                names, read = read[0], read[1:]
            rows += read
            of_row += [number] * len(read)
        super().__init__(
            names, shuffles(shuffle), None, num_shards, shard_id, num_samples,
            num_parallel_workers, cache=cache,
        )  # fmt: skip
        for row in rows:
            if len(row) != len(names):
                raise RuntimeError(f"a row of {len(row)} values for the columns {names}: {row}")
        defaults = list(column_defaults or [""] * len(names))
        if len(defaults) != len(names):
            raise ValueError(f"{len(defaults)} column_defaults for the columns {names}")
        columns = list(zip(*rows, strict=True)) or [()] * len(names)
        self.values = [_column(c, d) for c, d in zip(columns, defaults, strict=True)]
        self.length, self.file_of_row = len(rows), of_row
        self.by_files = shuffle is Shuffle.FILES

    def files(self) -> list[Path]:
        """The files that rows are read from."""
        return self.paths

    def row(self, place: int) -> Row:
        return tuple(column[place] for column in self.values)


def _column(texts: Any, default: Any) -> list[Any]:
    """The values of a column: of the default's type, which fills what is empty."""
    if isinstance(default, str):
        return [np.array(text or default) for text in texts]
    if not isinstance(default, (int, float)):
        raise TypeError(f"column_defaults are int, float or str, but got {default!r}")
    dtype = np.int32 if isinstance(default, int) else np.float32
    return [np.array(type(default)(text) if text else default, dtype) for text in texts]
