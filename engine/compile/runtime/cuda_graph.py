"""A program on CUDA as a CUDA graph: recorded at its third run, then issued as a whole.

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
    from .executable import Program

_WARM = 2


class _Wanted(threading.local):
    recorded = False


wanted = _Wanted()


@contextlib.contextmanager
def wanting(yes: bool = True) -> Iterator[None]:
    """Programs that are made in the block are recorded."""
    before, wanted.recorded = wanted.recorded, yes
    try:
        yield
    finally:
        wanted.recorded = before


def touches_host(program: Program) -> list[bool]:
    """For each step, whether it reads or writes memory of the host that is not constant."""
    found = [False] * len(program.steps)
    places = {id(arguments): k for k, (_, arguments) in enumerate(program.steps)}
    for root in {id(s.root): s.root for s in program.slots.values()}.values():
        if root.device is cpu and root.kind != "constant":
            for arguments, *_ in root.sites:
                found[places[id(arguments)]] = True
    return found


class Recorded:
    """The recording of one program, and when it has to be made again."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.runs = 0
        self.recording: Any = None
        self.held: list[Any] = []
        self.moving: dict[int, Any] = {}
        self.results: list[Any] = []
        self.failed = ""

    def run(self, flats: Sequence[Any]) -> list[Any]:
        """The outputs' arrays, as :meth:`Program.run` gives them."""
        graphs = kernels("graphs")
        self.runs += 1
        if self.failed or self.runs <= _WARM or graphs.active() is not None:
            return self.program.run_steps(flats)
        fresh = self._moved(flats)
        if self.recording is None or fresh:
            try:
                self._record(flats, graphs)
            except Exception as error:
                import logging

                self.failed = f"{type(error).__name__}: {error}"
                logging.getLogger(__name__).warning("not recorded as a CUDA graph: %s", self.failed)
                self.recording = None
                return self.program.run_steps(flats)
        for place, static in self.moving.items():
            static[...] = flats[place]
        for root, flat in zip(self.program.inputs, flats, strict=True):
            if root.device is cpu and root.flat is not flat:
                root.take(flat)
        self.recording.replay()
        return [flat.copy() for flat in self.results]

    def _moved(self, flats: Sequence[Any]) -> bool:
        """Whether an input lies elsewhere than when it was recorded."""
        fresh = False
        for place, (flat, before) in enumerate(zip(flats, self.held, strict=False)):
            if self.program.inputs[place].device is cpu or place in self.moving or flat is before:
                continue
            if flat.memory is before.memory and flat.offset == before.offset:
                continue
            self.moving[place] = kernels("memory").empty(flat.size, flat.dtype)
            fresh = True
        return fresh

    def _record(self, flats: Sequence[Any], graphs: Any) -> None:
        program, streams = self.program, kernels("streams")
        self.held = list(flats)
        for place, (root, flat) in enumerate(zip(program.inputs, flats, strict=True)):
            root.take(self.moving.get(place, flat))
        self.results = program.fresh_outputs()
        recording = graphs.Recording(graphs.default_driver())
        before = streams.set_current(streams.make())  # the default stream cannot be captured
        try:
            with recording:
                waits = zip(program.steps, touches_host(program), strict=True)
                for (step, arguments), on_host in waits:
                    if on_host:
                        graphs.on_host(lambda step=step, given=arguments: step(*given))
                    else:
                        step(*arguments)
        finally:
            streams.set_current(before)
        self.recording = recording
