"""Orders in which rows are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..common import get_seed
from .config import seed_now

__all__ = [
    "DistributedSampler", "PKSampler", "RandomSampler", "Sampler", "SequentialSampler",
    "SubsetRandomSampler", "SubsetSampler", "WeightedRandomSampler",
]  # fmt: skip


class Sampler:
    """Base of samplers. Subclasses define ``__iter__``, which yields numbers of rows; ``size`` is
    the number of rows there are, known when the data set is made.

    Args:
        num_samples: how many numbers are used.
    """

    def __init__(self, num_samples: int | None = None) -> None:
        if num_samples is not None and num_samples < 0:
            raise ValueError(f"num_samples should not be negative, but got {num_samples}")
        self.num_samples = num_samples or None
        self.size, self.dataset, self.epoch = 0, None, 0
        self.child: Any = None
        self._seed = seed_now()

    def add_child(self, sampler: Any) -> None:
        """Choose among what another sampler yields."""
        if self.child is not None:
            raise RuntimeError("Cannot add child sampler, this sampler already has a child.")
        self.child = sampler

    def __iter__(self) -> Iterator[int]:
        raise NotImplementedError

    def draw(self) -> Any:
        """A generator of this epoch's numbers."""
        return np.random.default_rng([self._seed, self.epoch])

    def order(self, dataset: Any, epoch: int) -> Any:
        """The numbers of the rows of ``dataset`` in an epoch."""
        self.dataset, self.epoch = dataset, epoch
        if self.child is None:
            self.size = dataset.length
            chosen = np.fromiter(self, np.int64)
        else:
            below = self.child.order(dataset, epoch)
            self.size = len(below)
            chosen = below[np.fromiter(self, np.int64)]
        return chosen[: self.num_samples]


class SequentialSampler(Sampler):
    """One row after another, from ``start_index`` on."""

    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.start = start_index or 0

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.size))


class RandomSampler(Sampler):
    """Another order in each epoch.

    Args:
        replacement: a row may come again.
    """

    def __init__(self, replacement: bool = False, num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        self.replacement = replacement

    def __iter__(self) -> Iterator[int]:
        if self.replacement:
            return iter(self.draw().integers(0, self.size, self.num_samples or self.size))
        return iter(self.draw().permutation(self.size))


class SubsetSampler(Sampler):
    """The rows of ``indices``, in their order."""

    def __init__(self, indices: Sequence[int], num_samples: int | None = None) -> None:
        super().__init__(num_samples)
        given = [indices] if isinstance(indices, int) else list(indices)
        self.indices = [int(i) for i in given]

    def __iter__(self) -> Iterator[int]:
        outside = [i for i in self.indices if not 0 <= i < self.size]
        if outside:
            raise RuntimeError(
                f"Sampler indices, {outside[0]} are out of bounds: the data set has {self.size} "
                "rows"
            )
        return iter(self.indices)


class SubsetRandomSampler(SubsetSampler):
    """The rows of ``indices`` in another order in each epoch."""

    def __iter__(self) -> Iterator[int]:
        return iter(self.draw().permutation(list(super().__iter__())))


class WeightedRandomSampler(Sampler):
    """Rows drawn with chances in proportion to ``weights``.

    Args:
        replacement: a row may come again.
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int | None = None, replacement: bool = True
    ) -> None:
        super().__init__(num_samples)
        self.weights = np.asarray(weights, np.float64)
        if self.weights.ndim != 1 or not self.weights.size:
            raise TypeError("weights should be a row of numbers")
        if (self.weights < 0).any() or not self.weights.any():
            raise ValueError("weights should not be negative, and not all zero")
        self.replacement = replacement

    def __iter__(self) -> Iterator[int]:
        count = self.num_samples or len(self.weights)
        chances = self.weights / self.weights.sum()
        return iter(self.draw().choice(len(chances), count, self.replacement, chances))


class DistributedSampler(Sampler):
    """The rows of one of ``num_shards`` processes: every ``num_shards``-th.

    Args:
        shuffle: another order in each epoch, the same on all processes when the common seed is
            set.
        offset: the process that begins; -1 for the first.
    """

    def __init__(
        self, num_shards: int, shard_id: int, shuffle: bool = True, num_samples: int | None = None,
        offset: int = -1,
    ) -> None:  # fmt: skip
        super().__init__(num_samples)
        if num_shards < 1 or not 0 <= shard_id < num_shards:
            raise ValueError(f"shard_id {shard_id} is not within 0 and num_shards {num_shards}")
        if offset > num_shards:
            raise RuntimeError("offset should not be more than num_shards")
        self.num_shards, self.shard_id = num_shards, shard_id
        self.shuffle, self.offset = shuffle, max(offset, 0)
        # every process draws the same order
        self._seed = get_seed() or 0

    def __iter__(self) -> Iterator[int]:
        order = self.draw().permutation(self.size) if self.shuffle else np.arange(self.size)
        each = -(-self.size // self.num_shards)
        first = (self.shard_id - self.offset) % self.num_shards
        return iter(np.resize(order, each * self.num_shards)[first :: self.num_shards])


class PKSampler(Sampler):
    """``num_val`` rows of each of ``num_class`` classes (all when None).

    Args:
        shuffle: another choice and order in each epoch.
        class_column: the column of the class.
    """

    def __init__(
        self, num_val: int, num_class: int | None = None, shuffle: bool = False,
        class_column: str = "label", num_samples: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(num_samples)
        if num_val < 1:
            raise ValueError(f"num_val should be positive, but got {num_val}")
        if num_class is not None:
            raise NotImplementedError("Not supported to specify num_class for PKSampler.")
        self.num_val, self.shuffle, self.column = num_val, shuffle, class_column

    def __iter__(self) -> Iterator[int]:
        dataset: Any = self.dataset
        place = dataset.check_columns([self.column])[0]
        labels = [int(np.asarray(dataset.row(i)[place])) for i in range(dataset.length)]
        draw, chosen = self.draw(), []
        for label in sorted(set(labels)):
            rows = np.flatnonzero(np.asarray(labels) == label)
            rows = draw.permutation(rows) if self.shuffle else rows
            chosen += list(np.resize(rows, self.num_val))
        return iter(draw.permutation(chosen) if self.shuffle else chosen)
