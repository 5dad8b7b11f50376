"""Tensors made of data: numbers, lists, arrays, buffers and storages."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from mindtorch.engine import dtypes, stored_types
from mindtorch.engine.aval import aval
from mindtorch.engine.devices import cuda
from mindtorch.engine.devices.device import cpu
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array, make

from .._api.arguments import as_device, as_dtype
from .._api.publish import function
from .._api.warn_caller import warn_caller, warn_caller_once
from .creation import finish
from .dlpack import from_dlpack


def _sizes_of(data: Any) -> list[int]:
    """The lengths of nested data, those of each first element."""
    sizes = []
    while _is_row(data):
        sizes.append(len(data))
        if not sizes[-1]:
            break
        data = data[0]
    return sizes


def _is_row(data: Any) -> bool:
    if isinstance(data, np.ndarray):
        return data.ndim > 0
    if isinstance(data, (str, Mapping, EngineTensor)):
        return False
    return hasattr(data, "__len__") and hasattr(data, "__getitem__")


def _rows(data: Any, sizes: list[int], whole: bool, depth: int = 0) -> Any:
    """Nested data of these ``sizes`` for numpy; torch's errors for data of other sizes.

    Args:
        whole: the elements' type has no fractions, for the text of an error.
    """
    if depth == len(sizes):
        return _leaf(data, whole)
    if not _is_row(data) and not (isinstance(data, EngineTensor) and data.aval.shape):
        raise TypeError("not a sequence")
    if len(data) != sizes[depth]:
        raise ValueError(
            f"expected sequence of length {sizes[depth]} at dim {depth} (got {len(data)})"
        )
    if isinstance(data, np.ndarray) and data.shape == tuple(sizes[depth:]):
        return data
    if depth == len(sizes) - 1 and _PYTHON_NUMBERS.issuperset(map(type, data)):
        return data
    return [_rows(x, sizes, whole, depth + 1) for x in data]


def _leaf(data: Any, whole: bool) -> Any:
    if isinstance(data, EngineTensor):
        if data.aval.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return data.item()
    if isinstance(data, np.ndarray) and data.ndim:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    if isinstance(data, (list, tuple)):
        kind = type(data).__name__
        raise TypeError(
            f"'{kind}' object cannot be interpreted as an integer"
            if whole
            else f"must be real number, not {kind}"
        )
    return data


def lengths_or_data(data: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an old constructor, a whole number of numpy's as the length that it is.

    Raises:
        TypeError: the only argument is another number.
    """
    value: Any = data[0] if len(data) == 1 else ()
    of_numpy = isinstance(value, (np.generic, np.ndarray)) and not value.ndim
    if of_numpy and value.dtype.kind in "iu":
        return (int(value),)
    if value is None or isinstance(value, (bool, float, complex, np.generic)):
        package = "numpy." if of_numpy else ""
        kind = type(value).__name__
        raise TypeError(f"new(): data must be a sequence (got {package}{kind})")
    return data


_FEW = 64
_IN_RANGE = 3.4e38  # of float32


def _of_few(data: Any) -> Any:
    """The array of a number, or of a few of one kind in a list or in lists of one length; None of
    all else."""
    values: Any = (data,)
    shape: tuple[int, ...] = ()
    if data.__class__ is list:
        values, shape = data, (len(data),)
        if data and data[0].__class__ is list:
            shape = (len(data), len(data[0]))
            if any(row.__class__ is not list or len(row) != shape[1] for row in data):
                return None
            values = [x for row in data for x in row]
        if not 0 < len(values) <= _FEW:
            return None
    kinds = set(map(type, values))
    if kinds == _FLOATS and dtypes.default is dtypes.float32:
        within = min(values) > -_IN_RANGE and max(values) < _IN_RANGE
        return np.array(values, np.float32).reshape(shape) if within else None
    if kinds != _INTEGERS:
        return None
    array = np.array(values)
    return array.reshape(shape) if array.dtype == np.int64 else None


_FLOATS, _INTEGERS = {float}, {int}


def infer_array(data: Any, dtype: Any) -> Any:
    """A numpy array of nested data with the element type torch infers."""
    array = _of_few(data)
    if array is not None and (dtype is None or array.dtype == dtype.np):
        return array
    if dtype in dtypes.NAMES_ONLY:
        aval((), dtype)  # says why there are no tensors of the type
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
        return _as_type(array, dtypes.from_numpy(array.dtype) if dtype is None else dtype)
    if not isinstance(data, (list, tuple, int, float, complex, bool)):
        if hasattr(data, "__dlpack__") and not hasattr(data, "__array__"):
            return infer_array(from_dlpack(data).array(), dtype)
        if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
            return infer_array(np.asarray(data), dtype)
        if _is_row(data):
            try:
                listed = list(data)
            except Exception:
                kind = type(data).__name__
                raise ValueError(f"could not determine the shape of object type '{kind}'") from None
            return infer_array(listed, dtype)
        if isinstance(data, str):
            raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
        raise _no_number(data, dtype)
    given = dtype
    if isinstance(data, list) and data and isinstance(data[0], np.ndarray):
        warn_caller_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list to a single numpy.ndarray with numpy.array() before converting "
            "to a tensor."
        )
    if dtype is None:
        try:
            dtype = _common_type(data)
        except RecursionError:
            raise ValueError(f"too many dimensions '{type(data).__name__}'") from None
    if isinstance(data, (list, tuple)) and not _PYTHON_NUMBERS.issuperset(map(type, data)):
        sizes = _sizes_of(data)
        if 0 in sizes:
            return np.empty(sizes, (dtype or dtypes.default).np)
        data = _rows(data, sizes, whole=dtype is not None and dtype.category < dtypes.FLOAT)
    try:
        array = np.array(data)
    except (OverflowError, ValueError) as error:
        raise ValueError("Overflow when unpacking long long") from error
    if array.dtype == object or array.dtype.kind in "USV":
        wrong = _invalid_element(data, given, array)
        if wrong is None:
            return array.astype(np.bool_)
        if not isinstance(wrong, ValueError) or given is None or given.category != dtypes.FLOAT:
            raise wrong
        array = np.array(data, np.float64)  # whole numbers of more than 64 bits
    if given is None and dtype is dtypes.int64 and array.dtype == np.uint64:
        raise ValueError("Overflow when unpacking long long")
    if dtype is None:
        dtype = dtypes.from_numpy(array.dtype)
    if array.dtype != dtype.np:
        _check_fits(array, dtype)
    return _as_type(array, dtype)


def of_old_constructor(data: Any, dtype: Any) -> Any:
    """The tensor of ``torch.Tensor(data)`` or of its like: over the memory of an array that has the
    type."""
    if isinstance(data, np.ndarray) and data.dtype == dtype.np:
        return from_array(data)
    return from_array(infer_array(data, dtype))


def _as_type(array: Any, dtype: Any) -> Any:
    """A copy of the array in an element type, its axes in the same order in memory.

    Raises:
        ValueError: a stride is negative.
    """
    if array.ndim and not array.flags.c_contiguous and min(array.strides) < 0:
        from_array(array)  # says so
    order: Any = "C" if 0 in array.strides else "K"
    if array.dtype == dtype.np:
        return array.copy(order)
    if dtype in dtypes.STORED and array.dtype != dtype.np:
        return stored_types.narrowed(array, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(dtype.np, order)


def _check_fits(array: Any, dtype: Any) -> None:
    """torch's errors for numbers that a type cannot hold; floats become infinite."""
    if array.dtype.kind == "c" and dtypes.BOOL < dtype.category < dtypes.COMPLEX:
        raise TypeError(
            "must be real number, not complex"
            if dtype.category == dtypes.FLOAT
            else "'complex' object cannot be interpreted as an integer"
        )
    if dtype.category != dtypes.INTEGER or not array.size or array.dtype == bool:
        return
    limits = np.iinfo(dtype.np)
    signed_low = int(limits.min) or -int(limits.max)  # negative whole numbers wrap around
    least, most = array.min().item(), array.max().item()
    fits = math.isfinite(least) and math.isfinite(most) and int(most) <= int(limits.max)
    if array.dtype.kind == "f" and not limits.min:
        fits = fits and least >= 0
    if not fits or int(least) < signed_low:
        raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")


def _common_type(data: Any) -> Any:
    """The type that holds all elements: numpy's numbers and tensors keep theirs.

    None where elements are of other kinds.
    """
    if not isinstance(data, (list, tuple)):
        nested = _is_row(data) and not isinstance(data, (np.ndarray, bytes))
        return _common_type(list(data)) if nested else _type_of(data)
    if not data:
        return dtypes.default
    kinds = set(map(type, data))
    if kinds <= _PYTHON_NUMBERS:
        found = [_type_of(kind(0)) for kind in kinds]
    else:
        found = list({_common_type(x) for x in data})
    if None in found:
        return None
    return functools.reduce(dtypes.promote, found)


_PYTHON_NUMBERS = {bool, int, float, complex}


def _type_of(value: Any) -> Any:
    if isinstance(value, EngineTensor):
        return value.aval.dtype
    if isinstance(value, (np.ndarray, np.generic)):
        return None if value.dtype.kind in "OUSV" else dtypes.from_numpy(value.dtype)
    if isinstance(value, bool):
        return dtypes.bool_
    if isinstance(value, int):
        return dtypes.int64
    if isinstance(value, float):
        return dtypes.default
    return dtypes.default.to_complex() if isinstance(value, complex) else None


def _of_numbers(array: Any) -> bool:
    return all(isinstance(x, (int, float, complex)) for x in array.reshape(-1))


def _invalid_element(data: Any, dtype: Any, array: Any) -> Exception | None:
    if dtype is dtypes.bool_ and _of_numbers(array):
        return None
    first = data
    while isinstance(first, (list, tuple)) and first:
        first = first[0]
    if isinstance(first, str):
        return ValueError("too many dimensions 'str'")
    while isinstance(data, (list, tuple)) and data:
        wrong = [x for x in data if not isinstance(x, (int, float, complex, bool))]
        data = wrong[0] if wrong else data[0]
    if isinstance(data, int):
        return ValueError("Overflow when unpacking long long")
    if isinstance(data, str):
        return TypeError("new(): invalid data type 'str'")
    return _no_number(data, dtype)


def _no_number(value: Any, dtype: Any) -> Exception:
    """torch's error for an object that is no number of a type, or none at all."""
    kind = type(value).__name__
    if dtype is None:
        return RuntimeError(f"Could not infer dtype of {kind}")
    if as_dtype(dtype).category < dtypes.FLOAT:
        return TypeError(f"'{kind}' object cannot be interpreted as an integer")
    return TypeError(f"must be real number, not {kind}")


_PLAIN_DATA = {list, float, int, bool, np.ndarray}


@function(method=False)
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> EngineTensor:
    """A new tensor holding a copy of numbers, nested lists or an array."""
    chosen = None if dtype is None else as_dtype(dtype, "tensor")
    return _copied(data, chosen, device, requires_grad, pin_memory, "torch.tensor")


def _copied(
    data: Any, chosen: Any, device: Any, requires_grad: bool, pin_memory: bool, name: str
) -> EngineTensor:
    """:func:`tensor` for a type that is one of ours; ``name`` is what the user called."""
    plain = data.__class__ in _PLAIN_DATA
    if not plain and isinstance(data, EngineTensor):
        warn_caller(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach()."
            "clone() or sourceTensor.detach().clone().requires_grad_(True), rather than "
            f"{name}(sourceTensor).",
        )
        made = data.detach().clone()
        if chosen is not None:
            made = made.to(chosen)
        if device is not None:
            made = made.to(as_device(device, True))
        return finish(made, requires_grad, None, pin_memory)
    if not plain and is_storage(data):
        made = of_storage(data, chosen)
        made = made if device is None else made.to(as_device(device, True))
        return finish(made, requires_grad, None, pin_memory)
    place = as_device(device, True)
    array = infer_array(data, chosen)
    if place is not cpu:
        return finish(from_array(array).to(place), requires_grad, None, pin_memory)
    if not array.flags.c_contiguous:
        return finish(from_array(array), requires_grad, None, pin_memory)
    shape = array.shape
    made = make(array.reshape(-1), aval(shape, dtypes.from_numpy(array.dtype)))
    return finish(made, requires_grad, None, pin_memory)


def is_storage(data: Any) -> bool:
    """Whether what is no tensor is a storage, of bytes or of elements."""
    return hasattr(data, "_storage") or hasattr(data, "_untyped_storage")


def of_storage(storage: Any, dtype: Any, place: str = "") -> Any:
    """The 1-D tensor over a storage's memory.

    Args:
        dtype: the elements' type; None is the default type where the storage has a type, which
            must be the same, and int64 where it is one of bytes.
        place: what the error says of the argument, after the type.
    """
    own = getattr(storage, "dtype", None)
    if dtype is None:
        dtype = dtypes.int64 if own is None else dtypes.default
    if own not in (None, dtype):
        names = [dtypes.scalar_type_name(kind) for kind in (dtype, own)]
        kind = f"type {names[1]}{place}" if place else names[1]
        raise RuntimeError(
            f"Expected a Storage of type {names[0]} or an UntypedStorage, but got {kind}"
        )
    return make(np.empty(0, np.uint8), aval((0,), dtype)).set_(storage)


FIRST_ARGUMENT = " for argument 1 'storage'"


@function(method=False)
def from_numpy(ndarray: Any) -> EngineTensor:
    """A tensor that shares the array's memory.

    Args:
        ndarray: a writable array of a type that torch has.
    """
    if not isinstance(ndarray, np.ndarray):
        package = "numpy." if isinstance(ndarray, np.generic) else ""
        raise TypeError(f"expected np.ndarray (got {package}{type(ndarray).__name__})")
    if not ndarray.flags.writeable:

        warn_caller(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You may "
            "want to copy the array to protect its data or make it writable before converting it "
            "to a tensor. This type of warning will be suppressed for the rest of this program.",
        )
    if ndarray.dtype.byteorder not in "=|" and ndarray.dtype.newbyteorder("=") != ndarray.dtype:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    result = from_array(ndarray)
    if not ndarray.size:  # numpy's strides of an empty array are kept
        strides = tuple(s // ndarray.dtype.itemsize for s in ndarray.strides)
        result.aval = aval(ndarray.shape, result.aval.dtype, strides)
    return result


@function(method=False)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> EngineTensor:
    """``data`` as a tensor, sharing memory where it can."""
    chosen = None if dtype is None else as_dtype(dtype, "as_tensor")
    found = _shared(data, chosen, device)
    return tensor(data, dtype=dtype, device=device) if found is None else found


def _shared(data: Any, chosen: Any, device: Any) -> Any:
    """A tensor over the memory of a tensor, array or storage, or its elements cast or moved.

    None where ``data`` is something else.
    """
    if isinstance(data, EngineTensor):
        result: Any = data
        if chosen is not None and data.aval.dtype is not chosen:
            result = data.to(chosen)
        return result if device is None else result.to(as_device(device, True))
    if isinstance(data, np.ndarray):
        shared = from_array(data)
        if chosen is not None and chosen is not shared.aval.dtype:
            shared = movement.cast(shared, dtype=chosen)
        place = as_device(device, True)
        return shared if place is cpu else shared.to(place)
    if not isinstance(data, type) and hasattr(data, "__cuda_array_interface__"):
        shared = cuda.adopt(data, as_device("cuda" if device is None else device))
        return shared if chosen is None else movement.cast(shared, dtype=chosen)
    return of_storage(data, chosen) if is_storage(data) else None


@function(method=False)
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> EngineTensor:  # fmt: skip
    """``obj`` as a tensor: over its memory, or a copy.

    Args:
        obj: a tensor, array, storage, DLPack capsule, buffer of bytes, number or nested lists.
        copy: True: always a copy; False: never one, ValueError where it would take one.
        requires_grad: None: as ``obj`` says.

    Raises:
        ValueError: ``copy=False`` for numbers and lists, or for another type or device.
    """
    chosen = None if dtype is None else as_dtype(dtype, "asarray")
    source, result = obj, None
    dlpack = hasattr(obj, "__dlpack__") and not isinstance(obj, (EngineTensor, np.ndarray))
    if type(obj).__name__ == "PyCapsule" or (dlpack and not hasattr(obj, "__array__")):
        source = from_dlpack(obj)
    elif copy is False and isinstance(obj, np.generic):
        raise RuntimeError(
            "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
        )
    elif _is_buffer(obj):
        kind = dtypes.default if chosen is None else chosen
        source = frombuffer(obj, dtype=kind)
    result = _shared(source, chosen, device)
    if result is None and copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    if result is None:
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    _check_alias(source, result, copy)
    if copy:
        result = result.clone()
    if requires_grad is False and result.requires_grad:
        return result.detach()
    return finish(result, bool(requires_grad))


def _is_buffer(obj: Any) -> bool:
    if isinstance(obj, (EngineTensor, np.ndarray, np.generic)) or hasattr(obj, "_storage"):
        return False
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def _check_alias(source: Any, result: Any, copy: bool | None) -> None:
    """torch's errors of ``copy=False`` where a copy was needed."""
    if copy is not False or not isinstance(source, (EngineTensor, np.ndarray)):
        return
    given = source if isinstance(source, EngineTensor) else from_array(source)
    if given.aval.device != result.aval.device:
        raise ValueError(
            f"can't alias tensor from device '{given.aval.device}' to '{result.aval.device}'."
        )
    if given.aval.dtype is not result.aval.dtype:
        own, other = (dtypes.scalar_type_name(x.aval.dtype) for x in (given, result))
        raise ValueError(f"can't alias tensor with dtype '{own}' into dtype '{other}'.")


@function(method=False)
def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A number as a tensor without axes, of the default type unless given."""
    return tensor(
        s, dtype=dtypes.default if dtype is None else dtype, device=device,
        requires_grad=requires_grad, pin_memory=pin_memory,
    )  # fmt: skip


@function(method=False)
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> EngineTensor:
    """A 1-d tensor over the memory of a Python buffer."""
    chosen = as_dtype(dtype)
    try:
        size = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if size == 0 or count == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % chosen.itemsize:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({chosen.itemsize})"
        )
    if count > 0 and offset + count * chosen.itemsize > size:
        raise ValueError(
            f"requested buffer length ({count} * {chosen.itemsize} bytes) after offset ({offset} "
            f"bytes) must not be greater than actual buffer length ({size} bytes)"
        )
    array = np.frombuffer(buffer, chosen.np, count, offset)
    if not array.flags.writeable:
        warn_caller_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "This means you can write to the underlying (supposedly non-writable) buffer using the "
            "tensor. You may want to copy the buffer to protect its data or make it writable "
            "before converting it to a tensor. This type of warning will be suppressed for the "
            "rest of this program."
        )
    return finish(make(array, aval(array.shape, chosen)), requires_grad)


@function(namespace=False)
def new_tensor(
    self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A copy of ``data``, in the tensor's type and on its device unless given."""
    chosen = self.aval.dtype if dtype is None else as_dtype(dtype, "new_tensor")
    place = self.aval.device if device is None else device
    return _copied(data, chosen, place, requires_grad, False, "tensor.new_tensor")
