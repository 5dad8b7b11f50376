"""What a tensor says of itself: shape, type, place, layout, and its plain views."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mindtorch.engine.allocator import address_of
from mindtorch.engine.autograd import tape
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.devices import cuda
from mindtorch.engine.devices.device import Device
from mindtorch.engine.dtypes import DType
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import Attributes, captures, note_looked_at
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.deprecations import warn_of_identity, warn_of_reversed_shape
from .._api.warn_caller import warn_caller_once
from ..functions.complex_numbers import imag, real
from .shared_memory import is_shared, share_memory
from .size_and_formats import (
    Size,
    sizes_of,
    strided,
)

NO = property(lambda self: False, doc="False: tensors of this class are not of that kind.")


class Description(EngineTensor):
    """Properties and views that copy nothing."""

    __slots__ = ()

    @property
    def shape(self) -> Size:
        return sizes_of[self.aval]

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

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.aval.size * self.aval.dtype.itemsize

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.aval.dtype.itemsize

    def storage_offset(self) -> int:
        """Where in the storage the first element is, in elements."""
        if captures:
            note_looked_at(self, "storage_offset()")
        return self._offset

    def data_ptr(self) -> int:
        """The address of the first element."""
        if captures:
            note_looked_at(self, "data_ptr()")
        if self.aval.device.type == "cuda":
            return int(cuda.kernels("memory").pointer(self.flat)) if self.aval.size else 0
        return address_of(self.flat) if self.aval.size else 0

    def is_floating_point(self) -> bool:
        """Whether the type is a real floating-point one."""
        return self.aval.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the type is complex."""
        return self.aval.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the type has negative numbers."""
        return self.aval.dtype.is_signed

    def is_conj(self) -> bool:
        """False: conjugates are computed at once."""
        return False

    def is_neg(self) -> bool:
        """False: negatives are computed at once."""
        return False

    if not TYPE_CHECKING:  # which takes it for the class's

        @property
        def __dict__(self) -> Any:
            """What users have set on the tensor."""
            return Attributes(self)

        @__dict__.setter
        def __dict__(self, value: dict[str, Any]) -> None:
            attributes, new = Attributes(self), dict(value)
            attributes.clear()
            attributes.update(new)

    def is_inference(self) -> bool:
        """Whether the memory was made in inference mode."""
        note_looked_at(self, "is_inference()")
        return self._storage is not None and self._storage.inference

    def is_shared(self) -> bool:
        """Whether the memory is shared with other processes."""
        return is_shared(self)

    def share_memory_(self) -> Any:
        """Move the storage into memory that other processes can map."""
        return share_memory(self)

    def is_pinned(self, device: Any = None) -> bool:
        """Whether a device can copy the memory by itself."""
        if device is not None:
            Device(device)
        return self._storage is not None and self._storage.memory in cuda.pinned

    def pin_memory(self, device: Any = None) -> Any:
        """A copy in memory that a device can copy by itself; the tensor if it is there already."""
        if not cuda.device_count():
            raise RuntimeError("Cannot access accelerator device when none is available.")
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

    is_sparse = is_quantized = is_mkldnn = is_nested = is_mps = is_xpu = is_sparse_csr = NO
    is_vulkan = is_ipu = is_xla = is_maia = is_mtia = NO
    name: str | None = None

    @property
    def volatile(self) -> bool:

        warnings.warn(
            "volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2
        )
        return False

    @volatile.setter
    def volatile(self, value: Any) -> None:
        warnings.warn(
            "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
            UserWarning, stacklevel=2,
        )  # fmt: skip

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
        """The device's number; -1 for the CPU."""
        device = self.aval.device
        return -1 if device.type in ("cpu", "meta") else (device.index or 0)

    @property
    @cached
    def T(self) -> Any:  # noqa: N802
        if not self.aval.ndim:
            warn_of_identity("T")
        elif self.aval.ndim != 2:
            warn_of_reversed_shape()
        return movement.permute(self, axes=tuple(range(self.aval.ndim - 1, -1, -1)))

    @property
    @cached
    def mT(self) -> Any:  # noqa: N802
        if not self.aval.ndim:
            warn_of_identity("mT")
            return self
        if self.aval.ndim < 2:
            raise RuntimeError(
                "tensor.mT is only supported on matrices or batches of matrices. Got "
                f"{self.aval.ndim}-D tensor."
            )
        return tape.named(movement.transpose(self, -2, -1), "TransposeBackward0")

    @property
    def H(self) -> Any:  # noqa: N802
        if self.aval.ndim not in (0, 2):
            instead = " For batches of matrices, consider using tensor.mH"
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {self.aval.ndim}-D "
                f"tensor.{instead if self.aval.ndim > 2 else ''}"
            )
        if not self.aval.ndim:
            warn_caller_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
            return self.conj()
        return self.adjoint()

    @property
    def mH(self) -> Any:  # noqa: N802
        if self.aval.ndim == 1:
            raise RuntimeError(
                "tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor."
            )
        return self.adjoint()

    @property
    def real(self) -> Any:
        return real(self)

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value
