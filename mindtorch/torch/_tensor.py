"""The Tensor class: properties, operators, conversion and autodiff; the rest is registered.

Methods that are also functions come from the registry (``functions/``) when the namespace is
imported; here stand those that only a tensor has.
"""

from __future__ import annotations

import copy
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mindtorch.engine import autodiff, cuda, dtypes, inplace, tape, vmap
from mindtorch.engine.aval import aval, broadcast_shapes, contiguous_strides, is_channels_last
from mindtorch.engine.core import fast_binary, state
from mindtorch.engine.device import Device, cpu, empty_on
from mindtorch.engine.dtypes import DType
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import (
    Twin,
    alias,
    constant,
    from_array,
    make,
    note_shared,
    set_result_type,
    typed_buffer,
)

from ._arguments import (
    as_device,
    as_dtype,
    as_int,
    as_shape,
    check_value,
    normalize_axis,
    require_power,
)
from ._types import (
    Size,
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
    size_of,
    strided,
)

_NUMBERS = (float, int, bool, complex)


def _operator(op: Any, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """``self op other``: other may be a tensor, a number, or an array."""
    call = fast_binary(op)

    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, EngineTensor):
            if type(other) in _NUMBERS:
                other = constant(other)
            else:
                other = _as_operand(other)
                if other is None:
                    return NotImplemented
        return call(other, self) if reflected else call(self, other)

    return method


def _as_operand(other: Any) -> Any:
    if isinstance(other, np.ndarray):
        return from_array(np.ascontiguousarray(other))
    if isinstance(other, (np.generic, *_NUMBERS)):
        return constant(other)
    return None


def _in_place_operator(op: Any) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, EngineTensor):
            other = constant(other) if type(other) in _NUMBERS else _as_operand(other)
            if other is None:
                return NotImplemented
        return inplace.apply_in_place(op, self, self, other)

    return method


class Tensor(EngineTensor):
    """A multi-dimensional array of elements of one type, with torch's methods.

    ``Tensor(2, 3)`` is uninitialised, ``Tensor([1, 2])`` holds the numbers, both of the default
    type. :func:`torch.tensor` is the usual way to make one.
    """

    __slots__ = ()
    __array_priority__ = 1000
    __torch_function__: Any = None

    def __new__(cls, *data: Any, device: Any = None, **options: Any) -> Any:
        from .functions.creation import infer_array, new_empty

        if options:
            raise TypeError(f"new() received an invalid keyword argument {next(iter(options))!r}")
        if len(data) == 1 and isinstance(data[0], EngineTensor):
            made: Any = alias(data[0])
        elif len(data) == 1 and not isinstance(data[0], (int, Size)):
            array = infer_array(data[0], dtypes.default)
            made = from_array(np.ascontiguousarray(array))
        else:
            shape = as_shape(data) if data else (0,)
            made = new_empty(aval(shape, dtypes.default, None, as_device(device)))
        if cls is not Tensor:
            made = cls._make_subclass(cls, made)
        return made

    @staticmethod
    def _make_subclass(cls: Any, data: Any, requires_grad: bool = False) -> Any:
        """A tensor of class ``cls`` over the memory of ``data``, without history."""
        result = object.__new__(cls)
        result.flat, result.aval, result._node = data.flat, data.aval, None
        result._storage = data._shared
        if data._offset:
            result._offset = data._offset
        note_shared(result)
        return autodiff.track(result) if requires_grad else result

    def as_subclass(self, cls: Any) -> Any:
        """The same tensor, history included, as an object of ``cls``."""
        result = Tensor._make_subclass(cls, movement.alias_view(self))
        result._node = tape.node_of(self)
        result._output_index = self._output_index
        return result

    # --- description -------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        return size_of(self.aval.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of axis ``dim``."""
        if dim is None:
            return size_of(self.aval.shape)
        shape = self.aval.shape
        if not shape:
            normalize_axis(dim, 0)
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        return shape[normalize_axis(dim, len(shape))]

    @property
    def dtype(self) -> DType:
        return self.aval.dtype

    @property
    def device(self) -> Device:
        return self.aval.device

    @property
    def layout(self) -> Any:
        return strided

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    def dim(self) -> int:
        return self.aval.ndim

    ndimension = dim

    def numel(self) -> int:
        return self.aval.size

    nelement = numel

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.aval.dtype.itemsize

    def element_size(self) -> int:
        return self.aval.dtype.itemsize

    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements, or that of axis ``dim``."""
        if dim is None:
            return self.aval.strides
        return self.aval.strides[normalize_axis(dim, self.aval.ndim)]

    def storage_offset(self) -> int:
        return self._offset

    def data_ptr(self) -> int:
        """The address of the first element."""
        if self.aval.device.type == "cuda":
            return int(cuda.kernels("memory").pointer(self.flat)) if self.aval.size else 0
        return int(self.flat.ctypes.data) if self.aval.size else 0

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        """Whether the elements lie in that order without gaps."""
        if memory_format in (channels_last, channels_last_3d):
            ndim = 4 if memory_format is channels_last else 5
            return self.aval.ndim == ndim and is_channels_last(self.aval.shape, self.aval.strides)
        return self.aval.contiguous

    def is_floating_point(self) -> bool:
        return self.aval.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.aval.dtype.is_complex

    def is_signed(self) -> bool:
        return self.aval.dtype.is_signed

    def is_conj(self) -> bool:
        return False

    def is_neg(self) -> bool:
        return False

    def is_inference(self) -> bool:
        return False

    def is_shared(self) -> bool:
        from .multiprocessing import is_shared

        return is_shared(self)

    def share_memory_(self) -> Tensor:
        """Move the storage into memory that other processes can map."""
        from .multiprocessing import share_memory

        return share_memory(self)

    def is_pinned(self, device: Any = None) -> bool:
        """Whether a device can copy the memory by itself."""
        return self._storage is not None and self._storage.memory in cuda.pinned

    def pin_memory(self, device: Any = None) -> Any:
        """A copy in memory that a device can copy by itself; the tensor if it is there already."""
        from .cuda import require_cuda

        require_cuda()
        if self.aval.device.type != "cpu":
            raise RuntimeError(
                f"cannot pin '{tape.tensor_type_name(self)}' only dense CPU tensors can be pinned"
            )
        return self if self.is_pinned() else cuda.pin(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The memory on CUDA, for other libraries."""
        if self.aval.device.type != "cuda":
            raise AttributeError(
                f"Can't get __cuda_array_interface__ on non-CUDA tensor type: "
                f"{tape.tensor_type_name(self)} If CUDA data is required use tensor.cuda() to copy "
                "tensor to device memory."
            )
        if tape.requires_grad(self):
            raise RuntimeError(
                "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
                "aren't required, use var.detach() to get Variable that doesn't require grad."
            )
        own = dict(self.flat.__cuda_array_interface__)
        own["shape"] = tuple(self.aval.shape)
        own["strides"] = None if self.aval.contiguous else self.aval.byte_strides
        return own

    is_sparse = is_quantized = is_mkldnn = is_nested = is_mps = is_xpu = is_sparse_csr = False
    is_vulkan = is_ipu = is_xla = is_maia = is_mtia = False
    names: tuple[Any, ...] = ()
    name: str | None = None

    @property
    def volatile(self) -> bool:
        import warnings

        warnings.warn(
            "volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2
        )
        return False

    @property
    def is_cuda(self) -> bool:
        return self.aval.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        return self.aval.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        return self.aval.device.type == "meta"

    def get_device(self) -> int:
        index = self.aval.device.index
        return -1 if self.aval.device.type == "cpu" else (index or 0)

    @property
    def T(self) -> Any:  # noqa: N802
        return movement.permute(self, axes=tuple(range(self.aval.ndim - 1, -1, -1)))

    @property
    def mT(self) -> Any:  # noqa: N802
        if self.aval.ndim < 2:
            raise RuntimeError(
                "tensor.mT is only supported on matrices or batches of matrices. Got "
                f"{self.aval.ndim}-D tensor."
            )
        return movement.transpose(self, -2, -1)

    @property
    def H(self) -> Any:  # noqa: N802
        if self.aval.ndim not in (0, 2):
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {self.aval.ndim}-D "
                "tensor."
            )
        return self.adjoint() if self.aval.ndim else self

    @property
    def mH(self) -> Any:  # noqa: N802
        return self.adjoint()

    @property
    def real(self) -> Any:
        from .functions.pointwise import real

        return real(self)

    @property
    def imag(self) -> Any:
        from .functions.pointwise import imag

        return imag(self)

    # --- autodiff ----------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        return self._node is not None and tape.requires_grad(self)

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value and self.aval.dtype.category < dtypes.FLOAT:
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make the tensor a leaf that collects gradients, or one that does not."""
        if vmap.is_mapped(self):
            raise RuntimeError(vmap.REQUIRES_GRAD)
        if requires_grad and self.aval.dtype.category < dtypes.FLOAT:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if not tape.is_leaf(self):
            if requires_grad:
                return self
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if requires_grad:
            if not tape.requires_grad(self):
                autodiff.track(self)
        elif type(self._node) is tape.AccumulateGrad:
            self._node = None
        return self

    @property
    def is_leaf(self) -> bool:
        return tape.is_leaf(self)

    @property
    def grad_fn(self) -> Any:
        node = tape.node_of(self)
        return None if type(node) is tape.AccumulateGrad else node

    @property
    def output_nr(self) -> int:
        return self._output_index

    @property
    def grad(self) -> Any:
        if self._grad is None and not tape.is_leaf(self) and not self.retains_grad:
            import warnings

            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
                ".grad attribute won't be populated during autograd.backward(). If you indeed want "
                "the .grad field to be populated for a non-leaf Tensor, use .retain_grad() on the "
                "non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you "
                "access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for "
                "more informations.",
                UserWarning,
                stacklevel=2,
            )
        tape.note_leaf(self, True)
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None:
            if not isinstance(value, EngineTensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type "
                    f"{type(value).__name__}"
                )
            if value is self:
                raise RuntimeError("can't assign Variable as its own grad")
            if value.aval.dtype is not self.aval.dtype:
                raise RuntimeError(
                    "attempting to assign a gradient with dtype "
                    f"'{dtypes.c_name(value.aval.dtype)}' to a tensor with grad_dtype "
                    f"'{dtypes.scalar_type_name(self.aval.dtype)}'. The gradient must match the "
                    "tensor's grad_dtype (defaults to the tensor's dtype). You can set the "
                    "tensor's grad_dtype attribute with a specific dtype, or None to allow any "
                    "dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its "
                    "gradient may break downstream systems that assume they match."
                )
            if value.aval.shape != self.aval.shape:
                raise RuntimeError(
                    f"attempting to assign a gradient of size '{list(value.aval.shape)}' to a "
                    f"tensor of size '{list(self.aval.shape)}'. Please ensure that the gradient "
                    "and the tensor are the same size"
                )
        tape.note_leaf(self, False)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def retains_grad(self) -> bool:
        return bool(self.__dict__.get("_retains_grad", False))

    def retain_grad(self) -> None:
        """Fill ``grad`` of a tensor that is not a leaf, too."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.is_leaf or self.retains_grad:
            return
        self._retains_grad = True
        reference = weakref.ref(self)

        def keep(gradient: Any) -> None:
            tensor = reference()
            if tensor is not None:
                held = tensor._grad
                with autodiff.grad_mode(state.grad_enabled):
                    tensor._grad = (
                        movement.clone(gradient) if held is None else pointwise.add(held, gradient)
                    )

        tape.add_hook(tape.node_of(self), self._output_index, keep)

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call ``hook(gradient)`` when the gradient is known; what it returns takes its place."""
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        return tape.add_hook(tape.node_of(self), self._output_index, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call ``hook(tensor)`` after a backward pass has added to ``grad`` of this leaf."""
        if not (self.requires_grad and self.is_leaf):
            raise RuntimeError(
                "post accumulate grad hooks cannot be registered on non-leaf tensors"
                if self.requires_grad
                else "cannot register a hook on a tensor that doesn't require gradient"
            )
        return tape.add_hook(self._node, "accumulated", hook)

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add to ``grad`` of the leaves the gradient of this tensor."""
        if inputs is not None and not isinstance(inputs, (list, tuple)):
            inputs = [inputs]
        given = isinstance(gradient, EngineTensor) or gradient is None
        gradients = [gradient] if given else list(gradient)
        autodiff.backward([self], gradients, retain_graph, create_graph, inputs)

    def detach(self) -> Any:
        """The same storage without history."""
        return vmap.detach(self) if state.interpreters else alias(self)

    def detach_(self) -> Tensor:
        if type(self._node) is tape.ViewHistory and tape.requires_grad(self):
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
                "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
                "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                "function in torch/optim/optimizer.py as a reference."
            )
        self._node = None
        self._output_index = 0
        return self

    @property
    def data(self) -> Any:
        """The same memory without history and with a version counter of its own."""
        return make(self.flat, self.aval, Twin(self._shared), self._offset)

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, EngineTensor):
            raise TypeError(
                f"Variable data has to be a tensor, but got {type(value).__name__}"
            )
        inplace.set_data(self, value)

    @property
    def _base(self) -> Any:
        return self._node.base if type(self._node) is tape.ViewHistory else None

    def _is_view(self) -> bool:
        return type(self._node) is tape.ViewHistory

    # --- conversion --------------------------------------------------------------------------

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """This tensor with another dtype, device or memory format; itself if nothing changes."""
        dtype, device, copy_, memory_format = _parse_to(args, kwargs)
        result: Any = self
        if device is not None and device is not self.aval.device:
            result = _move(result, device)
        if dtype is not None and dtype is not result.aval.dtype:
            result = movement.cast(result, dtype=dtype)
        if memory_format not in (None, preserve_format) and not result.is_contiguous(
            memory_format=memory_format
        ):
            from .functions.shape import strides_for

            result = movement.clone(result, strides=strides_for(result, memory_format))
        if copy_ and result is self:
            result = movement.clone(self)
        return result

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The type's name ("torch.FloatTensor"), or the tensor cast to ``dtype``."""
        if dtype is None:
            return tape.tensor_type_name(self)
        if isinstance(dtype, str):
            from ._legacy_types import dtype_of_type_name

            dtype = dtype_of_type_name(dtype)
        elif not isinstance(dtype, DType) and hasattr(dtype, "dtype"):
            dtype = dtype.dtype
        return self.to(as_dtype(dtype))

    def type_as(self, other: Any) -> Any:
        return self.to(other.aval.dtype)

    def cpu(self, memory_format: Any = preserve_format) -> Any:
        return self.to(cpu)

    def cuda(
        self, device: Any = None, non_blocking: bool = False, memory_format: Any = None
    ) -> Any:
        if device is None or isinstance(device, int):
            device = Device("cuda", device)
        place = as_device(device)
        if place.type != "cuda":
            raise RuntimeError(f"Invalid device, must be cuda device but got {place.type}")
        return self.to(place)

    def item(self) -> Any:
        """The only element, as a Python number."""
        if self.aval.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.aval.size} elements cannot be converted to Scalar"
            )
        if state.interpreters:
            return state.interpreters[-1].item(self)
        return _python_number(self.flat[0])

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        array = self.array()
        if self.aval.dtype is dtypes.bfloat16:
            array = array.astype(np.float32)
        return array.tolist()

    def numpy(self, *, force: bool = False) -> Any:
        """An array that shares the tensor's memory."""
        if force:
            return self.detach().cpu().array()
        if tape.requires_grad(self):
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        if self.aval.dtype is dtypes.bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        if self.aval.device.type != "cpu":
            raise TypeError(
                f"can't convert {self.aval.device} device type tensor to numpy. Use Tensor.cpu() "
                "to copy the tensor to host memory first."
            )
        return self.array()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.numpy()
        if dtype is not None and array.dtype != np.dtype(dtype):
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if array.dtype == bool:
            array = array.astype(np.uint8).view(np.bool_)
        return from_array(np.ascontiguousarray(array))

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        """A capsule over this memory, for other libraries."""
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        if self.aval.device.type == "cuda":
            return cuda.export(self).__dlpack__(stream=stream, **options)
        if stream is not None:
            raise AssertionError("stream should be None on cpu.")
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        from .utils.dlpack import DLDeviceType

        if self.aval.device.type == "cuda":
            return (DLDeviceType.kDLCUDA, self.aval.device.index or 0)
        return (DLDeviceType.kDLCPU, 0)

    def asnumpy(self) -> Any:
        """The elements as a numpy array of their own (MindSpore's name)."""
        return self.detach().array().copy()

    def astype(self, dtype: Any) -> Any:
        """The tensor cast to ``dtype`` (MindSpore's name)."""
        return self.to(dtype if isinstance(dtype, DType) else as_dtype(dtype))

    def assign_value(self, value: Any) -> Tensor:
        """Overwrite the elements with those of ``value`` (MindSpore's name)."""
        with autodiff.grad_mode(False):
            inplace.copy_(self, value)
        return self

    def untyped_storage(self) -> Any:
        from .storage import UntypedStorage

        return UntypedStorage._wrap(self._shared)

    def storage(self) -> Any:
        from .storage import typed_storage_of

        return typed_storage_of(self)

    def storage_type(self) -> Any:
        return type(self.storage())

    def _typed_storage(self) -> Any:
        return self.storage()

    # --- writing -----------------------------------------------------------------------------

    def copy_(self, other: Any, non_blocking: bool = False) -> Tensor:
        """Overwrite the elements with those of ``other``, broadcast and cast."""
        if not isinstance(other, EngineTensor):
            if type(other) in _NUMBERS:
                return self.fill_(other)
            raise TypeError(
                f"copy_(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}"
            )
        if other.aval.shape != self.aval.shape:
            wide = broadcast_shapes(self.aval.shape, other.aval.shape)
            inplace.check_result(self, wide, self.aval.dtype)
        inplace.copy_(self, other)
        return self

    def fill_(self, value: Any) -> Tensor:
        """Overwrite every element with ``value``."""
        if isinstance(value, EngineTensor) and value.aval.shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value.aval.ndim} dimensions."
            )
        if type(value) in (int, float, complex):
            check_value(value, self.aval.dtype)
        inplace.fill_(self, value)
        return self

    def zero_(self) -> Tensor:
        inplace.fill_(self, 0)
        return self

    def _writable_array(self) -> Any:
        """The elements for writing; a copy on the host if CUDA holds them."""
        return self.array() if self.aval.device is cpu else np.array(self.array())

    def _take_back(self, array: Any) -> None:
        """Store what was written to :meth:`_writable_array`."""
        if self.aval.device is not cpu:
            inplace.copy_data(self, from_array(array))
        self._shared.version += 1

    def fill_diagonal_(self, fill_value: Any, wrap: bool = False) -> Tensor:
        """Write ``fill_value`` on the main diagonal."""
        inplace.check_writable(self)
        array = self._writable_array()
        np.fill_diagonal(array, fill_value, wrap)
        self._take_back(array)
        return self

    def set_(
        self, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
    ) -> Tensor:
        """Take the memory of ``source`` (a tensor or storage)."""
        if source is None:
            source = make(np.empty(0, self.aval.dtype.np), aval((0,), self.aval.dtype))
        elif not isinstance(source, EngineTensor):
            storage = getattr(source, "_storage", source)
            storage = getattr(storage, "_storage", storage)
            buffer = typed_buffer(storage, self.aval.dtype)
            shape = (buffer.size,) if size is None else tuple(size)
            steps = contiguous_strides(shape) if stride is None else tuple(stride)
            source = make(
                buffer[storage_offset:], aval(shape, self.aval.dtype, steps), storage,
                storage_offset
            )
        elif size is not None:
            shape = tuple(size)
            steps = contiguous_strides(shape) if stride is None else tuple(stride)
            whole = typed_buffer(source._shared, self.aval.dtype)
            source = make(
                whole[storage_offset:], aval(shape, self.aval.dtype, steps), source._shared,
                storage_offset,
            )  # fmt: skip
        inplace.set_data(self, source)
        return self

    def resize_(self, *sizes: Any, memory_format: Any = contiguous_format) -> Tensor:
        """Another shape over the same storage, made larger where it must be."""
        shape = as_shape(sizes)
        described = aval(shape, self.aval.dtype, None, self.aval.device)
        memory = typed_buffer(self._shared, self.aval.dtype)[self._offset :]
        if described.size > memory.size:
            if self.requires_grad:
                raise RuntimeError("cannot resize variables that require grad")
            grown = empty_on(self.aval.device)(described.size, self.aval.dtype.np)
            inplace.copy_flat(grown, self.flat, self.aval)
            memory = grown
            self._storage = None
            self._offset = 0
        self.flat = memory[: described.size]
        self.aval = described
        return self

    def resize_as_(self, other: Any) -> Tensor:
        return self.resize_(other.aval.shape)

    def apply_(self, function: Callable[[Any], Any]) -> Tensor:
        """Replace each element by ``function`` of it (slow)."""
        if self.requires_grad:
            raise TypeError("cannot call apply_ on a tensor that requires grad")
        array = self._writable_array()
        for place in np.ndindex(array.shape):
            array[place] = function(_python_number(array[place]))
        self._take_back(array)
        return self

    # --- Python's protocols ------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.aval.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        if isinstance(element, (EngineTensor, *_NUMBERS)):
            return bool((self == element).any())
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            many = "more than one value" if self.aval.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
        vmap.refuse_branch(self)
        return bool(self.item())

    def __int__(self) -> int:
        return int(_only_element(self))

    def __float__(self) -> float:
        return float(_only_element(self))

    def __complex__(self) -> complex:
        return complex(_only_element(self))

    def __index__(self) -> int:
        if self.aval.size != 1 or self.aval.dtype.category > dtypes.INTEGER:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from ._tensor_str import tensor_repr

        if vmap.is_mapped(self):
            return vmap.shown(self)
        device = self.aval.device
        node = tape.node_of(self)
        leaf = node is None or type(node) is tape.AccumulateGrad
        contents = self.detach().array() if device.type != "meta" else None
        ours = type(self).__module__.startswith("mindtorch.")
        return tensor_repr(
            contents,
            self.aval.shape,
            repr(self.aval.dtype),
            default_dtype=repr(dtypes.default),
            device=None if device is cpu else str(device),
            requires_grad=node is not None,
            grad_fn=None if leaf else node.name(),  # type: ignore[union-attr]
            contents=tensor_contents,
            class_name="tensor" if ours else type(self).__name__,
        )

    def __format__(self, specification: str) -> str:
        if not self.aval.shape and type(self) is Tensor:
            return format(self.item(), specification)
        return object.__format__(self, specification)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
                "because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        storage = copy.deepcopy(self.untyped_storage(), memo)._storage
        buffer = storage.buffer
        if buffer.dtype != self.aval.dtype.np:
            buffer = typed_buffer(storage, self.aval.dtype)
        result = object.__new__(type(self))
        result.flat, result.aval, result._node = buffer[self._offset :], self.aval, None
        result._storage, result._offset = storage, self._offset
        memo[id(self)] = result
        for name, value in self.__dict__.items():
            if name not in _OWN_FIELDS:
                result.__dict__[name] = copy.deepcopy(value, memo)
        if self.requires_grad:
            autodiff.track(result)
        if self._grad is not None:
            result._grad = copy.deepcopy(self._grad, memo)
        return result

    def __reduce_ex__(self, protocol: Any) -> Any:
        from ._utils import reduce_tensor

        return reduce_tensor(self)

    def __setstate__(self, state_: Any) -> None:
        self.__dict__.update(state_)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self)})

    # --- operators ---------------------------------------------------------------------------

    __add__ = __radd__ = _operator(pointwise.add)
    __sub__ = _operator(pointwise.subtract)
    __rsub__ = _operator(pointwise.subtract, reflected=True)
    __mul__ = __rmul__ = _operator(pointwise.multiply)
    __truediv__ = _operator(pointwise.divide)
    __rtruediv__ = _operator(pointwise.divide, reflected=True)
    _power = _operator(pointwise.power)

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and other < 0:
            require_power(self, other)
        return self._power(other)

    def __delitem__(self, item: Any) -> None:
        raise TypeError("Tensor does not support deleting items")

    __rpow__ = _operator(pointwise.power, reflected=True)
    __eq__ = _operator(pointwise.equal)
    __ne__ = _operator(pointwise.not_equal)
    __lt__ = _operator(pointwise.less)
    __le__ = _operator(pointwise.less_equal)
    __gt__ = _operator(pointwise.greater)
    __ge__ = _operator(pointwise.greater_equal)
    __iadd__ = _in_place_operator(pointwise.add)
    __isub__ = _in_place_operator(pointwise.subtract)
    __imul__ = _in_place_operator(pointwise.multiply)
    __itruediv__ = _in_place_operator(pointwise.divide)
    __ipow__ = _in_place_operator(pointwise.power)

    def __neg__(self) -> Any:
        return pointwise.negative(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.abs()


_OWN_FIELDS = {
    "_storage", "_offset", "_output_index", "_grad", "_hooks", "_interpreter", "_retains_grad",
}  # fmt: skip


def _only_element(x: Any) -> Any:
    """The only element; torch's error of float(x) and int(x) otherwise."""
    if x.aval.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return x.item()


def _python_number(value: Any) -> Any:
    number = value.item()
    return float(number) if isinstance(number, np.generic) else number


def _parse_to(args: Any, kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """(dtype, device, copy, memory format) of the arguments of ``Tensor.to``."""
    options = dict(kwargs)
    dtype = options.pop("dtype", None)
    device = options.pop("device", None)
    copy_ = options.pop("copy", False)
    memory_format = options.pop("memory_format", None)
    options.pop("non_blocking", None)
    other = options.pop("other", None)
    if options:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(options))}'")
    rest = list(args)
    if rest and isinstance(rest[0], EngineTensor):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], DType):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], (str, int, Device))):
        device = rest.pop(0)
        if rest and (isinstance(rest[0], DType) or rest[0] is None):
            dtype = rest.pop(0)
    elif rest and rest[0] in (float, int, bool, complex):
        dtype = as_dtype(rest.pop(0))
    elif rest:
        raise TypeError(
            "to() received an invalid combination of arguments - got "
            f"({', '.join(type(a).__name__ for a in args)})"
        )
    if rest:
        rest.pop(0)
    if rest:
        copy_ = rest.pop(0)
    if other is not None:
        dtype, device = other.aval.dtype, other.aval.device
    if dtype is not None:
        dtype = as_dtype(dtype)
    return dtype, (None if device is None else as_device(device)), copy_, memory_format


def _move(tensor: Any, device: Device) -> Any:
    if device.type == "meta":
        return make(np.broadcast_to(np.zeros((), tensor.aval.dtype.np), (tensor.aval.size,)), aval(
            tensor.aval.shape, tensor.aval.dtype, None, device
        ))
    if tensor.aval.device.type == "meta":
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() "
            "instead of torch.nn.Module.to() when moving module from meta to a different device."
        )
    return movement.to_device(tensor, device=device)


def _define_casts() -> None:
    names = {
        "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
        "bfloat16": dtypes.bfloat16, "int": dtypes.int32, "long": dtypes.int64,
        "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
        "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
    }  # fmt: skip
    for name, dtype in names.items():

        def method(self: Any, memory_format: Any = None, _dtype: DType = dtype) -> Any:
            if self.aval.dtype is _dtype:
                return self
            return movement.cast(self, dtype=_dtype)

        method.__name__ = name
        method.__doc__ = f"The tensor as {dtype}."
        setattr(Tensor, name, method)


_define_casts()
set_result_type(Tensor)


def attach_methods(methods: dict[str, Any]) -> None:
    """Give the class the registered methods that it does not define itself."""
    for name, method in methods.items():
        if name not in Tensor.__dict__:
            setattr(Tensor, name, method)


def ordered(values: Any = ()) -> OrderedDict[Any, Any]:
    return OrderedDict(values)


def as_index(value: Any) -> int:
    return as_int(value)
