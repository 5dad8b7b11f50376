"""Checkpoints in a folder: a file of entries from each process, and ``.metadata``.

Each entry is what ``torch.save`` writes. An older checkpoint in the folder stays whole until the
new one is: new files get names that it does not use, ``.metadata`` is replaced at once, and what
only the old one used is removed then. Killed at any moment, a save leaves one or the other.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import functools
import io
import os
import re
import uuid
import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import mindtorch.torch as torch

from ...futures import Future
from . import _metadata_file
from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from .planner_helpers import narrowed
from .staging import BlockingAsyncStager
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystem", "FileSystemReader", "FileSystemWriter", "SerializationFormat"]

_METADATA = ".metadata"
_SUFFIX = ".distcp"
_VERSION = "1.0.0"


@dataclasses.dataclass
class _StorageInfo:
    """Where an entry lies: a file, beginning and length in bytes, and how it was transformed."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if value is not None}


@dataclasses.dataclass
class _StoragePrefix:
    """How the names of a process's files begin."""

    prefix: str


class SerializationFormat(Enum):
    """What an entry's bytes are."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


class FileSystem:
    """The folders and files of this machine."""

    @staticmethod
    def init_path(path: str | os.PathLike[str]) -> Path:
        """The path.

        Args:
            path: of a folder.
        """
        return Path(path)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether a checkpoint can have that name: it, or a folder above it, can be written to.

        Args:
            checkpoint_id: the path of a folder.
        """
        if isinstance(checkpoint_id, Path):
            return True
        if "://" in str(checkpoint_id):
            return False
        path = Path(checkpoint_id).absolute()
        return any(os.access(each, os.W_OK) for each in (path, *path.parents) if each.exists())


def in_threads(tasks: Sequence[Callable[[], Any]], count: int) -> list[Any]:
    """What the tasks give, in their order; the first error, when all have ended."""
    if count <= 1 or len(tasks) <= 1:
        return [task() for task in tasks]
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(task) for task in tasks]
    return [future.result() for future in futures]


def finished(value: Any) -> Future:
    """A future that is set."""
    made: Any = Future()
    made.set_result(value)
    return made


class _InFolder:
    """A storage whose checkpoints are folders."""

    path: Path

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return FileSystem.validate_checkpoint_id(checkpoint_id)


class FileSystemWriter(_InFolder, BlockingAsyncStager, StorageWriter):
    """Writes checkpoints into a folder.

    Args:
        path: the folder; made where it is missing.
        single_file_per_rank: a file for each thread; else one for each entry.
        sync_files: wait until everything is on the disk.
        thread_count: how many threads write.
        per_thread_copy_ahead: of no effect: tensors are copied from devices as they are written.
        cache_staged_state_dict: :func:`async_save` keeps its copy, and writes over it.
        overwrite: whether the folder may have a checkpoint already.
        _extensions: not available.
        serialization_format: what an entry's bytes are; safetensors are written by
            HuggingFaceStorageWriter.

    Raises:
        NotImplementedError: ``_extensions``.
    """

    def __init__(
        self, path: str | os.PathLike[str], single_file_per_rank: bool = True,
        sync_files: bool = True, thread_count: int = 1, per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False, overwrite: bool = True, _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:  # fmt: skip
        super().__init__(cache_staged_state_dict)
        del per_thread_copy_ahead
        if _extensions:
            raise NotImplementedError(
                "FileSystemWriter(_extensions=...) is not available in mindtorch: entries are "
                "written as they are"
            )
        self.path = FileSystem.init_path(path)
        self.single_file_per_rank = single_file_per_rank
        self.sync_files = sync_files
        self.thread_count = thread_count
        self.overwrite = overwrite
        self.serialization_format = serialization_format
        self.save_id = str(uuid.uuid4())
        self.rank: int | None = None
        self.use_collectives = True

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id:
            self.path = FileSystem.init_path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.is_coordinator = is_coordinator
        self.rank = kwargs.get("rank")
        self.use_collectives = kwargs.get("use_collectives", True)

    def _own_number(self) -> int | None:
        """The number in the names of a process that saves without the others."""
        return None if self.use_collectives else self.rank

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.path.mkdir(parents=True, exist_ok=True)
        if metadata_path(self.path, None if self.use_collectives else 0).exists():
            if not self.overwrite:
                raise RuntimeError(
                    f"Checkpoint already exists and self.overwrite={self.overwrite}."
                )
            warnings.warn(
                f"there is a checkpoint in {self.path}, which the new one replaces; pass "
                "overwrite=False to have an error",
                stacklevel=2,
            )
        if self._own_number() is not None:
            return dataclasses.replace(plan, storage_data=_StoragePrefix(f"__{self.rank}_"))
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        return [
            plan
            if plan.storage_data is not None
            else dataclasses.replace(plan, storage_data=_StoragePrefix(f"__{number}_"))
            for number, plan in enumerate(plans)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        prefix = plan.storage_data.prefix
        groups = [[item] for item in plan.items]
        if self.single_file_per_rank:
            groups = _shares(plan.items, self.thread_count)
        first = _first_free(self.path, prefix)
        named = [(f"{prefix}{first + n}{_SUFFIX}", items) for n, items in enumerate(groups)]
        return self.write_files([(name, items) for name, items in named if items], planner)

    def write_files(self, files: list[tuple[str, list[WriteItem]]], planner: SavePlanner) -> Future:
        """Write files of entries.

        Args:
            files: names, and what goes into each.
            planner: gives the data.
        """
        tasks = [functools.partial(self.write_file, *each, planner) for each in files]
        parts = in_threads(tasks, self.thread_count)
        return finished([result for part in parts for result in part])

    def write_file(
        self, name: str, items: list[WriteItem], planner: SavePlanner
    ) -> list[WriteResult]:
        """Write one file: tensors, then objects.

        Args:
            name: of the file, in the folder.
            items: what goes into it.
            planner: gives the data.
        """
        results = []
        with open(self.path / name, "wb") as file:
            for item in sorted(items, key=lambda each: each.type is WriteItemType.BYTE_IO):
                start = file.tell()
                data = planner.resolve_data(item)
                if item.type is WriteItemType.BYTE_IO:
                    file.write(data.getbuffer())
                else:
                    torch.save(_compact(data), file)
                length = file.tell() - start
                info = _StorageInfo(name, start, length)
                results.append(WriteResult(item.index, length, info))
            if self.sync_files:
                file.flush()
                os.fsync(file.fileno())
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        metadata.version = _VERSION
        metadata.storage_data = {each.index: each.storage_data for part in results for each in part}
        metadata.storage_meta = self.storage_meta()
        if self.sync_files:
            _sync_folder(self.path)
        path = metadata_path(self.path, self._own_number())
        _metadata_file.write(str(path), metadata, self.sync_files)
        if self.sync_files:
            _sync_folder(self.path)
        self._remove_others({info.relative_path for info in metadata.storage_data.values()})

    def _remove_others(self, used: set[str]) -> None:
        """Remove the files of an older checkpoint, and of saves that were killed."""
        number = self._own_number()
        own = re.compile(r"__\d+_\d+\.distcp" if number is None else rf"__{number}_\d+\.distcp")
        for name in os.listdir(self.path):
            if own.fullmatch(name) and name not in used:
                with contextlib.suppress(OSError):
                    os.unlink(self.path / name)

    def storage_meta(self) -> StorageMeta:
        return StorageMeta(checkpoint_id=self.checkpoint_id, save_id=self.save_id)


def _compact(tensor: Any) -> Any:
    """A tensor of the CPU whose storage is no larger than itself."""
    plain = tensor.detach().cpu()
    if plain.untyped_storage().nbytes() != plain.numel() * plain.element_size():
        plain = plain.clone()
    return plain


def _shares(items: list[WriteItem], count: int) -> list[list[WriteItem]]:
    """The items in ``count`` lists of about the same number of bytes."""
    shares: list[list[WriteItem]] = [[] for _ in range(count)]
    sizes = [0] * count
    for item in sorted(items, key=lambda each: -(each.tensor_storage_size() or 0)):
        least = sizes.index(min(sizes))
        shares[least].append(item)
        sizes[least] += item.tensor_storage_size() or 1
    return shares


def _first_free(folder: Path, prefix: str) -> int:
    """The first number behind all that names of this prefix have."""
    found = (re.fullmatch(re.escape(prefix) + r"(\d+)\.distcp", n) for n in os.listdir(folder))
    return max((int(match[1]) + 1 for match in found if match), default=0)


def _sync_folder(path: Path) -> None:
    """Wait until the folder's names are on the disk, where it can be opened for that."""
    with contextlib.suppress(OSError):
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def metadata_path(folder: Path, rank: int | None) -> Path:
    """The file of a checkpoint's description; of one process's, for one that saved by itself."""
    return folder / (_METADATA if rank is None else f"__{rank}{_METADATA}")


class FileSystemReader(_InFolder, StorageReader):
    """Reads checkpoints from a folder, ours and PyTorch's.

    Args:
        path: the folder.
        _extension_registry: not available.

    Raises:
        NotImplementedError: ``_extension_registry``.
    """

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        if _extension_registry is not None:
            raise NotImplementedError(
                "FileSystemReader(_extension_registry=...) is not available in mindtorch"
            )
        self.path = FileSystem.init_path(path)
        self.storage_data: dict[MetadataIndex, Any] = {}
        self.load_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        self.storage_data = {}
        if checkpoint_id:
            self.path = FileSystem.init_path(checkpoint_id)
        self.load_id = str(uuid.uuid4())

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        metadata = _metadata_file.read(metadata_path(self.path, kwargs.get("rank")))
        if metadata.storage_meta is None:
            metadata.storage_meta = StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        assert metadata.storage_data is not None, "storage_data must not be None in metadata"
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        by_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            info = self.storage_data.get(item.storage_index)
            if info is None:
                raise RuntimeError(f"{self.path} is damaged: no file has {item.storage_index}")
            by_file.setdefault(info.relative_path, []).append(item)
        for name, items in by_file.items():
            with open(self.path / name, "rb") as file:
                for item in sorted(items, key=lambda each: self._place(each)):
                    self._read(file, item, planner)
        return finished(None)

    def _place(self, item: ReadItem) -> int:
        return int(self.storage_data[item.storage_index].offset)

    def _read(self, file: Any, item: ReadItem, planner: LoadPlanner) -> None:
        info = self.storage_data[item.storage_index]
        if getattr(info, "transform_descriptors", None):
            raise NotImplementedError(
                f"{item.storage_index.fqn} was written with {info.transform_descriptors}: "
                "transformed entries are not available in mindtorch"
            )
        file.seek(info.offset)
        data = file.read(info.length)
        if len(data) != info.length:
            raise RuntimeError(
                f"{file.name} is damaged: {item.storage_index.fqn} has {info.length} bytes at "
                f"{info.offset}, and the file ends after {len(data)} of them"
            )
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, io.BytesIO(data))
            return
        try:
            stored = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        except Exception as error:
            raise RuntimeError(
                f"{file.name} is damaged at {info.offset}, in {item.storage_index.fqn}: {error}"
            ) from error
        put(stored, item, planner)


def put(stored: Any, item: ReadItem, planner: LoadPlanner) -> None:
    """Copy the box of a stored tensor that an item asks for to where the planner wants it.

    Raises:
        AssertionError: sizes that differ.
    """
    part = narrowed(stored, item.storage_offsets, item.lengths)
    target = planner.resolve_tensor(item).detach()
    if target.size() != part.size():
        raise AssertionError(
            f"req {item.storage_index} mismatch sizes {target.size()} vs {part.size()}"
        )
    target.copy_(part)
    planner.commit_tensor(item, target)
