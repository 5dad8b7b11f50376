"""Texts cut into tokens, and texts made uniform before that.

Patterns and properties of Unicode are those of the package ``regex``.
"""

from __future__ import annotations

import enum
import functools
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

try:
    import regex
except ImportError:  # told when a pattern is used
    regex = None

__all__ = [
    "CaseFold", "NormalizeForm", "NormalizeUTF8", "PythonTokenizer", "RegexReplace",
    "RegexTokenizer", "UnicodeCharTokenizer", "UnicodeScriptTokenizer", "WhitespaceTokenizer",
]  # fmt: skip

Part = tuple[int, int]  # begin and end of a token in a text


class NormalizeForm(enum.IntEnum):
    """Which of Unicode's normal forms."""

    NONE, NFC, NFKC, NFD, NFKD = range(5)


def pattern_of(pattern: str) -> Any:
    """A compiled pattern.

    Raises:
        ValueError: it is no pattern.
    """
    if regex is None:
        raise ImportError("patterns and scripts of texts need the package regex")
    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None


def text_of(data: Any) -> str:
    """The text of an array without axes.

    Raises:
        RuntimeError: it is no text, or several.
    """
    array = np.asarray(data)
    if array.dtype.kind not in "US" or array.size != 1:
        raise RuntimeError(
            f"a single text is needed, but got {array.dtype} of shape {array.shape}"
        )
    value = array.reshape(-1)[0]
    return value.decode() if isinstance(value, bytes) else str(value)


def mapped_texts(data: Any, function: Callable[[str], str]) -> Any:
    """An array of texts, each changed by a function."""
    array = np.asarray(data)
    if array.dtype.kind not in "US":
        raise RuntimeError(f"texts are needed, but got {array.dtype}")
    changed = [function(text_of(value)) for value in array.reshape(-1)]
    return np.array(changed, dtype=np.str_).reshape(array.shape)


def byte_places(text: str, places: list[int]) -> Any:
    """Places in a text, in bytes of UTF-8."""
    sizes = np.cumsum([0, *(len(c.encode()) for c in text)])
    return sizes[places].astype(np.uint32)


def tokens_of(texts: list[str], starts: Any, ends: Any, with_offsets: bool) -> Any:
    """Tokens, and with them where they begin and end; one empty token where there is none."""
    if not texts:
        texts, starts, ends = [""], np.zeros(1, np.uint32), np.zeros(1, np.uint32)
    tokens = np.array(texts, dtype=np.str_)
    return (tokens, starts, ends) if with_offsets else tokens


class Tokenizer:
    """Base of tokenizers: subclasses define ``parts``.

    Args:
        with_offsets: also give where each token begins and ends, in bytes of UTF-8: three arrays.
    """

    def __init__(self, with_offsets: bool = False) -> None:
        if not isinstance(with_offsets, bool):
            raise TypeError(f"with_offsets should be a bool, but got {with_offsets!r}")
        self.with_offsets = with_offsets

    def parts(self, text: str) -> Iterator[Part]:
        """Where tokens begin and end."""
        raise NotImplementedError

    def __call__(self, data: Any) -> Any:
        text = text_of(data)
        parts = [(a, b) for a, b in self.parts(text) if a < b]
        texts = [text[a:b] for a, b in parts]
        if not self.with_offsets:
            return tokens_of(texts, None, None, False)
        starts = byte_places(text, [a for a, _ in parts])
        return tokens_of(texts, starts, byte_places(text, [b for _, b in parts]), True)


def runs(text: str, kind: Callable[[str], Any]) -> Iterator[tuple[int, int, Any]]:
    """(begin, end, kind) of neighbours of one kind."""
    begin = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or kind(text[place]) != kind(text[begin]):
            yield begin, place, kind(text[begin])
            begin = place


class WhitespaceTokenizer(Tokenizer):
    """What stands between white space.

    Args:
        with_offsets: also give where each token begins and ends, in bytes of UTF-8: three arrays.
    """

    def parts(self, text: str) -> Iterator[Part]:
        return ((a, b) for a, b, space in runs(text, str.isspace) if not space)


class UnicodeCharTokenizer(Tokenizer):
    """Each character.

    Args:
        with_offsets: also give where each token begins and ends, in bytes of UTF-8: three arrays.
    """

    def parts(self, text: str) -> Iterator[Part]:
        return ((i, i + 1) for i in range(len(text)))


_SCRIPTS = (
    "Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi "
    "Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar "
    "Georgian Hangul Ethiopic Cherokee Canadian_Aboriginal Ogham Runic Khmer Mongolian Hiragana "
    "Katakana Bopomofo Han Yi Old_Italic Gothic Inherited Tagalog Limbu Tai_Le Braille Buginese "
    "Coptic Glagolitic Tifinagh Nko Balinese Javanese Sundanese Vai Lisu Bamum Meetei_Mayek Adlam"
)


@functools.cache
def _scripts() -> Any:
    names = _SCRIPTS.split()
    return pattern_of("|".join(rf"(\p{{Script={name}}})" for name in names))


@functools.lru_cache(maxsize=1 << 16)
def script_of(character: str) -> int:
    """A number of the character's script; 0 for what all scripts share, and white space."""
    found = None if character.isspace() else _scripts().fullmatch(character)
    return 0 if found is None else int(found.lastindex)


class UnicodeScriptTokenizer(Tokenizer):
    """Neighbours of one script; white space is apart.

    Args:
        keep_whitespace: white space is a token too.
        with_offsets: also give where each token begins and ends, in bytes of UTF-8: three arrays.
    """

    def __init__(self, keep_whitespace: bool = False, with_offsets: bool = False) -> None:
        super().__init__(with_offsets)
        self.keep = keep_whitespace

    def parts(self, text: str) -> Iterator[Part]:
        found = runs(text, lambda c: (script_of(c), c.isspace()))
        return ((a, b) for a, b, (_, space) in found if self.keep or not space)


class RegexTokenizer(Tokenizer):
    """What stands between the places that a pattern matches.

    Args:
        delim_pattern: the pattern.
        keep_delim_pattern: what of these matches this as a whole is a token too.
        with_offsets: also give where each token begins and ends, in bytes of UTF-8: three arrays.
    """

    def __init__(
        self, delim_pattern: str, keep_delim_pattern: str = "", with_offsets: bool = False
    ) -> None:
        super().__init__(with_offsets)
        self.delimiter = pattern_of(delim_pattern)
        self.kept = pattern_of(keep_delim_pattern) if keep_delim_pattern else None

    def parts(self, text: str) -> Iterator[Part]:
        begin = 0
        for match in self.delimiter.finditer(text):
            yield begin, match.start()
            if self.kept is not None and self.kept.fullmatch(match.group()):
                yield match.start(), match.end()
            begin = match.end()
        yield begin, len(text)


class PythonTokenizer:
    """A user's function from a text to a list of tokens."""

    def __init__(self, tokenizer: Callable[[str], Any]) -> None:
        if not callable(tokenizer):
            raise TypeError("Input tokenizer is not callable.")
        self.tokenizer = tokenizer

    def __call__(self, data: Any) -> Any:
        return np.array(self.tokenizer(text_of(data)))


class CaseFold:
    """Texts without differences of case: Unicode's NFKC_Casefold."""

    def __call__(self, data: Any) -> Any:
        return mapped_texts(data, folded)


def folded(text: str) -> str:
    """NFKC_Casefold of a text."""
    once = unicodedata.normalize("NFKC", text).casefold()
    shown = pattern_of(r"\p{Default_Ignorable_Code_Point}").sub("", once)
    return unicodedata.normalize("NFKC", shown)


class NormalizeUTF8:
    """Texts in one of Unicode's normal forms."""

    def __init__(self, normalize_form: NormalizeForm = NormalizeForm.NFKC) -> None:
        if not isinstance(normalize_form, NormalizeForm):
            raise TypeError(f"normalize_form should be a NormalizeForm, but got {normalize_form!r}")
        self.form = normalize_form

    def __call__(self, data: Any) -> Any:
        return mapped_texts(data, self.normal)

    def normal(self, text: str) -> str:
        """The normal form of a text."""
        form: Any = self.form.name
        return text if form == "NONE" else unicodedata.normalize(form, text)


class RegexReplace:
    """What a pattern matches, replaced.

    Args:
        pattern: a regular expression.
        replace: the new text; $1 is what the first group matched.
        replace_all: not only the first place.
    """

    def __init__(self, pattern: str, replace: str, replace_all: bool = True) -> None:
        self.pattern, self.count = pattern_of(pattern), 0 if replace_all else 1
        escaped = replace.replace("\\", "\\\\")
        self.replace = pattern_of(r"\$(\d+)").sub(r"\\g<\1>", escaped)

    def __call__(self, data: Any) -> Any:
        return mapped_texts(data, self.replaced)

    def replaced(self, text: str) -> str:
        """The changed text."""
        return str(self.pattern.sub(self.replace, text, count=self.count))
