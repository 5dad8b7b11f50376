"""Where values lie: buffers of C arrays, views of them, and the plan of the arena."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.exporting.errors import UnsupportedOperatorError

__all__ = ["CTYPES", "Buffer", "Step", "View", "ctype_of", "place", "resolved"]

CTYPES = {"float": "f32", "int32_t": "i32", "uint8_t": "u8", "int8_t": "i8"}
_ALIGNED = 4  # elements: where buffers of the arena begin


def ctype_of(dtype: dtypes.DType) -> str:
    """The C type that elements of a dtype are held in: whole numbers in 32 bits.

    Raises:
        UnsupportedOperatorError: neither float32, a whole number nor a truth value.
    """
    if dtype is dtypes.float32:
        return "float"
    if dtype is dtypes.bool_:
        return "uint8_t"
    if dtype.category < dtypes.FLOAT:
        return "int32_t"
    raise UnsupportedOperatorError(f"{dtype.name} is not computed in C, float32 is")


class Buffer:
    """A C array.

    Attributes:
        ctype: of its elements.
        size: how many they are.
        text: the C expression that points to it; None for one in the arena, whose place is known
            once all steps are.
        constant: no step may write to it.
    """

    count = 0

    def __init__(self, ctype: str, size: int, text: str | None = None, constant: bool = False):
        Buffer.count += 1
        self.number = Buffer.count
        self.ctype, self.size, self.text, self.constant = ctype, size, text, constant

    def __str__(self) -> str:
        return self.text or f"@{self.number}@"


@dataclass(frozen=True)
class View:
    """Elements of a buffer, as a tensor with strides has them."""

    buffer: Buffer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @staticmethod
    def dense(buffer: Buffer, shape: Sequence[int]) -> View:
        """A tensor in C order."""
        shape = tuple(int(n) for n in shape)
        strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
        return View(buffer, shape, tuple(strides))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_dense(self) -> bool:
        """In C order without gaps."""
        expected = 1
        for n, stride in zip(reversed(self.shape), reversed(self.strides), strict=True):
            if n != 1 and stride != expected:
                return False
            expected *= n
        return True

    @property
    def is_whole(self) -> bool:
        """All of its buffer, in C order."""
        return self.is_dense and self.offset == 0 and self.size == self.buffer.size

    @property
    def pointer(self) -> str:
        """The C expression for the address of the first element."""
        return f"{self.buffer} + {self.offset}" if self.offset else str(self.buffer)

    def reshaped(self, shape: Sequence[int]) -> View | None:
        """The same elements in another shape, None where these must be copied for it."""
        shape = tuple(int(n) for n in shape)
        if self.is_dense:
            return View(self.buffer, shape, View.dense(self.buffer, shape).strides, self.offset)
        probe = np.lib.stride_tricks.as_strided(np.empty(1, np.int8), self.shape, self.strides)
        try:
            probe = np.reshape(probe, shape, copy=False)
        except ValueError:
            return None
        return View(self.buffer, shape, probe.strides, self.offset)


@dataclass
class Step:
    """C statements; buffers of the arena are written as ``@number@``.

    Attributes:
        text: the statements.
        comment: the op and the user's line.
        in_place: (result, input) that may be one array: element i is written after it is read.
    """

    text: str
    comment: str = ""
    in_place: list[tuple[Buffer, Buffer]] = field(default_factory=list)


_MENTION = re.compile(r"@(\d+)@")


def place(
    steps: Sequence[Step], buffers: dict[int, Buffer], kept: Iterable[Buffer] = ()
) -> tuple[dict[int, int], dict[str, int]]:
    """Where in the arena each buffer begins, and how many elements of each C type there are.

    Buffers whose lives do not meet share memory: the largest are placed first, each as far in front
    as those that live with it allow.

    Args:
        kept: live to the end.
    """
    lives: dict[int, list[int]] = {}
    for i, step in enumerate(steps):
        for number in map(int, _MENTION.findall(step.text)):
            lives.setdefault(number, [i, i])[1] = i
    for buffer in kept:
        if buffer.number in lives:
            lives[buffer.number][1] = len(steps)
    same = _shared(steps, buffers, lives)
    places: dict[int, int] = {}
    sizes: dict[str, int] = {}
    order = sorted(set(same.values()), key=lambda n: (-buffers[n].size, lives[n][0], n))
    for number in order:
        buffer, (first, last) = buffers[number], lives[number]
        taken = sorted(
            (places[n], places[n] + buffers[n].size) for n in places
            if buffers[n].ctype == buffer.ctype
            and lives[n][0] <= last and first <= lives[n][1]
        )  # fmt: skip
        at = 0
        for begin, end in taken:
            if at + buffer.size <= begin:
                break
            at = max(at, -(-end // _ALIGNED) * _ALIGNED)
        places[number] = at
        sizes[buffer.ctype] = max(sizes.get(buffer.ctype, 0), at + buffer.size)
    return {number: places[root] for number, root in same.items()}, sizes


def _shared(
    steps: Sequence[Step], buffers: dict[int, Buffer], lives: dict[int, list[int]]
) -> dict[int, int]:
    """For each buffer the one whose memory it has: results of steps in place that of an input."""
    same = {number: number for number in lives}
    for i, step in enumerate(steps):
        for result, given in step.in_place:
            if result.number not in lives or given.number not in lives:
                continue
            root = same[given.number]
            fits = result.size == given.size and result.ctype == given.ctype
            fresh = same[result.number] == result.number
            if fits and fresh and lives[root][1] == i and lives[result.number][0] == i:
                same[result.number] = root
                lives[root][1] = lives[result.number][1]
                break
    return same


def resolved(text: str, buffers: dict[int, Buffer], places: dict[int, int]) -> str:
    """Statements with the arena's places in them."""

    def put(match: re.Match[str]) -> str:
        number = int(match[1])
        at = places[number]
        return f"arena.{CTYPES[buffers[number].ctype]}" + (f" + {at}" if at else "")

    return _MENTION.sub(put, text)
