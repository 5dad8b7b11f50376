"""Vectors of tokens, read from the text files in which they are published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["FastText", "GloVe", "ToVectors", "Vectors"]


class Vectors:
    """A vector for each of many tokens; made by ``from_file``."""

    def __init__(self) -> None:
        self.vectors: dict[str, Any] = {}
        self.size = 0

    @classmethod
    def from_file(cls, file_path: Any, max_vectors: int | None = None) -> Any:
        """The vectors of a file: in each line a token and numbers, in the first perhaps how many.

        Args:
            max_vectors: only the first ones.

        Raises:
            RuntimeError: a line has another number of numbers than the first.
        """
        path, made = Path(file_path), cls()
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file):
                token, *values = line.rstrip().split(" ")
                if number == 0 and len(values) == 1:
                    continue
                if max_vectors is not None and len(made.vectors) == max_vectors:
                    break
                made.size = made.size or len(values)
                if len(values) != made.size:
                    raise RuntimeError(
                        f"{path}, line {number + 1}: {len(values)} numbers, not {made.size}"
                    )
                made.vectors.setdefault(token, np.array(values, np.float32))
        if not made.vectors:
            raise RuntimeError(f"{path} holds no vectors")
        return made


class GloVe(Vectors):
    """Vectors of GloVe's files."""


class FastText(Vectors):
    """Vectors of fastText's text files."""


class ToVectors:
    """The vectors of tokens, float32: one more axis.

    Args:
        vectors: a :class:`Vectors`.
        unk_init: the vector of tokens that have none; zeros without it.
        lower_case_backup: tokens that have none take that of the token in small letters.
    """

    def __init__(self, vectors: Vectors, unk_init: Any = None, lower_case_backup: bool = False):
        if not isinstance(vectors, Vectors):
            raise TypeError(f"vectors should be Vectors, but got {vectors!r}")
        self.vectors, self.lower = vectors.vectors, lower_case_backup
        unknown = np.zeros(vectors.size) if unk_init is None or not len(unk_init) else unk_init
        self.unknown = np.asarray(unknown, np.float32)
        if self.unknown.shape != (vectors.size,):
            raise ValueError(f"unk_init should have {vectors.size} numbers")

    def __call__(self, data: Any) -> Any:
        tokens = np.asarray(data)
        found = []
        for token in tokens.reshape(-1).tolist():
            vector = self.vectors.get(token)
            if vector is None and self.lower:
                vector = self.vectors.get(token.lower())
            found.append(self.unknown if vector is None else vector)
        return np.stack(found).reshape(*tokens.shape, len(self.unknown))
