"""Annotations of TorchScript: an int where a list of so many is meant."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple  # noqa: UP035

__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Optional",
    "Tuple",
]  # fmt: skip


class _BroadcastingList:
    """`BroadcastingList2[int]`: a list of two of the type `item`, or one value for both."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __getitem__(self, item: Any) -> Any:
        return list[item] | item

    def __call__(self, item: Any) -> Any:
        raise TypeError(f"BroadcastingList{self.length} is only for annotations")


BroadcastingList1 = _BroadcastingList(1)
BroadcastingList2 = _BroadcastingList(2)
BroadcastingList3 = _BroadcastingList(3)
