"""What both file formats share: storages named while pickling, found again while unpickling."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine.dtypes import DType, uint8

from ..storage import TypedStorage, UntypedStorage
from . import pickle_names
from .map_location import location_tag, restorer_for
from .options import options
from .safe_unpickler import RestrictedUnpickler


class StorageTable:
    """The storages met while pickling, each with the key that stands for it in the file."""

    def __init__(self, key_of: Callable[[int, UntypedStorage], str]) -> None:
        self._key_of = key_of
        self._keys: dict[int, str] = {}
        self._types: dict[int, DType] = {}
        self.storages: dict[str, tuple[UntypedStorage, DType]] = {}

    def persistent_id(self, storage: TypedStorage | UntypedStorage) -> tuple[Any, ...]:
        kind, count, dtype = pickle_names.storage_type(storage)
        untyped = storage if isinstance(storage, UntypedStorage) else storage.untyped()
        address = untyped.data_ptr()
        if address and self._types.setdefault(address, dtype) is not dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                "types"
            )
        key = self._keys.get(untyped._cdata)
        if key is None:
            key = self._keys[untyped._cdata] = self._key_of(len(self._keys), untyped)
            self.storages[key] = (untyped, dtype)
        return ("storage", kind, key, location_tag(untyped), count)


def dump(
    obj: Any, module: Any, protocol: int, persistent_id: Callable[[Any], tuple[Any, ...]]
) -> bytes:
    """``obj`` pickled under torch's names."""
    buffer = io.BytesIO()
    if module is pickle:
        pickle_names.TorchPickler(buffer, protocol, persistent_id).dump(obj)
        return buffer.getvalue()
    if protocol > 3:
        raise NotImplementedError(
            f"pickle_protocol={protocol} needs pickle_module=pickle, not {module.__name__}"
        )

    class Pickler(module.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            return persistent_id(obj) if isinstance(obj, (TypedStorage, UntypedStorage)) else None

        def reducer_override(self, obj: Any) -> Any:
            reducer = pickle_names.REDUCERS.get(type(obj)) or pickle_names.tensor_reducer(type(obj))
            if reducer is None:
                reducer = getattr(super(), "reducer_override", lambda _obj: NotImplemented)
            return reducer(obj)

    Pickler(buffer, protocol=protocol).dump(obj)
    return pickle_names.rename_globals(buffer.getvalue())


def bytes_of(storage: UntypedStorage) -> memoryview:
    """The bytes of a storage, in this machine's order."""
    data: Any = storage.cpu()._bytes()
    if options.skip_data:
        data = np.zeros(data.size, np.uint8)
    return memoryview(data)


def storage_id(saved_id: Any, length: int) -> tuple[Any, Any, str, int]:
    """(class, key, location, count) of a persistent id, checked."""
    if not isinstance(saved_id, tuple) or len(saved_id) != length:
        raise pickle.UnpicklingError(f"malformed storage reference: {saved_id!r}")
    kind, key, location, count = saved_id[1:5]
    if saved_id[0] not in ("storage", b"storage"):
        raise RuntimeError(
            f"Unknown typename for persistent_load, expected 'storage' but got '{saved_id[0]}'"
        )
    key, location = (t.decode("ascii") if isinstance(t, bytes) else t for t in (key, location))
    if not (isinstance(key, str) and isinstance(location, str)):
        raise pickle.UnpicklingError(f"malformed storage reference: {saved_id!r}")
    if type(count) is not int or not 0 <= count < 2**60:
        raise pickle.UnpicklingError(
            f"the length of a storage must be a number of elements, not {count!r}"
        )
    return kind, key, location, count


def element_type(kind: Any) -> DType:
    """The element type that a storage class stands for."""
    if kind is UntypedStorage:
        return uint8
    dtype = getattr(kind, "_dtype", None)
    if not isinstance(dtype, DType):
        raise pickle.UnpicklingError(f"{kind!r} is not a storage class")
    return dtype


class Reading:
    """How one `load` reads: which unpickler, and where storages go."""

    def __init__(
        self, weights_only: bool, module: Any, options: dict[str, Any], map_location: Any
    ) -> None:
        self.weights_only = weights_only
        self.module = module
        self.options = options
        self.map_location = map_location
        self.restore = restorer_for(map_location)
        self.to_meta = map_location is not None and str(map_location) == "meta"

    def unpickle(self, file: Any, persistent_load: Callable[[Any], Any]) -> Any:
        if self.weights_only:
            encoding = self.options["encoding"]
            return RestrictedUnpickler(file, persistent_load, encoding).load()
        return pickle_names.full_unpickler(self.module, file, persistent_load, self.options).load()
