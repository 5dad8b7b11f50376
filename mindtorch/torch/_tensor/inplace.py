"""What changes a tensor where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.aval import aval, broadcast_shapes, contiguous_strides
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.devices.device import cpu, empty_on
from mindtorch.engine.dispatch import state
from mindtorch.engine.dtypes import c_name, scalar_type_name
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import (
    capturing,
    check_made_here,
    from_array,
    make,
    typed_buffer,
    version_of,
)

from .._api.arguments import as_shape, check_value, require_tensor
from .._api.public import explained
from .._api.signatures import wrong_call
from ..functions.shape import format_strides
from .conversion import python_number, suggested_format
from .operators import NUMBERS
from .size_and_formats import contiguous_format, preserve_format


def _part(buffer: Any, start: int, described: Any, storage: Any) -> Any:
    """What ``described`` means from ``start`` on; kernels take its flat array to end with it."""
    return make(buffer[start : start + described.extent], described, storage, start)


def _untyped(storage: Any, dtype: Any) -> Any:
    """The bytes of a storage, which is one of bytes or of this type."""
    own = getattr(storage, "dtype", dtype)
    if own is not dtype:
        raise RuntimeError(
            f"Expected a Storage of type {c_name(dtype)} or an UntypedStorage, but got type "
            f"{scalar_type_name(own)} for argument 1 'storage'"
        )
    return getattr(storage, "_untyped_storage", storage)




def _in_place(body: Any) -> Any:
    """A method that writes to the tensor, with torch's errors; its calls are cached."""
    return cached(explained(body), writes=True)


class Writing(EngineTensor):
    """copy_, fill_, set_, resize_ and their like."""

    __slots__ = ()

    @_in_place
    def copy_(self, other: Any, non_blocking: bool = False) -> Any:
        """Overwrite the elements with those of ``other``, broadcast and cast."""
        if non_blocking.__class__ is not bool:
            raise wrong_call("copy_", (other, non_blocking), {}, True) or TypeError("copy_()")
        if not isinstance(other, EngineTensor):
            if type(other) in NUMBERS:
                return self.fill_(other)
            raise wrong_call("copy_", (other,), {}, True) or TypeError("copy_()")
        if other.aval.shape != self.aval.shape:
            wide = broadcast_shapes(self.aval.shape, other.aval.shape)
            inplace.check_result(self, wide, self.aval.dtype)
        inplace.copy_(self, other)
        return self

    @_in_place
    def fill_(self, value: Any) -> Any:
        """Overwrite every element with ``value``."""
        if isinstance(value, EngineTensor) and value.aval.shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value.aval.ndim} dimensions."
            )
        if type(value) in (int, float, complex):
            check_value(value, self.aval.dtype, filling=self.aval.size == 1)
        before = self._node
        try:
            inplace.fill_(self, value)
        except TypeError:
            raise wrong_call("fill_", (value,), {}, True) or TypeError("fill_()") from None
        if self._node is not before:
            tape.named(self, f"FillBackward{3 if isinstance(value, EngineTensor) else 2}")
        return self

    @_in_place
    def zero_(self) -> Any:
        """Fill with zeros."""
        before = self._node
        inplace.fill_(self, 0)
        if self._node is not before:
            tape.named(self, "ZeroBackward0")
        return self

    def _writable_array(self) -> Any:
        """The elements for writing; a copy on the host if CUDA holds them."""
        return self.array() if self.aval.device is cpu else np.array(self.array())

    def _take_back(self, array: Any) -> None:
        """Store what was written to :meth:`_writable_array`."""
        if self.aval.device is not cpu:
            inplace.copy_data(self, from_array(array))
        self._shared.version += 1

    def set_(
        self, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
    ) -> Any:
        """Take the memory of ``source`` (a tensor or storage).

        Args:
            storage_offset, size, stride: where the tensor begins in it, its lengths and steps, in
                elements.
        """
        if state.grad_enabled and tape.requires_grad(self) and tape.is_leaf(self):
            raise inplace.leaf_error(self)
        if source is None:
            source = make(np.empty(0, self.aval.dtype.np), aval((0,), self.aval.dtype))
        elif isinstance(source, EngineTensor) and source.aval.dtype is not self.aval.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {c_name(source.aval.dtype)} to a tensor of type "
                f"{c_name(self.aval.dtype)}"
            )
        elif not isinstance(source, EngineTensor):
            source = _untyped(source, self.aval.dtype)
            if not hasattr(source, "_storage"):
                raise TypeError(
                    "set_() received an invalid combination of arguments - got "
                    f"({type(source).__name__}), but expected a tensor or a storage"
                )
            storage = getattr(source, "_storage", source)
            storage = getattr(storage, "_storage", storage)
            buffer = typed_buffer(storage, self.aval.dtype)
            shape = (buffer.size,) if size is None else tuple(size)
            steps = contiguous_strides(shape) if stride is None else tuple(stride)
            source = _part(buffer, storage_offset, aval(shape, self.aval.dtype, steps), storage)
        elif size is not None:
            shape = tuple(size)
            steps = contiguous_strides(shape) if stride is None else tuple(stride)
            whole = typed_buffer(source._shared, self.aval.dtype)
            described = aval(shape, self.aval.dtype, steps)
            source = _part(whole, storage_offset, described, source._shared)
        inplace.set_data(self, source)
        self._shared.version += 1
        return self

    def resize_(self, *sizes: Any, memory_format: Any = None, size: Any = None) -> Any:
        """Another shape over the same storage, made larger where it must be.

        Args:
            sizes: the lengths, as numbers or as one sequence.
            size: the same sequence by its name.
            memory_format: in which order of memory the axes lie; None: a tensor of the same
                shape keeps its own.
        """
        check_made_here(self)
        if tape.requires_grad(self):
            raise RuntimeError("cannot resize variables that require grad")
        shape = as_shape(sizes if size is None else (size, *sizes), "resize_")
        if any(n < 0 for n in shape):
            raise RuntimeError("numel: integer multiplication overflow")
        if memory_format is None and shape == self.aval.shape:
            self._shared.version += 1
            return self
        strides = format_strides(shape, memory_format or contiguous_format)
        described = aval(shape, self.aval.dtype, strides, self.aval.device)
        capture = capturing()
        if capture is not None:
            capture.raw_write(self)
            capture.data_needed(self)  # of a view of an argument, too
        memory = typed_buffer(self._shared, self.aval.dtype)[self._offset :]
        if described.size > memory.size:
            if self.requires_grad:
                raise RuntimeError("cannot resize variables that require grad")
            if self._storage is not None and not self._storage.resizable:
                raise RuntimeError("Trying to resize storage that is not resizable")
            offset = self._offset
            grown = empty_on(self.aval.device)(offset + described.size, self.aval.dtype.np)
            memory = grown[offset:]
            inplace.copy_flat(memory, self.flat, self.aval)
            before, self._storage = version_of(self), None
            self._offset, self.flat = 0, grown
            self._shared.version = before
            self._offset = offset
        self.flat = memory[: described.size]
        self.aval = described
        self._shared.version += 1
        return self

    def resize_as_(self, the_template: Any, *, memory_format: Any = None) -> Any:
        """Resize to the shape of ``the_template``.

        Args:
            memory_format: in which order of memory the axes lie; torch.preserve_format: in the
                order of ``the_template``.
        """
        require_tensor(the_template, "resize_as_", "the_template", 1)
        if memory_format is preserve_format:
            memory_format = suggested_format(the_template.aval)
        return self.resize_(the_template.aval.shape, memory_format=memory_format)

    def apply_(self, function: Callable[[Any], Any]) -> Any:
        """Replace each element by ``function`` of it (slow)."""
        if self.requires_grad:
            raise TypeError("cannot call apply_ on a tensor that requires grad")
        array = self._writable_array()
        for place in np.ndindex(array.shape):
            array[place] = function(python_number(array[place]))
        self._take_back(array)
        return self
