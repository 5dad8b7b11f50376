"""Pieces of sentences by the package ``sentencepiece``."""

from __future__ import annotations

import enum
import functools
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._rows import listed
from ._tokens import text_of

__all__ = [
    "SPieceTokenizerLoadType", "SPieceTokenizerOutType", "SentencePieceModel",
    "SentencePieceTokenizer", "SentencePieceVocab",
]  # fmt: skip


class SentencePieceModel(enum.IntEnum):
    """How pieces are found."""

    UNIGRAM, BPE, CHAR, WORD = range(4)


class SPieceTokenizerOutType(enum.IntEnum):
    """What the tokenizer gives: texts, or their numbers."""

    STRING, INT = range(2)


class SPieceTokenizerLoadType(enum.IntEnum):
    """Where a model is: in a file, or in memory."""

    FILE, MODEL = range(2)


@functools.cache
def _package() -> Any:
    try:
        import sentencepiece
    except ImportError:
        raise ImportError("pieces of sentences need the package sentencepiece") from None
    return sentencepiece


class SentencePieceVocab:
    """A model of pieces; made by ``from_dataset`` or ``from_file``."""

    def __init__(self) -> None:
        self.content = b""

    @classmethod
    def _trained(
        cls, texts: Iterator[str], vocab_size: int, coverage: float, kind: SentencePieceModel,
        params: dict[str, Any],
    ) -> SentencePieceVocab:  # fmt: skip
        if not isinstance(kind, SentencePieceModel):
            raise TypeError(f"model_type should be a SentencePieceModel, but got {kind!r}")
        model = io.BytesIO()
        _package().SentencePieceTrainer.train(
            sentence_iterator=texts, model_writer=model, vocab_size=vocab_size,
            character_coverage=coverage, model_type=kind.name.lower(), minloglevel=2, **params,
        )  # fmt: skip
        made = cls()
        made.content = model.getvalue()
        return made

    @classmethod
    def from_dataset(
        cls, dataset: Any, col_names: Any, vocab_size: int, character_coverage: float,
        model_type: SentencePieceModel, params: dict[str, Any],
    ) -> SentencePieceVocab:  # fmt: skip
        """A model of the texts of a data set.

        Args:
            col_names: which columns.
            vocab_size: how many pieces.
            character_coverage: share of the characters that have pieces.
            params: other options of sentencepiece's trainer.
        """
        places = dataset.check_columns(listed(col_names) or dataset.columns)
        texts = (text_of(row[place]) for row in dataset.rows(0) for place in places)
        return cls._trained(texts, vocab_size, character_coverage, model_type, params)

    @classmethod
    def from_file(
        cls, file_path: Any, vocab_size: int, character_coverage: float,
        model_type: SentencePieceModel, params: dict[str, Any],
    ) -> SentencePieceVocab:  # fmt: skip
        """A model of the lines of files; arguments as of :meth:`from_dataset`.

        Args:
            file_path: a list of paths.
        """
        paths = [Path(path) for path in listed(file_path)]
        lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
        return cls._trained(lines, vocab_size, character_coverage, model_type, params)

    @classmethod
    def save_model(cls, vocab: SentencePieceVocab, path: str, filename: str) -> None:
        """Write a model into a folder."""
        (Path(path) / filename).write_bytes(vocab.content)


class SentencePieceTokenizer:
    """The pieces of a text.

    Args:
        mode: a :class:`SentencePieceVocab`, or the path of a model's file.
        out_type: texts, or numbers (int32).
    """

    def __init__(self, mode: Any, out_type: SPieceTokenizerOutType) -> None:
        if not isinstance(out_type, SPieceTokenizerOutType):
            raise TypeError(f"out_type should be a SPieceTokenizerOutType, but got {out_type!r}")
        self.content = (
            mode.content if isinstance(mode, SentencePieceVocab) else Path(mode).read_bytes()
        )
        self.out_type = out_type
        self.processor = self._loaded()

    def _loaded(self) -> Any:
        return _package().SentencePieceProcessor(model_proto=self.content)

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self.content, "out_type": self.out_type}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.processor = self._loaded()

    def __call__(self, data: Any) -> Any:
        text = text_of(data)
        if self.out_type is SPieceTokenizerOutType.INT:
            return np.array(self.processor.encode(text, out_type=int), np.int32)
        return np.array(self.processor.encode(text, out_type=str), np.str_)
