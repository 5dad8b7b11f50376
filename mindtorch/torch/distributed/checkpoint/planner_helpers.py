"""From values to what is written and read of them.

Of a DTensor a process writes and reads its box. Other things that are spread over processes answer
``__create_write_items__(name, value)``, ``__create_chunk_list__()`` and
``__get_tensor_shard__(index)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor

from ..tensor import DTensor
from ..tensor._utils import compute_local_shape_and_global_offset
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import LoadItemType, ReadItem, TensorWriteData, WriteItem, WriteItemType

__all__ = ["create_read_items_for_chunk_list"]


def write_items(name: str, value: Any) -> list[WriteItem]:
    """What this process can write of a value."""
    if hasattr(value, "__create_write_items__"):
        items: list[WriteItem] = value.__create_write_items__(name, value)
        return items
    if not isinstance(value, EngineTensor):
        return [WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO)]
    if isinstance(value, DTensor):
        if any(placement.is_partial() for placement in value.placements):
            raise ValueError(
                f"{name} is a sum whose terms are in different processes ({value.placements}): "
                "redistribute it before it is saved"
            )
        return [_write_item(name, value, box, WriteItemType.SHARD) for box in local_boxes(value)]
    return [_write_item(name, value, whole(value), WriteItemType.TENSOR)]


def _write_item(name: str, value: Any, box: ChunkStorageMetadata, kind: WriteItemType) -> WriteItem:
    data = TensorWriteData(box, TensorProperties.create_from_tensor(value), value.size())
    return WriteItem(MetadataIndex(name, box.offsets), kind, tensor_data=data)


def whole(tensor: Any) -> ChunkStorageMetadata:
    """The box that is all of a tensor."""
    return ChunkStorageMetadata(torch.Size([0] * tensor.dim()), tensor.size())


def local_boxes(value: Any) -> list[ChunkStorageMetadata]:
    """The boxes of a tensor that this process has."""
    if hasattr(value, "__create_chunk_list__"):
        boxes: list[ChunkStorageMetadata] = value.__create_chunk_list__()
        return boxes
    if not isinstance(value, DTensor):
        return [whole(value)]
    if value.device_mesh.get_coordinate() is None:
        return []
    sizes, offsets = compute_local_shape_and_global_offset(
        value.shape, value.device_mesh, value.placements
    )
    box = ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))
    return [box] if math.prod(sizes) or not value.numel() else []


def local_part(value: Any, index: MetadataIndex) -> Any:
    """The value of an entry in this process: the box of a tensor that is spread, or all of it."""
    if hasattr(value, "__get_tensor_shard__"):
        return value.__get_tensor_shard__(index)
    if isinstance(value, DTensor):
        return value.detach().to_local()
    if isinstance(value, EngineTensor) and index.offset is not None and any(index.offset):
        raise ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: "
                         f"'{index.offset}'")  # fmt: skip
    return value


def overlap(
    one: ChunkStorageMetadata, other: ChunkStorageMetadata
) -> tuple[list[int], list[int]] | None:
    """Where the common box of two begins in the whole tensor, and its lengths; None without one."""
    starts = [max(a, b) for a, b in zip(one.offsets, other.offsets, strict=True)]
    ends = [
        min(a + n, b + m)
        for a, n, b, m in zip(one.offsets, one.sizes, other.offsets, other.sizes, strict=True)
    ]
    lengths = [end - start for start, end in zip(starts, ends, strict=True)]
    return (starts, lengths) if all(length > 0 for length in lengths) else None


def create_read_items_for_chunk_list(
    fqn: str, checkpoint_md: TensorStorageMetadata, local_chunks: list[ChunkStorageMetadata]
) -> list[ReadItem]:
    """What has to be read to fill boxes of a tensor.

    Args:
        fqn: the tensor's name.
        checkpoint_md: the boxes that were written.
        local_chunks: the boxes that are filled.

    Raises:
        ValueError: the checkpoint lacks a part of them.
    """
    items: list[ReadItem] = []
    for place, box in enumerate(local_chunks):
        found = list(_reads(fqn, checkpoint_md, place, box))
        if sum(math.prod(item.lengths) for item in found) != math.prod(box.sizes):
            raise ValueError(
                f"the checkpoint lacks a part of {fqn}: of the box of sizes {tuple(box.sizes)} at "
                f"{tuple(box.offsets)} it has {[tuple(item.lengths) for item in found]}"
            )
        items += found
    return items


def _reads(
    name: str, stored: TensorStorageMetadata, place: int, box: ChunkStorageMetadata
) -> Iterator[ReadItem]:
    for number, chunk in enumerate(stored.chunks):
        common = overlap(chunk, box)
        if common is None:
            continue
        starts, lengths = common
        yield ReadItem(
            type=LoadItemType.TENSOR,
            dest_index=MetadataIndex(name, box.offsets, place),
            dest_offsets=_minus(starts, box.offsets),
            storage_index=MetadataIndex(name, chunk.offsets, number),
            storage_offsets=_minus(starts, chunk.offsets),
            lengths=torch.Size(lengths),
        )


def _minus(one: Any, other: Any) -> Any:
    return torch.Size([a - b for a, b in zip(one, other, strict=True)])


def read_items(name: str, stored: Any, value: Any) -> list[ReadItem]:
    """What this process reads of an entry."""
    if isinstance(stored, BytesStorageMetadata):
        index, nothing = MetadataIndex(name), torch.Size([0])
        return [ReadItem(LoadItemType.BYTE_IO, index, nothing, index, nothing, nothing)]
    if not isinstance(value, EngineTensor) and not hasattr(value, "__create_chunk_list__"):
        raise ValueError(
            f"Invalid checkpoint metadata for {name}, expected BytesStorageMetadata but found "
            f"{type(stored)}"
        )
    return create_read_items_for_chunk_list(name, stored, local_boxes(value))


def narrowed(tensor: Any, offsets: Any, lengths: Any) -> Any:
    """The box of a tensor, a view."""
    for axis, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        if length < tensor.size(axis):
            tensor = tensor.narrow(axis, offset, length)
    return tensor
