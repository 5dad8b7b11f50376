"""Collective operations on Python objects, which travel pickled: only among processes that trust
each other."""

from __future__ import annotations

import pickle
from typing import Any

from .distributed_c10d import group_of, is_outside, other_process, place_in


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Fill the list with the objects of all processes, by rank."""
    if is_outside(group):
        return
    found = group_of(group).all_gather_bytes(pickle.dumps(obj))
    for i, data in enumerate(found):
        object_list[i] = pickle.loads(data)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
    group: Any = None, group_dst: int | None = None,
) -> None:  # fmt: skip
    """Fill the list of ``dst`` (0 when it is not given) with the objects of all processes.

    Args:
        object_gather_list: as long as the group is large, on ``dst``; None elsewhere.
    """
    if is_outside(group):
        return
    world = group_of(group)
    root = 0 if dst is None and group_dst is None else place_in(world, dst, group_dst, "dst")
    if world.rank() == root and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if world.rank() != root and object_gather_list:
        raise ValueError(
            "Argument ``gather_list`` must NOT be specified on non-destination ranks."
        )
    for i, data in enumerate(world.gather_bytes(pickle.dumps(obj), root)):
        assert object_gather_list is not None
        object_gather_list[i] = pickle.loads(data)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """Give all processes the objects in the list of ``src`` (0 when it is not given)."""
    if is_outside(group):
        return
    world = group_of(group)
    root = 0 if src is None and group_src is None else place_in(world, src, group_src, "src")
    own = pickle.dumps(list(object_list)) if world.rank() == root else None
    data = world.broadcast_bytes(own, root)
    if own is None:
        object_list[:] = pickle.loads(data)


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
    src: int | None = None, group: Any = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """Put this process's object of the list of ``src`` into the first place of the output.

    Args:
        scatter_object_output_list: a list whose first place is written.
        scatter_object_input_list: an object for each process, on ``src``.
    """
    if is_outside(group):
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError(
            "Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    world = group_of(group)
    root = 0 if src is None and group_src is None else place_in(world, src, group_src, "src")
    parts = None
    if world.rank() == root:
        if not scatter_object_input_list:
            raise ValueError(
                "source rank must provide non-None scatter_object_input_list"
            )
        parts = [pickle.dumps(each) for each in scatter_object_input_list]
    scatter_object_output_list[0] = pickle.loads(world.scatter_bytes(parts, root))


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None,
    group_dst: int | None = None, use_batch: bool = False,
) -> None:  # fmt: skip
    """Send a list of objects to a process."""
    if not is_outside(group):
        world = group_of(group)
        place = other_process(world, place_in(world, dst, group_dst, "dst"), "destination")
        world.send(place, pickle.dumps(list(object_list)), 0)


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
    group_src: int | None = None, use_batch: bool = False,
) -> int:  # fmt: skip
    """Overwrite a list with objects that a process sends (any, without ``src``); whose it is."""
    if is_outside(group):
        return -1
    world = group_of(group)
    if src is None and group_src is None:
        others = [r for i, r in enumerate(world.ranks) if i != world.rank()]
        sender, data = world.mesh.receive_any(others, world.number, 0)
    else:
        place = other_process(world, place_in(world, src, group_src, "src"), "source")
        sender, data = world.ranks[place], world.receive(place, 0)
    object_list[:] = pickle.loads(data)
    return sender
