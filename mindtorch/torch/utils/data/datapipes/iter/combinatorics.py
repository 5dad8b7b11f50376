"""Pipes of the same samples in another order."""

from __future__ import annotations

import random
from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from ...sampler import SequentialSampler, draw_seed
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe[Any]):
    """What a sampler gives of a pipe.

    Args:
        datapipe: a pipe with a length.
        sampler: the sampler's class; it gets the pipe as ``data_source``.
        sampler_args: its further arguments.
        sampler_kwargs: its further arguments by keyword.
    """

    def __init__(
        self,
        datapipe: Any,
        sampler: Any = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not hasattr(type(datapipe), "__len__"):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        super().__init__()
        self.datapipe = datapipe
        self.sampler_args = () if sampler_args is None else sampler_args
        self.sampler_kwargs = {} if sampler_kwargs is None else sampler_kwargs
        self.sampler_kwargs["data_source"] = datapipe
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self) -> Any:
        return iter(self.sampler)

    def __len__(self) -> int:
        return self._length_of(self.sampler)


class Shuffles:
    """What pipes that shuffle share: whether they do, and the seed of the next iteration."""

    def _begin_shuffling(self) -> None:
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> Any:
        """Whether the order changes, ``shuffle``; returns the pipe."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Any:
        """Take ``seed`` for the next iteration; returns the pipe."""
        self._seed = seed
        return self

    def _take_seed(self) -> None:
        """Seed the order: with the seed that was set, or one of the default generator."""
        self._rng.seed(draw_seed() if self._seed is None else self._seed)
        self._seed = None


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Shuffles, IterDataPipe[Any]):
    """Samples drawn from a buffer of those that come next.

    Args:
        datapipe: the samples.
        buffer_size: how many are held.
        unbatch_level: take batches apart first, as ``unbatch`` does.
    """

    def __init__(
        self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0
    ) -> None:
        super().__init__()
        self._buffer: list[Any] = []
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe
        if unbatch_level != 0:
            self.datapipe = datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size
        self._begin_shuffling()

    def __iter__(self) -> Any:
        if not self._enabled:
            yield from self.datapipe
            return
        held = self._buffer
        for sample in self.datapipe:
            if len(held) < self.buffer_size:
                held.append(sample)
                continue
            place = self._rng.randint(0, len(held) - 1)
            drawn, held[place] = held[place], sample
            yield drawn
        while held:
            yield held.pop(self._rng.randint(0, len(held) - 1))

    def __len__(self) -> int:
        return self._length_of(self.datapipe)

    def reset(self) -> None:
        """Hold nothing, and begin another order."""
        self._buffer = []
        if self._enabled:
            self._take_seed()


_own_names(globals())
