"""Data sets: by index, by iteration, and made of others."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from mindtorch.torch._tensor.generator import default_generator
from mindtorch.torch.functions.random import randperm

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by key: subclasses define ``__getitem__``, and ``__len__`` for most samplers."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Any) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples in a stream: subclasses define ``__iter__``."""

    def __add__(self, other: Any) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[Any]):
    """Sample i is the tuple of the i-th slices of the tensors."""

    tensors: tuple[Any, ...]

    def __init__(self, *tensors: Any) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


def _items(dataset: Any, indices: list[Any]) -> list[Any]:
    several = getattr(dataset, "__getitems__", None)
    if not callable(several):
        return [dataset[i] for i in indices]
    items: list[Any] = several(indices)
    if len(items) != len(indices):
        raise ValueError(
            "Nested dataset's output size mismatch. Expected "
            f"{len(indices)}, got {len(items)}"
        )
    return items


class StackDataset(Dataset[Any]):
    """Samples of several data sets side by side, as a tuple or a dict."""

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        many = args or tuple(kwargs.values())
        self._length = len(many[0])
        if any(self._length != len(dataset) for dataset in many):
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        """The samples of several indices, each data set asked once where it can answer so."""
        if isinstance(self.datasets, dict):
            columns = [_items(dataset, indices) for dataset in self.datasets.values()]
            rows = zip(*columns, strict=True)
            return [dict(zip(self.datasets, row, strict=True)) for row in rows]
        return list(zip(*(_items(dataset, indices) for dataset in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Data sets one after another.

    Args:
        datasets: data sets with a length.
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Any) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    @property
    def cummulative_sizes(self) -> list[int]:
        """The misspelt name of ``cumulative_sizes``."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`",
            FutureWarning,
            stacklevel=2,
        )
        return self.cumulative_sizes

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        at = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[at - 1] if at else 0
        return self.datasets[at][index - before]


class ChainDataset(IterableDataset[Any]):
    """Streams one after another.

    Args:
        datasets: iterable data sets.
    """

    def __init__(self, datasets: Any) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        total = 0
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            total += len(dataset)  # type: ignore[arg-type]
        return total


class Subset(Dataset[T_co]):
    """The samples of a data set at the indices given.

    Args:
        dataset: a data set with items by index.
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        if callable(getattr(self.dataset, "__getitems__", None)):
            return list(self.dataset.__getitems__([self.indices[i] for i in indices]))
        return [self.dataset[self.indices[i]] for i in indices]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Any = default_generator
) -> list[Subset[Any]]:
    """Disjoint random subsets of the lengths, or fractions, given.

    Args:
        dataset: a data set with a length.
        generator: where the order is drawn from; None for the default generator.
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        sizes: list[int] = []
        for i, fraction in enumerate(lengths):
            if fraction < 0 or fraction > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
            sizes.append(math.floor(len(dataset) * fraction))
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
        for i, length in enumerate(lengths):
            if length == 0:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.",
                    stacklevel=2,
                )
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(sum(lengths), generator=generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [
        Subset(dataset, order[int(end - length) : int(end)])
        for end, length in zip(ends, lengths, strict=True)
    ]
