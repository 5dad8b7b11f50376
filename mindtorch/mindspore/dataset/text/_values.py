"""Arrays of tokens: cut, joined, made into numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.dtype import as_dtype

__all__ = [
    "AddToken", "Ngram", "SlidingWindow", "ToNumber", "Truncate", "TruncateSequencePair",
    "to_bytes", "to_str",
]  # fmt: skip


class AddToken:
    """One more token at the beginning, or at the end, of the last axis.

    Args:
        token: a text.
        begin: at the beginning.
    """

    def __init__(self, token: str, begin: bool = True) -> None:
        if not isinstance(token, str) or not isinstance(begin, bool):
            raise TypeError(f"token {token!r} should be a str, begin {begin!r} a bool")
        self.token, self.begin = token, begin

    def __call__(self, data: Any) -> Any:
        array = np.asarray(data)
        if array.ndim not in (1, 2):
            raise RuntimeError(f"AddToken: tokens of 1 or 2 axes, but got {array.ndim}")
        token = np.full((*array.shape[:-1], 1), self.token)
        parts = [token, array] if self.begin else [array, token]
        return np.concatenate(parts, -1)


class Ngram:
    """``n`` neighbouring tokens as one text.

    Args:
        n: how many, or several numbers, one after another.
        left_pad, right_pad: (token, how many at most, never more than n - 1) at the ends.
        separator: between the tokens.
    """

    def __init__(
        self, n: Any, left_pad: tuple[str, int] = ("", 0), right_pad: tuple[str, int] = ("", 0),
        separator: str = " ",
    ) -> None:  # fmt: skip
        self.sizes = [n] if isinstance(n, int) else list(n)
        if not self.sizes or any(not isinstance(k, int) or k < 1 for k in self.sizes):
            raise ValueError(f"n should be positive ints, but got {n!r}")
        for pad in (left_pad, right_pad):
            if len(pad) != 2 or not isinstance(pad[0], str) or pad[1] < 0:
                raise ValueError(f"a padding is (token, count >= 0), but got {pad!r}")
        self.left, self.right, self.separator = left_pad, right_pad, separator

    def __call__(self, data: Any) -> Any:
        tokens = np.asarray(data)
        if tokens.ndim != 1 or tokens.dtype.kind not in "US":
            raise RuntimeError("Ngram: tokens along one axis")
        made = []
        for size in self.sizes:
            left = [self.left[0]] * min(self.left[1], size - 1)
            right = [self.right[0]] * min(self.right[1], size - 1)
            every = [*left, *tokens.tolist(), *right]
            joined = [
                self.separator.join(every[i : i + size]) for i in range(len(every) - size + 1)
            ]
            made += joined or [""]
        return np.array(made)


class SlidingWindow:
    """Windows of ``width`` neighbours along an axis, as one more axis behind it.

    Args:
        width: of a window; no window where there are fewer.
        axis: of an array of one axis.
    """

    def __init__(self, width: int, axis: int = 0) -> None:
        if not isinstance(width, int) or width < 1:
            raise ValueError(f"width should be a positive int, but got {width!r}")
        self.width, self.axis = width, axis

    def __call__(self, data: Any) -> Any:
        array = np.asarray(data)
        if array.ndim != 1 or self.axis not in (0, -1):
            raise RuntimeError("SlidingWindow: SlidingWindow supports 1D input only for now.")
        if len(array) < self.width:
            return array[:0]
        return np.lib.stride_tricks.sliding_window_view(array, self.width).copy()


class ToNumber:
    """Texts as numbers.

    Args:
        data_type: of the numbers.

    Raises:
        RuntimeError: a text is no number, or one that the type does not hold.
    """

    def __init__(self, data_type: Any) -> None:
        self.type = np.dtype(as_dtype(data_type).np)

    def __call__(self, data: Any) -> Any:
        array = np.asarray(data)
        kind: Any = int if self.type.kind in "iu" else float
        try:
            values = [kind(str(text)) for text in array.reshape(-1)]
        except ValueError:
            raise RuntimeError(f"ToNumber: {array!r} holds what is no {kind.__name__}") from None
        if kind is int and values:
            limits = np.iinfo(self.type)
            if min(values) < limits.min or max(values) > limits.max:
                raise RuntimeError(f"ToNumber: {array!r} holds what {self.type} does not hold")
        return np.array(values, self.type).reshape(array.shape)


class Truncate:
    """At most ``max_seq_len`` elements of the last axis."""

    def __init__(self, max_seq_len: int) -> None:
        if not isinstance(max_seq_len, int) or max_seq_len < 0:
            raise ValueError(f"max_seq_len should be an int >= 0, but got {max_seq_len!r}")
        self.length = max_seq_len

    def __call__(self, data: Any) -> Any:
        return np.asarray(data)[..., : self.length]


class TruncateSequencePair:
    """Two sequences, cut at their ends, always the longer one, to ``max_length`` together."""

    def __init__(self, max_length: int) -> None:
        if not isinstance(max_length, int) or max_length < 0:
            raise ValueError(f"max_length should be an int >= 0, but got {max_length!r}")
        self.length = max_length

    def __call__(self, first: Any, second: Any) -> tuple[Any, Any]:
        one, two = np.asarray(first), np.asarray(second)
        if one.ndim != 1 or two.ndim != 1:
            raise RuntimeError("TruncateSequencePair: sequences of one axis")
        excess = max(len(one) + len(two) - self.length, 0)
        apart = min(excess, abs(len(one) - len(two)))
        cut = [apart, 0] if len(one) > len(two) else [0, apart]
        rest = excess - apart
        # of equal lengths the second gives first
        cut = [cut[0] + rest // 2, cut[1] + rest - rest // 2]
        return one[: len(one) - cut[0]], two[: len(two) - cut[1]]


def to_bytes(array: Any, encoding: str = "utf8") -> Any:
    """Texts as numpy's bytes, in an encoding."""
    if not isinstance(array, np.ndarray):
        raise TypeError("input should be a NumPy array.")
    return np.char.encode(array, encoding)


def to_str(array: Any, encoding: str = "utf8") -> Any:
    """Numpy's bytes as texts, of an encoding."""
    if not isinstance(array, np.ndarray):
        raise TypeError("input should be a NumPy array.")
    return np.char.decode(array.astype(np.bytes_), encoding)


