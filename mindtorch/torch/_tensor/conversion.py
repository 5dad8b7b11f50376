"""A tensor as another type, on another device, as numbers, arrays and storages."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from mindtorch.engine import dtypes, stored_types
from mindtorch.engine.autograd import api, inplace, tape
from mindtorch.engine.aval import Aval, aval
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.devices import cuda
from mindtorch.engine.devices.device import Device, cpu, meta
from mindtorch.engine.dispatch import GRAD, state
from mindtorch.engine.dtypes import DType
from mindtorch.engine.numpy_aliases import opened
from mindtorch.engine.ops import movement
from mindtorch.engine.result_strides import preserved_strides, suggests_channels_last
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import captures, from_array, make, scripts
from mindtorch.torch._api.deprecations import warn_of_lost_imaginary_part

from .._api.arguments import as_device, as_dtype, require_tensor
from .._api.invalid_arguments import type_name
from .._api.shown_signature import ShownSignature
from .._api.signatures import unbound, wrong_call
from .._compat.legacy_tensor_types import dtype_of_type_name
from ..functions.dlpack import DLDeviceType
from ..functions.shape import strides_for
from ..storage import LEGACY_CLASSES, UntypedStorage, typed_storage_of
from .size_and_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
    strided,
)
from .size_and_formats import memory_format as MemoryFormat  # noqa: N812

# types whose elements numpy gives as Python's numbers
NATIVE = {
    dtypes.float32, dtypes.float64, dtypes.float16, dtypes.int64, dtypes.int32, dtypes.int16,
    dtypes.int8, dtypes.uint8, dtypes.bool_,
}  # fmt: skip


def python_number(value: Any) -> Any:
    number = value.item()
    return float(number) if isinstance(number, np.generic) else number


def parse_to(args: Any, kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """(dtype, device, copy, memory format) of the arguments of ``Tensor.to``."""
    options = dict(kwargs)
    dtype = options.pop("dtype", None)
    device = options.pop("device", None)
    copy_ = options.pop("copy", False)
    memory_format = options.pop("memory_format", None)
    options.pop("non_blocking", None)
    other = options.pop("other", None)
    if options:
        raise wrong_call("to", args, kwargs, method=True) or TypeError(f"to(): {options}")
    rest = list(args)
    if rest and isinstance(rest[0], EngineTensor):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], DType):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], (str, int, Device))):
        device = rest.pop(0)
        if rest:
            dtype = rest.pop(0)
            if not (isinstance(dtype, (DType, type)) or dtype is None):
                raise wrong_call("to", args, kwargs, method=True) or TypeError("to(): no dtype")
    elif rest and rest[0] in (float, int, bool, complex):
        dtype = as_dtype(rest.pop(0))
    elif rest:
        raise wrong_call("to", args, kwargs, method=True) or TypeError("to() misses a tensor")
    if rest:
        rest.pop(0)
    if rest:
        copy_ = rest.pop(0)
    if other is not None:
        dtype, device = other.aval.dtype, other.aval.device
    if dtype is not None:
        if isinstance(dtype, str) and (wrong := wrong_call("to", args, kwargs, method=True)):
            raise wrong
        dtype = as_dtype(dtype)
    return dtype, (None if device is None else as_device(device, True)), copy_, memory_format


def _move(tensor: Any, device: Device) -> Any:
    if device.type == "meta":
        return make(np.broadcast_to(np.zeros((), tensor.aval.dtype.np), (tensor.aval.size,)), aval(
            tensor.aval.shape, tensor.aval.dtype, preserved_strides(tensor.aval), device
        ))
    if tensor.aval.device.type == "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    return movement.to_device(tensor, device=device)


def suggested_format(x: Aval) -> Any:
    """The memory format that torch takes a tensor for."""
    if suggests_channels_last(x):
        return channels_last if x.ndim == 4 else channels_last_3d
    return contiguous_format


def _note_sync_point() -> None:
    """Tell the script that runs in lazy mode that Python has read a tensor's values."""
    scripts[0].data_was_read()


def _c_name(kind: type) -> str:
    """A class's name, as C code calls it."""
    plain = kind.__module__ == "builtins" or kind.__flags__ & (1 << 9)
    return kind.__name__ if plain else f"{kind.__module__}.{kind.__qualname__}"


def _converted(x: Any, dtype: DType) -> Any:
    if x.aval.dtype.is_complex and dtype.category not in (dtypes.COMPLEX, dtypes.BOOL):
        warn_of_lost_imaginary_part()
    return movement.cast(x, dtype=dtype)


_cast = cached(_converted)


def _named_copy(copy: Any) -> Any:
    return tape.named(copy, "ToCopyBackward0")


class Conversions(EngineTensor):
    """to, type, item, numpy, DLPack and storages."""

    __slots__ = ()

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """This tensor with another dtype, device or memory format; itself if nothing changes."""
        result: Any = self
        if len(args) == 1 and not kwargs:
            wanted = args[0]
            if wanted.__class__ is DType:
                same = wanted is self.aval.dtype
                return self if same else _cast(self, wanted)
            if self.aval.device is cpu:
                if wanted is cpu or (wanted.__class__ is str and wanted == "cpu"):
                    return self
                if isinstance(wanted, EngineTensor) and wanted.aval.device is cpu:
                    return self.type_as(wanted)
        dtype, device, copy_, memory_format = parse_to(args, kwargs)
        if device is not None and device is not self.aval.device:
            result = _move(result, device)
        if dtype is not None and dtype is not result.aval.dtype:
            result = _converted(result, dtype)
        if memory_format not in (None, preserve_format) and (
            result is not self or memory_format is not suggested_format(self.aval)
        ):
            strides = strides_for(result, memory_format)
            if result is self or result.aval.strides != strides:
                result = _named_copy(movement.clone(result, strides=strides))
        if copy_ and result is self:
            result = _named_copy(movement.clone(self))
        return result

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The type's name ("torch.FloatTensor"), or the tensor cast to ``dtype``."""
        if dtype is None:
            return tape.tensor_type_name(self)
        if isinstance(dtype, str):
            if dtype.startswith("torch.cuda.") and not cuda.device_count():
                raise cuda.unlinked("initialize CUDA")
            dtype = dtype_of_type_name(dtype)
        elif isinstance(dtype, builtins.type) and isinstance(
            found := getattr(dtype, "dtype", None), (DType, property)
        ):
            dtype = found if isinstance(found, DType) else dtypes.default
        elif isinstance(dtype, builtins.type):
            raise ValueError(f"invalid type: '{_c_name(dtype)}'")
        elif not isinstance(dtype, DType):
            raise TypeError("dtype must be a type, str, or dtype object")
        return self.to(dtype)

    def type_as(self, other: Any = None, *, x2: Any = None) -> Any:
        """The tensor in the type of ``other``, which numpy calls ``x2``."""
        other = x2 if other is None else other
        if other is None:
            raise wrong_call("type_as", (), {}, method=True) or TypeError("type_as()")
        require_tensor(other, "type_as", "other", 1)
        same = other.aval.dtype is self.aval.dtype
        return self if same else _cast(self, other.aval.dtype)

    def cpu(self, *, memory_format: Any = preserve_format) -> Any:
        """The tensor on the CPU; itself if it is there."""
        if self.aval.device is cpu and memory_format is preserve_format:
            return self
        return self.to(cpu, memory_format=memory_format)

    def cuda(
        self,
        device: Any = None,
        non_blocking: bool = False,
        *,
        memory_format: Any = preserve_format,
    ) -> Any:
        """The tensor on a CUDA device: the one given, or the current one."""
        found = Device("cuda", device) if device is None or isinstance(device, int) else device
        place = as_device(device if isinstance(device, int) else found)
        if place.type != "cuda":
            raise RuntimeError("Invalid device, must be cuda device")
        return self.to(place, non_blocking=non_blocking, memory_format=memory_format)

    def item(self) -> Any:
        """The only element, as a Python number."""
        described = self.aval
        if described.size == 1 and described.dtype in NATIVE and described.device is cpu:
            if state.mode <= GRAD and not scripts:
                return self.flat.item(0)
        if described.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.aval.size} elements cannot be converted to Scalar"
            )
        if self.aval.device is meta:
            raise RuntimeError("Tensor.item() cannot be called on meta tensors")
        if state.mode > GRAD:
            if state.interpreters:
                number = state.interpreters[-1].item(self)
                if scripts:
                    _note_sync_point()
                return number
            state.stop_recording_call()
        if self.aval.dtype in dtypes.STORED:
            number = stored_types.widened(self.flat[:1])[0].item()
        else:
            number = self.flat.item(0) if self.aval.device is cpu else self.flat[0].item()
        if scripts:
            _note_sync_point()
        return float(number) if isinstance(number, np.generic) else number

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        described = self.aval
        if described.ndim == 1 and described.contiguous and described.dtype in NATIVE:
            if state.mode <= GRAD and described.device is cpu and not (scripts or captures):
                return self.flat.tolist()
        array = self.array()
        if self.aval.dtype is dtypes.bfloat16:
            array = array.astype(np.float32)
        elif self.aval.dtype in dtypes.STORED:
            array = stored_types.widened(array)
        if scripts:
            _note_sync_point()
        return array.tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """An array that shares the tensor's memory; under ``no_grad`` also of one with a gradient.

        Args:
            force: first detach it and move it to the CPU.
        """
        if force:
            return opened(self.detach().cpu())
        if state.grad_enabled and tape.requires_grad(self):
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if self.aval.dtype is dtypes.bfloat16 or self.aval.dtype in dtypes.STORED:
            kind = dtypes.scalar_type_name(self.aval.dtype)
            raise TypeError(f"Got unsupported ScalarType {kind}")
        if self.aval.device.type != "cpu":
            raise TypeError(
                f"can't convert {self.aval.device} device type tensor to numpy. Use Tensor.cpu() "
                "to copy the tensor to host memory first."
            )
        array = opened(self)
        if scripts:
            _note_sync_point()
        return array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if array.dtype == bool:
            array = array.astype(np.uint8)  # as torch has it
        return from_array(np.asarray(array, order="C"))

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        """A capsule over this memory, for other libraries."""
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.layout is not strided:
            raise BufferError("Can't export tensors with layout other than torch.strided")
        if self.aval.device.type == "cuda":
            return cuda.export(self).__dlpack__(stream=stream, **options)
        if stream is not None and type(stream) is not int:
            raise TypeError("stream must be ``int`` or ``none``")
        if stream is not None:
            raise AssertionError("stream should be None on cpu.")
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        if self.aval.device.type == "cuda":
            return (DLDeviceType.kDLCUDA, self.aval.device.index or 0)
        return (DLDeviceType.kDLCPU, 0)

    def asnumpy(self) -> Any:
        """The elements as a numpy array of their own (MindSpore's name)."""
        return self.detach().array().copy()

    def astype(self, dtype: Any) -> Any:
        """The tensor cast to ``dtype`` (MindSpore's name)."""
        return self.to(dtype if isinstance(dtype, DType) else as_dtype(dtype))

    def assign_value(self, value: Any) -> Any:
        """Overwrite the elements with those of ``value`` (MindSpore's name)."""
        with api.grad_mode(False):
            inplace.copy_(self, value)
        return self

    def untyped_storage(self) -> Any:
        """The memory that the tensor is a view of, in bytes."""
        return UntypedStorage._wrap(self._shared)

    def storage(self) -> Any:
        """The memory that the tensor is a view of, with its type."""
        return typed_storage_of(self)

    def storage_type(self) -> Any:
        """The class that stands for storages of this type, such as ``torch.FloatStorage``."""
        return LEGACY_CLASSES[self.storage().pickle_storage_type()]

    def _typed_storage(self) -> Any:
        return self.storage()


def _define_casts() -> None:
    names = {
        "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
        "bfloat16": dtypes.bfloat16, "int": dtypes.int32, "long": dtypes.int64,
        "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
        "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
    }  # fmt: skip
    for name, dtype in names.items():

        def method(
            self: Any = None, *args: Any, memory_format: Any = None, _dtype: DType = dtype,
            _name: str = name,
        ) -> Any:  # fmt: skip
            if args or not isinstance(self, EngineTensor):
                given = () if self is None else (self, *args)
                raise unbound(_name, given) or wrong_call(_name, args, {}, True) or TypeError(_name)
            if memory_format is not None:
                if not isinstance(memory_format, MemoryFormat):
                    raise TypeError(
                        f"{_name}(): argument 'memory_format' must be torch.memory_format, not "
                        f"{type_name(memory_format)}"
                    )
                return self.to(_dtype, memory_format=memory_format)
            if self.aval.dtype is _dtype:
                return self
            return _cast(self, _dtype)

        method.__name__ = method.__qualname__ = name  # Python's errors have it
        method.__doc__ = f"The tensor as {dtype}, laid out in ``memory_format``."
        method.__signature__ = ShownSignature(method, name=name, method=True)  # type: ignore[attr-defined]
        setattr(Conversions, name, method)


_define_casts()
