"""Words of Chinese texts, by the two algorithms of cppjieba over its files.

The most probable path through the words of a dictionary, and for characters that are left alone the
most probable sequence of begin, end, middle and single of a hidden Markov model.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._tokens import Part, Tokenizer

__all__ = ["JiebaMode", "JiebaTokenizer"]

_SEPARATORS = frozenset(" \t\n，。")
_NEVER = -3.14e100
_STATES = 4  # begin, end, middle, single
_ENDS = (1, 3)


class JiebaMode(enum.IntEnum):
    """Both algorithms, the dictionary's alone, or the Markov model's alone."""

    MIX, MP, HMM = range(3)


class _Words:
    """A dictionary: weights of words, and how long the longest one is."""

    def __init__(self, path: Path) -> None:
        counts: dict[str, float] = {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            fields = line.split()
            if len(fields) not in (2, 3):
                raise RuntimeError(f"line {number} of {path} is no word with its frequency")
            counts[fields[0]] = float(fields[1])
        if not counts:
            raise RuntimeError(f"{path} has no words")
        self.total = sum(counts.values())
        self.weights = {w: math.log(n / self.total) for w, n in counts.items() if n > 0}
        ordered = sorted(self.weights.values())
        self.least, self.usual = ordered[0], ordered[len(ordered) // 2]
        self.longest = max(map(len, self.weights))
        self.own: set[str] = set()

    def add(self, word: str, count: int | None) -> None:
        """A user's word; of the median weight without a count."""
        self.weights[word] = self.usual if count is None else math.log(count / self.total)
        self.longest = max(self.longest, len(word))
        self.own.add(word)

    def cut(self, text: str) -> Iterator[Part]:
        """The most probable words: the weight of what follows each place, from the end."""
        size = len(text)
        best = [(0.0, size)] * (size + 1)
        for begin in range(size - 1, -1, -1):
            found = (_NEVER, begin + 1)
            for end in range(begin + 1, min(size, begin + self.longest) + 1):
                weight = self.weights.get(text[begin:end])
                if weight is None:
                    if end > begin + 1:
                        continue
                    weight = self.least
                total = weight + best[end][0]
                if total > found[0]:
                    found = total, end
            best[begin] = found
        begin = 0
        while begin < size:
            yield begin, best[begin][1]
            begin = best[begin][1]


class _Model:
    """A hidden Markov model: probabilities of first states, of changes, and of characters."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        lines = [line for line in lines if line.strip() and not line.startswith("#")]
        if len(lines) != 1 + 2 * _STATES:
            raise RuntimeError(f"{path} has {len(lines)} lines of numbers, a model {1 + 2 * 4}")
        self.first = [float(x) for x in lines[0].split()]
        self.change = [[float(x) for x in line.split()] for line in lines[1 : 1 + _STATES]]
        self.shown = [_emissions(line) for line in lines[1 + _STATES :]]

    def _states(self, text: str) -> list[int]:
        """The most probable states of the characters."""
        shown = [[each.get(c, _NEVER) for each in self.shown] for c in text]
        weights, paths = [a + b for a, b in zip(self.first, shown[0], strict=True)], []
        for given in shown[1:]:
            came = []
            after = []
            for state in range(_STATES):
                totals = [weights[old] + self.change[old][state] + given[state] for old in
                          range(_STATES)]  # fmt: skip
                best = max(totals)
                came.append(totals.index(best) if best > _NEVER else 1)
                after.append(max(best, _NEVER))
            weights = after
            paths.append(came)
        states = [1 if weights[1] >= weights[3] else 3]
        for came in reversed(paths):
            states.append(came[states[-1]])
        return states[::-1]

    def cut(self, text: str) -> Iterator[Part]:
        """Words of a text; what is ASCII is cut by letters and numbers."""
        begin = at = 0
        while at < len(text):
            if not text[at].isascii():
                at += 1
                continue
            yield from self._chinese(text, begin, at)
            begin, at = at, _ascii_end(text, at)
            yield begin, at
            begin = at
        yield from self._chinese(text, begin, at)

    def _chinese(self, text: str, begin: int, end: int) -> Iterator[Part]:
        if begin == end:
            return
        left = begin
        for number, state in enumerate(self._states(text[begin:end]), begin + 1):
            if state in _ENDS:
                yield left, number
                left = number


def _emissions(line: str) -> dict[str, float]:
    """{character: weight} of "c:w,c:w"; a comma may itself be a character."""
    pairs = (pair.rpartition(":") for pair in line.strip().split(",") if ":" in pair)
    return {character: float(weight) for character, _, weight in pairs}


def _ascii_end(text: str, begin: int) -> int:
    """Where a word of letters and digits, or a number, ends."""
    first, end = text[begin], begin + 1
    if first.isalpha():
        while end < len(text) and text[end].isascii() and text[end].isalnum():
            end += 1
    elif first.isdigit():
        while end < len(text) and (text[end] in ".0123456789"):
            end += 1
    return end


class JiebaTokenizer(Tokenizer):
    """Words of a Chinese text.

    Args:
        hmm_path: cppjieba's hmm_model.utf8: weights of first states, of changes, of characters.
        mp_path: cppjieba's jieba.dict.utf8: lines of a word, its count and its kind.
        mode: which algorithm.
        with_offsets: also give where each token begins and ends, in bytes of UTF-8: three arrays.
    """

    def __init__(
        self, hmm_path: Any, mp_path: Any, mode: JiebaMode = JiebaMode.MIX,
        with_offsets: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(with_offsets)
        if not isinstance(mode, JiebaMode):
            raise TypeError("Wrong input type for mode, should be JiebaMode.")
        for path in (hmm_path, mp_path):
            if not Path(path).is_file():
                raise ValueError(f" jieba mode file {path} is not exist.")
        self.mode = mode
        self.model, self.words = _Model(Path(hmm_path)), _Words(Path(mp_path))

    def add_word(self, word: str, freq: int | None = None) -> None:
        """One more word.

        Args:
            freq: the more, the likelier it is found.

        Raises:
            TypeError: freq is not a whole number.
            ValueError: the word is empty, or freq negative.
        """
        if not isinstance(word, str) or (freq is not None and not isinstance(freq, int)):
            raise TypeError(f"a word is a str, freq an int, but got {word!r}, {freq!r}")
        if not word or (freq is not None and freq < 1):
            raise ValueError(f"word should not be empty, freq be positive: {word!r}, {freq!r}")
        self.words.add(word, freq)

    def add_dict(self, user_dict: Any) -> None:
        """More words: {word: count}, or a file with lines of a word and, if known, its count."""
        if not isinstance(user_dict, dict):
            lines = Path(user_dict).read_text(encoding="utf-8").splitlines()
            fields = [line.split() for line in lines if line.strip()]
            user_dict = {row[0]: int(row[1]) if len(row) > 1 else None for row in fields}
        for word, count in user_dict.items():
            self.add_word(word, count)

    def parts(self, text: str) -> Iterator[Part]:
        begin = 0
        for end in range(len(text) + 1):
            if end == len(text) or text[end] in _SEPARATORS:
                yield from ((begin + a, begin + b) for a, b in self._cut(text[begin:end]))
                if end < len(text):
                    yield end, end + 1
                begin = end + 1

    def _cut(self, text: str) -> Iterator[Part]:
        """Words of a text without separators."""
        if not text:
            return
        if self.mode is not JiebaMode.MIX:
            yield from (self.words if self.mode is JiebaMode.MP else self.model).cut(text)
            return
        alone: list[Part] = []  # characters that the dictionary leaves alone
        for begin, end in [*self.words.cut(text), (len(text), len(text))]:
            if end - begin == 1 and text[begin] not in self.words.own:
                alone.append((begin, end))
                continue
            if alone:
                start = alone[0][0]
                found = self.model.cut(text[start : alone[-1][1]])
                yield from ((start + a, start + b) for a, b in found)
                alone = []
            if end > begin:
                yield begin, end
