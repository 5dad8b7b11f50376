"""One worker process, seen from the front."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mindtorch.serving import columns as column_functions
from mindtorch.serving.columns import Column
from mindtorch.serving.errors import KINDS, ServingError
from mindtorch.serving.frames import LENGTHS, Slots, decode, encode

from .requests import Part

__all__ = ["Batch", "Worker", "WorkerStartError"]

logger = logging.getLogger("mindtorch.serving")

SOCKET_BUFFER = 4 << 20
LOOK = 1.0  # seconds between looks whether the process is there
COLLECT = 5.0  # seconds that a killed process may take until it is gone
_numbers = itertools.count(1)


class WorkerStartError(RuntimeError):
    """A worker could not load its servable; the text says why."""


@dataclass(eq=False)
class Batch:
    """Parts that a worker runs together."""

    method: str
    parts: list[Part]
    sent: float = 0.0
    slot: int = -1

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(part.rows for part in self.parts)

    def columns(self) -> dict[str, Column]:
        """The inputs of all parts, one after another."""
        first = self.parts[0].columns
        if len(self.parts) == 1:
            return first
        return {
            name: column_functions.join(part.columns[name] for part in self.parts) for name in first
        }

    def take(self, columns: dict[str, Column], errors: Mapping[int, ServingError]) -> None:
        """Give each part its rows of what came back."""
        start = kept = 0
        for part in self.parts:
            own = {row - start: error for row, error in errors.items()
                   if start <= row < start + part.rows}  # fmt: skip
            here = part.rows - len(own)
            outputs = {name: column_functions.part(column, kept, kept + here)
                       for name, column in columns.items()} if here else {}  # fmt: skip
            start += part.rows
            kept += here
            part.done(outputs, own)


class Worker:
    """A process that runs batches of one version.

    Args:
        label: what `ps` shows.
        start: what it has to load.
        done: called when a batch has come back.
        ended: called when the process is gone, with the batches it had.
        load_seconds: how long it may load.
    """

    def __init__(
        self,
        label: str,
        start: Mapping[str, Any],
        done: Callable[[Worker, Batch, float], None],
        ended: Callable[[Worker, Sequence[Batch]], None],
        load_seconds: float,
    ) -> None:
        self.label = label
        self.batches: dict[int, Batch] = {}
        self.ready = False
        self.stopping = False
        self.timed_out = False
        self._done = done
        self._ended = ended
        self._start = start
        self._load_seconds = load_seconds
        self._connection: socket.socket | None = None
        self._transport: asyncio.Transport | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lost = False  # the connection
        self._gone: asyncio.Future[None] | None = None  # of a worker that has been ready
        self._ending: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The number of the process; 0 before it is started."""
        return self._process.pid if self._process is not None else 0

    async def start(self) -> dict[str, Any]:
        """Start the process and wait until it is ready; gives back what it serves.

        Raises:
            WorkerStartError: it could not load, or died.
        """
        loop = asyncio.get_running_loop()
        self._start_process()
        self._looking = loop.create_task(self._look())
        described: asyncio.Future[dict[str, Any] | None] = loop.create_future()

        def receive(frame: dict[str, Any] | None) -> None:
            if not described.done():
                described.set_result(frame)
            elif frame is not None:
                self._take(frame)
            if frame is None:
                self._lost = True
                self._end_soon()

        try:
            self._transport, _ = await loop.create_connection(
                lambda: _Frames(receive), sock=self._connection
            )
            self._transport.writelines(encode({**self._start, "kind": "start"}))
            try:
                description = await asyncio.wait_for(described, self._load_seconds)
            except TimeoutError:
                text = f"it is not loaded after {self._load_seconds:g} seconds"
                raise WorkerStartError(f"{self.label}: {text}") from None
            if description is None:
                raise WorkerStartError(f"{self.label}: the worker died while it was loading")
            if description["kind"] == "failed":
                raise WorkerStartError(f"{self.label}: {description['text']}")
        except BaseException:
            self.kill()
            await self._collect()
            raise
        self.ready = True
        self._gone = loop.create_future()
        self._end_soon()
        return description

    def _start_process(self) -> None:
        self._connection, theirs = socket.socketpair()
        for each in (self._connection, theirs):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER)
        memory = Slots.make()
        try:
            with theirs:
                self._slots = Slots(memory)
                shared = [theirs.fileno(), memory]
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "mindtorch.serving.worker_process", *map(str, shared),
                     self.label], pass_fds=shared, stdin=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )  # fmt: skip
        finally:
            os.close(memory)

    async def _look(self) -> None:
        """End the reading when the process is gone. Its socket tells that at once, but for one that
        a child of the process still holds."""
        assert self._process is not None and self._connection is not None
        while self._process.poll() is None:
            await asyncio.sleep(LOOK)
        with contextlib.suppress(OSError):  # it is closed already
            self._connection.shutdown(socket.SHUT_RD)  # what has arrived can still be read

    def send(self, batch: Batch) -> None:
        """Have the worker run a batch."""
        number = next(_numbers)
        self.batches[number] = batch
        batch.sent = time.perf_counter()
        for part in batch.parts:
            request = part.request
            request.seconds_queued = batch.sent - request.arrived
            request.largest_batch = max(request.largest_batch, batch.rows)
        columns = batch.columns()
        batch.slot = self._slots.put(columns)
        header = {"kind": "run", "id": number, "method": batch.method, "rows": batch.rows,
                  "slot": batch.slot}  # fmt: skip
        assert self._transport is not None
        self._transport.writelines(encode(header, columns, sent=batch.slot < 0))

    def _end_soon(self) -> None:
        if self._lost and self._gone is not None and self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end())

    async def _end(self) -> None:
        self.kill()
        await self._collect()
        batches = list(self.batches.values())
        self.batches.clear()
        self._ended(self, batches)
        assert self._gone is not None
        self._gone.set_result(None)

    def _take(self, frame: dict[str, Any]) -> None:
        batch = self.batches.pop(frame["id"])
        self._slots.free(batch.slot)
        for waiting in self.batches.values():
            waiting.sent = time.perf_counter()  # it begins now
            break
        errors = {int(row): ServingError(KINDS[kind], text)
                  for row, (kind, text) in frame["errors"].items()}  # fmt: skip
        try:
            batch.take(frame["columns"], errors)
            self._done(self, batch, frame["seconds"])
        except Exception:
            logger.exception("%s: an answer could not be taken", self.label)

    def overdue(self, limit: float) -> bool:
        """Whether the batch that runs has run for longer than `limit` seconds."""
        first = next(iter(self.batches.values()), None)
        return first is not None and time.perf_counter() - first.sent > limit

    def stop(self) -> None:
        """Let the process end when it has answered what it has."""
        self.stopping = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(encode({"kind": "stop"}))

    async def wait(self, seconds: float) -> bool:
        """Wait until the process has ended; gives back whether it has.

        Args:
            seconds: at most.
        """
        if self._gone is None:
            return True
        _, late = await asyncio.wait([self._gone], timeout=seconds)
        return not late

    def kill(self) -> None:
        """End the process at once; what it has not answered is given back by `ended`."""
        self.ready = False
        if self._transport is not None:
            self._transport.abort()  # `close` would wait until all is written
        elif self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()

    async def _collect(self) -> None:
        """Wait until the killed process is gone; the system may need its time."""
        assert self._process is not None and self._looking is not None
        self._looking.cancel()
        end = time.perf_counter() + COLLECT
        while self._process.poll() is None:  # no thread: the script may be over by now
            if time.perf_counter() > end:
                logger.error("%s (pid %d) is killed, and does not end", self.label, self.pid)
                return
            await asyncio.sleep(0.002)


class _Frames(asyncio.Protocol):
    """What a worker sends.

    Args:
        give: gets one frame after another, then None.
    """

    def __init__(self, give: Callable[[dict[str, Any] | None], None]) -> None:
        self._held = bytearray()
        self._give = give
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._held += data
        try:
            while (frame := self._next()) is not None:
                self._give(frame)
        except Exception:
            logger.exception("what a worker sends cannot be read")
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._give(None)

    def _next(self) -> dict[str, Any] | None:
        held, start = self._held, LENGTHS.size
        if len(held) < start:
            return None
        head_size, payload_size = LENGTHS.unpack_from(held)
        middle, end = start + head_size, start + head_size + payload_size
        if len(held) < end:
            return None
        with memoryview(held) as view:
            head, payload = bytes(view[start:middle]), bytes(view[middle:end])
        del held[:end]
        return decode(head, payload)
