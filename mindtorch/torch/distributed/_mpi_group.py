"""Collectives on arrays by MPI; messages and objects go over the mesh.

Every MPI call is non-blocking and polled (kernels/cpu/threads/polling.py), so that a timeout, or
the end of another process, is an ordinary exception here.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

from mindtorch.engine.polling import poll

from . import _failure
from ._group import Call, ProcessGroup, as_bytes, call_of, call_of_each, subject
from ._mesh import Mesh
from ._mpi import address_of_test
from ._waits import Waiting

__all__ = ["MpiGroup"]

_OPERATIONS = {"SUM": "SUM", "AVG": "SUM", "PRODUCT": "PROD", "MIN": "MIN", "MAX": "MAX",
               "BAND": "BAND", "BOR": "BOR", "BXOR": "BXOR"}  # fmt: skip
_MEET = 1 << 16
_BUSY = 0.00005  # seconds of polling without a pause, besides those in which data is moved
_RATE = 4e9  # bytes that are moved in a second where all have come
_GLANCE = 0.005  # seconds of waiting between two looks at what else has happened
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
        self._test = address_of_test()
        self._world = world
        self._begun: Any = None
        self._own: Any = world if len(ranks) == mesh.size and number == 0 else None

    @property
    def communicator(self) -> Any:
        """The group's, made before its first operation."""
        return self._own

    def _meet(self, call: Call) -> None:
        """All processes of the group make its communicator together, if they have come for one
        operation."""
        super().all_gather_bytes(b"", (_failure.text_of(call),))
        chosen = self._world.group.Incl(self.ranks)
        self._own = self._world.Create_group(chosen, tag=self.number)

    # --- waiting -----------------------------------------------------------------------------

    def _finish(self, requests: list[Any], busy: float) -> None:
        """Wait for requests: poll for ``busy`` seconds, then with pauses, which leave the core to
        those who compute."""
        begun = time.monotonic()
        end = begun + self.timeout.total_seconds()
        look = begun + _failure.PATIENCE
        places = np.array([self._mpi._addressof(each) for each in requests])
        found = poll(self._test, places, 0.0, busy, _GLANCE)
        while found < 0:
            now = time.monotonic()
            if self.mesh.lost or self.mesh.closed or now > end:
                self._give_up(requests, end)
            elif self.mesh.cycles:
                self._end_cycle()
            elif now > look:
                look = now + _failure.PATIENCE
                self._look()
            found = poll(self._test, places, now - begun, busy, _GLANCE)
        if found:  # MPI's errors come from operations that do not fit
            self.mesh.stuck = True
            error = self._mpi.Exception(found)
            raise _failure.mismatched(self.mesh, self.ranks, self.number) from error

    def _look(self) -> None:
        """Raise if others wait in another operation: nobody would ever go on."""
        try:
            _failure.check_same(self.mesh, self.ranks, self.number)
            _failure.check_cycle(self.mesh, self.mesh.waits[threading.get_ident()])
        except RuntimeError:
            self.mesh.stuck = True
            raise

    def _end_cycle(self) -> None:
        """Raise what another process has found about the operation that this thread waits in."""
        text = self.mesh.cycles.pop(self.mesh.waits[threading.get_ident()].key, "")
        if text:
            self.mesh.stuck = True
            raise RuntimeError(text)

    def _give_up(self, requests: list[Any], end: float) -> None:
        """Raise, unless the requests end at once: a process may leave when its part is done."""
        others = [r for r in self.ranks if r != self.mesh.rank]
        gone = [r for r in others if r in self.mesh.lost]
        late = time.monotonic() > end
        if not gone and not late and not self.mesh.closed:
            return
        last = time.monotonic() + _LATE
        while time.monotonic() < last:
            if self._mpi.Request.Testall(requests):
                return
            time.sleep(0.001)
        self.mesh.stuck = True
        if gone or self.mesh.closed:
            why = self.mesh.lost[gone[0]] if gone else "the process group was destroyed"
            where = _failure.last_operation(self.mesh, self.number)
            raise RuntimeError(
                f"Connection closed by peer {gone} while rank {self.mesh.rank} waits in {where}: "
                f"{why}"
            )
        raise _failure.timed_out(self.mesh, others, self.number, self.timeout.total_seconds())

    def _run(self, call: Call, sizes: list[int], issue: Callable[[], list[Any]]) -> None:
        """An operation of all processes on arrays of ``sizes`` bytes, whose requests ``issue()``
        begins.

        A mark of what each has come for goes along. Before much data all processes come first,
        without keeping a core busy meanwhile.
        """
        if self._own is None:
            self._meet(call)
        self.begin(call)
        begun = _failure.operations_begun(self.mesh, self.number)
        mark = zlib.crc32(repr((call, sizes, begun, subject())).encode())
        marks = np.array([mark, -mark], np.int64)
        agreed = [self.communicator.Iallreduce(self._mpi.IN_PLACE, marks, self._mpi.MAX)]
        text = _failure.last_operation(self.mesh, self.number)
        with Waiting(self.mesh, self.ranks, text, _failure.key_of(self.mesh, self.number)):
            self._exchange(agreed, marks, sum(sizes), issue)

    def _exchange(
        self, agreed: list[Any], marks: Any, size: int, issue: Callable[[], list[Any]]
    ) -> None:
        """Wait for all to agree, and for the data."""
        requests = []
        if size < _MEET:
            requests = self._begun = issue()  # kept: what is abandoned still writes to memory
        self._finish(agreed, _BUSY if size < _MEET else 0)
        if marks[0] != -marks[1]:
            self.mesh.stuck = True
            raise _failure.mismatched(self.mesh, self.ranks, self.number)
        self._finish(requests or issue(), _BUSY + size / _RATE)

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
        sum_of = self._operation(operation)
        self._run(
            call_of("all_reduce", array, operation), [array.nbytes],
            lambda: [self.communicator.Iallreduce(self._mpi.IN_PLACE, array, sum_of)],
        )  # fmt: skip
        if operation == "AVG":
            _divide(array, self.size())

    def reduce_to(self, array: Any, operation: str, root: int) -> None:
        if not self._direct(array, operation):
            super().reduce_to(array, operation, root)
            return
        here = self.own == root
        send, receive = (self._mpi.IN_PLACE, array) if here else (array, None)
        sum_of = self._operation(operation)
        self._run(
            call_of("reduce", array, operation), [array.nbytes],
            lambda: [self.communicator.Ireduce(send, receive, sum_of, root)],
        )  # fmt: skip
        if here and operation == "AVG":
            _divide(array, self.size())

    def reduce_scatter(self, parts: list[Any], operation: str) -> Any:
        same = len({part.shape for part in parts}) == 1
        if not same or not self._direct(parts[0], operation):
            return super().reduce_scatter(parts, operation)
        whole = np.concatenate([part.reshape(-1) for part in parts])
        result = np.empty(parts[0].shape, parts[0].dtype)
        self.reduce_scatter_into(result, whole, operation)
        return result

    def reduce_scatter_into(self, out: Any, whole: Any, operation: str) -> None:
        self.reduce_scatter_each([(out, whole)], operation)

    def reduce_scatter_each(self, pairs: list[tuple[Any, Any]], operation: str) -> None:
        if not all(self._direct(whole, operation) for _, whole in pairs):
            for out, whole in pairs:
                super().reduce_scatter_into(out, whole, operation)
            return
        sum_of = self._operation(operation)
        self._run(
            call_of_each("reduce_scatter", [out for out, _ in pairs], operation),
            [whole.nbytes for _, whole in pairs],
            lambda: [
                self.communicator.Ireduce_scatter_block(whole, out, sum_of) for out, whole in pairs
            ],
        )
        if operation == "AVG":
            for out, _ in pairs:
                _divide(out, self.size())

    def broadcast(self, array: Any, root: int) -> None:
        data = as_bytes(array)
        self._run(
            call_of("broadcast", array), [data.nbytes],
            lambda: [self.communicator.Ibcast([data, self._mpi.BYTE], root)],
        )  # fmt: skip
        if not np.shares_memory(data, array):
            array[...] = data.view(array.dtype).reshape(array.shape)

    def all_gather(self, array: Any) -> Any:
        result = np.empty((self.size(), array.nbytes), np.uint8)
        self.all_gather_into(result, array)
        return result

    def all_gather_into(self, out: Any, array: Any) -> None:
        self.all_gather_each([(out, array)])

    def all_gather_each(self, pairs: list[tuple[Any, Any]]) -> None:
        kind = self._mpi.BYTE
        given = [[as_bytes(array), kind] for _, array in pairs]
        found = [[out.reshape(-1).view(np.uint8), kind] for out, _ in pairs]
        self._run(
            call_of_each("all_gather", [array for _, array in pairs]),
            [out.nbytes for out, _ in pairs],
            lambda: list(map(self.communicator.Iallgather, given, found)),
        )


def _divide(array: Any, count: int) -> None:
    """The sum of ``count`` arrays becomes their average; whole numbers are rounded down."""
    if array.dtype.kind in "iu":
        array //= count
    else:
        array /= array.dtype.type(count)
