"""Requests on their way: what was asked, in parts that fit into a batch, and who waits for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from mindtorch.serving import columns as column_functions
from mindtorch.serving.columns import Column
from mindtorch.serving.errors import TIMEOUT, ServingError

__all__ = ["Answer", "Deadlines", "Part", "Request"]


@dataclass
class Answer:
    """What a request gets.

    Attributes:
        columns: the outputs by name, without the rows that failed.
        errors: the errors of those, by row.
        rows: how many rows were asked.
        outputs: the names of outputs, in the method's order.
        version: of which version.
        queued: how many seconds it waited for a worker.
        batch: the instances of the largest batch that it was part of.
    """

    columns: dict[str, Column]
    errors: dict[int, ServingError]
    rows: int
    outputs: tuple[str, ...] = ()
    version: int = 0
    queued: float = 0.0
    batch: int = 0


class Request:
    """Rows for one method of one version.

    Args:
        method: the method's name.
        columns: its inputs, by name.
        rows: how many there are.
        size: how many fit into a batch.
    """

    def __init__(self, method: str, columns: Mapping[str, Column], rows: int, size: int) -> None:
        self.method = method
        self.rows = rows
        self.arrived = time.perf_counter()
        self.seconds_queued = 0.0
        self.largest_batch = 0
        self.future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if rows <= size:
            self.parts = [Part(self, 0, rows, dict(columns))]
        else:
            self.parts = [
                Part(self, start, end, {name: column_functions.part(column, start, end)
                                        for name, column in columns.items()})
                for start in range(0, rows, size)
                for end in (min(start + size, rows),)
            ]  # fmt: skip
        self._missing = len(self.parts)

    @property
    def is_over(self) -> bool:
        """Whether nobody waits any more."""
        return self.future.done()

    def part_done(self) -> None:
        """Note that one more part has its outputs; the last one makes the answer."""
        self._missing -= 1
        if self._missing or self.future.done():
            return
        if len(self.parts) == 1:
            part = self.parts[0]
            self.future.set_result(Answer(part.outputs, part.errors, self.rows))
            return
        errors = {p.first + row: error for p in self.parts for row, error in p.errors.items()}
        given = [part.outputs for part in self.parts if part.outputs]
        joined = {name: column_functions.join(part[name] for part in given)
                  for name in (given[0] if given else ())}  # fmt: skip
        self.future.set_result(Answer(joined, errors, self.rows))

    def fail(self, error: ServingError) -> None:
        """Give up the whole request."""
        if not self.future.done():
            self.future.set_exception(error)


@dataclass(eq=False)
class Part:
    """Rows of a request that go into one batch.

    Attributes:
        request: whose rows they are.
        first: the first of its rows.
        last: the row after the last.
        columns: the inputs.
        deaths: how many workers have died with it.
        outputs: what came back, without the rows that failed.
        errors: the errors of those, counted from `first`.
    """

    request: Request
    first: int
    last: int
    columns: dict[str, Column]
    deaths: int = 0
    outputs: dict[str, Column] = field(default_factory=dict)
    errors: dict[int, ServingError] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.last - self.first

    def done(self, outputs: dict[str, Column], errors: dict[int, ServingError]) -> None:
        """Take what came back."""
        self.outputs, self.errors = outputs, errors
        self.columns = {}
        self.request.part_done()

    def fail(self, error: ServingError) -> None:
        """All rows have this error."""
        self.done({}, dict.fromkeys(range(self.rows), error))


class Deadlines:
    """Gives up requests whose time is over, with one timer for all of them."""

    def __init__(self) -> None:
        self._ends: dict[Request, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, request: Request, seconds: float) -> None:
        """Give a request so much time."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        self._ends[request] = end
        if self._timer is None or end < self._timer.when():
            self._wait(loop, end)

    def discard(self, request: Request) -> None:
        """Nobody waits for it any more."""
        self._ends.pop(request, None)

    def _wait(self, loop: asyncio.AbstractEventLoop, end: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_at(end, self._look)

    def _look(self) -> None:
        loop, self._timer = asyncio.get_running_loop(), None
        now = loop.time()
        for request, end in list(self._ends.items()):
            if end <= now:
                del self._ends[request]
                request.fail(ServingError(TIMEOUT, "the request was not answered in its time"))
        if self._ends:
            self._wait(loop, max(min(self._ends.values()), now + _COARSE))


_COARSE = 0.001  # seconds that timers of a loop may come too early
