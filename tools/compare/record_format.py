"""What one side of a comparison leaves on disk.

`record.json` describes the run, `steps.jsonl` has one line for each optimizer step, written when
the step ends, and `arrays.bin` the values of what was recorded in full: one array after the other,
each below a line of JSON with its digest, dtype and shape. All of it can be read of a run that was
killed.
"""

import dataclasses
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from mindtorch.engine.bounded_cache import Bounded
from mindtorch.kernels.support.atomic_file import write_whole

from .statistics import digest_of, statistics_of

__all__ = [
    "ARRAYS",
    "LEFT",
    "UNWRITTEN",
    "ArrayReader",
    "ArrayWriter",
    "Event",
    "OptimizerSettings",
    "Record",
    "RecordNotWrittenError",
    "Recorded",
    "Rerun",
    "Step",
    "load_record",
    "load_steps",
]

FORMAT = 7
ARRAYS = "arrays.bin"
LEFT = "ended by os._exit"  # a run's status, where its process's is 0
UNWRITTEN = 74  # a process's exit status: its record cannot be written


class RecordNotWrittenError(BaseException):
    """There is no room for the record. No `Exception`: a script must not handle it."""


@dataclass(frozen=True)
class Recorded:
    """A tensor as it was at one moment: its statistics (`statistics.Statistics`), and whether its
    values are in the arrays' file, under the digest.

    `axes` are the dimensions in the order in which they lie in memory, () for the usual one:
    random numbers are drawn in that order.
    """

    digest: str
    shape: tuple[int, ...]
    dtype: str
    largest: float
    mean: float
    norm: float
    odd: int
    sketch: str
    stored: bool
    axes: tuple[int, ...] = ()


@dataclass
class Rerun:
    """One part (an output, a gradient) of an event that the second side ran again on what the first
    was given.

    `apart` is the greatest difference from what the first side had, `first` and `second` are both
    sides' greatest errors against a float64 run, `noise` what one rounding of everything given
    changes in that run; all beside the greatest magnitude. None: no such run was needed, or
    possible.
    """

    part: str
    apart: float
    first: float | None
    second: float | None
    noise: float | None
    real: bool


@dataclass
class Event:
    """One call of a module, or of a function or tensor method in the code that is compared.

    `path` is the module's, for a function that of the module whose code calls it ('' outside all);
    `call` counts equal (kind, path, name) in the step. `phase` is data, forward or loss: before, in
    and after the outermost call of a model. `generator` is the random state's digest before it,
    `drawn_from` that state, where random numbers were drawn and values are kept. Where the call is
    to be run again: `modes` are those in which it was made (`rerun_event.modes_of`), `attributes`
    the numbers and texts of a module, as Python writes them. `pulled`: the gradients of inputs and
    parameters, on the second side those that its call gave for what the first side's had.
    """

    index: int
    kind: str
    path: str
    name: str
    call: int
    phase: str
    line: str
    description: str
    arguments: Any
    parent: int
    atomic: bool
    inputs: list[Recorded]
    outputs: list[Recorded] = field(default_factory=list)
    gradients: list[Recorded | None] = field(default_factory=list)
    generator: str = ""
    draws: bool = False
    drawn_from: Recorded | None = None
    mask: str = ""
    state: dict[str, Recorded] = field(default_factory=dict)
    pulled: dict[str, Recorded] = field(default_factory=dict)
    reruns: list[Rerun] = field(default_factory=list)
    rerun_failure: str = ""
    trained: bool = False
    modes: dict[str, Any] = field(default_factory=dict)
    attributes: str = "{}"

    @property
    def key(self) -> tuple[str, str, str]:
        return self.kind, self.path, self.name

    @property
    def label(self) -> str:
        """How the event is called in reports."""
        if self.kind == "module":
            return self.path
        return f"{self.name} in {self.path}" if self.path else f"{self.name} at {self.line}"


@dataclass
class OptimizerSettings:
    """An optimizer's class, the options of its groups and the names of the parameters in each, as
    they were at a step."""

    name: str
    groups: list[dict[str, Any]]
    parameters: list[list[str]]


@dataclass
class Step:
    """One optimizer step. `carried`: a parameter that had a gradient when the first backward pass
    of the step began, '' for none."""

    number: int
    epoch: int = 0
    losses: list[float] = field(default_factory=list)
    generators: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    batches: list[list[Recorded]] = field(default_factory=list)
    before: dict[str, Recorded] = field(default_factory=dict)
    gradients: dict[str, Recorded] = field(default_factory=dict)
    after: dict[str, Recorded] = field(default_factory=dict)
    optimizer: OptimizerSettings | None = None
    events: list[Event] = field(default_factory=list)
    events_left_out: int = 0
    full: bool = False
    carried: str = ""


@dataclass
class Record:
    """Everything seen of one run but its steps. `late`: parameters and buffers of models that were
    not called in the first step, and the step in which they were."""

    side: str
    version: str
    threads: int
    status: str = "running"
    where: str = ""
    model: str = ""
    modules: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Recorded] = field(default_factory=dict)
    buffers: dict[str, Recorded] = field(default_factory=dict)
    late: dict[str, int] = field(default_factory=dict)
    final: dict[str, Recorded] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    steps: int = 0
    written_outside: list[str] = field(default_factory=list)
    seconds: float = 0.0
    overhead: float = 0.0

    def save(self, folder: Path) -> None:
        content = {"format": FORMAT, **dataclasses.asdict(self)}
        write_whole(folder / "record.json", json.dumps(content))


# -- reading ---------------------------------------------------------------------------------------


def _recorded(value: dict[str, Any]) -> Recorded:
    return Recorded(**{**value, "shape": tuple(value["shape"]), "axes": tuple(value["axes"])})


def _named(values: dict[str, Any]) -> dict[str, Recorded]:
    return {name: _recorded(value) for name, value in values.items()}


def _event(value: dict[str, Any]) -> Event:
    changed = {
        "inputs": [_recorded(each) for each in value["inputs"]],
        "outputs": [_recorded(each) for each in value["outputs"]],
        "gradients": [each and _recorded(each) for each in value["gradients"]],
        "state": _named(value["state"]),
        "pulled": _named(value["pulled"]),
        "reruns": [Rerun(**each) for each in value["reruns"]],
        "drawn_from": value["drawn_from"] and _recorded(value["drawn_from"]),
    }
    return Event(**{**value, **changed})


def _step(value: dict[str, Any]) -> Step:
    changed: dict[str, Any] = {x: _named(value[x]) for x in ("before", "gradients", "after")}
    changed["batches"] = [[_recorded(each) for each in batch] for batch in value["batches"]]
    changed["events"] = [_event(each) for each in value["events"]]
    if value["optimizer"] is not None:
        changed["optimizer"] = OptimizerSettings(**value["optimizer"])
    return Step(**{**value, **changed})


def load_record(folder: Path) -> Record:
    """The record that a side left in `folder`.

    Raises:
        FileNotFoundError: the side ended before it could write one.
    """
    content = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    if content.pop("format") != FORMAT:
        raise ValueError(f"{folder / 'record.json'} was written by another version of mindtorch")
    content |= {name: _named(content[name]) for name in ("parameters", "buffers", "final")}
    return Record(**content)


def load_steps(folder: Path) -> Iterator[Step]:
    """The steps in `folder`, one after the other, so that memory holds few of them."""
    path = folder / "steps.jsonl"
    if path.exists():
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):  # a side that was killed leaves half a line
                    yield _step(json.loads(line))


# -- arrays ----------------------------------------------------------------------------------------


Place = tuple[int, str, tuple[int, ...]]  # where an array begins, its dtype and shape


def _read(file: IO[bytes], place: Place) -> np.ndarray:
    start, dtype, shape = place
    file.seek(start)
    array = np.empty(shape, dtype)
    file.readinto(array.reshape(-1).view(np.uint8).data)  # type: ignore[attr-defined]
    return array


class ArrayWriter:
    """Writes each array once, when it is first seen, so that memory never holds them all.

    Past `limit` bytes arrays leave only their statistics.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.room = limit
        self.file = path.open("w+b")
        self.size = 0
        self.places: dict[str, Place] = {}
        self.statistics = Bounded(2**15)  # of arrays seen before

    def add(self, array: np.ndarray, dtype: str, store: bool) -> Recorded:
        """`array` (C-contiguous) as a record; its values are kept if `store`."""
        name = digest_of(array, dtype)
        found = self.statistics.get(name)
        if found is None:
            found = self.statistics.keep(name, statistics_of(array, name))
        if store and name not in self.places and array.nbytes <= self.room:
            self._write(name, array)
        return Recorded(shape=array.shape, dtype=dtype, stored=name in self.places, **vars(found))

    def _write(self, name: str, array: np.ndarray) -> None:
        line = json.dumps([name, array.dtype.str, array.shape]).encode() + b"\n"
        try:
            self.file.write(line)
            self.file.write(array.reshape(-1).view(np.uint8).data)
        except OSError as error:
            raise RecordNotWrittenError(error) from None
        self.places[name] = (self.size + len(line), array.dtype.str, array.shape)
        self.size += len(line) + array.nbytes
        self.room -= array.nbytes

    def read(self, recorded: Recorded) -> np.ndarray:
        """What was stored, while the file is still being written."""
        self.flush()
        array = _read(self.file, self.places[recorded.digest])
        self.file.seek(self.size)
        return array

    def flush(self) -> None:
        """Leave to the system what was added, so that it outlives this process."""
        try:
            self.file.flush()
        except OSError as error:
            raise RecordNotWrittenError(error) from None

    def close(self) -> None:
        self.file.close()


class ArrayReader:
    """The arrays of one side, read when asked for."""

    def __init__(self, folder: Path) -> None:
        path = folder / ARRAYS
        self.file: IO[bytes] | None = path.open("rb") if path.exists() else None
        self.places = dict(_places(self.file)) if self.file is not None else {}

    def __getitem__(self, recorded: Recorded) -> np.ndarray:
        assert self.file is not None
        return _read(self.file, self.places[recorded.digest])

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


def _places(file: IO[bytes]) -> Iterator[tuple[str, Place]]:
    """Where each array is; the last one of a side that was killed may be half there."""
    size = file.seek(0, os.SEEK_END)
    start = file.seek(0)
    while (line := file.readline()).endswith(b"\n"):
        name, dtype, shape = json.loads(line)
        start += len(line)
        end = start + math.prod(shape) * np.dtype(dtype).itemsize
        if end > size:
            return
        yield name, (start, dtype, tuple(shape))
        start = file.seek(end)
