"""Archives of TorchScript, written: code, constants and a module's state, for torch's reader.

The pickles have the few instructions that it knows; lists and dictionaries carry the type that the
code declares.
"""

from __future__ import annotations

import enum
import pickle
import struct
import sys
from collections.abc import Callable
from typing import Any

from mindtorch.engine.devices.device import Device
from mindtorch.engine.tensor import Tensor

from ..._serialization import pickle_names
from ..._serialization.map_location import location_tag
from ..._serialization.storage_refs import bytes_of
from ..._serialization.zip_archive import ArchiveWriter
from ...storage import TypedStorage
from .declared_types import Type, accepts, annotation_text
from .source import Program, ScriptClass

__all__ = ["archive_of", "write_archive"]

_LISTS = {"int": "build_intlist", "float": "build_doublelist", "bool": "build_boollist",
          "Tensor": "build_tensorlist"}  # fmt: skip
_ANY = Type("Any")


class ScriptPickler:
    """Writes values of a program as TorchScript's pickles have them.

    Args:
        storage_key: gives the key of a storage in the archive.
    """

    def __init__(self, storage_key: Callable[[Any], str]) -> None:
        self._parts = [pickle.PROTO + b"\2"]
        self._storage_key = storage_key
        self._memo: dict[int, int] = {}
        self._alive: list[Any] = []

    def dump(self, value: Any, kind: Type = _ANY) -> bytes:
        """The pickle of a value of a declared type."""
        self._value(value, kind)
        return b"".join([*self._parts, pickle.STOP])

    def _put(self, *parts: bytes) -> None:
        self._parts.extend(parts)

    def _global(self, module: str, name: str) -> None:
        self._put(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def _remember(self, value: Any) -> None:
        place = self._memo[id(value)] = len(self._memo)
        self._alive.append(value)
        self._put(pickle.LONG_BINPUT + struct.pack("<I", place))

    def _recalled(self, value: Any) -> bool:
        place = self._memo.get(id(value))
        if place is not None:
            self._put(pickle.LONG_BINGET + struct.pack("<I", place))
        return place is not None

    def _value(self, value: Any, kind: Type) -> None:
        while kind.name in ("Optional", "Final"):
            kind = kind.args[0]
        if kind.name == "Union":
            kind = next((arg for arg in kind.args if accepts(value, arg)), _ANY)
        made = getattr(value, "_script_class", None)
        if isinstance(value, Tensor):
            self._tensor(value)
        elif isinstance(value, enum.Enum) or (made is not None and isinstance(value, tuple)):
            self._member(value)
        elif made is not None:
            self._object(value, made)
        elif isinstance(value, list):
            self._list(value, kind)
        elif isinstance(value, dict):
            self._dict(value, kind)
        elif isinstance(value, tuple):
            self._tuple(value, kind)
        else:
            self._plain(value)

    def _plain(self, value: Any) -> None:
        if value is None:
            self._put(pickle.NONE)
        elif value is True or value is False:
            self._put(pickle.NEWTRUE if value else pickle.NEWFALSE)
        elif isinstance(value, int):
            self._integer(value)
        elif isinstance(value, float):
            self._put(pickle.BINFLOAT + struct.pack(">d", value))
        elif isinstance(value, str):
            data = value.encode("utf-8", "surrogatepass")
            self._put(pickle.BINUNICODE + struct.pack("<I", len(data)) + data)
        elif isinstance(value, Device):
            self._global("torch", "device")
            self._value(str(value), _ANY)
            self._put(pickle.TUPLE1, pickle.REDUCE)
        elif isinstance(value, complex):
            self._global("builtins", "complex")
            self._value(value.real, _ANY)
            self._value(value.imag, _ANY)
            self._put(pickle.TUPLE2, pickle.REDUCE)
        else:
            raise RuntimeError(
                f"torch.jit.save: {type(value).__name__} cannot be kept in an archive"
            )

    def _integer(self, value: int) -> None:
        if -(2**31) <= value < 2**31:
            self._put(pickle.BININT + struct.pack("<i", value))
        else:
            data = pickle.encode_long(value)
            self._put(pickle.LONG1 + bytes([len(data)]) + data)

    def _tuple(self, value: tuple[Any, ...], kind: Type) -> None:
        args = kind.args if len(kind.args) == len(value) else (_ANY,) * len(value)
        self._put(pickle.MARK)
        for item, arg in zip(value, args, strict=True):
            self._value(item, arg)
        self._put(pickle.TUPLE)

    def _list(self, value: list[Any], kind: Type) -> None:
        item = kind.args[0] if kind.args else _type_of(value).args[0]
        special = _LISTS.get(item.name)
        self._global("torch.jit._pickle", special or "restore_type_tag")
        self._put(pickle.MARK, pickle.EMPTY_LIST, pickle.MARK)
        for each in value:
            self._value(each, item)
        self._put(pickle.APPENDS)
        if special is None:
            self._value(annotation_text(Type("List", (item,))), _ANY)
        self._put(pickle.TUPLE, pickle.REDUCE)

    def _dict(self, value: dict[Any, Any], kind: Type) -> None:
        args = kind.args or _type_of(value).args
        self._global("torch.jit._pickle", "restore_type_tag")
        self._put(pickle.EMPTY_DICT, pickle.MARK)
        for key, item in value.items():
            self._value(key, args[0])
            self._value(item, args[1])
        self._put(pickle.SETITEMS)
        self._value(annotation_text(Type("Dict", args)), _ANY)
        self._put(pickle.TUPLE2, pickle.REDUCE)

    def _member(self, value: Any) -> None:
        made = value._script_class
        self._global(*made.name.rpartition(".")[::2])
        if isinstance(value, enum.Enum):
            self._value(value.value, _ANY)
        else:
            self._tuple(tuple(value), Type("Tuple", tuple(made.attributes.values())))
        self._put(pickle.REDUCE)

    def _object(self, value: Any, made: ScriptClass) -> None:
        if self._recalled(value):
            return
        if "__getstate__" in made.methods:
            raise RuntimeError(f"torch.jit.save: {made.name} has a __getstate__ of its own")
        self._global(*made.name.rpartition(".")[::2])
        self._put(pickle.EMPTY_TUPLE, pickle.NEWOBJ)
        self._put(pickle.EMPTY_DICT, pickle.MARK)
        for name, kind in made.attributes.items():
            if name not in made.constants:
                self._value(name, _ANY)
                self._value(value._kept_value(name), kind)
        self._put(pickle.SETITEMS, pickle.BUILD)
        self._remember(value)

    def _tensor(self, value: Tensor) -> None:
        if self._recalled(value):
            return
        storage: Any = value.untyped_storage()
        typed = TypedStorage(wrap_storage=storage, dtype=value.aval.dtype, _internal=True)
        kind, count, _ = pickle_names.storage_type(typed)
        self._global("torch._utils", "_rebuild_tensor_v2")
        self._put(pickle.MARK, pickle.MARK)
        self._value("storage", _ANY)
        self._global("torch", kind.__name__)
        self._value(self._storage_key(storage), _ANY)
        self._value(location_tag(storage), _ANY)
        self._value(count, _ANY)
        self._put(pickle.TUPLE, pickle.BINPERSID)
        self._value(value.storage_offset(), _ANY)
        self._value(tuple(value.shape), _ANY)
        self._value(tuple(value.stride()), _ANY)
        self._value(bool(value.requires_grad), _ANY)
        self._global("collections", "OrderedDict")
        self._put(pickle.EMPTY_TUPLE, pickle.REDUCE, pickle.TUPLE, pickle.REDUCE)
        self._remember(value)


def _type_of(value: Any) -> Type:
    """The type of a value that no declaration names."""
    if isinstance(value, list):
        return Type("List", (_type_of(value[0]) if value else Type("Tensor"),))
    if isinstance(value, dict):
        first = next(iter(value.items()), ("", ""))
        return Type("Dict", (_type_of(first[0]), _type_of(first[1])))
    if isinstance(value, tuple):
        return Type("Tuple", tuple(_type_of(item) for item in value))
    return Type("Tensor" if isinstance(value, Tensor) else type(value).__name__)


class _Records:
    """The storages of one folder of the archive, by the keys that the pickle has for them."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._keys: dict[Any, str] = {}
        self._storages: list[Any] = []

    def key(self, storage: Any) -> str:
        found = self._keys.get(storage._cdata)
        if found is None:
            found = self._keys[storage._cdata] = str(len(self._storages))
            self._storages.append(storage)
        return found

    def write(self, archive: ArchiveWriter) -> None:
        for place, storage in enumerate(self._storages):
            archive.write(f"{self.folder}/{place}", bytes_of(storage))


def archive_of(module: Any, file: Any, folder: str, extra: dict[str, bytes]) -> None:
    """Write a module that was read from an archive.

    Args:
        module: a `RecursiveScriptModule`.
        file: receives the bytes.
        folder: the folder of the archive that holds the records.
        extra: more records, by their name.
    """
    write_archive(module._script_class.program, module, file, folder, extra)


def write_archive(
    program: Program, module: Any, file: Any, folder: str, extra: dict[str, bytes]
) -> None:
    """Write a program and the module that it is for."""
    data, constants = _Records("data"), _Records("constants")
    pickled = ScriptPickler(data.key).dump(module)
    kept = ScriptPickler(constants.key).dump(tuple(program.constants))
    archive = ArchiveWriter(file, folder)
    archive.write("data.pkl", pickled)
    archive.write("byteorder", sys.byteorder.encode())
    data.write(archive)
    for name, text in program.texts.items():
        archive.write(f"code/{name}", text.encode("utf-8"))
    constants.write(archive)
    archive.write("constants.pkl", kept)
    for name, value in extra.items():
        archive.write(f"extra/{name}", value)
    archive.close(program.version)
