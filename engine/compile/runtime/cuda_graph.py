"""An executable on CUDA as a CUDA graph: recorded at its third run, then issued as a whole.

    inputs    a parameter lies at the same address at each run; an input that does not is copied to
              memory of the recording, which is then made again, once for each such input
    numbers   a step that reads memory of the host is called by the host at its place, so learning
              rates and masks are new at each replay
    outputs   are written to memory of the recording and copied to memory of their own
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...devices.cuda import kernels
from ...devices.device import cpu

if TYPE_CHECKING:
    from .executable import Executable

_WARM = 2


_wanted = threading.local()


def is_wanted() -> bool:
    """Whether executables that are made now in this thread are recorded."""
    return getattr(_wanted, "recorded", False)


@contextlib.contextmanager
def wanting(yes: bool = True) -> Iterator[None]:
    """Executables that are made in the block are recorded."""
    before, _wanted.recorded = is_wanted(), yes
    try:
        yield
    finally:
        _wanted.recorded = before


def touches_host(executable: Executable) -> list[bool]:
    """For each step, whether it reads or writes memory of the host that is not constant."""
    found = [False] * len(executable.steps)
    places = {id(arguments): k for k, (_, arguments) in enumerate(executable.steps)}
    for buffer in executable.buffers():
        if buffer.device is cpu and buffer.kind != "constant":
            for arguments, *_ in buffer.uses:
                found[places[id(arguments)]] = True
    return found


class CudaGraph:
    """The recording of one executable, and when it has to be made again."""

    def __init__(self, executable: Executable) -> None:
        self.executable = executable
        self.runs = 0
        self.recording: Any = None
        self.held: list[Any] = []
        self.moving: dict[int, Any] = {}
        self.results: list[Any] = []
        self.failed = ""

    def run(self, flats: Sequence[Any]) -> list[Any]:
        """The outputs' arrays, as :meth:`Executable.run` gives them."""
        graphs = kernels("graphs")
        self.runs += 1
        if self.failed or self.runs <= _WARM or graphs.active() is not None:
            return self.executable.run(flats, as_kernels=True)
        fresh = self._moved(flats)
        if self.recording is None or fresh:
            try:
                self._record(flats, graphs)
            except Exception as error:
                import logging

                self.failed = f"{type(error).__name__}: {error}"
                logging.getLogger(__name__).warning("not recorded as a CUDA graph: %s", self.failed)
                self.recording = None
                return self.executable.run(flats, as_kernels=True)
        for place, static in self.moving.items():
            static[...] = flats[place]
        for buffer, flat in zip(self.executable.inputs, flats, strict=True):
            if buffer.device is cpu and buffer.flat is not flat:
                buffer.bind(flat)
        self.recording.replay()
        return [flat.copy() for flat in self.results]

    def _moved(self, flats: Sequence[Any]) -> bool:
        """Whether an input lies elsewhere than when it was recorded."""
        fresh = False
        for place, (flat, before) in enumerate(zip(flats, self.held, strict=False)):
            if flat is before or place in self.moving:
                continue
            if self.executable.inputs[place].device is cpu:
                continue
            if flat.memory is before.memory and flat.offset == before.offset:
                continue
            self.moving[place] = kernels("memory").empty(flat.size, flat.dtype)
            fresh = True
        return fresh

    def _record(self, flats: Sequence[Any], graphs: Any) -> None:
        executable, streams = self.executable, kernels("streams")
        self.held = list(flats)
        for place, (buffer, flat) in enumerate(zip(executable.inputs, flats, strict=True)):
            buffer.bind(self.moving.get(place, flat))
        self.results = executable.fresh_outputs()
        recording = graphs.Recording(graphs.default_driver())
        before = streams.set_current(streams.make())  # the default stream cannot be captured
        try:
            with recording:
                waits = zip(executable.steps, touches_host(executable), strict=True)
                for (step, arguments), on_host in waits:
                    if on_host:
                        graphs.on_host(lambda step=step, given=arguments: step(*given))
                    else:
                        step(*arguments)
        finally:
            streams.set_current(before)
        self.recording = recording
