"""Vocabularies: the numbers of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...common.dtype import as_dtype, int32
from .._rows import listed

__all__ = ["Lookup", "Vocab"]

_LARGEST = 2**31 - 1


class Vocab:
    """Tokens and their numbers; made by ``from_list`` and the like."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._tokens: dict[int, str] = {}

    @classmethod
    def _made(cls, numbers: dict[str, int]) -> Vocab:
        made = cls()
        made._numbers = numbers
        made._tokens = {number: token for token, number in numbers.items()}
        return made

    @classmethod
    def from_list(
        cls, word_list: Sequence[str], special_tokens: Any = None, special_first: bool = True
    ) -> Vocab:
        """The tokens of a list, in its order.

        Args:
            special_tokens: more of them.
            special_first: before the others, not behind.

        Raises:
            ValueError: a token is there twice.
        """
        words, special = list(word_list), list(special_tokens or [])
        for name, tokens in (("word_list", words), ("special_tokens", special)):
            for token in tokens:
                if not isinstance(token, str):
                    raise TypeError(f"{name} should hold str, but got {token!r}")
        counts = Counter(words)
        twice = [word for word in words if counts[word] > 1]
        if twice:
            raise ValueError(f"word_list contains duplicate word: {twice[0]}.")
        shared = set(words) & set(special)
        if shared or len(set(special)) != len(special):
            raise ValueError(f"special_tokens and word_list contain duplicate words: {shared}.")
        every = [*special, *words] if special_first else [*words, *special]
        return cls._made({token: number for number, token in enumerate(every)})

    @classmethod
    def from_dict(cls, word_dict: dict[str, int]) -> Vocab:
        """Tokens with their numbers."""
        for token, number in word_dict.items():
            if not isinstance(token, str) or not isinstance(number, int):
                raise TypeError(f"word_dict should be str: int, but got {token!r}: {number!r}")
            if not 0 <= number <= _LARGEST:
                raise ValueError(
                    f"Input word_id is not within the required interval of [0, {_LARGEST}]."
                )
        return cls._made(dict(word_dict))

    @classmethod
    def from_file(
        cls, file_path: Any, delimiter: str = "", vocab_size: int | None = None,
        special_tokens: Any = None, special_first: bool = True,
    ) -> Vocab:  # fmt: skip
        """The tokens of a file, one in a line.

        Args:
            delimiter: what stands in a line behind it is no part of the token.
            vocab_size: only the first ones.
        """
        path = Path(file_path)
        if not path.is_file():
            raise ValueError(f"The file {file_path} does not exist or permission denied!")
        lines = path.read_text(encoding="utf-8").splitlines()
        words = [line.partition(delimiter)[0] if delimiter else line for line in lines]
        return cls.from_list(words[:vocab_size], special_tokens, special_first)

    @classmethod
    def from_dataset(
        cls, dataset: Any, columns: Any = None, freq_range: Any = None, top_k: int | None = None,
        special_tokens: Any = None, special_first: bool = True,
    ) -> Vocab:  # fmt: skip
        """The tokens of a data set, the most frequent first, of those the first of the alphabet.

        Args:
            columns: which; all without it.
            freq_range: (least, most) how often a token is there; None for no bound.
            top_k: only so many.
        """
        places = dataset.check_columns(dataset.columns if columns is None else listed(columns))
        counts: Counter[str] = Counter()
        for row in dataset.rows(0):
            for place in places:
                counts.update(str(token) for token in np.asarray(row[place]).reshape(-1))
        least, most = freq_range or (None, None)
        chosen = [
            (-count, token) for token, count in counts.items()
            if (least is None or count >= least) and (most is None or count <= most)
        ]  # fmt: skip
        words = [token for _, token in sorted(chosen)][:top_k]
        return cls.from_list(words, special_tokens, special_first)

    def vocab(self) -> dict[str, int]:
        """{token: number}."""
        return dict(self._numbers)

    def tokens_to_ids(self, tokens: Any) -> Any:
        """The number of a token, or of each; -1 for those that there are not."""
        if isinstance(tokens, str):
            return self._numbers.get(tokens, -1)
        return [self._numbers.get(str(token), -1) for token in tokens]

    def ids_to_tokens(self, ids: Any) -> Any:
        """The token of a number, or of each; "" for those that there are not."""
        if isinstance(ids, (int, np.integer)):
            if ids < 0:
                raise ValueError(f"ids should not be negative, but got {ids}")
            return self._tokens.get(int(ids), "")
        return [self.ids_to_tokens(number) for number in ids]


class Lookup:
    """The numbers of tokens.

    Args:
        vocab: a :class:`Vocab`.
        unknown_token: takes the place of tokens that there are not; without it they raise.
        data_type: of the numbers.

    Raises:
        ValueError: the unknown token is not in the vocabulary.
        RuntimeError: a token is not, and there is no unknown one.
    """

    def __init__(self, vocab: Vocab, unknown_token: str | None = None, data_type: Any = int32):
        if not isinstance(vocab, Vocab):
            raise TypeError(f"vocab should be a Vocab, but got {vocab!r}")
        if unknown_token is not None and vocab.tokens_to_ids(unknown_token) < 0:
            raise ValueError(f"unknown_token: [{unknown_token}], does not exist in vocab.")
        self.numbers, self.type = vocab._numbers, as_dtype(data_type).np
        self.unknown = None if unknown_token is None else self.numbers[unknown_token]

    def __call__(self, data: Any) -> Any:
        array = np.asarray(data)
        found = []
        for token in array.reshape(-1).tolist():
            number = self.numbers.get(token, self.unknown)
            if number is None:
                raise RuntimeError(f"Lookup: the token {token!r} is not in the vocabulary, and "
                                   "there is no unknown_token")  # fmt: skip
            found.append(number)
        return np.array(found, self.type).reshape(array.shape)


