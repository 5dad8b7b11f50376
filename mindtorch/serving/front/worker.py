"""One worker process, seen from the front."""

from __future__ import annotations

import asyncio
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
from mindtorch.serving.frames import LENGTHS, decode, encode

from .requests import Part

__all__ = ["Batch", "Worker", "WorkerStartError"]

logger = logging.getLogger("mindtorch.serving")

SOCKET_BUFFER = 4 << 20
_numbers = itertools.count(1)


class WorkerStartError(RuntimeError):
    """A worker could not load its servable; the text says why."""


@dataclass(eq=False)
class Batch:
    """Parts that a worker runs together."""

    method: str
    parts: list[Part]
    sent: float = 0.0

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
    """

    def __init__(
        self,
        label: str,
        start: Mapping[str, Any],
        done: Callable[[Worker, Batch, float], None],
        ended: Callable[[Worker, Sequence[Batch]], None],
    ) -> None:
        self.label = label
        self.batches: dict[int, Batch] = {}
        self.ready = False
        self.stopping = False
        self.timed_out = False
        self._done = done
        self._ended = ended
        self._start = start
        self._writer: asyncio.StreamWriter | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The number of the process; 0 before it is started."""
        return self._process.pid if self._process is not None else 0

    async def start(self) -> dict[str, Any]:
        """Start the process and wait until it is ready; gives back what it serves.

        Raises:
            WorkerStartError: it could not load, or died.
        """
        ours, theirs = socket.socketpair()
        for each in (ours, theirs):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER)
        command = [sys.executable, "-m", "mindtorch.serving.worker_process", str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                [*command, self.label], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )  # fmt: skip
        reader, self._writer = await asyncio.open_connection(sock=ours, limit=SOCKET_BUFFER)
        try:
            self._writer.writelines(encode({**self._start, "kind": "start"}))
            description = await _receive(reader)
            if description is None:
                raise WorkerStartError(f"{self.label}: the worker died while it was loading")
            if description["kind"] == "failed":
                raise WorkerStartError(f"{self.label}: {description['text']}")
        except BaseException:
            await self.kill()
            raise
        self.ready = True
        self._reading = asyncio.get_running_loop().create_task(self._read(reader))
        return description

    def send(self, batch: Batch) -> None:
        """Have the worker run a batch."""
        number = next(_numbers)
        self.batches[number] = batch
        batch.sent = time.perf_counter()
        for part in batch.parts:
            request = part.request
            request.seconds_queued = batch.sent - request.arrived
            request.largest_batch = max(request.largest_batch, batch.rows)
        header = {"kind": "run", "id": number, "method": batch.method, "rows": batch.rows}
        assert self._writer is not None
        self._writer.writelines(encode(header, batch.columns()))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while (frame := await _receive(reader)) is not None:
            batch = self.batches.pop(frame["id"])
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
        await self.kill()
        batches = list(self.batches.values())
        self.batches.clear()
        self._ended(self, batches)

    def overdue(self, limit: float) -> bool:
        """Whether the batch that runs has run for longer than `limit` seconds."""
        first = next(iter(self.batches.values()), None)
        return first is not None and time.perf_counter() - first.sent > limit

    def stop(self) -> None:
        """Let the process end when it has answered what it has."""
        self.stopping = True
        if self._writer is not None and not self._writer.is_closing():
            self._writer.writelines(encode({"kind": "stop"}))

    async def wait(self) -> None:
        """Wait until the process has ended."""
        if self._reading is not None:
            await self._reading

    async def kill(self) -> None:
        """End the process at once, and collect it."""
        self.ready = False
        if self._writer is not None:
            self._writer.close()
        if self._process is not None:
            self._process.kill()
            while self._process.poll() is None:  # no thread: the script may be over by now
                await asyncio.sleep(0.002)


async def _receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    try:
        head_size, payload_size = LENGTHS.unpack(await reader.readexactly(LENGTHS.size))
        head = await reader.readexactly(head_size)
        payload = await reader.readexactly(payload_size) if payload_size else b""
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return decode(head, payload)
