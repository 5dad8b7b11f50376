"""Archives of programs: a JSON text, and a record for each tensor."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mindtorch.engine.tensor import Tensor
from mindtorch.kernels.support.atomic_file import replacing
from mindtorch.torch import frombuffer, serialization, version, zeros
from mindtorch.torch._serialization.storage_refs import bytes_of
from mindtorch.torch._serialization.zip_archive import ArchiveReader, ArchiveWriter
from mindtorch.torch.nn import Parameter
from mindtorch.torch.utils._pytree import NAMED_TUPLES

from ..exported_program import ExportedProgram
from ..graph_signature import InputKind, TensorArgument
from .reading import device_of, numbers_of, traced_of
from .writing import program_data, tensor_data

__all__ = ["load", "save"]

_FORMAT, _VERSION = b"pt2", b"0"
_MODEL = "model"
_WEIGHTS = ("data/weights", "weight", f"{_MODEL}_weights_config.json")
_CONSTANTS = ("data/constants", "tensor", f"{_MODEL}_constants_config.json")
_SAMPLES = f"data/sample_inputs/{_MODEL}.pt"
_TEXT = f"models/{_MODEL}.json"
_DAMAGED = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError,
    EOFError, RuntimeError, StopIteration, UnicodeDecodeError, pickle.UnpicklingError,
    zipfile.BadZipFile,
)  # fmt: skip


# --- writing ----------------------------------------------------------------------------------


class _Payloads:
    """Tensors as records; those that share memory share a record.

    Args:
        place: (folder, how records begin, the name of the list).
    """

    def __init__(self, archive: ArchiveWriter, place: tuple[str, str, str]) -> None:
        self.archive = archive
        self.folder, self.word, self.config = place
        self._records: dict[int, tuple[Any, str]] = {}

    def write(self, tensors: Mapping[str, Tensor]) -> None:
        """Write them, and the list of them."""
        listed = {name: self._entry(tensor) for name, tensor in tensors.items()}
        text = json.dumps({"config": listed}).encode()
        self.archive.write(f"{self.folder}/{self.config}", text)

    def _entry(self, tensor: Any) -> dict[str, Any]:
        storage = tensor.untyped_storage()
        small = tensor.is_contiguous() and tensor.nbytes < storage.nbytes() // 2
        held = tensor.detach().clone() if small else tensor
        storage = held.untyped_storage()
        found = self._records.get(storage._cdata)
        if found is None:
            path = f"{self.word}_{len(self._records)}"
            self.archive.write(f"{self.folder}/{path}", bytes(bytes_of(storage)))
            found = self._records[storage._cdata] = storage, path
        return {
            "path_name": found[1], "is_param": isinstance(tensor, Parameter), "use_pickle": False,
            "tensor_meta": tensor_data(held, tensor.requires_grad, held.storage_offset()),
        }  # fmt: skip


def _written(program: ExportedProgram, extra_files: dict[str, Any], folder: str) -> io.BytesIO:
    text = json.dumps(
        program_data(program._traced, program.dialect, str(version.__version__)), allow_nan=False
    )
    held = io.BytesIO()
    archive = ArchiveWriter(held, folder)
    _Payloads(archive, _WEIGHTS).write(program.state_dict)
    _Payloads(archive, _CONSTANTS).write(program.constants)
    archive.write(_TEXT, text.encode())
    samples = io.BytesIO()
    serialization.save(program.example_inputs, samples)
    archive.write(_SAMPLES, samples.getvalue())
    for name, content in extra_files.items():
        archive.write(
            f"extra/{name}", content.encode() if isinstance(content, str) else bytes(content)
        )
    archive.write("archive_format", _FORMAT)
    archive.write("archive_version", _VERSION)
    archive.write("byteorder", b"little")
    archive.close()
    return held


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write a program to a file, whole or not at all, as PyTorch 2.13 reads it.

    Args:
        ep: the program.
        f: a path, or a file open for writing bytes.
        extra_files: texts that are kept beside it, by name.
        opset_version: must not be set.
        pickle_protocol: of no effect: only examples are pickled, in one way.

    Raises:
        TypeError: ``ep`` is no program.
        NotImplementedError: it calls operators that PyTorch does not have, or takes or gives
            containers of one's own.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            "The 'ep' parameter must be an instance of 'ExportedProgram', got "
            f"'{type(ep).__name__}' instead."
        )
    if opset_version:
        raise NotImplementedError("torch.export.save(opset_version=...): there is one version")
    if hasattr(f, "write"):
        f.write(_written(ep, extra_files or {}, "archive").getvalue())
        return
    name = os.path.basename(os.fspath(f))
    held = _written(ep, extra_files or {}, name.rsplit(".", 1)[0] or "archive")
    with replacing(f) as file:
        file.write(held.getbuffer())


# --- reading ----------------------------------------------------------------------------------


class _Tensors:
    """The tensors that a list names; entries that are the same tensor are one object.

    Args:
        place: (folder, how records begin, the name of the list).
    """

    def __init__(self, archive: ArchiveReader, place: tuple[str, str, str]) -> None:
        self.archive = archive
        self.folder = place[0]
        self.listed = json.loads(archive.read(f"{place[0]}/{place[2]}"))["config"]
        self._records: dict[str, Any] = {}
        self._made: dict[Any, Tensor] = {}

    def read(self) -> dict[str, Any]:
        """All of them, by name."""
        return {name: self._tensor(name, data) for name, data in self.listed.items()}

    def _tensor(self, name: str, data: dict[str, Any]) -> Tensor:
        if data["use_pickle"]:
            raise NotImplementedError(f"{name[:80]!r}, which is pickled code or a tensor subclass")
        meta = data["tensor_meta"]
        dtype, sizes, strides, offset = numbers_of(meta)
        if device_of(meta["device"]).type != "cpu":
            raise NotImplementedError(f"{name[:80]!r}, a tensor on {meta['device']['type']}")
        path = data["path_name"]
        key = (path, dtype, tuple(sizes), tuple(strides), offset, bool(data["is_param"]))
        if key not in self._made:
            made: Any = self._view(path, dtype, sizes, strides, offset)
            if data["is_param"]:
                made = Parameter(made, bool(meta["requires_grad"]))
            self._made[key] = made
        return self._made[key]

    def _view(self, path: str, dtype: Any, sizes: Any, strides: Any, offset: int) -> Tensor:
        if 0 in sizes:
            return zeros(sizes, dtype=dtype)
        content = self._records.get(path)
        if content is None:
            content = self._records[path] = bytearray(self.archive.read(f"{self.folder}/{path}"))
        last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        if offset < 0 or (last + 1) * dtype.itemsize > len(content):
            raise ValueError(f"the record {str(path)[:40]!r} is too short")
        whole: Tensor = frombuffer(
            content, dtype=dtype, count=len(content) // dtype.itemsize
        )
        return whole.as_strided(sizes, strides, offset)


def _check_tensors(traced: Any, state: dict[str, Any], constants: dict[str, Any]) -> None:
    """Raise where a tensor is missing or is another one than the graph says."""
    values = {n.name: n.meta["val"] for n in traced.graph_module.graph.find_nodes(op="placeholder")}
    for spec in traced.signature.input_specs:
        if not isinstance(spec.arg, TensorArgument) or spec.kind is InputKind.USER_INPUT:
            continue
        name, described = str(spec.target), values[spec.arg.name]
        aside = spec.kind is InputKind.CONSTANT_TENSOR or spec.persistent is False
        found = (constants if aside else state)[name]
        same = tuple(found.shape) == tuple(described.shape)
        if not same or found.aval.dtype is not described.dtype:
            raise ValueError(f"{name} is not what the graph takes")
        if spec.kind is InputKind.PARAMETER and not isinstance(found, Parameter):
            raise ValueError(f"{name} is no parameter")


def _program_of(archive: ArchiveReader) -> ExportedProgram:
    if _TEXT not in archive:
        models = [name for name in archive.names() if name.startswith("models/")]
        raise NotImplementedError(
            f"archives of the models {models}: one called {_MODEL!r} is read" if models else
            "archives without a program, such as those of compiled code"
        )
    state, constants = _Tensors(archive, _WEIGHTS).read(), _Tensors(archive, _CONSTANTS).read()
    data = json.loads(archive.read(_TEXT))
    traced = traced_of(data, constants)
    _check_tensors(traced, state, constants)
    samples = archive.read(_SAMPLES)
    known = [each for each in NAMED_TUPLES.values() if each not in serialization.get_safe_globals()]
    with serialization.safe_globals(known):
        examples = serialization.load(io.BytesIO(samples), weights_only=True) if samples else None
    dialect = next(iter(data.get("verifiers") or ()), "TRAINING")
    return ExportedProgram(traced, state, constants, examples, str(dialect))


@contextmanager
def opened(file: Any, shown: str, name: str) -> Iterator[ArchiveReader]:
    """The archive in a file, which says what is wrong where it is none.

    Args:
        file: open for reading bytes.
        shown: what it is called in errors; name: of the function, for errors.
    """
    try:
        archive = ArchiveReader(file)
        if "archive_format" not in archive or archive.read("archive_format") != _FORMAT:
            raise RuntimeError(f"{name}: {shown} holds no exported program")
        found = archive.read("archive_version")
        if found != _VERSION:
            raise NotImplementedError(
                f"archives of version {found[:20]!r}; {_VERSION!r} is the newest that is known"
            )
        yield archive
    except NotImplementedError as error:
        raise NotImplementedError(f"{name}: {shown} has what is not read: {error}") from error
    except _DAMAGED as error:
        if str(error).startswith(name):
            raise
        raise RuntimeError(
            f"{name}: {shown} is damaged or no exported program: {error}"
        ) from error


def load(
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """Read a program that :func:`save` wrote, or ``torch.export.save`` of PyTorch 2.13. Nothing in
    the file is executed.

    Args:
        f: a path, or a file open for reading bytes.
        extra_files: gets the texts that are kept under its keys.
        expected_opset_version: must not be set.

    Raises:
        FileNotFoundError: there is no such file.
        NotImplementedError: the file is of a newer version, or has an operator that is not here,
            which the error names.
        RuntimeError: it is truncated, damaged or something else.
    """
    if expected_opset_version:
        raise NotImplementedError(
            "torch.export.load(expected_opset_version=...): there is one version"
        )
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _loaded(file, os.fspath(f), extra_files)
    return _loaded(f, "the file", extra_files)


def _loaded(file: Any, shown: str, extra_files: dict[str, Any] | None) -> ExportedProgram:
    with opened(file, shown, "torch.export.load") as archive:
        program = _program_of(archive)
        for name in extra_files if extra_files is not None else ():
            if f"extra/{name}" in archive:
                extra_files[name] = archive.read(f"extra/{name}").decode()  # type: ignore[index]
    return program
