"""What a storage of checkpoints has to do."""

from __future__ import annotations

import abc
import os
from dataclasses import dataclass
from typing import Any

from ...futures import Future
from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclass(frozen=True)
class WriteResult:
    """Where an entry was written, and its length in bytes."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """Writes checkpoints."""

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """A new checkpoint is going to be written.

        Args:
            checkpoint_id: its name; None for the one that the storage has.
        """

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Begin to write.

        Args:
            is_coordinator: whether this process calls :meth:`finish`.
            args, kwargs: ``rank`` and ``use_collectives``, for those that take them.
        """

    @abc.abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """The plan with what the storage adds.

        Args:
            plan: of this process.
        """

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """The plans with what the storage adds.

        Args:
            plans: of all processes.
        """

    @abc.abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        """Write; a future of a list of :class:`WriteResult`.

        Args:
            plan: of this process.
            planner: gives the data.
        """

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """All processes have written: make the checkpoint valid.

        Args:
            metadata: its description.
            results: what the processes wrote.
        """

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether the storage can have a checkpoint of that name.

        Args:
            checkpoint_id: the name.
        """

    def storage_meta(self) -> StorageMeta | None:
        """What the storage says of a checkpoint."""
        return None


class StorageReader(abc.ABC):
    """Reads checkpoints."""

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Another checkpoint is going to be read.

        Args:
            checkpoint_id: its name; None for the one that the storage has.
        """

    @abc.abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The checkpoint's description.

        Args:
            args, kwargs: ``rank``, for those that take it.
        """

    @abc.abstractmethod
    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Begin to read.

        Args:
            metadata: the checkpoint's description.
            is_coordinator: whether this process makes the global plan.
            args, kwargs: ``rank`` and ``use_collectives``, for those that take them.
        """

    @abc.abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan with what the storage adds.

        Args:
            plan: of this process.
        """

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans with what the storage adds.

        Args:
            plans: of all processes.
        """

    @abc.abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Read; a future that is set when all is done.

        Args:
            plan: of this process.
            planner: takes the data.
        """

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether the storage can have a checkpoint of that name.

        Args:
            checkpoint_id: the name.
        """
