"""Operations on columns of any kind."""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from mindtorch.engine import dtypes

from ..common.dtype import as_dtype
from ._random import draw

__all__ = [
    "Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "PadEnd", "RandomApply",
    "RandomChoice", "RandomOrder", "Relational", "Slice", "TypeCast", "Unique",
]  # fmt: skip


class TypeCast:
    """The array cast to a type."""

    def __init__(self, output_type: Any) -> None:
        self.type = as_dtype(output_type).np

    def __call__(self, data: Any) -> Any:
        return np.asarray(data).astype(self.type)


class Compose:
    """Functions, one after another."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = list(transforms)
        for each in self.transforms:
            if not callable(each):
                raise TypeError(f"transforms should be functions, but got {each!r}")

    def __call__(self, *data: Any) -> Any:
        values: Any = data
        for transform in self.transforms:
            values = transform(*values)
            values = values if isinstance(values, tuple) else (values,)
        return values[0] if len(values) == 1 else values


class OneHot:
    """A row with 1 at the label and 0 elsewhere; with ``smoothing_rate`` that share is spread."""

    def __init__(self, num_classes: int, smoothing_rate: float = 0.0) -> None:
        if num_classes < 1 or not 0 <= smoothing_rate <= 1:
            raise ValueError(f"num_classes {num_classes}, smoothing_rate {smoothing_rate}")
        self.count, self.rate = num_classes, smoothing_rate

    def __call__(self, label: Any) -> Any:
        labels = np.asarray(label)
        if labels.size and not 0 <= labels.min() <= labels.max() < self.count:
            raise RuntimeError(f"OneHot: a label is not within 0 and {self.count}")
        rows = labels.reshape(-1, 1) == np.arange(self.count)
        rows = rows.reshape((*(labels.shape if labels.shape != (1,) else ()), self.count))
        if self.rate == 0:
            return rows.astype(labels.dtype)
        return np.where(rows, 1 - self.rate + self.rate / self.count,
                        self.rate / self.count).astype(np.float64)  # fmt: skip


class Fill:
    """Every element ``fill_value``."""

    def __init__(self, fill_value: Any) -> None:
        self.value = fill_value

    def __call__(self, data: Any) -> Any:
        return np.full_like(data, self.value)


class Relational(IntEnum):
    """How :class:`Mask` compares: equal, not equal, greater, at least, less, at most."""

    EQ, NE, GT, GE, LT, LE = range(6)


class Mask:
    """Where an element is as ``operator`` says of it and ``constant``.

    Args:
        operator: a :class:`Relational`.
        constant: a number.
        dtype: of the result.
    """

    def __init__(self, operator: Relational, constant: Any, dtype: Any = dtypes.bool_) -> None:
        if not isinstance(operator, Relational):
            raise TypeError(f"operator should be a Relational, but got {operator!r}")
        self.compare = getattr(operators, operator.name.lower())
        self.constant, self.type = constant, as_dtype(dtype).np

    def __call__(self, data: Any) -> Any:
        return self.compare(np.asarray(data), self.constant).astype(self.type)


class Slice:
    """Parts of an array.

    Args:
        slices: for each axis a place, several places, a slice, or all: None or Ellipsis. Axes of
            one place stay, with length 1.
    """

    def __init__(self, *slices: Any) -> None:
        self.slices = slices

    def __call__(self, data: Any) -> Any:
        result = np.asarray(data)
        for axis, chosen in enumerate(self.slices):
            if chosen is Ellipsis or chosen is None or chosen is True:
                continue
            places = np.arange(result.shape[axis])[chosen]
            result = result.take(np.atleast_1d(places), axis)
        return result


class Concatenate:
    """Arrays one after another along ``axis``, between ``prepend`` and ``append``."""

    def __init__(self, axis: int = 0, prepend: Any = None, append: Any = None) -> None:
        self.axis, self.prepend, self.append = axis, prepend, append

    def __call__(self, *data: Any) -> Any:
        parts = [p for p in (self.prepend, *data, self.append) if p is not None]
        return np.concatenate(parts, self.axis)


class PadEnd:
    """The array filled up (or cut) at its end to a shape."""

    def __init__(self, pad_shape: Sequence[int | None], pad_value: Any = 0) -> None:
        self.shape, self.value = list(pad_shape), pad_value

    def __call__(self, data: Any) -> Any:
        array = np.asarray(data)
        shape = [n if n is not None else m for n, m in zip(self.shape, array.shape, strict=True)]
        result = np.full(shape, self.value, array.dtype)
        part = tuple(slice(min(n, m)) for n, m in zip(shape, array.shape, strict=True))
        result[part] = array[part]
        return result


class Padding:
    """The arrays of a batch filled up (or cut) at their ends to one shape.

    Args:
        shape: None for the largest length of the batch, as a whole or for an axis.
        value: None is 0.
    """

    def __init__(self, shape: Sequence[int | None] | None, value: Any) -> None:
        self.shape, self.value = shape, 0 if value is None else value

    def __call__(self, arrays: Any) -> list[Any]:
        arrays = [np.asarray(each) for each in arrays]
        largest = [max(lengths) for lengths in zip(*(a.shape for a in arrays), strict=True)]
        shape = [None] * len(largest) if self.shape is None else list(self.shape)
        if len(shape) != len(largest):
            raise RuntimeError(
                f"padded_batch: pad_info has the shape {shape}, and rows have {len(largest)} axes"
            )
        full = PadEnd([m if n is None else n for n, m in zip(shape, largest, strict=True)],
                      self.value)  # fmt: skip
        return [full(each) for each in arrays]


class Duplicate:
    """The array, and a copy."""

    def __call__(self, data: Any) -> Any:
        return data, np.array(data)


class Unique:
    """(distinct elements, where each element is among them, how often each occurs)."""

    def __call__(self, data: Any) -> Any:
        values, places, counts = np.unique(
            np.asarray(data).reshape(-1), return_inverse=True, return_counts=True
        )
        return values, places.astype(np.int32), counts.astype(np.int32)


class RandomApply:
    """All functions, with probability ``prob``, or none."""

    def __init__(self, transforms: Sequence[Callable[..., Any]], prob: float = 0.5) -> None:
        self.all, self.prob = Compose(transforms), prob

    def __call__(self, data: Any) -> Any:
        return self.all(data) if draw().random_sample() < self.prob else data


class RandomChoice:
    """One of the functions, drawn at random."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = Compose(transforms).transforms

    def __call__(self, data: Any) -> Any:
        return self.transforms[draw().randint(len(self.transforms))](data)


class RandomOrder:
    """All functions, in random order."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = Compose(transforms).transforms

    def __call__(self, data: Any) -> Any:
        for place in draw().permutation(len(self.transforms)):
            data = self.transforms[place](data)
        return data
