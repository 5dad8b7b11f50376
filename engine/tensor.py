"""Tensors: a slice of a flat buffer, a description of its layout, and a place in the autodiff
graph."""

from __future__ import annotations

import copyreg
import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dtypes
from .aval import Aval, Shape, aval
from .bounded_cache import Bounded
from .devices.device import Device, backend, cpu, empty_on, meta
from .symbolic_sizes import KINDS, made_anew, open_sizes

if TYPE_CHECKING:
    from .autograd.tape import AccumulateGrad, Node, ViewHistory


# threads in inference mode, whose new tensors have a storage without versions
inferring: set[int] = set()

# by thread the number of the innermost transformation whose function runs, whose new tensors it
# may write to: those from outside it may not
levels: dict[int, int] = {}

# captures under way, which are told of new views and when elements are asked for
captures: list[Any] = []

# the script whose ops wait where that is faster, which is told of the places it comes by
scripts: list[Any] = []


# what the engine keeps in a tensor's dictionary
_FIELDS = frozenset({
    "_storage", "_offset", "_output_index", "_grad", "_hooks", "_interpreter", "_retains_grad",
    "_trace_stamp", "_dynamic_axes", "_grad_dtype", "_registered_for",
})  # fmt: skip


def own_attributes(tensor: Tensor) -> list[str]:
    """The names of what users have set on a tensor."""
    return [name for name in fields_of(tensor) if name not in _FIELDS]


def own_slots(tensor: Tensor) -> dict[str, Any]:
    """What is in the slots that a user's class has besides the engine's."""
    names = set(copyreg._slotnames(type(tensor))).difference(Tensor.__slots__)  # type: ignore[attr-defined]
    return {name: getattr(tensor, name) for name in sorted(names) if hasattr(tensor, name)}


class Attributes(dict[str, Any]):
    """What users have set on a tensor, without the engine's fields; writes reach the tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self.fields = fields_of(tensor)
        super().__init__({k: v for k, v in self.fields.items() if k not in _FIELDS})

    def __setitem__(self, name: str, value: Any) -> None:
        self.fields[name] = value
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del self.fields[name]

    def clear(self) -> None:
        for name in list(self):
            del self[name]

    def pop(self, name: str, *default: Any) -> Any:
        if name in self:
            del self.fields[name]
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        name, value = super().popitem()
        del self.fields[name]
        return name, value

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def update(self, *given: Any, **named: Any) -> None:
        for name, value in dict(*given, **named).items():
            self[name] = value

    def __ior__(self, other: Any) -> Attributes:  # type: ignore[override,misc]
        self.update(other)
        return self


def capturing() -> Any:
    """The capture that is under way in this thread, the innermost; None where there is none."""
    if not captures:
        return None
    thread = threading.get_ident()
    for capture in reversed(captures):
        if capture.thread == thread:
            return capture
    return None


class Storage:
    """The flat buffer that a tensor and its views share.

    Attributes:
        buffer: a 1-D typed array, from the storage's first element.
        inference: whether the memory was made in inference mode.
        kept_version: ``version``, read in order to keep the elements for backward.
        version: counts the writes in place, for autodiff's check of saved tensors.
        history: counts how often a write changed the derivation of the base, so that its views
            know when theirs is out of date.
        level: the number of the transformation in whose function the memory was made.
        window: a weak reference to the array through which others see the memory, if any did.
    """

    __slots__ = ("__weakref__", "buffer", "device", "history", "resizable", "version", "window")
    inference = False
    level = 0
    kept_version: int
    window: Any

    def __init__(self, buffer: Any, device: Device = cpu) -> None:
        self.buffer = buffer
        self.device = device
        self.version = 0
        self.history = 0
        self.resizable = True

    @property
    def memory(self) -> Storage:
        """What tells whether two tensors share memory: the same object for all aliases of it."""
        return self


Storage.kept_version = vars(Storage)["version"]  # the same slot


_WRITTEN = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
    "to get a normal tensor before doing inplace update.See "
    "https://github.com/pytorch/rfcs/pull/17 for more details."
)
NEW_LEAF = "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
_KEPT = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)


class InferenceStorage(Storage):
    """Memory made in inference mode: no writes outside of it, and nothing kept for backward."""

    __slots__ = ()
    inference = True
    level = 1 << 62

    @property
    def version(self) -> int:
        return 0

    @version.setter
    def version(self, value: int) -> None:
        if value and threading.get_ident() not in inferring:
            raise RuntimeError(_WRITTEN)

    @property
    def kept_version(self) -> int:  # type: ignore[override]
        raise RuntimeError(_KEPT)


def check_made_here(tensor: Tensor, text: str = _WRITTEN) -> None:
    """torch's error for changing, outside of inference mode, what was made in it."""
    storage = tensor._storage
    if storage is not None and storage.inference and threading.get_ident() not in inferring:
        raise RuntimeError(text)


class InnerStorage(Storage):
    """Memory made while the function of a transformation runs."""

    __slots__ = ("level",)
    level: int


def note_origin(tensor: Tensor) -> None:
    """Mark a new tensor as made in inference mode, or in a transformation, where it is."""
    thread = threading.get_ident()
    if thread in inferring or thread in levels:
        tensor._storage = new_storage(tensor.flat, tensor.aval.device)


def new_storage(buffer: Any, device: Device) -> Storage:
    """A storage, one without versions where this thread is in inference mode."""
    if inferring and threading.get_ident() in inferring:
        return InferenceStorage(buffer, device)
    level = levels.get(threading.get_ident()) if levels else None
    if level is not None:
        inner = InnerStorage(buffer, device)
        inner.level = level
        return inner
    return Storage(buffer, device)


class DetachedStorage(Storage):
    """The memory of another storage with counters of its own: what ``Tensor.data`` writes is not
    seen by autodiff."""

    __slots__ = ("_memory",)

    def __init__(self, storage: Storage) -> None:
        self._memory = storage if storage.__class__ is Storage else storage.memory
        self.version = 0
        self.history = 0

    @property
    def memory(self) -> Storage:
        return self._memory

    @property
    def buffer(self) -> Any:
        return self._memory.buffer

    @buffer.setter
    def buffer(self, value: Any) -> None:
        self._memory.buffer = value

    @property
    def device(self) -> Device:  # type: ignore[override]
        return self._memory.device

    @property
    def inference(self) -> bool:  # type: ignore[override]
        return self._memory.inference

    @property
    def level(self) -> int:  # type: ignore[override]
        return self._memory.level

    @property
    def resizable(self) -> bool:
        return self._memory.resizable

    @resizable.setter
    def resizable(self, value: bool) -> None:
        self._memory.resizable = value


def typed_buffer(storage: Storage, dtype: dtypes.DType) -> Any:
    """The storage's memory seen as elements of ``dtype``; trailing bytes are left out."""
    if storage.buffer.dtype == dtype.np:  # asked for that, a traced storage gets its elements
        return storage.buffer
    buffer = storage.buffer
    count = buffer.size * buffer.dtype.itemsize // dtype.itemsize
    if storage.device.type == "meta":
        return np.broadcast_to(np.zeros((), dtype.np), (count,))
    return buffer.view(np.uint8)[: count * dtype.itemsize].view(dtype.np)


def room_in(storage: Storage, dtype: dtypes.DType) -> int:
    """How many elements of ``dtype`` a storage holds, also while they are to be computed."""
    buffer = storage.buffer
    described = getattr(buffer, "aval", None)
    if described is not None:
        return described.extent * described.dtype.itemsize // dtype.itemsize
    return buffer.size * buffer.dtype.itemsize // dtype.itemsize


class Tensor:
    """A strided array with a place in the autodiff graph.

    Attributes:
        flat: typed 1-D array that begins at the tensor's first element.
        aval: shape, strides, dtype and device.
        _node: None, or what produced the tensor (:mod:`.autograd.tape`).
    """

    __slots__ = ("__dict__", "__weakref__", "_node", "aval", "flat")
    flat: Any
    aval: Aval
    _node: Node | AccumulateGrad | ViewHistory | None
    _storage: Storage | None = None
    _offset = 0
    _output_index = 0
    _grad: Tensor | None = None
    _hooks: Any = None
    _interpreter: Any = None
    # whether only some elements are stored: such tensors come as gradients, never to kernels
    _sparse = False
    # whether gradients of the class are added up by its methods: it is sparse, or answers for ops
    _by_methods = False

    if TYPE_CHECKING:
        # torch's methods, which the namespace's subclass has
        def __getattr__(self, name: str) -> Any: ...

        def __getitem__(self, item: Any) -> Any: ...

    @property
    def _shared(self) -> Storage:
        """The storage object; made when somebody first asks for it."""
        storage = self._storage
        if storage is None:
            storage = _new(Storage)  # as Storage() is, without the call of its __init__
            storage.buffer = self.flat
            storage.device = self.aval.device
            storage.version = storage.history = 0
            storage.resizable = True
            self._storage = storage
        return storage

    @property
    def _version(self) -> int:
        note_looked_at(self, "version")
        if self._storage is not None and self._storage.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return version_of(self)

    def array(self) -> Any:
        """The N-d array that shares this tensor's memory; a copy for reading if CUDA holds it."""
        capture = capturing() if captures else None
        if capture is not None:
            capture.data_needed(self)
        device = self.aval.device
        if device is cpu:
            return as_array(self.flat, self.aval)
        if device.type == "cuda":
            return backend("cuda").host_array(self.flat, self.aval)
        if device is meta:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return as_array(self.flat, self.aval)


# a tensor's dictionary, the engine's fields included
fields_of: Callable[[Any], dict[str, Any]] = vars(Tensor)["__dict__"].__get__


def version_of(tensor: Tensor) -> int:
    """How often the tensor's memory was written to."""
    return 0 if tensor._storage is None else tensor._storage.version


def note_looked_at(tensor: Tensor, what: str) -> None:
    """Tell the capture that is under way that Python code asks for what no guard compares."""
    capture = capturing()
    if capture is not None:
        capture.identity_needed(tensor, what)


def as_array(data: Any, description: Aval) -> Any:
    """The N-d view of flat ``data`` that ``description`` means."""
    if description.contiguous:
        if data.size == description.size:
            return data.reshape(description.shape)
        return data[: description.size].reshape(description.shape)
    return np.ndarray(
        description.shape, data.dtype, data, 0, description.byte_strides
    )


# the class of the tensors that the engine makes, as a list of one
result_types: list[type[Tensor]] = [Tensor]
_new = object.__new__


def set_result_type(cls: type[Tensor]) -> None:
    """Make ``cls`` the class of every tensor that the engine makes."""
    result_types[0] = cls


def change_class(thing: Any, kind: type) -> None:
    """Make a tensor, or a node, an object of another class, which has the same slots.

    Who holds it sees the change: it stays the same object, a tensor with its memory and history.
    """
    thing.__class__ = kind


def akin(made: Tensor, model: Tensor) -> Tensor:
    """``made``, as an object of the class that results computed from ``model`` have."""
    kind: Any = getattr(model, "result_type", None)
    if kind is not None and type(made) is not kind:
        change_class(made, kind)
    return made


def result_class() -> type[Tensor]:
    return result_types[0]


def note_shared(tensor: Tensor) -> None:
    """Tell the capture that is under way of a tensor that has another one's ``flat``."""
    capture = capturing()
    if capture is not None:
        capture.shared(tensor)


class _NoData:
    """Stands for the data of a tensor whose op, or one before it, has failed after it was made."""

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        raise RuntimeError("a tensor has no data, since an op that was to compute it has failed")


NO_DATA: Any = _NoData()


class _Wrapper:
    """Stands for the data of a tensor that wraps others."""

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        raise RuntimeError(
            "a tensor has no data of its own: it wraps others, and its class answers for ops"
        )


WRAPPER: Any = _Wrapper()


def make(data: Any, description: Aval, storage: Storage | None = None, offset: int = 0) -> Tensor:
    """A tensor without history over flat ``data``; a view when ``storage`` is given."""
    result = _new(result_types[0])
    result.flat = data
    result.aval = description
    result._node = None
    if storage is not None:
        result._storage = storage
        if offset:
            result._offset = offset
    elif inferring or levels:
        note_origin(result)
    if captures:
        note_shared(result)
    return result


def alias(tensor: Tensor) -> Tensor:
    """Another tensor over the same storage and version counter, without history."""
    return make(tensor.flat, tensor.aval, tensor._shared, tensor._offset)


def again(tensor: Tensor) -> Tensor:
    """Another object of the tensor's class with the same attributes, without history."""
    result = make(tensor.flat, tensor.aval, tensor._shared, tensor._offset)
    change_class(result, type(tensor))
    for name, value in (*Attributes(tensor).items(), *own_slots(tensor).items()):
        setattr(result, name, value)
    return result


def from_array(array: Any, device: Device = cpu) -> Tensor:
    """A tensor that shares the memory of a numpy array where its strides allow it.

    Raises:
        ValueError: a stride is negative or not a whole number of elements.
    """
    if array.__class__ is not np.ndarray:
        array = np.asarray(array)
    if device is not cpu and device.type == "cuda":
        return make(*backend("cuda").upload(array, device))
    dtype = dtypes.from_numpy(array.dtype)
    shape = array.shape
    if not shape or array.flags.c_contiguous:
        flat = array.view() if len(shape) == 1 else array.reshape(-1)
        return make(flat, aval(shape, dtype, None, device))
    itemsize = array.dtype.itemsize
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    if any(s % itemsize for s in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )
    strides = tuple(s // itemsize for s in array.strides)
    described = aval(array.shape, dtype, strides, device)
    writeable = array.flags.writeable
    extent = (described.extent,)
    flat = np.lib.stride_tricks.as_strided(array, extent, (itemsize,), writeable=writeable)
    return make(flat, described)


def places_of(array: Any, device: Device = cpu) -> Tensor:
    """A tensor over an array that follows from shapes and plain arguments, and that no result
    shares memory with."""
    made = from_array(array, device)
    capture = capturing() if captures else None
    if capture is not None:
        capture.note_places(made)
    return made


_constants = Bounded(4096)
_NUMBER_TYPES: dict[type, dtypes.DType] = {
    float: dtypes.float64,
    int: dtypes.int64,
    bool: dtypes.bool_,
    complex: dtypes.complex128,
}


def constant(number: Any) -> Tensor:
    """The 0-d tensor of a Python number, weak in promotion. Numbers met often are kept."""
    kind = type(number)
    if kind in KINDS:
        made = made_anew(aval((), _number_dtype(number), weak=True), np.array, number)
        return constant(number.fixed()) if made is None else made
    key = (kind, number)
    found = _constants.get(key)
    if found is not None and (number or kind is not float):
        return found
    dtype = _NUMBER_TYPES.get(kind)
    if dtype is None:
        if isinstance(number, np.generic):
            return constant(of_numpy(number))
        if isinstance(number, float):  # a subclass: what it refers to is not to be kept
            return constant(float(number))
        if isinstance(number, Tensor) and not (number.aval.ndim or number.requires_grad):
            return constant(number.array().item())
        dtype = _number_dtype(number)
    if dtype is dtypes.int64 and not -(2**63) <= number < 2**63:
        if not 0 <= number < 2**64:
            raise RuntimeError("Overflow when unpacking long long")
        dtype = dtypes.uint64
    result = make(np.array([number], dtype.np), aval((), dtype, weak=True))
    result._storage = None  # one made in inference mode serves outside of it too
    cacheable = number == number and not (
        kind is float and number == 0 and math.copysign(1, number) < 0
    )
    if cacheable:
        _constants.keep(key, result)
    return result


def of_numpy(number: Any) -> Any:
    """numpy's number as Python's: what is not whole counts as real, bool and complex64 too."""
    if isinstance(number, complex):
        return complex(number)
    if not isinstance(number, np.integer):
        return float(number)
    if number >= 2**63:
        raise TypeError("an integer is required")
    return int(number)


def _number_dtype(number: Any) -> dtypes.DType:
    if isinstance(number, (bool, np.bool_)):
        return dtypes.bool_
    if isinstance(number, (int, np.integer)):
        return dtypes.int64
    if isinstance(number, (float, np.floating)):
        return dtypes.float64
    if isinstance(number, (complex, np.complexfloating)):
        return dtypes.complex128
    raise TypeError(f"expected a number, not {type(number).__name__}")


def full_flat(shape: Shape, dtype: dtypes.DType, value: Any, device: Device = cpu) -> Tensor:
    """A new dense tensor with every element ``value``."""
    described = aval(shape, dtype, None, device)
    if open_sizes:
        made = made_anew(described, np.array, value)
        if made is not None:
            return made
    if device.type == "meta":
        return make(empty_on(device)(described.size, dtype.np), described)
    if device.type == "cuda":
        made = make(empty_on(device)(described.size, dtype.np), described)
        backend("cuda").fill(made.flat, described, value)
        return made
    data = np.full(described.size, value, dtype.np) if value else np.zeros(described.size, dtype.np)
    made = make(data, described)
    if captures:
        capture = capturing()
        if capture is not None:
            capture.note_full(made, value)
    return made
