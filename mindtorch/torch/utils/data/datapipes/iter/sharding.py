"""A pipe of every n-th sample, for one of n readers."""

from __future__ import annotations

import enum
from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(enum.IntEnum):  # noqa: N801
    """What samples are divided over; what stands first divides first."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


_DEFAULT = SHARDING_PRIORITIES.DEFAULT


class _ShardingIterDataPipe(IterDataPipe[Any]):
    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: Any
    ) -> None:
        raise NotImplementedError


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_ShardingIterDataPipe):
    """Every n-th sample once ``apply_sharding`` said so; a DataLoader calls it.

    Args:
        source_datapipe: the samples.
        sharding_group_filter: the only kind of readers that counts.
    """

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        super().__init__()
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self._divide()

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: Any = _DEFAULT
    ) -> None:
        """Read for one of several.

        Args:
            num_of_instances: how many readers there are.
            instance_id: which one this is, from 0 on.
            sharding_group: what kind of readers they are.
        """
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than "
                f"num_of_instances({num_of_instances})"
            )
        if self.groups and (_DEFAULT in self.groups) != (sharding_group == _DEFAULT):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = (num_of_instances, instance_id)
        self._divide()

    def _divide(self) -> None:
        wanted = self.sharding_group_filter
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups, reverse=True):
            if wanted is None or group == wanted:
                count, place = self.groups[group]
                self.instance_id += self.num_of_instances * place
                self.num_of_instances *= count

    def __iter__(self) -> Any:
        for place, sample in enumerate(self.source_datapipe):
            if place % self.num_of_instances == self.instance_id:
                yield sample

    def __len__(self) -> int:
        count, left = divmod(self._length_of(self.source_datapipe), self.num_of_instances)
        return count + (self.instance_id < left)


_own_names(globals())
