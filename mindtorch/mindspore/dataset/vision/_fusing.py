"""Neighbouring operations done as one, with the same bits: what a map runs of a list.

``MINDTORCH_DATA_FUSION=0`` leaves every operation by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine.image_bytes import floats_by_channel

from ._images import HWC2CHW, CenterCrop, Normalize, Rescale, Resize, ToTensor, as_image

__all__ = ["fused"]


class ResizedMiddle:
    """:class:`Resize`, then :class:`CenterCrop`: only the middle is made."""

    def __init__(self, resize: Resize, crop: CenterCrop) -> None:
        self.resize, self.crop = resize, crop

    def __call__(self, data: Any) -> Any:
        image = as_image(data)
        target, size = self.resize.target(image), self.crop.size
        spare = [m - n for n, m in zip(size, target, strict=True)]
        if not self.resize.by_bytes(image, target) or min(spare) < 0:
            return self.crop(self.resize(image))
        return self.resize.part(image, target, (spare[0] // 2, spare[1] // 2), size)


class ByTable:
    """Operations on each value of bytes, and channels first: what they make of all 256 bytes is
    computed once, by these operations themselves."""

    def __init__(self, operations: list[Any]) -> None:
        self.operations = operations
        self.turned = isinstance(operations[-1], (HWC2CHW, ToTensor))
        self.tables: dict[int, Any] = {}

    def __call__(self, data: Any) -> Any:
        image = np.asarray(data)
        if image.dtype != np.uint8 or image.ndim != 3:
            return self._in_turn(image)
        table = self._table(image.shape[2])
        if table is None:
            return self._in_turn(image)
        return floats_by_channel(image, table, self.turned)

    def _in_turn(self, image: Any) -> Any:
        for operation in self.operations:
            image = operation(image)
        return image

    def _table(self, channels: int) -> Any:
        if channels not in self.tables:
            bytes_ = np.arange(256, dtype=np.uint8)[None, :, None].repeat(channels, 2)
            made = self._in_turn(bytes_)
            made = made[:, 0] if self.turned else made[0].T
            self.tables[channels] = np.ascontiguousarray(made)
        table = self.tables[channels]
        return table if table.dtype == np.float32 else None


def _by_value(operation: Any) -> bool:
    return type(operation) is Rescale or (type(operation) is Normalize and operation.is_hwc)


def fused(functions: list[Callable[..., Any]]) -> list[Callable[..., Any]]:
    """The functions, some of them joined."""
    if os.environ.get("MINDTORCH_DATA_FUSION") == "0":
        return list(functions)
    joined: list[Any] = []
    place = 0
    while place < len(functions):
        function = functions[place]
        following = functions[place + 1] if place + 1 < len(functions) else None
        if type(function) is Resize and type(following) is CenterCrop:
            joined.append(ResizedMiddle(function, following))
            place += 2
            continue
        end = place
        while end < len(functions) and _by_value(functions[end]):
            end += 1
        last = functions[end] if end < len(functions) else None
        if end > place and type(last) is HWC2CHW:
            end += 1
        elif type(function) is ToTensor and function.type == np.float32:
            end = place + 1
        if end > place:
            joined.append(ByTable(list(functions[place:end])))
            place = end
            continue
        joined.append(function)
        place += 1
    return joined
