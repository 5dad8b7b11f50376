"""Recordings: what was issued on a stream, written down once and issued again as a whole.

    picture   issue, issue, [host], issue  ->  graph, host call, graph: a CUDA graph for each run of
              launches, and what the host does between them (draws, ops without a CUDA kernel)
    memory    what is allocated while a recording is made belongs to it and is never given back
              before it: each replay uses the same addresses
    sync      a recording is made by one thread, on a stream of its own; nothing may be read on the
              host meanwhile, for nothing has been computed

CUDA graphs are made by the driver's stream capture, through ``cuda.bindings`` (NVIDIA's own, which
numba-cuda needs anyway; numba has no capture, and cupy's would add a package for five calls).
Without it, and in the simulator, a recording is the list of its launches.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from typing import Any

from numba import config

from mindtorch.kernels.support.errors import AcceleratorError

from . import errors, memory, streams
from .issue import Call, local
from .issue import active as active
from .issue import issue as issue
from .issue import on_host as on_host
from .issue import refuse as refuse

SIMULATED = bool(config.ENABLE_CUDASIM)
MODES = ("global", "thread_local", "relaxed")


@functools.cache
def _bindings() -> Any:
    """The driver's functions; None where they are not installed, and in the simulator."""
    if SIMULATED:
        return None
    try:
        found = importlib.import_module("cuda.bindings.driver")
    except ImportError:
        return None
    return found if hasattr(found, "cuStreamBeginCapture") else None


class Driver:
    """Stream capture by the driver."""

    def __init__(self, bindings: Any) -> None:
        self.cuda = bindings

    def _checked(self, answer: Any) -> Any:
        status, *results = answer
        if int(status):
            name = getattr(status, "name", status)
            raise AcceleratorError(f"CUDA error: {name} while a graph was made or launched")
        return results[0] if results else None

    def begin(self, stream: int, mode: str) -> None:
        kind = self.cuda.CUstreamCaptureMode(MODES.index(mode))
        self._checked(self.cuda.cuStreamBeginCapture(self.cuda.CUstream(stream), kind))

    def exchange(self, mode: Any) -> Any:
        """Choose what this thread may call while a stream is captured; gives what it might."""
        return self._checked(self.cuda.cuThreadExchangeStreamCaptureMode(mode))

    def relaxed(self) -> Any:
        """The choice in which memory may be taken and kernels loaded, as PyTorch's own does."""
        return self.cuda.CUstreamCaptureMode(MODES.index("relaxed"))

    def end(self, stream: int) -> _Graph:
        """What was captured, ready to be launched."""
        graph = self._checked(self.cuda.cuStreamEndCapture(self.cuda.CUstream(stream)))
        try:
            ready = self._checked(self.cuda.cuGraphInstantiate(graph, 0))
        finally:
            self.cuda.cuGraphDestroy(graph)
        return _Graph(self, ready)

    def launch(self, graph: Any, stream: int) -> None:
        self._checked(self.cuda.cuGraphLaunch(graph, self.cuda.CUstream(stream)))

    def destroy(self, graph: Any) -> None:
        self.cuda.cuGraphExecDestroy(graph)


class _Graph:
    """An executable graph of the driver."""

    def __init__(self, driver: Any, graph: Any) -> None:
        self.driver = driver
        self.graph = graph

    def __call__(self) -> None:
        self.driver.launch(self.graph, streams.handle(streams.current()))

    def __del__(self) -> None:
        self.driver.destroy(self.graph)


def default_driver() -> Any:
    """The driver's capture, None where launches are written down instead."""
    bindings = _bindings()
    return None if bindings is None else Driver(bindings)


def _each(calls: list[Call]) -> None:
    for call in calls:
        call()


class Recording:
    """What was issued between :meth:`begin` and :meth:`end`.

    Args:
        driver: captures streams; None writes launches down.
        mode: what other threads may do meanwhile, of :data:`MODES`.

    Attributes:
        pieces: what a replay calls, in order.
        kept: memory that was taken meanwhile.
    """

    def __init__(self, driver: Any = None, mode: str = "relaxed") -> None:
        self.driver = driver
        self.mode = mode
        self.pieces: list[Call] = []
        self.waiting: list[Call] = []
        self.kept: list[Any] = []
        self.stream = 0
        self._around = contextlib.ExitStack()

    def begin(self) -> None:
        """Record what this thread issues on its current stream from now on.

        Raises:
            AcceleratorError: this thread makes a recording already, or the driver refuses.
        """
        refuse()
        errors.cell()  # taken now, since it outlives the recording
        self.stream = streams.handle(streams.current())
        with contextlib.ExitStack() as around:
            if self.driver is not None:
                around.enter_context(memory.of_recording(self.kept))
                self.driver.begin(self.stream, self.mode)
                around.callback(self.driver.exchange, self.driver.exchange(self.driver.relaxed()))
            self._around = around.pop_all()
        local.active = self

    def end(self) -> None:
        """Stop; what was recorded has not been done yet."""
        local.active = None
        with self._around:
            self._close()

    def __enter__(self) -> Recording:
        self.begin()
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        if kind is None:
            self.end()
            return
        with contextlib.suppress(AcceleratorError):
            self.end()
        self.pieces, self.kept = [], []

    def _close(self) -> None:
        if self.driver is not None:
            self.pieces.append(self.driver.end(self.stream))
        elif self.waiting:
            calls, self.waiting = self.waiting, []
            self.pieces.append(functools.partial(_each, calls))

    def host(self, call: Call) -> None:
        """Call something on the host at this place of each replay."""
        self._close()
        self.pieces.append(call)
        if self.driver is not None:
            self.driver.begin(self.stream, self.mode)

    def replay(self) -> None:
        """Do everything once more, on the current stream."""
        if local.active is not None:
            for piece in self.pieces:
                issue(piece)
            return
        for piece in self.pieces:
            piece()
        errors.reported()
