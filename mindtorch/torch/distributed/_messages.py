"""Tensors from one process to another."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

from ._device import array_of
from ._group import ProcessGroup, as_bytes
from ._tensors import check_tensor, fill_from, place_in
from ._world import Work, group_of, is_outside


def other_process(world: ProcessGroup, place: int, name: str) -> int:
    if place == world.rank():
        raise ValueError(
            f"Invalid {name} rank: {name} rank should not be the same as the rank of the current "
            "process."
        )
    return place


def send(
    tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0,
    group_dst: int | None = None,
) -> None:  # fmt: skip
    """Send a tensor to a process."""
    check_tensor(tensor, "tensor")
    if not is_outside(group):
        world = group_of(group)
        place = other_process(world, place_in(world, dst, group_dst, "dst"), "destination")
        world.send(place, as_bytes(array_of(tensor, world)), tag)


def recv(
    tensor: Any, src: int | None = None, group: Any = None, tag: int = 0,
    group_src: int | None = None,
) -> int:  # fmt: skip
    """Overwrite a tensor with one that a process sends (any, without ``src``); whose it is."""
    check_tensor(tensor, "tensor")
    if is_outside(group):
        return -1
    world = group_of(group)
    if src is None and group_src is None:
        others = [r for i, r in enumerate(world.ranks) if i != world.rank()]
        sender, data = world.mesh.receive_any(others, world.number, tag)
    else:
        place = other_process(world, place_in(world, src, group_src, "src"), "source")
        sender, data = world.ranks[place], world.receive(place, tag)
    fill_from(tensor, data)
    return sender


def isend(
    tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """:func:`send` without waiting: what is sent is taken at once."""
    send(tensor, dst, group, tag, group_dst)
    done: Future[Any] = Future()
    done.set_result(None)
    return Work(done)


class _Receiving(Work):
    """A receive that happens when it is waited for."""

    def __init__(self, receive: Callable[[], Any], ready: Callable[[], bool]) -> None:
        super().__init__(Future())
        self._receive = receive
        self._ready = ready

    def wait(self, timeout: timedelta | None = None) -> bool:
        if not self._future.done():
            try:
                self._future.set_result(self._receive())
            except Exception as error:
                self._future.set_exception(error)
        return super().wait(timeout)

    def is_completed(self) -> bool:
        if not self._future.done() and self._ready():
            self.wait()
        return self._future.done()


def irecv(
    tensor: Any, src: int | None = None, group: Any = None, tag: int = 0,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """:func:`recv` that happens at ``wait()``."""
    check_tensor(tensor, "tensor")
    if is_outside(group):
        return None
    world = group_of(group)

    def ready() -> bool:
        chosen = src is None and group_src is None
        ranks = world.ranks if chosen else [world.ranks[place_in(world, src, group_src, "src")]]
        return any(world.mesh.has_arrived(r, world.number, tag) for r in ranks)

    return _Receiving(lambda: recv(tensor, src, group, tag, group_src), ready)


class P2POp:
    """An ``isend`` or ``irecv`` for :func:`batch_isend_irecv`.

    Args:
        op: :func:`isend` or :func:`irecv`.
        tensor: sent, or written over.
        peer, group_peer: the other process, counted among all or in ``group``.
    """

    def __init__(
        self, op: Callable[..., Any], tensor: Any, peer: int | None = None, group: Any = None,
        tag: int = 0, group_peer: int | None = None,
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.peer = peer
        self.group_peer = group_peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Start sends and receives together; their works.

    Args:
        p2p_op_list: :class:`P2POp`.
    """
    return [
        each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer)
        for each in sorted(p2p_op_list, key=lambda each: each.op is not isend)
    ]
