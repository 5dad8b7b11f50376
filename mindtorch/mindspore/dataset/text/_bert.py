"""BERT's tokens: words cut at white space, punctuation and Chinese characters, then into pieces."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np

from ._tokens import (
    NormalizeForm,
    NormalizeUTF8,
    Part,
    RegexTokenizer,
    Tokenizer,
    folded,
    pattern_of,
    tokens_of,
)
from ._vocab import Vocab

__all__ = ["BasicTokenizer", "BertTokenizer", "WordpieceTokenizer"]

_SIGNS = (
    r"[!-/]|[:-@]|[\[-`]|[{-~]|\p{P}|[\u4E00-\u9FFF]|[\u3400-\u4DBF]|[\U00020000-\U0002A6DF]|"
    r"[\U0002A700-\U0002B73F]|[\U0002B740-\U0002B81F]|[\U0002B820-\U0002CEAF]|[\uF900-\uFAFF]|"
    r"[\U0002F800-\U0002FA1F]"
)
_UNUSED = r"\[CLS\]|\[SEP\]|\[UNK\]|\[PAD\]|\[MASK\]|\[unused\d+\]"


class BasicTokenizer(Tokenizer):
    """Words, signs of punctuation and Chinese characters; control characters are white space.

    Args:
        lower_case: without case and accents.
        keep_whitespace: white space is a token too.
        normalization_form: Unicode's form, unless ``lower_case``.
        preserve_unused_token: [CLS], [SEP], [UNK], [PAD], [MASK] and [unused1] stay whole.
        with_offsets: also give where each token begins and ends, in bytes of UTF-8 of the text
            after it was made uniform: three arrays.
    """

    def __init__(
        self, lower_case: bool = False, keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True, with_offsets: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(with_offsets)
        self.lower, self.normal = lower_case, NormalizeUTF8(normalization_form)
        self.unused = pattern_of(_UNUSED) if preserve_unused_token else None
        unused = f"{_UNUSED}|" if preserve_unused_token else ""
        kept = rf"{unused}{_SIGNS}" + (r"|\s+" if keep_whitespace else "")
        self.words = RegexTokenizer(rf"{unused}\s+|{_SIGNS}", kept)
        self.accents, self.controls = pattern_of(r"\p{Mn}"), pattern_of(r"\p{Cc}|\p{Cf}")

    def uniform(self, text: str) -> str:
        """The text whose tokens are taken."""
        if self.lower:
            text = self.accents.sub("", unicodedata.normalize("NFD", self._folded(text)))
        else:
            text = self.normal.normal(text)
        return str(self.controls.sub(" ", text))

    def _folded(self, text: str) -> str:
        if self.unused is None:
            return folded(text)
        parts, begin = [], 0
        for match in self.unused.finditer(text):
            parts += [folded(text[begin : match.start()]), match.group()]
            begin = match.end()
        return "".join([*parts, folded(text[begin:])])

    def parts(self, text: str) -> Iterator[Part]:
        return self.words.parts(text)

    def __call__(self, data: Any) -> Any:
        return super().__call__(self.uniform(_single(data)))


def _single(data: Any) -> str:
    return str(np.asarray(data).reshape(-1)[0])


class WordpieceTokenizer(Tokenizer):
    """Words cut into the longest pieces that a vocabulary has, from the left.

    Args:
        vocab: a :class:`Vocab`.
        suffix_indicator: stands before pieces within a word.
        max_bytes_per_token: longer words are unknown.
        unknown_token: takes the place of words that cannot be cut so; with "" they stay.
        with_offsets: also give where each piece begins and ends in its word, in bytes of UTF-8:
            three arrays.
    """

    def __init__(
        self, vocab: Vocab, suffix_indicator: str = "##", max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]", with_offsets: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(with_offsets)
        if not isinstance(vocab, Vocab):
            raise TypeError(f"vocab should be a Vocab, but got {vocab!r}")
        if not isinstance(max_bytes_per_token, int) or max_bytes_per_token < 0:
            raise ValueError(f"max_bytes_per_token should be an int >= 0: {max_bytes_per_token!r}")
        self.known, self.suffix = vocab._numbers, suffix_indicator
        self.longest, self.unknown = max_bytes_per_token, unknown_token

    def pieces(self, word: str) -> list[tuple[str, int, int]]:
        """(piece, begin, end) of a word, in characters."""
        whole = [(self.unknown or word, 0, len(word))]
        if len(word.encode()) > self.longest:
            return whole
        found, begin = [], 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = (self.suffix if begin else "") + word[begin:end]
                if piece in self.known:
                    break
            else:
                return whole
            found.append((piece, begin, end))
            begin = end
        return found

    def __call__(self, data: Any) -> Any:
        words = [str(word) for word in np.asarray(data).reshape(-1)]
        return self.cut(words, np.zeros(len(words), np.uint32))

    def cut(self, words: list[str], places: Any) -> Any:
        """The pieces of words that begin at places in bytes."""
        texts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        for word, place in zip(words, places, strict=True):
            for piece, begin, end in self.pieces(word):
                texts.append(piece)
                starts.append(int(place) + len(word[:begin].encode()))
                ends.append(int(place) + len(word[:end].encode()))
        return tokens_of(texts, np.array(starts, np.uint32), np.array(ends, np.uint32),
                         self.with_offsets)  # fmt: skip


class BertTokenizer:
    """:class:`BasicTokenizer`, then :class:`WordpieceTokenizer`.

    Args:
        vocab, suffix_indicator, max_bytes_per_token, unknown_token: of the second.
        lower_case, keep_whitespace, normalization_form, preserve_unused_token: of the first.
        with_offsets: also give where each token begins and ends, in bytes of UTF-8: three arrays.
    """

    def __init__(
        self, vocab: Vocab, suffix_indicator: str = "##", max_bytes_per_token: int = 100,
        unknown_token: str = "[UNK]", lower_case: bool = False, keep_whitespace: bool = False,
        normalization_form: NormalizeForm = NormalizeForm.NONE,
        preserve_unused_token: bool = True, with_offsets: bool = False,
    ) -> None:  # fmt: skip
        self.basic = BasicTokenizer(
            lower_case, keep_whitespace, normalization_form, preserve_unused_token, True
        )
        self.pieces = WordpieceTokenizer(
            vocab, suffix_indicator, max_bytes_per_token, unknown_token, with_offsets
        )

    def __call__(self, data: Any) -> Any:
        words, starts, _ = self.basic(data)
        return self.pieces.cut([str(word) for word in words], starts)
