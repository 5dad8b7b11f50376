"""Collective operations of several devices, one to a process: NCCL by cupy's binding of it.

    picture   none of its own: each call puts NCCL's kernel on a stream of this communicator, behind
              what the caller's stream holds now; the caller's later work waits for it in ``wait``
    memory    the caller's arrays, in place; they are kept until the stream has passed
    sync      by events between the two streams; the host waits for nothing
    sizes     any; complex numbers are pairs of their parts
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from . import memory, streams

# numbers of nccl.h
_TYPES = {
    "int8": 0, "bool": 1, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5,
    "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
}  # fmt: skip
_PARTS = {"complex64": "float32", "complex128": "float64"}
_OPERATIONS = {"SUM": 0, "PRODUCT": 1, "MAX": 2, "MIN": 3, "AVG": 4}


def library() -> Any:
    """cupy's module of NCCL; None where it is not built in."""
    if memory._cupy() is None:
        return None
    try:
        found = importlib.import_module("cupy.cuda.nccl")
    except ImportError:
        return None
    return found if getattr(found, "available", True) else None


def unique_id(nccl: Any) -> Any:
    """What the processes of one communicator share: made by one of them."""
    return nccl.get_unique_id()


class Pending:
    """Something that was put on the communicator's stream."""

    def __init__(self, event: Any) -> None:
        self._event = event

    def wait(self) -> bool:
        """Let the later work of this thread's stream wait for it."""
        streams.wait(self._event, streams.current())
        return True

    def done(self) -> bool:
        """Whether it has ended."""
        return bool(streams.query(self._event))


class Communicator:
    """This process's end of a communicator; all processes make theirs at the same time.

    Args:
        nccl: the binding, see :func:`library`.
        size, identity, rank: how many processes, what they share, and the number of this one.
    """

    def __init__(self, nccl: Any, size: int, identity: Any, rank: int) -> None:
        self._nccl = nccl
        self._own = nccl.NcclCommunicator(size, identity, rank)
        self._stream = streams.make()
        self._device = streams.device()
        self.size, self.rank = size, rank

    def _issue(self, arrays: Any, call: Callable[[int], None]) -> Pending:
        """``call(address of the stream)``, between what was issued before and what comes after."""
        with streams.on(self._device):
            return self._issued(arrays, call)

    def _issued(self, arrays: Any, call: Callable[[int], None]) -> Pending:
        ready = streams.make_event(False)
        streams.record(ready, streams.current())
        streams.wait(ready, self._stream)
        call(streams.handle(self._stream))
        end = streams.make_event(False)
        streams.record(end, self._stream)
        for each in arrays:
            memory.record_stream(each.memory, self._stream)
        return Pending(end)

    def all_reduce(self, array: Any, operation: str) -> Pending:
        """Combine the arrays of all processes into each of them."""
        at, (count, kind) = memory.pointer(array), _described(array, operation)
        how = _OPERATIONS[operation]
        return self._issue([array], lambda s: self._own.allReduce(at, at, count, kind, how, s))

    def reduce(self, array: Any, operation: str, root: int) -> Pending:
        """Combine them into that of ``root``."""
        at, (count, kind) = memory.pointer(array), _described(array, operation)
        how = _OPERATIONS[operation]
        return self._issue([array], lambda s: self._own.reduce(at, at, count, kind, how, root, s))

    def broadcast(self, array: Any, root: int) -> Pending:
        """Overwrite the array with that of ``root``."""
        at, size = memory.pointer(array), array.nbytes
        return self._issue([array], lambda s: self._own.broadcast(at, at, size, 0, root, s))

    def all_gather(self, out: Any, array: Any) -> Pending:
        """``out``: the arrays of all processes one after another."""
        to, at, size = memory.pointer(out), memory.pointer(array), array.nbytes
        return self._issue([out, array], lambda s: self._own.allGather(at, to, size, 0, s))

    def reduce_scatter(self, out: Any, array: Any, operation: str) -> Pending:
        """``out``: this process's part of the arrays of all processes combined."""
        to, at, (count, kind) = memory.pointer(out), memory.pointer(array), _described(
            out, operation)  # fmt: skip
        how = _OPERATIONS[operation]
        return self._issue(
            [out, array], lambda s: self._own.reduceScatter(at, to, count, kind, how, s)
        )

    def exchange(self, outs: list[Any], arrays: list[Any]) -> Pending:
        """Array ``i`` goes to process ``i``; ``outs`` are what all of them sent here."""

        def call(stream: int) -> None:
            self._nccl.groupStart()
            for place, (out, array) in enumerate(zip(outs, arrays, strict=True)):
                self._own.send(memory.pointer(array), array.nbytes, 0, place, stream)
                self._own.recv(memory.pointer(out), out.nbytes, 0, place, stream)
            self._nccl.groupEnd()

        return self._issue([*outs, *arrays], call)

    def close(self) -> None:
        """Give the communicator back."""
        self._own.destroy()


def _described(array: Any, operation: str) -> tuple[int, int]:
    """(elements, NCCL's number of their type).

    Raises:
        RuntimeError: NCCL does not combine them so.
    """
    name = array.dtype.name
    if operation not in _OPERATIONS:
        raise RuntimeError(f"Cannot use ReduceOp.{operation} with NCCL")
    if name in _PARTS and operation in ("SUM", "AVG"):
        return 2 * array.size, _TYPES[_PARTS[name]]
    if name not in _TYPES:
        raise TypeError(f"Input tensor data type is not supported for NCCL process group: {name}")
    return array.size, _TYPES[name]
