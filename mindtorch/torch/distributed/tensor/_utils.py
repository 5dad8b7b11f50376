"""Shapes and places of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindtorch.engine.sharding.placements import Placement
from mindtorch.engine.sharding.sharded import Sharding

from ..device_mesh import DeviceMesh
from ._tensor import whole_of

__all__ = ["compute_global_tensor_info", "compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement],
    skip_offset: bool = False,
) -> tuple[tuple[int, ...], tuple[int, ...]]:  # fmt: skip
    """The shape of this process's part of a tensor, and where in the whole it begins.

    Args:
        global_shape: of the whole.
        mesh, placements: how it lies.
        skip_offset: give () in place of where it begins.
    """
    sharding = Sharding(mesh, tuple(placements))
    place = mesh.get_coordinate()
    if place is None:
        return (0,), ()
    ranges = sharding.local_range(tuple(global_shape), place)
    starts = () if skip_offset else tuple(start for start, _ in ranges)
    return tuple(length for _, length in ranges), starts


def compute_global_tensor_info(
    tensor: Any, mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[list[int], list[int]]:
    """Shape and strides of the whole of which all parts are like ``tensor``.

    Args:
        mesh, placements: how it lies.
    """
    shape, strides = whole_of(tensor, Sharding(mesh, tuple(placements)))
    return list(shape), list(strides)
