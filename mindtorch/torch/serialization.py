"""`save` and `load`: PyTorch's files, written and read."""

from __future__ import annotations

import io
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from mmap import MAP_SHARED
from typing import Any

import numpy as np

from mindtorch.engine.devices.device import Device
from mindtorch.engine.dtypes import DType
from mindtorch.engine.tensor import Storage, from_array
from mindtorch.kernels.support.atomic_file import replacing
from mindtorch.torch._api.public_names import own_names as _own_names

from ._serialization import legacy_archive, pickle_names, safe_unpickler
from ._serialization.map_location import default_restore_location, location_tag, register_package
from ._serialization.options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from ._serialization.safe_unpickler import UNSAFE_MESSAGE
from ._serialization.storage_refs import (
    Reading,
    StorageTable,
    bytes_of,
    dump,
    element_type,
    storage_id,
)
from ._serialization.zip_archive import ArchiveReader, ArchiveWriter, write_all
from ._tensor.untyped_storage import allocate
from .storage import TypedStorage, UntypedStorage

# What torch.load takes as map_location, for the annotations of others.
MAP_LOCATION = Callable[[Storage, str], Storage] | Device | str | dict[str, str] | None

__all__ = [
    "MAP_LOCATION", "LoadEndianness", "SourceChangeWarning", "add_safe_globals",
    "check_module_version_greater_or_equal", "clear_safe_globals", "default_restore_location",
    "get_crc32_options", "get_default_load_endianness",
    "get_default_mmap_options", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load",
    "location_tag", "register_package", "safe_globals", "save", "set_crc32_options",
    "set_default_load_endianness", "set_default_mmap_options", "skip_data",
]  # fmt: skip
_get_layout = pickle_names.get_layout

DEFAULT_PROTOCOL = 2
STORAGE_ALIGNMENT = 64
_DOCS_MESSAGE = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with "
    "weights_only https://pytorch.org/docs/stable/generated/torch.load.html."
)


class SourceChangeWarning(Warning):
    """The source of a saved module has changed."""


# ---------------------------------------------------------------------------------- safe globals


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files name these functions and classes when loaded with ``weights_only=True``.

    Args:
        safe_globals: functions and classes, or pairs of one and the full name files use for it.
    """
    safe_unpickler.marked_safe.update(safe_globals)


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` was given."""
    return list(safe_unpickler.marked_safe)


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` was given."""
    safe_unpickler.marked_safe.clear()


class safe_globals:  # noqa: N801
    """`add_safe_globals` for the length of a ``with`` block."""

    def __init__(self, safe_globals: list[Any]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *_: object) -> None:
        safe_unpickler.marked_safe.difference_update(self.safe_globals)


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """The full names in a saved file that ``load(weights_only=True)`` would refuse."""
    import pickletools

    with _opened(f) as file:
        if not _is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        archive = ArchiveReader(file)
        if "constants.pkl" in archive:
            raise ValueError(
                "Expected input to be a checkpoint returned by torch.save but got a torchscript "
                "checkpoint"
            )
        data = archive.read("data.pkl")
    found = set()
    for opcode, argument, _position in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            found.add(".".join(safe_unpickler.python3_name(*str(argument).split(" ", 1))))
        elif opcode.name in ("STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4"):
            raise pickle.UnpicklingError(f"Unsupported operand {ord(opcode.code)}")
    return sorted(name for name in found if not safe_unpickler.is_safe_name(name))


# ----------------------------------------------------------------------------------------- files


def _is_path(f: Any) -> bool:
    return isinstance(f, (str, os.PathLike))


@contextmanager
def _opened(f: Any) -> Iterator[Any]:
    """``f`` as an open, seekable file."""
    if _is_path(f):
        with open(f, "rb") as file:
            yield file
        return
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if "seek" in str(error) or "tell" in str(error):
            raise type(error)(
                f"{error}. You can only torch.load from a file that is seekable. Please pre-load "
                "the data into a buffer like io.BytesIO and try to load from it instead."
            ) from None
        raise
    yield f


def _is_zip(file: Any) -> bool:
    start = file.tell()
    magic = file.read(4)
    file.seek(start)
    return bool(magic == b"PK\3\4")


@contextmanager
def _written(path: str | bytes) -> Iterator[Any]:
    """The file at ``path`` for an archive, replaced as a whole; torch's errors for bad paths."""
    folder, name = os.path.split(os.fsdecode(path))
    if not name:
        raise RuntimeError(f"invalid file name: {os.fsdecode(path)}")
    if folder and not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    with ExitStack() as stack:
        try:
            file = stack.enter_context(replacing(os.fsdecode(path)))
        except OSError as error:
            raise RuntimeError(f"open file failed with strerror: {error.strerror}") from error
        yield file


# ------------------------------------------------------------------------------------------ save


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Write ``obj`` to a file that `load`, and PyTorch, read. A file at a path is replaced as a
    whole or, when anything fails, left as it was.

    Args:
        obj: tensors, and containers and objects that hold them. Tensors that share memory share
            it again after loading.
        f: a path, or an object with ``write``.
        pickle_module: pickles what is not a tensor.
        pickle_protocol: pickle's protocol; ``load(weights_only=True)`` reads 2.

    Raises:
        RuntimeError: the parent directory does not exist, or tensors of different types share
            memory.
        AttributeError: ``f`` is neither a path nor has ``write``.
    """
    if not _is_path(f) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    if not _use_new_zipfile_serialization:
        if options.skip_data:
            raise RuntimeError(
                "Cannot use skip_data=True with _use_new_zipfile_serialization=False"
            )
        chunks = legacy_archive.chunks(obj, pickle_module, pickle_protocol)
        with _writable(f, replacing) as file:
            for chunk in chunks:
                write_all(file, chunk)
        return
    table = StorageTable(lambda count, _storage: str(count))
    data = dump(obj, pickle_module, pickle_protocol, table.persistent_id)
    with _writable(f, _written) as file:
        archive = ArchiveWriter(file, _folder_name(f), STORAGE_ALIGNMENT, options.checksums)
        archive.write("data.pkl", data)
        archive.write(".format_version", b"1")
        archive.write(".storage_alignment", str(STORAGE_ALIGNMENT).encode())
        if not _disable_byteorder_record:
            archive.write("byteorder", sys.byteorder.encode())
        for key, (storage, _dtype) in table.storages.items():
            archive.write(f"data/{key}", bytes_of(storage))
        archive.close()


@contextmanager
def _writable(f: Any, opened: Callable[[Any], Any]) -> Iterator[Any]:
    if _is_path(f):
        with opened(os.fspath(f)) as file:
            yield file
        return
    yield f
    flush = getattr(f, "flush", None)
    if flush is not None:
        flush()


@contextmanager
def writable_archive(f: Any) -> Iterator[tuple[Any, str]]:
    """The file of an archive, a path's replaced as a whole, and the folder inside the archive."""
    with _writable(f, _written) as file:
        yield file, _folder_name(f)


def _folder_name(f: Any) -> str:
    """The folder inside the archive: the file's name without its extension."""
    if not _is_path(f):
        return "archive"
    name = os.path.basename(os.fsdecode(os.fspath(f)))
    return (name.rpartition(".")[0] or name) if name.isascii() else "archive"


# ------------------------------------------------------------------------------------------ load


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what `save` (ours or PyTorch's, of any version since 0.4) has written.

    Args:
        f: a path, or a file with ``read``, ``readline``, ``seek`` and ``tell``.
        map_location: where storages go: None (where they were), a device or its name, a
            dictionary from saved to wanted names, or ``fn(storage, name)`` -> storage or None.
        pickle_module: unpickles when ``weights_only`` is False; giving one implies that.
        weights_only: True (the default) executes nothing that the file asks for: tensors, numbers,
            strings, plain containers, and what `add_safe_globals` allows. False runs the file.
        mmap: the file is mapped and its elements are read when used; ``f`` must be a path.
        pickle_load_args: for the unpickler, such as ``encoding="latin1"``.

    Raises:
        FileNotFoundError, EOFError: there is no file, or nothing in it.
        RuntimeError: a damaged archive, a layout outside of its storage, a device that is missing.
        pickle.UnpicklingError: a damaged pickle, or one that asks for more than it may.
    """
    weights_only = _weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_load_args and weights_only:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    pickle_load_args.setdefault("encoding", "utf-8")
    reading = Reading(weights_only, pickle_module or pickle, pickle_load_args, map_location)
    if _is_path(f) and os.fspath(f).endswith(".safetensors"):
        return _load_safetensors(os.fspath(f), map_location)
    try:
        with _opened(f) as file:
            if _is_zip(file):
                return _load_archive(f, file, reading, bool(mmap))
            if mmap:
                shown = f"{f}, " if isinstance(f, str) else ""
                raise RuntimeError(
                    "mmap can only be used with files saved with "
                    f"`torch.save({shown}_use_new_zipfile_serialization=True), please torch.save "
                    "your checkpoint with this option in order to use mmap."
                )
            return legacy_archive.load(file, reading)
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(_explain(str(error))) from None


def _weights_only(weights_only: bool | None, pickle_module: Any) -> bool:
    """The argument, or what the environment or a pickle module makes of its absence."""
    yes = ("1", "y", "yes", "true")
    force = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in yes
    force_not = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in yes
    if force and force_not:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if force:
        return True
    if weights_only is not None:
        return bool(weights_only)
    if force_not:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the"
            "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
            "weights_only=False.",
            UserWarning,
            stacklevel=3,
        )
        return False
    return pickle_module is None


def _explain(message: str) -> str:
    """torch's advice around the message of a refused load."""
    if re.search(r"GLOBAL (\S+) was not an allowed global by default.", message):
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two "
            "options, \033[1mdo those steps only if you trust the source of the checkpoint\033[0m. "
            f"\n\t(1) {UNSAFE_MESSAGE}\n\t(2) Alternatively, to load with `weights_only=True` "
            "please check the recommended steps in the following error message.\n\t"
            f"WeightsUnpickler error: {message}{_DOCS_MESSAGE}"
        )
    advice = f"Weights only load failed. {UNSAFE_MESSAGE}\n"
    if not re.search(r"whose module (\S+) is blocked", message):
        advice += (
            "Please file an issue with the following so that we can make `weights_only=True` "
            "compatible with your use case: WeightsUnpickler error: "
        )
    return f"{advice}\n\n{message}{_DOCS_MESSAGE}"


def _load_archive(f: Any, file: Any, reading: Reading, mmap: bool) -> Any:
    start = file.tell()
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        if reading.weights_only:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to "
                "``torch.load``. " + UNSAFE_MESSAGE
            )
        warnings.warn(
            "'torch.load' received a zip file that looks like a TorchScript archive dispatching to "
            "'torch.jit.load' (call 'torch.jit.load' directly to silence this warning)",
            stacklevel=4,
        )
        file.seek(start)
        return pickle_names.resolve("torch.jit", "load")(file, map_location=reading.map_location)
    if mmap and not _is_path(f):
        raise ValueError("f must be a file path in order to use the mmap argument")
    records = StorageRecords(archive, reading, os.fspath(f) if mmap else None)
    data = io.BytesIO(archive.read("data.pkl"))
    return reading.unpickle(data, records.persistent_load)


class StorageRecords:
    """The storages of an archive, each read once, when the pickle first names it."""

    def __init__(
        self, archive: ArchiveReader, reading: Reading, mapped: str | None, folder: str = "data"
    ) -> None:
        self._archive = archive
        self._folder = folder
        self._reading = reading
        mode: Any = "r+" if options.mmap_flags == MAP_SHARED else "c"
        self._mapped = None if mapped is None else np.asarray(np.memmap(mapped, np.uint8, mode))
        self._loaded: dict[str, UntypedStorage] = {}
        self._swap = _byte_order(archive) != sys.byteorder

    def persistent_load(self, saved_id: Any) -> TypedStorage:
        kind, key, location, count = storage_id(saved_id, 5)
        dtype = element_type(kind)
        found = self._loaded.get(key)
        if found is None:
            found = self._read(f"{self._folder}/{key}", count * dtype.itemsize, dtype)
            if not self._reading.to_meta:
                found = self._reading.restore(found, location)
            self._loaded[key] = found
        return TypedStorage(wrap_storage=found, dtype=dtype, _internal=True)

    def _read(self, name: str, nbytes: int, dtype: DType) -> UntypedStorage:
        held = self._archive.size(name)
        if held != nbytes:
            raise RuntimeError(
                f"record size ({held} bytes) does not match expected size ({nbytes} bytes = "
                f"{nbytes} elements * 1 bytes/element) for dtype Byte"
            )
        if self._reading.to_meta or options.skip_data:
            device = Device("meta" if self._reading.to_meta else "cpu")
            return UntypedStorage._wrap(allocate(nbytes, device))
        buffer = self._map(name, nbytes, dtype)
        if buffer is None:
            buffer = np.empty(nbytes, np.uint8)
            self._archive.read_into(name, memoryview(buffer.data))
            self._archive.check(name, buffer.data, "; mmap=True reads it all the same")
        storage = UntypedStorage._wrap(Storage(buffer.view(dtype.np)))
        if self._swap:
            storage.byteswap(dtype)
        return storage

    def _map(self, name: str, nbytes: int, dtype: DType) -> Any:
        """The record within the mapped file; None where it has to be read."""
        offset = self._archive.offset(name)
        if self._mapped is None or not nbytes or offset is None or offset % dtype.itemsize:
            return None
        return self._mapped[offset : offset + nbytes]


def _byte_order(archive: ArchiveReader) -> str:
    if "byteorder" in archive:
        order = archive.read("byteorder").decode("latin-1")
        if order not in ("little", "big"):
            raise ValueError(f"Unknown endianness type: {order}")
        return order
    if options.endianness is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if options.endianness is LoadEndianness.BIG else "little"


def _load_safetensors(path: str, map_location: Any) -> dict[str, Any]:
    """A file of the safetensors format, as a dictionary of tensors."""
    from safetensors.numpy import load_file

    if map_location is not None and not isinstance(map_location, (str, bytes, Device)):
        kind = "dict" if isinstance(map_location, dict) else "callable"
        raise RuntimeError(
            f"Loading safetensors file with {kind} map_location is not supported. "
            "Use a device string or torch.device instead."
        )
    tensors: dict[str, Any] = {key: from_array(array) for key, array in load_file(path).items()}
    if map_location is None:
        return tensors
    return {key: tensor.to(Device(str(map_location))) for key, tensor in tensors.items()}


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple[Any, ...], error_if_malformed: bool = True
) -> bool:
    """Whether a module's version is at least this one.

    Args:
        module: has ``__version__``.
        req_version_tuple: the parts of the version, of the types that they are compared as.
        error_if_malformed: RuntimeError for a version that cannot be compared; else a warning, and
            True.
    """
    parts = module.__version__.split(".")
    try:
        known = tuple(
            type(wanted)(parts[place]) for place, wanted in enumerate(req_version_tuple)
        )
        return known >= req_version_tuple
    except Exception as error:
        text = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and "
            f"cannot be compared with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(text) from error
        warnings.warn(
            f"{text}, but continuing assuming that requirement is met", stacklevel=2
        )
        return True

_own_names(globals(), "Storage")
