"""Plans: what each process writes or reads, and who makes them."""

from __future__ import annotations

import abc
import io
import math
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from .metadata import (
    STATE_DICT_TYPE,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)

__all__ = [
    "BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan",
    "SavePlanner", "TensorWriteData", "WriteItem", "WriteItemType",
]  # fmt: skip


class WriteItemType(Enum):
    """A whole tensor, a box of one, or an object."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """A tensor or an object."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes an object has."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A box of a tensor, the tensor's properties and its whole size."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Any


@dataclass(frozen=True)
class WriteItem:
    """Something to be written."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of the whole tensor; None of an object."""
        if self.tensor_data is None:
            return None
        return math.prod(self.tensor_data.size) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """Something to be read: a box of ``lengths`` in a stored entry, and where it goes."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Any
    storage_index: MetadataIndex
    storage_offsets: Any
    lengths: Any


@dataclass(frozen=True)
class SavePlan:
    """What a process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a process reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Decides what is saved: local plans everywhere, then a global one in the first process."""

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:  # fmt: skip
        """Begin to save.

        Args:
            state_dict: what is saved.
            storage_meta: of the storage.
            is_coordinator: whether this is the process that makes the global plan.
        """

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this process could write."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """What each process writes, and the checkpoint's description.

        Args:
            all_plans: the local plans.
        """

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Take over what this process writes.

        Args:
            new_plan: of the global plan.
        """

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Any:
        """What is written: a tensor, or bytes.

        Args:
            write_item: of the plan.
        """


class LoadPlanner(abc.ABC):
    """Decides what is loaded."""

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:  # fmt: skip
        """Begin to load.

        Args:
            state_dict: what is loaded into.
            metadata: the checkpoint's description.
            is_coordinator: whether this is the process that makes the global plan.
        """

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this process needs."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each process reads.

        Args:
            global_plan: the local plans.
        """

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Take over what this process reads.

        Args:
            central_plan: of the global plan.
        """

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Take an object.

        Args:
            read_item: of the plan.
            value: its bytes.
        """

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """The part of a tensor that is written over.

        Args:
            read_item: of the plan.
        """

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """Called when a tensor's part has been written.

        Args:
            read_item: of the plan.
            tensor: what :meth:`resolve_tensor` gave.
        """
