"""torch.types: names for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import TypeAlias

from mindtorch.engine.devices.device import Device as _Device
from mindtorch.engine.dtypes import DType as _dtype

from ._tensor.size_and_formats import Size
from ._tensor.tensor import Tensor
from .storage import UntypedStorage

__all__ = ["Device", "FileLike", "IntLikeType", "Number", "_device", "_dtype", "_size"]

_device: TypeAlias = _Device
_bool = builtins.bool
_int = builtins.int
_float = builtins.float
_complex = builtins.complex
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]

Number: TypeAlias = int | float | bool
Device: TypeAlias = _Device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str]
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool


def __getattr__(name: str) -> object:
    if name == "Storage":
        return UntypedStorage
    raise AttributeError(f"module 'torch.types' has no attribute '{name}'")
