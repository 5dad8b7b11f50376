"""What a checkpoint holds: names, sizes, and where the parts lie. Pickled into ``.metadata``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import mindtorch.torch as torch

__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta",
    "TensorProperties", "TensorStorageMetadata",
]  # fmt: skip


@dataclass
class ChunkStorageMetadata:
    """A box of a tensor.

    Attributes:
        offsets: where it begins, by axis.
        sizes: its lengths.
    """

    offsets: Any
    sizes: Any


class _MEM_FORMAT_ENCODING(Enum):  # noqa: N801
    """How files say a memory format."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = {
    _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT: torch.contiguous_format,
    _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST: torch.channels_last,
    _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT: torch.preserve_format,
}


@dataclass
class TensorProperties:
    """What a tensor is beside its size; all but ``dtype`` is kept for old files."""

    dtype: Any = field(default_factory=torch.get_default_dtype)
    layout: Any = field(default=torch.strided)
    requires_grad: bool = False
    memory_format: Any = field(default=torch.contiguous_format)
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        code = next((c for c, known in _FORMATS.items() if known is self.memory_format), None)
        if code is None:
            raise RuntimeError(f"Invalid torch.memory_format: {self.memory_format}")
        return self.dtype, self.layout, self.requires_grad, code, self.pin_memory

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, code, self.pin_memory = state
        if code not in _FORMATS:
            raise RuntimeError(f"Invalid torch.memory_format encoding: {code}")
        self.memory_format = _FORMATS[code]

    @staticmethod
    def create_from_tensor(tensor: Any) -> TensorProperties:
        """The properties of a tensor."""
        return TensorProperties(tensor.dtype, tensor.layout, bool(tensor.requires_grad))


@dataclass
class TensorStorageMetadata:
    """A tensor: its type, size, and the boxes that were written."""

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """An object that is no tensor."""


STORAGE_TYPES = TensorStorageMetadata | BytesStorageMetadata
STATE_DICT_TYPE = dict[str, Any]


@dataclass
class StorageMeta:
    """What a storage says of a checkpoint: its name, and of this saving and loading."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """A checkpoint.

    Attributes:
        state_dict_metadata: what there is, by flat name.
        planner_data: of the planner; the default one keeps the path of each flat name.
        storage_data: of the storage; files keep name, offset and length of each entry.
        storage_meta: of the storage.
        version: of the format.
    """

    state_dict_metadata: dict[str, STORAGE_TYPES]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """The key of an entry.

    Attributes:
        fqn: the flat name.
        offset: of a box of a tensor.
        index: the place among the boxes, to find it sooner; no part of the key.
    """

    fqn: str
    offset: Any = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(
        self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None
    ) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        if offset is not None:
            object.__setattr__(self, "offset", torch.Size(offset))
