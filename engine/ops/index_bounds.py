"""Which inputs of an op are indices, and what they index: ``Op(..., index_bounds=...)``.

Such a function takes the inputs and the params and gives a :class:`Bound` for each index tensor. By
these lazy and compiled code finds indices out of range where eager code finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Bound(NamedTuple):
    """An index tensor and its range.

    Attributes:
        size: the first index that is too large.
        from_end: whether -1 to -size count from the end.
        ignored: an index that stands for none.
    """

    index: Any
    size: Any
    from_end: bool = False
    ignored: Any = None


Bounds = Callable[[Any, Any], Iterator[Bound]]


def along_axis(inputs: Any, params: Any) -> Iterator[Bound]:
    """Input 1 indexes the axis ``axis`` of input 0."""
    shape = inputs[0].aval.shape
    yield Bound(inputs[1], shape[params["axis"]] if shape else 1)


def each_axis(first: int) -> Bounds:
    """The inputs from number ``first`` on index an axis each of input 0, or are None."""

    def bounds(inputs: Any, params: Any) -> Iterator[Bound]:
        for size, index in zip(inputs[0].aval.shape, inputs[first:], strict=False):
            if index is not None:
                yield Bound(index, size, from_end=True)

    return bounds


def of_rows(inputs: Any, params: Any) -> Iterator[Bound]:
    """Input 1 indexes the rows of input 0."""
    for rows in inputs[0].aval.shape[:1]:
        yield Bound(inputs[1], rows)


def of_classes(inputs: Any, params: Any) -> Iterator[Bound]:
    """Input 1 indexes axis 1 of input 0; ``ignore_index`` stands for none."""
    for classes in inputs[0].aval.shape[1:2]:
        yield Bound(inputs[1], classes, ignored=params["ignore_index"])


def of_all_elements(inputs: Any, params: Any) -> Iterator[Bound]:
    """Input 1 indexes all elements of input 0 in a row."""
    yield Bound(inputs[1], inputs[0].aval.size, from_end=True)
