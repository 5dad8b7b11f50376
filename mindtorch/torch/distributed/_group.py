"""Collective operations of a group of processes, on flat numpy arrays."""

from __future__ import annotations

import functools
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import numpy as np

from mindtorch.engine.dtypes import DType

from . import _failure
from ._mesh import Mesh

# an operation's name; where all processes have as many, the number of elements and their type
Call = tuple[Any, ...]
_SMALL = 16384


class _About(threading.local):
    """Whose data the operations of this thread exchange."""

    subject = ""


_about = _About()


@contextmanager
def about(subject: str) -> Iterator[None]:
    """A block whose operations exchange somebody's data. Processes that have come with others'
    are told so, by these names, in place of numbers that are none."""
    before, _about.subject = _about.subject, subject
    try:
        yield
    finally:
        _about.subject = before


def subject() -> str:
    """Whose data the operations of this thread exchange; "" where nobody has said."""
    return _about.subject


class ProcessGroup:
    """Some of the processes, numbered from 0 within the group.

    Args:
        mesh: the connections of this process.
        number: the group's, the same in all processes.
        ranks: the global numbers of its processes, in the group's order.
        timeout: how long an operation waits for the others.
        name: for error messages.
    """

    def __init__(
        self, mesh: Mesh, number: int, ranks: list[int], name: str, backend: str,
        timeout: timedelta,
    ) -> None:  # fmt: skip
        self.mesh = mesh
        self.timeout = timeout
        self.number = number
        self.ranks = ranks
        self.group_name = name
        self.backend = backend
        self.own = ranks.index(mesh.rank)
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._failure: RuntimeError | None = None
        self.closed = False
        self.device: Any = None  # the collectives of tensors on CUDA, where NCCL makes them

    def rank(self) -> int:
        """This process's number within the group."""
        return self.own

    def size(self) -> int:
        """How many processes the group has."""
        return len(self.ranks)

    def name(self) -> str:
        return self.backend

    def next_number(self, kind: str) -> int:
        """How many of a kind have asked before: the same in all processes, which make the same
        modules in the same order."""
        key = kind, *self.ranks
        self.mesh.made[key] += 1
        return self.mesh.made[key] - 1

    def run(self, function: Callable[[], Any]) -> Future[Any]:
        """Do something after everything that was asked of the group before."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, thread_name_prefix=self.group_name)
        return self._executor.submit(self._in_turn, function)

    def _in_turn(self, function: Callable[[], Any]) -> Any:
        """After an operation that failed none is begun: each would wait for its own timeout."""
        self.mesh.turns.add(threading.get_ident())
        if self._failure is not None:
            raise self._failure
        try:
            return function()
        except RuntimeError as error:
            self._failure = error
            raise

    def pending(self) -> bool:
        """Whether anything was ever started in the background."""
        return self._executor is not None

    def close(self) -> None:
        self.closed = True
        if self._executor is not None:
            self._executor.shutdown(wait=True)
        if self.device is not None:
            self.device.close()

    # --- bytes -------------------------------------------------------------------------------

    def send(self, place: int, data: Any, tag: int) -> None:
        self.mesh.send(self.ranks[place], self.number, tag, data)

    def receive(self, place: int, tag: int, about: str = "") -> bytearray:
        return self.mesh.receive(self.ranks[place], self.number, tag, self.timeout, about)

    def begin(self, call: Call) -> int:
        """Count a collective operation and note what it is: both tell who is late, and where.

        Returns:
            the tag of its messages.
        """
        begun = _failure.operations_begun(self.mesh, self.number)
        self.mesh.doing[self.number] = (begun + 1, call, _about.subject)
        return _tag_of(call[0], _about.subject)

    def broadcast_bytes(
        self, data: bytes | None, root: int, call: Call = ("broadcast of objects",)
    ) -> bytes:
        """What ``root`` has, in all processes; along a binary tree."""
        tag = self.begin(call)
        size = self.size()
        place = (self.own - root) % size
        if place:
            data = bytes(self.receive(((place - 1) // 2 + root) % size, tag))
        assert data is not None
        for child in (2 * place + 1, 2 * place + 2):
            if child < size:
                self.send((child + root) % size, data, tag)
        return data

    def gather_bytes(
        self, data: Any, root: int, call: Call = ("gather of objects",)
    ) -> list[Any]:
        """What every process has, in ``root``; an empty list in the others."""
        tag = self.begin(call)
        if self.own != root:
            self.send(root, data, tag)
            return []
        return [data if i == root else self.receive(i, tag) for i in range(self.size())]

    def all_gather_bytes(self, data: Any, call: Call = ("all_gather of objects",)) -> list[Any]:
        """What every process has, in all of them."""
        tag = self.begin(call)
        others = [i for i in range(self.size()) if i != self.own]
        for i in others:
            self.send(i, data, tag)
        found = [data if i == self.own else self.receive(i, tag) for i in range(self.size())]
        if len(call) == 3:
            self._check_sizes(found, len(data))
        return found

    def _check_sizes(self, found: list[Any], size: int) -> None:
        """Raise where others have sent arrays of another size."""
        if any(len(data) != size for data in found):
            raise _failure.mismatched(self.mesh, self.ranks, self.number)

    def exchange_bytes(self, parts: list[Any], call: Call = ("all_to_all",)) -> list[Any]:
        """Part ``i`` goes to process ``i``; what all of them sent here."""
        tag = self.begin(call)
        for i, part in enumerate(parts):
            if i != self.own:
                self.send(i, part, tag)
        found = [parts[i] if i == self.own else self.receive(i, tag) for i in range(self.size())]
        if len(call) == 3:
            self._check_sizes(found, len(parts[self.own]))
        return found

    def scatter_bytes(self, parts: list[Any] | None, root: int) -> Any:
        """Part ``i`` of ``root``'s list, in process ``i``."""
        tag = self.begin(("scatter",))
        if self.own != root:
            return self.receive(root, tag)
        assert parts is not None
        for i, part in enumerate(parts):
            if i != root:
                self.send(i, part, tag)
        return parts[root]

    def barrier(self, timeout: timedelta | None = None) -> None:
        """Return when all processes have come here.

        Args:
            timeout: for this once in place of the group's.
        """
        usual = self.timeout
        self.timeout = timeout or usual
        try:
            self.all_gather_bytes(b"", ("barrier",))
        finally:
            self.timeout = usual

    # --- numbers -----------------------------------------------------------------------------

    def reduce_to(self, array: Any, operation: str, root: int) -> None:
        """Combine the arrays of all processes into that of ``root``, in the order of ranks."""
        found = self.gather_bytes(as_bytes(array), root, call_of("reduce", array, operation))
        if found:
            array[...] = combine([from_bytes(f, array) for f in found], operation)

    def broadcast(self, array: Any, root: int) -> None:
        """Overwrite the array with that of ``root``."""
        own = as_bytes(array).tobytes() if self.own == root else None
        data = self.broadcast_bytes(own, root, call_of("broadcast", array))
        if own is None:
            array[...] = from_bytes(data, array)

    def all_gather(self, array: Any) -> Any:
        """The bytes of all processes' arrays of this size: one row for each."""
        found = self.all_gather_bytes(as_bytes(array), call_of("all_gather", array))
        return np.stack([np.frombuffer(data, np.uint8) for data in found])

    def all_gather_into(self, out: Any, array: Any) -> None:
        """Fill ``out`` with the arrays of all processes, one after another.

        Args:
            out: dense, of ``size()`` times the elements of ``array``.
        """
        rows = out.reshape(self.size(), -1).view(np.uint8)
        found = self.all_gather_bytes(as_bytes(array), call_of("all_gather", array))
        for row, data in zip(rows, found, strict=True):
            row[...] = np.frombuffer(data, np.uint8)

    def all_gather_each(self, pairs: list[tuple[Any, Any]]) -> None:
        """:meth:`all_gather_into` for each (out, array) of the list, as one operation where the
        transport has that."""
        for out, array in pairs:
            self.all_gather_into(out, array)

    def reduce_scatter_each(self, pairs: list[tuple[Any, Any]], operation: str) -> None:
        """:meth:`reduce_scatter_into` for each (out, whole) of the list."""
        for out, whole in pairs:
            self.reduce_scatter_into(out, whole, operation)

    def reduce_scatter_into(self, out: Any, whole: Any, operation: str) -> None:
        """Fill ``out`` with the combination of all processes' parts of ``whole`` for this one.

        Args:
            whole: dense, of ``size()`` times the elements of ``out``.
        """
        parts = list(whole.reshape(self.size(), -1))
        out.reshape(-1)[...] = ProcessGroup.reduce_scatter(self, parts, operation)

    def all_reduce(self, array: Any, operation: str) -> None:
        """Combine the arrays of all processes into each of them, with the same bits in all."""
        call = call_of("all_reduce", array, operation)
        if array.size * self.size() <= _SMALL:
            found = self.all_gather_bytes(as_bytes(array), call)
            array[...] = combine([from_bytes(f, array) for f in found], operation)
            return
        parts = np.array_split(array, self.size())
        mine = parts[self.own]
        got = self.exchange_bytes([as_bytes(part) for part in parts], call)
        mine[...] = combine([from_bytes(g, mine) for g in got], operation)
        whole = self.all_gather_bytes(as_bytes(mine), call)
        for part, data in zip(parts, whole, strict=True):
            part[...] = from_bytes(data, part)

    def reduce_scatter(self, parts: list[Any], operation: str) -> Any:
        """The combination of all processes' parts for this one."""
        call = call_of("reduce_scatter", parts[self.own], operation)
        got = self.exchange_bytes([as_bytes(part) for part in parts], call)
        mine = parts[self.own]
        return combine([from_bytes(g, mine) for g in got], operation)


def call_of(name: str, array: Any, operation: str = "SUM") -> Call:
    """What all processes of a group must agree on in an operation on arrays."""
    name = name if operation == "SUM" else f"{name} by {operation}"
    return name, array.size, array.dtype.name


def call_of_each(name: str, arrays: list[Any], operation: str = "SUM") -> Call:
    """:func:`call_of` for arrays of one type that are exchanged together."""
    name, size, dtype = call_of(name, arrays[0], operation)
    return name, size + sum(array.size for array in arrays[1:]), dtype


@functools.lru_cache(256)
def _tag_of(name: str, subject: str) -> int:
    """The tag of an operation's messages: other operations, and those on other data, take none of
    them."""
    return -16 - (zlib.crc32(f"{name} ({subject})".encode()) & 0x3FFFFFFF)


def as_bytes(array: Any) -> Any:
    """The elements as bytes, in C order; shares the array's memory where it can."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def from_bytes(data: Any, like: Any) -> Any:
    """Bytes as an array like another one."""
    return np.frombuffer(data, np.uint8).view(like.dtype).reshape(like.shape)


_FUNCTIONS: dict[str, Any] = {
    "SUM": np.add, "AVG": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum,
    "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor,
}  # fmt: skip


def check_operation(operation: str, dtype: DType) -> None:
    """Raise for operations that a type does not have."""
    if operation.startswith("B") and (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"Cannot use ReduceOp.{operation} with non-integral dtype")
    if operation not in _FUNCTIONS:
        raise RuntimeError(f"Cannot use ReduceOp.{operation} with Gloo")


def combine(arrays: list[Any], operation: str) -> Any:
    """The arrays combined in their order."""
    total = np.array(arrays[0])
    for array in arrays[1:]:
        total = _FUNCTIONS[operation](total, array).astype(total.dtype, copy=False)
    if operation == "AVG":
        exact = total.dtype.kind in "iub"
        total = total // len(arrays) if exact else total / total.dtype.type(len(arrays))
    return total
