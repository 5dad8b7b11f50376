"""What one side of a comparison leaves on disk.

`record.json` describes the run, `steps.jsonl` has one line for each optimizer step, written when
the step ends, and `arrays.npz` the values of what was recorded in full.
"""

import dataclasses
import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.engine.bounded import Bounded
from mindtorch.kernels.files import write_whole

from .figures import digest_of, figures_of

__all__ = [
    "UNWRITTEN",
    "ArrayReader",
    "ArrayWriter",
    "Event",
    "OptimizerSettings",
    "Record",
    "RecordNotWrittenError",
    "Recorded",
    "Replay",
    "Step",
    "load_record",
    "load_steps",
]

FORMAT = 5
ARRAYS = "arrays.npz"
UNWRITTEN = 74  # a process's exit status: its record cannot be written


class RecordNotWrittenError(BaseException):
    """There is no room for the record. No `Exception`: a script must not handle it."""


@dataclass(frozen=True)
class Recorded:
    """A tensor as it was at one moment: its figures (`figures.Figures`), and whether its values
    are in the arrays' file, under the digest.

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
class Replay:
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
    to be run again: `modes` are those in which it was made (`replay.modes_of`), `attributes` the
    numbers and texts of a module, as Python writes them. `pulled`: the gradients of inputs
    and parameters, on the second side those that its call gave for what the first side's had.
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
    replays: list[Replay] = field(default_factory=list)
    replay_failure: str = ""
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
    """An optimizer's class and the options of its groups, as they were at a step."""

    name: str
    groups: list[dict[str, Any]]


@dataclass
class Step:
    """One optimizer step."""

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


@dataclass
class Record:
    """Everything seen of one run but its steps."""

    side: str
    version: str
    threads: int
    status: str = "running"
    where: str = ""
    model: str = ""
    modules: dict[str, str] = field(default_factory=dict)
    parameters: dict[str, Recorded] = field(default_factory=dict)
    buffers: dict[str, Recorded] = field(default_factory=dict)
    final: dict[str, Recorded] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    steps: int = 0
    steps_without_events: int = 0
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
        "replays": [Replay(**each) for each in value["replays"]],
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
    killed = not (folder / ARRAYS).exists()
    if path.exists():
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n"):  # a side that was killed leaves half a line
                    yield _step(json.loads(line, object_hook=_unstored if killed else None))


def _unstored(value: dict[str, Any]) -> dict[str, Any]:
    """What a side says that was killed before it could leave its arrays."""
    return value | {"stored": False} if "stored" in value else value


# -- arrays ----------------------------------------------------------------------------------------


class ArrayWriter:
    """Writes each array once, when it is first seen, so that memory never holds them all.

    Past `limit` bytes arrays leave only their figures.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.room = limit
        self.partial = path.with_name(f".{path.name}.partial")
        self.archive = zipfile.ZipFile(self.partial, "w", zipfile.ZIP_STORED)
        self.names: set[str] = set()
        self.figures = Bounded(2**15)  # of arrays seen before

    def add(self, array: np.ndarray, dtype: str, store: bool) -> Recorded:
        """`array` (C-contiguous) as a record; its values are kept if `store`."""
        name = digest_of(array, dtype)
        found = self.figures.get(name)
        if found is None:
            found = self.figures.keep(name, figures_of(array, name))
        if store and name not in self.names and array.nbytes <= self.room:
            try:
                with self.archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    head = np.lib.format.header_data_from_array_1_0(array)
                    np.lib.format.write_array_header_1_0(file, head)
                    file.write(array.reshape(-1).view(np.uint8).data)
            except OSError as error:
                raise RecordNotWrittenError(error) from None
            self.names.add(name)
            self.room -= array.nbytes
        return Recorded(shape=array.shape, dtype=dtype, stored=name in self.names, **vars(found))

    def read(self, recorded: Recorded) -> np.ndarray:
        """What was stored, while the file is still being written."""
        with self.archive.open(f"{recorded.digest}.npy") as file:
            array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
        return array

    def close(self) -> None:
        self.archive.close()
        os.replace(self.partial, self.path)


class ArrayReader:
    """The arrays of one side, read when asked for; none of a side that was killed."""

    def __init__(self, folder: Path) -> None:
        self.file: Any = None
        if (folder / ARRAYS).exists():
            self.file = np.load(folder / ARRAYS, allow_pickle=False)

    def __getitem__(self, recorded: Recorded) -> np.ndarray:
        array: np.ndarray = self.file[recorded.digest]
        return array

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
