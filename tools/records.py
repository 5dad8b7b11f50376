"""What one side of a comparison leaves on disk: `record.json`, and its arrays in `arrays.npz`."""

import dataclasses
import hashlib
import json
import os
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "ArrayReader",
    "ArrayWriter",
    "LayerCall",
    "Mask",
    "Record",
    "Recorded",
    "Step",
    "load_record",
    "write_text_atomically",
]

FORMAT = 1


@dataclass(frozen=True)
class Recorded:
    """A tensor as it was at one moment.

    `digest` is of dtype, shape and bytes; `largest` the greatest magnitude, `mean` the mean of the
    magnitudes. The values themselves are in the arrays' file, under the digest, where `stored`.
    """

    digest: str
    shape: tuple[int, ...]
    dtype: str
    largest: float
    mean: float
    stored: bool


@dataclass
class LayerCall:
    """One call of one module in the step recorded in detail, in the order in which calls end."""

    name: str
    kind: str
    description: str
    call: int
    leaf: bool
    inputs: list[Recorded]
    outputs: list[Recorded]
    gradients: list[Recorded | None]


@dataclass
class Mask:
    """What a dropout kept, as bits: `keep` where its output is not zero, `known` where its input
    was not zero either, so that the output tells."""

    step: int
    name: str
    shape: tuple[int, ...]
    keep: Recorded
    known: Recorded


@dataclass
class Step:
    """One optimizer step: the losses that `backward` was called on, and what it left."""

    epoch: int
    losses: list[float]
    generator: str
    seconds: float | None


@dataclass
class Record:
    """Everything seen of one run."""

    side: str
    version: str
    threads: int
    detail_step: int
    status: str = "running"
    model: str = ""
    parameters: dict[str, Recorded] = field(default_factory=dict)
    buffers: dict[str, Recorded] = field(default_factory=dict)
    parameter_gradients: dict[str, Recorded] = field(default_factory=dict)
    updated: dict[str, Recorded] = field(default_factory=dict)
    updated_buffers: dict[str, Recorded] = field(default_factory=dict)
    final: dict[str, Recorded] = field(default_factory=dict)
    batches: list[list[Recorded]] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    masks_left_out: int = 0
    layers: list[LayerCall] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        content = {"format": FORMAT, **dataclasses.asdict(self)}
        write_text_atomically(folder / "record.json", json.dumps(content))


def write_text_atomically(path: Path, text: str) -> None:
    """Write beside `path`, then rename: a reader sees the whole file or none."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _recorded(value: dict[str, Any]) -> Recorded:
    return Recorded(**{**value, "shape": tuple(value["shape"])})


def _named(values: dict[str, Any]) -> dict[str, Recorded]:
    return {name: _recorded(value) for name, value in values.items()}


def _layer(value: dict[str, Any]) -> LayerCall:
    return LayerCall(
        **{
            **value,
            "inputs": [_recorded(each) for each in value["inputs"]],
            "outputs": [_recorded(each) for each in value["outputs"]],
            "gradients": [each and _recorded(each) for each in value["gradients"]],
        }
    )


def _mask(value: dict[str, Any]) -> Mask:
    keep, known = _recorded(value["keep"]), _recorded(value["known"])
    return Mask(value["step"], value["name"], tuple(value["shape"]), keep, known)


def load_record(folder: Path) -> Record:
    """The record that a side left in `folder`.

    Raises:
        FileNotFoundError: the side ended before it could write one.
    """
    content = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    if content.pop("format") != FORMAT:
        raise ValueError(f"{folder / 'record.json'} was written by another version of mindtorch")
    named = ("parameters", "buffers", "parameter_gradients", "updated", "updated_buffers", "final")
    content |= {name: _named(content[name]) for name in named}
    content["batches"] = [[_recorded(each) for each in batch] for batch in content["batches"]]
    content["masks"] = [_mask(each) for each in content["masks"]]
    content["layers"] = [_layer(each) for each in content["layers"]]
    content["steps"] = [Step(**each) for each in content["steps"]]
    return Record(**content)


class ArrayWriter:
    """Writes each array once, when it is first seen, so that memory never holds them all.

    Past `limit` bytes arrays leave only their digest and figures.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.room = limit
        self.partial = path.with_name(f".{path.name}.partial")
        self.archive = zipfile.ZipFile(self.partial, "w", zipfile.ZIP_STORED)
        self.names: set[str] = set()

    def add(self, array: np.ndarray, dtype: str, store: bool) -> Recorded:
        """`array` (C-contiguous) as a record; its values are kept if `store`."""
        head = f"{dtype}{array.shape}".encode()
        digest = hashlib.blake2b(head, digest_size=16)
        digest.update(array.data if array.size else b"")
        name = digest.hexdigest()
        if store and name not in self.names and array.nbytes <= self.room:
            with self.archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
            self.names.add(name)
            self.room -= array.nbytes
        magnitude = np.abs(array) if array.dtype != np.bool_ else array
        largest = float(magnitude.max(initial=0))
        mean = float(magnitude.mean(dtype=np.float64)) if array.size else 0.0
        return Recorded(name, array.shape, dtype, largest, mean, name in self.names)

    def close(self) -> None:
        self.archive.close()
        os.replace(self.partial, self.path)


class ArrayReader:
    """The arrays of one side, read when asked for."""

    def __init__(self, folder: Path) -> None:
        self.file = np.load(folder / "arrays.npz", allow_pickle=False)

    def __getitem__(self, recorded: Recorded) -> np.ndarray:
        array: np.ndarray = self.file[recorded.digest]
        return array

    def close(self) -> None:
        self.file.close()
