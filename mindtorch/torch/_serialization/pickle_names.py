"""Pickling under torch's names, and finding what such names mean here.

A file names things as PyTorch does (``torch._utils._rebuild_tensor_v2``, ``torch.float32``),
whatever module of ours they live in; `torch_name` and `resolve` translate.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar

from mindtorch._module_names import is_ours
from mindtorch.engine import dtypes
from mindtorch.engine.devices.device import Device
from mindtorch.engine.dtypes import DType
from mindtorch.engine.tensor import Tensor

from .. import _utils
from .._compat.mindspore_bridge import cast_to_adapter_tensor
from .._tensor import size_and_formats
from .._tensor.size_and_formats import Size, layout, memory_format, qscheme
from ..storage import LEGACY_CLASSES, TypedStorage, UntypedStorage

OURS = "mindtorch.torch"


def storage_type(storage: TypedStorage | UntypedStorage) -> tuple[Any, int, DType]:
    """What a file says of a storage: its class, its length in elements, their type."""
    if isinstance(storage, UntypedStorage):
        return UntypedStorage, storage.nbytes(), dtypes.uint8
    return LEGACY_CLASSES[storage.pickle_storage_type()], len(storage), storage.dtype


# ---------------------------------------------------------------------------------------- names


def get_layout(name: str) -> layout:
    """The layout whose text is ``name``."""
    found = getattr(size_and_formats, name.removeprefix("torch."), None)
    if not isinstance(found, layout):
        raise KeyError(name)
    return found


_SPECIAL_NAMES: dict[Any, tuple[str, str]] = {
    DType: ("torch", "dtype"),
    Device: ("torch", "device"),
    Size: ("torch", "Size"),
    get_layout: ("torch.serialization", "_get_layout"),
    UntypedStorage: ("torch.storage", "UntypedStorage"),
    **{kind: ("torch", name) for name, kind in LEGACY_CLASSES.items()},
    TypedStorage: ("torch.storage", "TypedStorage"),
    _utils._rebuild_from_type_v2: ("torch._tensor", "_rebuild_from_type_v2"),
}


def torch_name(thing: Any, name: str | None = None) -> tuple[str, str] | None:
    """``(module, name)`` under which files know ``thing``; None when it is none of ours.

    Raises:
        pickle.PicklingError: it is ours, but PyTorch has nothing under its name.
    """
    if isinstance(thing, DType):
        return "torch", thing.name
    if isinstance(thing, (memory_format, qscheme)):
        return "torch", repr(thing).removeprefix("torch.")
    if isinstance(thing, (type, FunctionType)) and thing in _SPECIAL_NAMES:
        return _SPECIAL_NAMES[thing]
    module = getattr(thing, "__module__", None) or ""
    if not is_ours(module):
        return None
    name = name or getattr(thing, "__qualname__", thing.__name__)
    home = module.removeprefix("mindtorch.")
    if home.partition(".")[0] != "torch":
        raise pickle.PicklingError(f"cannot save {module}.{name}: it is internal to mindtorch")
    public = getattr(importlib.import_module(OURS), name, None)
    if public is thing and name[:1] != "_":
        return "torch", name
    return home, name


def resolve(module: str, name: str) -> Any:
    """Our object under torch's name; ModuleNotFoundError or AttributeError without one."""
    full = f"{module}.{name}"
    if full in BY_FULL_NAME:
        return BY_FULL_NAME[full]
    path = OURS + module[len("torch") :]
    try:
        holder: Any = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not path.startswith(error.name):
            raise
        holder = _nearest_package(path, name, error)
    for part in name.split("."):
        holder = getattr(holder, part)
    return holder


def _nearest_package(path: str, name: str, error: Exception) -> Any:
    """torch puts ``nn.modules.linear.Linear`` deeper than we do: look in the enclosing packages."""
    first = name.partition(".")[0]
    while path != OURS:
        path = path.rpartition(".")[0]
        try:
            package = importlib.import_module(path)
        except ModuleNotFoundError:
            continue
        if path != OURS and hasattr(package, first):
            return package
    raise error


BY_FULL_NAME: dict[str, Any] = {
    "torch.device": Device,
    "torch.Size": Size,
    "torch.serialization._get_layout": get_layout,
    "torch.dtype": DType,
    "torch.storage.UntypedStorage": UntypedStorage,
    "torch.UntypedStorage": UntypedStorage,
    "torch.storage.TypedStorage": TypedStorage,
    "torch._tensor._rebuild_from_type_v2": _utils._rebuild_from_type_v2,
    **{
        f"torch.{dtype.name}": dtype
        for dtype in (*dtypes.ALL, *dtypes.STORED, *dtypes.QUANTIZED)
    },
    **{
        repr(each): each
        for each in vars(size_and_formats).values() if isinstance(each, qscheme)
    },
    **{f"torch.{name}": kind for name, kind in LEGACY_CLASSES.items()},
    **{f"torch.storage.{name}": kind for name, kind in LEGACY_CLASSES.items()},
    **{f"torch._utils.{name}": function for name, function in _utils.REBUILDERS.items()},
}


# --------------------------------------------------------------------------------------- writing


# The pickler written in Python: only there can the name written for a global be chosen.
_PythonPickler: Any = pickle._Pickler


class TorchPickler(_PythonPickler):
    """Writes objects under the names that PyTorch reads.

    Args:
        file: receives the pickle.
        protocol: pickle's protocol; PyTorch reads 2 safely.
        save_storage: called with each storage, returns the persistent id that stands for it.
    """

    dispatch: ClassVar[dict[Any, Any]] = dict(_PythonPickler.dispatch)

    def __init__(self, file: Any, protocol: int, save_storage: Callable[[Any], Any]) -> None:
        super().__init__(file, protocol)
        self._save_storage = save_storage
        self._reducers: dict[type, Any] = dict(REDUCERS)

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, (TypedStorage, UntypedStorage)):
            return self._save_storage(obj)
        return None

    def reducer_override(self, obj: Any) -> Any:
        cls = type(obj)
        reducer = self._reducers.get(cls, self)
        if reducer is self:
            reducer = self._reducers[cls] = tensor_reducer(cls)
        return NotImplemented if reducer is None else reducer(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        known = torch_name(obj, name)
        if known is None:
            super().save_global(obj, name)
            return
        module, name = known
        if self.proto >= 4:
            self.save(module)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        else:
            if "." in name:
                raise pickle.PicklingError(
                    f"cannot save {module}.{name} with pickle protocol {self.proto}"
                )
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    dispatch[FunctionType] = save_global


def _by_name(obj: Any) -> str:
    """The name of ``obj`` in the module of its class."""
    name = repr(obj).removeprefix("torch.")
    return "bool_" if name == "bool" else name


def _reduce_device(device: Device) -> Any:
    parts = (device.type,) if device.index is None else (device.type, device.index)
    return Device, parts


REDUCERS: dict[type, Any] = {
    DType: _by_name,
    memory_format: _by_name,
    qscheme: _by_name,
    layout: lambda value: (get_layout, (repr(value),)),
    Device: _reduce_device,
    Size: lambda size: (Size, (tuple(size),)),
}


def tensor_reducer(cls: type) -> Any:
    """How instances of ``cls`` are taken apart; None leaves it to pickle."""
    if not issubclass(cls, Tensor):
        return None
    if isinstance(getattr(cls, "result_type", None), type):  # MindSpore's are saved as torch's
        return lambda tensor: _utils.reduce_tensor(cast_to_adapter_tensor(tensor.value()))
    if getattr(cls, "reduces_itself", False):
        return lambda tensor: tensor.__reduce_ex__(2)
    for base in cls.__mro__:
        if "__reduce_ex__" in vars(base):
            custom = not is_ours(base.__module__) and base is not object
            if custom:
                return None
            break
    if any(base.__name__ == "Parameter" and is_ours(base.__module__) for base in cls.__mro__):
        return _utils.reduce_parameter
    return _utils.reduce_tensor


def rename_globals(data: bytes) -> bytes:
    """A protocol 0-3 pickle in which our names are replaced by torch's."""
    import pickletools

    pieces, done = [], 0
    for opcode, argument, position in pickletools.genops(data):
        if opcode.name != "GLOBAL" or not str(argument).startswith("mindtorch."):
            continue
        module, name = str(argument).split(" ", 1)
        thing: Any = importlib.import_module(module)
        for part in name.split("."):
            thing = getattr(thing, part)
        known = torch_name(thing) or (module, name)
        assert position is not None
        pieces.append(data[done:position] + "c{}\n{}\n".format(*known).encode())
        done = position + len(f"c{module}\n{name}\n".encode())
    return b"".join(pieces) + data[done:]


# --------------------------------------------------------------------------------------- reading


def full_unpickler(
    module: Any, file: Any, persistent_load: Callable[[Any], Any], options: dict[str, Any]
) -> Any:
    """An unpickler of ``module`` that runs whatever the file says; torch's names mean ours."""

    class Unpickler(module.Unpickler):
        def find_class(self, mod_name: str, name: str) -> Any:
            if mod_name == "torch" or mod_name.startswith("torch."):
                return resolve(mod_name, name)
            return super().find_class(mod_name, name)

        def persistent_load(self, saved_id: Any) -> Any:
            return persistent_load(saved_id)

    return Unpickler(file, **options)
