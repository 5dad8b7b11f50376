"""Collectives on arrays by MPI; messages and objects go over the mesh.

Every MPI call is non-blocking and polled, so that a timeout, or the end of another process, is an
ordinary exception here.
"""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import Any

import numpy as np

from . import _failure
from ._group import ProcessGroup, as_bytes
from ._mesh import Mesh

__all__ = ["MpiGroup"]

_OPERATIONS = {"SUM": "SUM", "AVG": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX",
               "BAND": "BAND", "BOR": "BOR", "BXOR": "BXOR"}  # fmt: skip
_MEET = 1 << 16
_BUSY = 2000
_LONGEST_PAUSE = 0.001
_LATE = 1.0


class MpiGroup(ProcessGroup):
    """A :class:`ProcessGroup` whose arrays are combined and spread by MPI.

    Args:
        world: MPI's communicator of all processes; the group makes its own of it when it is used.
    """

    def __init__(
        self, mesh: Mesh, number: int, ranks: list[int], name: str, backend: str,
        timeout: timedelta, world: Any,
    ) -> None:  # fmt: skip
        super().__init__(mesh, number, ranks, name, backend, timeout)
        from mpi4py import MPI

        self._mpi = MPI
        self._world = world
        self._own: Any = world if len(ranks) == mesh.size and number == 0 else None

    @property
    def communicator(self) -> Any:
        """The group's, made when it is first needed, by all of its processes."""
        if self._own is None:
            super().barrier()
            chosen = self._world.group.Incl(self.ranks)
            self._own = self._world.Create_group(chosen, tag=self.number)
        return self._own

    # --- waiting -----------------------------------------------------------------------------

    def _finish(self, request: Any, patient: bool = False) -> None:
        """Wait for a request; ``patient`` where the others may still be computing."""
        end = time.monotonic() + self.timeout.total_seconds()
        tries, pause = 0, 0.00002
        while not request.Test():
            tries += 1
            if tries % 64 and not patient:
                continue
            if patient or tries > _BUSY:
                time.sleep(pause)
                pause = min(pause * 1.2, _LONGEST_PAUSE)
            else:
                os.sched_yield()
            if self.mesh.lost or self.mesh.closed or time.monotonic() > end:
                self._give_up(request, end)

    def _give_up(self, request: Any, end: float) -> None:
        """Raise, unless the request ends at once: a process may leave when its part is done."""
        others = [r for r in self.ranks if r != self.mesh.rank]
        gone = [r for r in others if r in self.mesh.lost]
        late = time.monotonic() > end
        if not gone and not late and not self.mesh.closed:
            return
        last = time.monotonic() + _LATE
        while time.monotonic() < last:
            if request.Test():
                return
            time.sleep(0.001)
        self.mesh.stuck = True
        if gone or self.mesh.closed:
            why = self.mesh.lost[gone[0]] if gone else "the process group was destroyed"
            raise RuntimeError(f"Connection closed by peer {gone}: {why}")
        raise _failure.timed_out(self.mesh, others, self.number, self.timeout.total_seconds())

    def _meet(self, size: int) -> None:
        """Before much data: let all processes come, without keeping a core busy meanwhile."""
        if size >= _MEET:
            self._finish(self.communicator.Ibarrier(), patient=True)

    # --- arrays ------------------------------------------------------------------------------

    def _direct(self, array: Any, operation: str) -> bool:
        """Whether MPI can combine arrays of this type."""
        kind, width = array.dtype.kind, array.dtype.itemsize
        fits = kind in "iuc" or (kind == "f" and width >= 4)
        return fits and operation in _OPERATIONS and bool(array.flags.c_contiguous)

    def _operation(self, operation: str) -> Any:
        return getattr(self._mpi, _OPERATIONS[operation])

    def all_reduce(self, array: Any, operation: str) -> None:
        if not self._direct(array, operation):
            super().all_reduce(array, operation)
            return
        self.begin()
        self._meet(array.nbytes)
        self._finish(
            self.communicator.Iallreduce(self._mpi.IN_PLACE, array, self._operation(operation))
        )
        if operation == "AVG":
            _divide(array, self.size())

    def reduce_to(self, array: Any, operation: str, root: int) -> None:
        if not self._direct(array, operation):
            super().reduce_to(array, operation, root)
            return
        self.begin()
        self._meet(array.nbytes)
        here = self.own == root
        send, receive = (self._mpi.IN_PLACE, array) if here else (array, None)
        self._finish(self.communicator.Ireduce(send, receive, self._operation(operation), root))
        if here and operation == "AVG":
            _divide(array, self.size())

    def reduce_scatter(self, parts: list[Any], operation: str) -> Any:
        same = len({part.shape for part in parts}) == 1
        if not same or not self._direct(parts[0], operation):
            return super().reduce_scatter(parts, operation)
        self.begin()
        whole = np.concatenate([part.reshape(-1) for part in parts])
        result = np.empty(parts[0].shape, parts[0].dtype)
        self._meet(whole.nbytes)
        self._finish(
            self.communicator.Ireduce_scatter_block(whole, result, self._operation(operation))
        )
        if operation == "AVG":
            _divide(result, self.size())
        return result

    def broadcast(self, array: Any, root: int) -> None:
        self.begin()
        data = as_bytes(array)
        self._meet(data.nbytes)
        self._finish(self.communicator.Ibcast([data, self._mpi.BYTE], root))
        if not np.shares_memory(data, array):
            array[...] = data.view(array.dtype).reshape(array.shape)

    def all_gather(self, array: Any) -> Any:
        self.begin()
        data = as_bytes(array)
        result = np.empty((self.size(), data.size), np.uint8)
        self._meet(result.nbytes)
        self._finish(
            self.communicator.Iallgather([data, self._mpi.BYTE], [result, self._mpi.BYTE])
        )
        return result


def _divide(array: Any, count: int) -> None:
    """The sum of ``count`` arrays becomes their average; whole numbers are rounded down."""
    if array.dtype.kind in "iu":
        array //= count
    else:
        array /= array.dtype.type(count)
