"""The share of a data set that one of several processes takes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch._tensor.generator import Generator
from mindtorch.torch.functions.random import randperm

from .sampler import Sampler


class DistributedSampler(Sampler[Any]):
    """Every ``num_replicas``-th sample of an order that all processes share.

    Args:
        dataset: the data set.
        num_replicas: the number of processes; the current process group's without it.
        rank: this process's number.
        shuffle: whether the order is random, from ``seed + epoch``.
        drop_last: cut the tail that does not go round, instead of repeating samples to fill it.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            distributed = torch.distributed
            if not distributed.is_available():
                raise RuntimeError("Requires distributed package to be available")
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        if drop_last and len(dataset) % num_replicas:
            self.num_samples = math.ceil((len(dataset) - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(len(dataset) / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[Any]:
        if self.shuffle:
            generator = Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = randperm(len(self.dataset), generator=generator).tolist()
        else:
            indices = list(range(len(self.dataset)))
        if not self.drop_last:
            missing = self.total_size - len(indices)
            if missing <= len(indices):
                indices += indices[:missing]
            else:
                indices += (indices * math.ceil(missing / len(indices)))[:missing]
        else:
            indices = indices[: self.total_size]
        if len(indices) != self.total_size:
            raise AssertionError(
                f"Number of indices ({len(indices)}) does not match total_size ({self.total_size})"
            )
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Give the next epoch another random order."""
        self.epoch = epoch
