"""Checkpoints of safetensors files, as Hugging Face's libraries read and write them.

Objects that are no tensors have no place in them. Each file appears as a whole, but the names are
the format's: where a checkpoint of several files is written over, a killed save may leave new files
beside old ones. Save such a checkpoint into a folder of its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import re
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.numpy import save_file

import mindtorch.torch as torch
from mindtorch.engine.tensor import from_array
from mindtorch.kernels.support.atomic_file import name_beside, write_whole

from ..._serialization.safetensors_types import TYPES
from ...futures import Future
from .filesystem import (
    FileSystemReader,
    FileSystemWriter,
    SerializationFormat,
    finished,
    in_threads,
    put,
)
from .metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from .planner import WriteItemType as _Type
from .storage import WriteResult

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

INDEX = "model.safetensors.index.json"
SUFFIX = ".safetensors"
_SHARDING = "DCP_SHARDING_INFO"
_OFFSETS = "saved_offsets"
_SHARDED_FOLDER = "sharded"


@dataclasses.dataclass
class _HFStorageInfo:
    """Where a box lies: its file, sizes and type; the entry has the name of the tensor."""

    relative_path: str
    shape: Any
    dtype: Any


def file_name(index: int, count: int, shard: int | None = None) -> str:
    """The name of a file, from 1; of a process's part of it where ``shard`` is given."""
    name = f"model-{index:05d}-of-{count:05d}{SUFFIX}"
    return name if shard is None else f"shard-{shard:05d}-{name}"


def write_safetensors(
    path: Path, tensors: dict[str, Any], offsets: dict[str, Any] | None = None
) -> None:
    """Write tensors as one file, which appears when it is whole.

    Args:
        path: of the file.
        tensors: by name.
        offsets: where they begin in whole tensors, by name.
    """
    about = {"format": "pt"}
    if offsets is not None:
        told = {name: {_OFFSETS: list(offset)} for name, offset in offsets.items()}
        about |= {"DCP_VERSION": "1.0", _SHARDING: json.dumps(told)}
    arrays = {name: t.detach().cpu().contiguous().array() for name, t in tensors.items()}
    beside = name_beside(str(path))
    try:
        save_file(arrays, beside, about)
        os.replace(beside, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)


def write_index(folder: Path, places: dict[str, str], size: int) -> None:
    """Write which file has which tensor.

    Args:
        folder: of the files.
        places: file names by tensor.
        size: bytes of all tensors.
    """
    told = {"metadata": {"total_size": size}, "weight_map": places}
    write_whole(folder / INDEX, json.dumps(told, indent=2))


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes safetensors files.

    Args:
        path: the folder.
        fqn_to_index_mapping: into which file each tensor goes, from 1; one file when None.
        thread_count: how many threads write.
        save_distributed: each process writes the boxes that it has; else the state is whole.
        enable_consolidation: write whole tensors as well, from the parts, which are then in the
            folder "sharded".
        thread_count_consolidation: how many threads do that.
    """

    def __init__(
        self, path: str, fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1, save_distributed: bool = False, enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(
            path, thread_count=thread_count, serialization_format=SerializationFormat.SAFETENSORS
        )
        self.fqn_to_index_mapping = fqn_to_index_mapping
        self.save_distributed = save_distributed
        self.enable_consolidation = enable_consolidation
        self.thread_count_consolidation = thread_count_consolidation
        self.consolidated_output_path: str | None = None
        if enable_consolidation:
            self.consolidated_output_path = str(self.path)
            self.path = self.path / _SHARDED_FOLDER

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        self.path.mkdir(parents=True, exist_ok=True)
        for item in plan.items:
            if item.type is _Type.BYTE_IO:
                raise ValueError(
                    f"safetensors files hold tensors, and {item.index.fqn} is none: save it with "
                    "FileSystemWriter"
                )
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        return [
            dataclasses.replace(plan, storage_data=shard if self.save_distributed else None)
            for shard, plan in enumerate(plans, 1)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        mapping = self.fqn_to_index_mapping
        files: dict[int, list[WriteItem]] = {}
        for item in plan.items:
            files.setdefault(1 if mapping is None else mapping[item.index.fqn], []).append(item)
        count = 1 if mapping is None else max(mapping.values())
        named = [(file_name(i, count, plan.storage_data), items) for i, items in files.items()]
        return self.write_files(named, planner)

    def write_file(
        self, name: str, items: list[WriteItem], planner: SavePlanner
    ) -> list[WriteResult]:
        tensors = {item.index.fqn: planner.resolve_data(item) for item in items}
        if len(tensors) != len(items):
            raise ValueError(
                "a process has several boxes of one tensor, which safetensors files do not hold"
            )
        write_safetensors(
            self.path / name, tensors, {item.index.fqn: item.index.offset for item in items}
        )
        results = []
        for item in items:
            tensor = tensors[item.index.fqn]
            size = tensor.numel() * tensor.element_size()
            info = _HFStorageInfo(name, tensor.shape, tensor.dtype)
            results.append(WriteResult(item.index, size, info))
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        found = [each for part in results for each in part]
        if not self.save_distributed:
            places = {each.index.fqn: each.storage_data.relative_path for each in found}
            write_index(self.path, places, sum(each.size_in_bytes for each in found))
            return
        used = {each.storage_data.relative_path for each in found}
        for name in os.listdir(self.path):
            if re.fullmatch(r"shard-\d+-model-\d+-of-\d+\.safetensors", name) and name not in used:
                os.unlink(self.path / name)
        if self.enable_consolidation:
            assert self.consolidated_output_path is not None
            mapping = self.fqn_to_index_mapping or dict.fromkeys(metadata.state_dict_metadata, 1)
            consolidate(
                self.path, Path(self.consolidated_output_path), mapping,
                self.thread_count_consolidation,
            )  # fmt: skip


def consolidate(source: Path, target: Path, mapping: dict[str, int], threads: int = 1) -> None:
    """Write whole tensors from files that have boxes of them.

    Args:
        source: the folder of the boxes.
        target: the folder of the files that are written.
        mapping: into which file each tensor goes, from 1.
        threads: how many files are written at once.
    """
    reader = HuggingFaceStorageReader(str(source))
    metadata = reader.read_metadata()
    count = max(mapping.values())
    names: dict[int, list[str]] = {}
    for name in metadata.state_dict_metadata:
        names.setdefault(mapping[name], []).append(name)

    def write(index: int) -> int:
        tensors = {}
        for name in names[index]:
            entry: Any = metadata.state_dict_metadata[name]
            tensors[name] = whole = torch.empty(entry.size, dtype=entry.properties.dtype)
            for chunk in entry.chunks:
                box = whole
                for axis, (start, length) in enumerate(
                    zip(chunk.offsets, chunk.sizes, strict=True)
                ):
                    box = box.narrow(axis, start, length)
                info = metadata.storage_data[MetadataIndex(name, chunk.offsets)]
                box.copy_(read_tensor(source / info.relative_path, name))
        write_safetensors(target / file_name(index, count), tensors)
        return sum(t.numel() * t.element_size() for t in tensors.values())

    sizes = in_threads([functools.partial(write, index) for index in names], threads)
    places = {name: file_name(index, count) for index, each in names.items() for name in each}
    write_index(target, places, sum(sizes))


def read_tensor(path: Path, name: str) -> Any:
    """A tensor of a file.

    Raises:
        RuntimeError: the file is damaged.
    """
    with _opened(path) as file:
        return from_array(file.get_tensor(name))


@contextlib.contextmanager
def _opened(path: Path) -> Any:
    try:
        file = safe_open(path, framework="np")
    except FileNotFoundError:
        raise
    except Exception as error:
        raise RuntimeError(f"{path} is damaged: {error}") from error
    with file as entered:
        yield entered


class HuggingFaceStorageReader(FileSystemReader):
    """Reads safetensors files: whole tensors, or boxes of them from several files.

    Args:
        path: the folder.
        thread_count: how many threads read.
    """

    def __init__(self, path: str, thread_count: int = 1) -> None:
        super().__init__(path)
        self.thread_count = thread_count

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        entries: dict[str, Any] = {}
        places: dict[MetadataIndex, Any] = {}
        names = sorted(name for name in os.listdir(self.path) if name.endswith(SUFFIX))
        if not names:
            raise FileNotFoundError(f"no safetensors files are in {self.path}")
        for name in names:
            with _opened(self.path / name) as file:
                told = json.loads((file.metadata() or {}).get(_SHARDING, "{}"))
                for key in file.keys():  # noqa: SIM118 (no dict)
                    part = file.get_slice(key)
                    self._note(entries, places, name, key, part, told.get(key, {}).get(_OFFSETS))
        meta = StorageMeta(load_id=self.load_id)
        return Metadata(entries, storage_data=places, storage_meta=meta)

    @staticmethod
    def _note(
        entries: dict[str, Any], places: dict[MetadataIndex, Any], file: str, name: str, part: Any,
        offset: Any,
    ) -> None:  # fmt: skip
        shape = list(part.get_shape())
        offset = [0] * len(shape) if offset is None else offset
        kind = TYPES.get(part.get_dtype())
        if kind is None:
            raise NotImplementedError(f"{name} in {file} is of type {part.get_dtype()}")
        entry = entries.setdefault(
            name, TensorStorageMetadata(TensorProperties(dtype=kind), [0] * len(shape), [])
        )
        entry.chunks.append(ChunkStorageMetadata(torch.Size(offset), torch.Size(shape)))
        ends = [start + length for start, length in zip(offset, shape, strict=True)]
        entry.size = torch.Size([max(n, end) for n, end in zip(entry.size, ends, strict=True)])
        places[MetadataIndex(name, offset)] = _HFStorageInfo(file, torch.Size(shape), kind)

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        files: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            name = self.storage_data[item.storage_index].relative_path
            files.setdefault(name, []).append(item)

        def read(name: str) -> None:
            with _opened(self.path / name) as file:
                for item in files[name]:
                    put(from_array(file.get_tensor(item.storage_index.fqn)), item, planner)

        in_threads([functools.partial(read, name) for name in files], self.thread_count)
        return finished(None)
