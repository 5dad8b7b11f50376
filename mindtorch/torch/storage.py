"""Storages seen as elements (`TypedStorage`); as bytes they are in `_untyped_storage`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.devices.device import Device, cpu
from mindtorch.engine.dtypes import DType
from mindtorch.torch._api.public_names import own_names as _own_names

from ._api.warn_caller import warn_caller_once
from ._tensor.untyped_storage import UntypedStorage, allocate, settled

__all__ = ["TypedStorage", "UntypedStorage"]


# Types that files describe as bytes plus a type, all others have a storage class of their own.
UNTYPED_IN_FILES = (dtypes.uint16, dtypes.uint32, dtypes.uint64, *dtypes.STORED)
STORAGE_NAMES = {
    f"{dtypes.scalar_type_name(dtype)}Storage": dtype
    for dtype in (*dtypes.ALL, *dtypes.QUANTIZED)
    if dtype not in UNTYPED_IN_FILES
}
_NAME_OF_TYPE = {dtype: name for name, dtype in STORAGE_NAMES.items()}


def _warn_deprecated() -> None:
    warn_caller_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be "
        "the only storage class. This should only matter to you if you are using storages "
        "directly.  To access UntypedStorage directly, use tensor.untyped_storage() instead of "
        "tensor.storage()"
    )


class TypedStorage:
    """A storage seen as elements of one type: what the deprecated ``tensor.storage()`` gives.

    ``TypedStorage(5, dtype=...)`` and ``TypedStorage([1, 2], dtype=...)`` make new ones;
    ``TypedStorage(wrap_storage=untyped, dtype=...)`` shares memory.

    Args:
        size_or_data: how many elements, or the elements.
        device: where it is.
    """

    def __init__(
        self,
        size_or_data: int | Sequence[Any] = 0,
        *,
        wrap_storage: UntypedStorage | None = None,
        dtype: DType | None = None,
        device: Any = None,
        _internal: bool = False,
    ) -> None:
        if not _internal:
            _warn_deprecated()
        self.dtype = dtype or dtypes.default
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(
                    f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage)}"
                )
            self._untyped_storage = wrap_storage
            return
        if isinstance(size_or_data, str):
            raise TypeError("new(): invalid data type 'str'")
        count = size_or_data if isinstance(size_or_data, int) else len(size_or_data)
        place = cpu if device is None else Device(device)
        storage = allocate(count * self.dtype.itemsize, place, self.dtype)
        if not isinstance(size_or_data, int) and place.type != "meta":
            storage.buffer[...] = np.asarray(size_or_data).astype(self.dtype.np)
        self._untyped_storage = UntypedStorage._wrap(storage)

    def _elements(self) -> Any:
        return settled(self._untyped_storage._storage, self.dtype)

    @property
    def device(self) -> Device:
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        return self._untyped_storage.is_cuda

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    def is_shared(self) -> bool:
        """Whether other processes can map the memory."""
        return self._untyped_storage.is_shared()

    def size(self) -> int:
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def __len__(self) -> int:
        return self.size()

    def nbytes(self) -> int:
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        return self._untyped_storage.data_ptr()

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def tolist(self) -> list[Any]:
        self._untyped_storage._need_memory()
        return [element.item() for element in _python_ready(self._elements())]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        self._untyped_storage._need_memory()
        return _python_ready(self._elements()[self._checked(index)]).item()

    def _checked(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return index

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._untyped_storage._need_memory()
        place = index if isinstance(index, slice) else self._checked(index)
        self._elements()[place] = value
        self._untyped_storage._storage.version += 1

    def fill_(self, value: Any) -> TypedStorage:
        self[:] = value
        return self

    def clone(self) -> TypedStorage:
        return self._same(self._untyped_storage.clone())

    def cpu(self) -> TypedStorage:
        return self._same(self._untyped_storage.cpu())

    def _same(self, untyped: UntypedStorage) -> TypedStorage:
        return TypedStorage(wrap_storage=untyped, dtype=self.dtype, _internal=True)

    @classmethod
    def from_buffer(cls, *args: Any, dtype: DType | None = None, **kwargs: Any) -> TypedStorage:
        """:meth:`UntypedStorage.from_buffer` as elements of ``dtype``."""
        kind = getattr(cls, "_dtype", dtype) or dtypes.default
        untyped = UntypedStorage.from_buffer(*args, dtype=kind, **kwargs)
        return TypedStorage(wrap_storage=untyped, dtype=kind, _internal=True)

    @classmethod
    def from_file(
        cls, filename: str, shared: bool = False, size: int = 0, *, dtype: DType | None = None
    ) -> TypedStorage:
        """``size`` elements of a file mapped into memory: :meth:`UntypedStorage.from_file`."""
        kind = getattr(cls, "_dtype", dtype) or dtypes.default
        untyped = UntypedStorage.from_file(filename, shared, size * kind.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=kind, _internal=True)

    def copy_(self, source: TypedStorage, non_blocking: bool | None = None) -> TypedStorage:
        """Copy the bytes of ``source``, as PyTorch does, also where it has another type."""
        self._untyped_storage.copy_(source._untyped_storage, bool(non_blocking))
        return self

    def _of_type(self, dtype: DType) -> TypedStorage:
        """The elements in another type."""
        made = TypedStorage(len(self), dtype=dtype, device=self.device, _internal=True)
        made._elements()[...] = self._elements().astype(dtype.np)
        return made

    def to(self, *, device: Any, non_blocking: bool = False) -> TypedStorage:
        """This storage's elements on ``device``."""
        return self._same(self._untyped_storage.to(device=device, non_blocking=non_blocking))

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        return self._same(self._untyped_storage.cuda(device, non_blocking))

    def resizable(self) -> bool:
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> None:
        """Change the number of elements, keeping those that both lengths have."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def is_pinned(self, device: Any = "cuda") -> bool:
        return self._untyped_storage.is_pinned(device)

    @property
    def filename(self) -> str | None:
        return self._untyped_storage.filename

    @property
    def is_sparse(self) -> bool:
        return False

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def __copy__(self) -> TypedStorage:
        return self.clone()

    def __hash__(self) -> int:
        return id(self)

    def pickle_storage_type(self) -> str:
        """The class under which a file names it: ``FloatStorage``."""
        return _NAME_OF_TYPE[self.dtype]

    def type(self) -> str:
        return f"torch.{_NAME_OF_TYPE[self.dtype]}"

    def __repr__(self) -> str:
        tail = (
            f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) "
            f"of size {len(self)}]"
        )
        if self.device.type == "meta":
            return "...\n" + tail
        return "".join(f" {value}\n" for value in self.tolist()) + tail

    def __reduce__(self) -> Any:
        return (_typed_from_untyped, (self._untyped_storage, self.dtype))

    def __deepcopy__(self, memo: dict[Any, Any]) -> TypedStorage:
        return self._same(self._untyped_storage.__deepcopy__(memo))


def typed_storage_of(tensor: Any) -> TypedStorage:
    """What the deprecated ``tensor.storage()`` gives."""
    _warn_deprecated()
    untyped = UntypedStorage._wrap(tensor._shared)
    return TypedStorage(wrap_storage=untyped, dtype=tensor.aval.dtype, _internal=True)


def _python_ready(values: Any) -> Any:
    """Elements whose ``item`` is a Python number (ml_dtypes' own are not)."""
    return values.astype(np.float32) if values.dtype.kind == "V" else values


def _typed_from_untyped(untyped: UntypedStorage, dtype: DType) -> TypedStorage:
    return TypedStorage(wrap_storage=untyped, dtype=dtype, _internal=True)


class _OneType(type):
    """The class of classes like ``FloatStorage``, which make TypedStorages and hold those of
    their type."""

    _dtype: DType

    def __call__(cls, *args: Any, wrap_storage: Any = None, **named: Any) -> TypedStorage:
        wrong = (
            f"<class 'torch.{cls.__name__}'>.__new__ received an invalid combination of arguments. "
            "Expected one of:\n * no arguments\n * (int size)\n * (Sequence data)\n * (*, "
            "UntypedStorage wrap_storage)\n"
        )
        for name in named:
            raise RuntimeError(f"{wrong}Keyword argument '{name}' cannot be specified")
        if len(args) > (wrap_storage is None):
            raise RuntimeError(f"{wrong}Too many positional arguments")
        if args and not isinstance(args[0], (int, Sequence)):
            raise TypeError(f"{wrong}Argument type not recognized: {type(args[0])}")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls._dtype, _internal=True)

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            type(instance) is TypedStorage
            and instance.dtype is cls._dtype
            and instance.device.type == "cpu"
        )


def _legacy_class(name: str, dtype: DType) -> Any:
    members = {"_dtype": dtype, "dtype": dtype, "__module__": "mindtorch.torch", "__doc__": None}
    return _OneType(name, (TypedStorage,), members)


LEGACY_CLASSES = {name: _legacy_class(name, dtype) for name, dtype in STORAGE_NAMES.items()}
globals().update(LEGACY_CLASSES)
_CONVERSIONS = {
    "double": dtypes.float64, "float": dtypes.float32, "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16, "long": dtypes.int64, "int": dtypes.int32, "short": dtypes.int16,
    "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
    "complex_double": dtypes.complex128, "complex_float": dtypes.complex64,
}  # fmt: skip


def _define_conversion(name: str, dtype: DType) -> None:
    def body(self: TypedStorage) -> TypedStorage:
        return self._of_type(dtype)

    body.__name__ = name
    body.__qualname__, body.__doc__ = f"TypedStorage.{name}", f"The elements as {dtype}."
    setattr(TypedStorage, name, body)


for _name, _dtype in _CONVERSIONS.items():
    _define_conversion(_name, _dtype)

_own_names(globals())
