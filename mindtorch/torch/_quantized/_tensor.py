"""Quantised tensors: levels, which are an ordinary tensor of whole numbers, and what they mean.

A view of a quantised tensor has a view of the levels, so that both see one memory.
"""

from __future__ import annotations

import copy
from typing import Any, NoReturn

from mindtorch.engine import dtypes
from mindtorch.engine.aval import unstrided
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._api.arguments import normalize_axis
from .._tensor.conversion import parse_to
from .._tensor.size_and_formats import preserve_format
from .._tensor.tensor import Tensor
from .._tensor_str import format_array, with_suffixes
from ._quantizer import PerChannel, PerTensor

__all__ = ["QuantizedTensor", "expected", "missing", "require_per_tensor"]


def missing(name: str) -> NoReturn:
    """Raise for a function that quantised tensors do not have."""
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'QuantizedCPU' backend. Use "
        "dequantize() first, and quantize_per_tensor on the result."
    )


def expected(condition: str) -> RuntimeError:
    """torch's error for a condition without a text of its own."""
    return RuntimeError(
        f"Expected {condition} to be true, but got false.  (Could this error message be improved?  "
        "If so, please report an enhancement request to PyTorch.)"
    )


def _no_cast() -> NoReturn:
    raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")


_SCHEME = "quantizer->qscheme() == "
_PER_CHANNEL = (
    f"{_SCHEME}kPerChannelAffine || {_SCHEME}kPerChannelAffineFloatQParams"
)


class QuantizedTensor(Tensor):
    """Numbers on levels.

    Attributes:
        levels: of int8, uint8 or int32; they lie as the tensor is said to lie.
        quantizer: what levels mean, a PerTensor or a PerChannel.
    """

    levels: Any
    quantizer: Any
    is_quantized = True

    def __new__(cls, levels: Any, quantizer: Any, dtype: Any) -> QuantizedTensor:
        made: QuantizedTensor = object.__new__(cls)
        quantizer.fits(levels.aval.shape)
        made.aval = unstrided(levels.aval.shape, dtype, levels.aval.device)
        made._node = None
        made.levels, made.quantizer = levels, quantizer
        return made

    @property
    def flat(self) -> Any:
        missing("op")

    def array(self) -> Any:
        raise TypeError(f"Got unsupported ScalarType {dtypes.scalar_type_name(self.aval.dtype)}")

    def numpy(self, *, force: bool = False) -> Any:
        self.array()

    def like(self, levels: Any) -> QuantizedTensor:
        """Other levels of the same meaning."""
        return QuantizedTensor(levels, self.quantizer, self.aval.dtype)

    def requantized(self, numbers: Any) -> QuantizedTensor:
        """Numbers on the same levels."""
        return self.like(self.quantizer.levels(numbers, self.aval.dtype))

    # these ask no more than shape and type
    dim, ndimension, size, element_size = (
        Tensor.dim, Tensor.ndimension, Tensor.size, Tensor.element_size,
    )  # fmt: skip
    numel, nelement, get_device = Tensor.numel, Tensor.nelement, Tensor.get_device
    is_floating_point, is_complex = Tensor.is_floating_point, Tensor.is_complex
    is_conj, is_neg, is_same_size = Tensor.is_conj, Tensor.is_neg, Tensor.is_same_size
    as_subclass = Tensor.as_subclass

    def is_signed(self) -> bool:
        raise RuntimeError("isSignedType not supported for quantized types")

    def stride(self, dim: int | None = None) -> Any:
        return self.levels.stride(dim)

    def storage_offset(self) -> int:
        return int(self.levels.storage_offset())

    def data_ptr(self) -> int:
        return int(self.levels.data_ptr())

    def untyped_storage(self) -> Any:
        return self.levels.untyped_storage()

    def is_contiguous(self, **options: Any) -> bool:
        return bool(self.levels.is_contiguous(**options))

    def is_inference(self) -> bool:
        return bool(self.levels.is_inference())

    def is_pinned(self, device: Any = None) -> bool:
        return False

    def is_shared(self) -> bool:
        return bool(self.levels.is_shared())

    def share_memory_(self) -> Any:
        self.levels.share_memory_()
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        if requires_grad:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        return self

    # --- levels and their meaning ------------------------------------------------------------

    def int_repr(self) -> Any:
        """The levels, a copy."""
        return self.levels.clone()

    def dequantize(self) -> Any:
        """The numbers that the levels stand for."""
        return self.quantizer.numbers(self.levels)

    def qscheme(self) -> Any:
        """torch.per_tensor_affine, torch.per_channel_affine or that of floating zero points."""
        return self.quantizer.scheme

    def q_scale(self) -> float:
        return float(self._of_tensor().scale)

    def q_zero_point(self) -> int:
        return int(self._of_tensor().zero_point)

    def _of_tensor(self) -> PerTensor:
        if not isinstance(self.quantizer, PerTensor):
            raise expected(f"{_SCHEME}kPerTensorAffine")
        return self.quantizer

    def _of_channels(self) -> PerChannel:
        if not isinstance(self.quantizer, PerChannel):
            raise expected(_PER_CHANNEL)
        return self.quantizer

    def q_per_channel_scales(self) -> Any:
        return self._of_channels().scales

    def q_per_channel_zero_points(self) -> Any:
        return self._of_channels().zero_points

    def q_per_channel_axis(self) -> int:
        return self._of_channels().axis

    def item(self) -> Any:
        """The number that the only level stands for."""
        return self.dequantize().item()

    def __bool__(self) -> bool:
        return bool(self.dequantize())

    def tolist(self) -> Any:
        raise RuntimeError("load_scalar: invalid type")

    # --- copies ------------------------------------------------------------------------------

    def clone(self, *, memory_format: Any = preserve_format) -> QuantizedTensor:
        return self.like(self.levels.clone(memory_format=memory_format))

    def detach(self) -> QuantizedTensor:
        return self.like(self.levels.detach())

    @property  # type: ignore[misc]
    def data(self) -> Any:
        return self.detach()

    def to(self, *args: Any, **kwargs: Any) -> Any:
        dtype, device, copied, _ = parse_to(args, kwargs)
        if dtype is not None and dtype is not self.aval.dtype:
            if dtype in dtypes.QUANTIZED:
                raise expected("self.scalar_type() == src.scalar_type()")
            _no_cast()
        levels = self.levels if device is None else self.levels.to(device)
        if levels is self.levels and not copied:
            return self
        return self.like(levels.clone() if levels is self.levels else levels)

    def cpu(self, memory_format: Any = None) -> Any:
        return self.to("cpu")

    def type(self, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if dtype is None:
            return f"torch.quantized.{dtypes.scalar_type_name(self.aval.dtype)}Tensor"
        _no_cast()

    def copy_(self, other: Any, non_blocking: bool = False) -> Any:
        """Overwrite it: with numbers, put on its own levels, or with levels and their meaning."""
        if isinstance(other, QuantizedTensor):
            if other.aval.dtype is not self.aval.dtype:
                raise expected("self.scalar_type() == src.scalar_type()")
            self.levels.copy_(other.levels)
            self.quantizer = other.quantizer
            return self
        if other.aval.dtype is not dtypes.float32:
            raise RuntimeError(
                "Quantized copy only works with kFloat as source Tensor"
            )
        self.levels.copy_(self.quantizer.levels(other.detach(), self.aval.dtype))
        return self

    def fill_(self, value: Any) -> Any:
        """Every element the level nearest to ``value``."""
        number = value.item() if isinstance(value, EngineTensor) else value
        single = from_array(_float_array(number))
        self.levels.copy_(require_per_tensor(self, "fill_").levels(single, self.aval.dtype))
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        part = self[index]
        if not isinstance(value, EngineTensor):
            part.fill_(value)
        else:
            part.copy_(value)

    def resize_(self, *sizes: Any, memory_format: Any = None, size: Any = None) -> Any:
        require_per_tensor(self, "resize_")
        self.levels.resize_(*(sizes if size is None else (size,)))
        self.aval = unstrided(self.levels.aval.shape, self.aval.dtype, self.aval.device)
        return self

    def __deepcopy__(self, memo: Any) -> QuantizedTensor:
        found = QuantizedTensor(
            copy.deepcopy(self.levels, memo), self.quantizer, self.aval.dtype
        )
        memo[id(self)] = found
        return found

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.quantizer, PerTensor):
            return self.like(self.levels[index])
        return _part_of_channels(self, index)

    def __hash__(self) -> int:
        return id(self)

    # --- text and files ----------------------------------------------------------------------

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        prefix = "tensor("
        text = format_array(self.dequantize().array(), len(prefix))
        suffixes = [
            f"size={tuple(self.aval.shape)}", f"dtype={self.aval.dtype!r}",
            f"quantization_scheme={self.qscheme()!r}",
        ]  # fmt: skip
        if isinstance(self.quantizer, PerTensor):
            suffixes += [
                f"scale={self.quantizer.scale}", f"zero_point={self.quantizer.zero_point}"
            ]
        else:
            suffixes += [
                f"scale={self.quantizer.scales!r}", f"zero_point={self.quantizer.zero_points!r}",
                f"axis={self.quantizer.axis}",
            ]  # fmt: skip
        return with_suffixes(prefix + text, suffixes, len(prefix))

    def quantizer_parts(self) -> tuple[Any, ...]:
        """What files hold of its meaning."""
        own = self.quantizer
        if isinstance(own, PerTensor):
            return own.scheme, own.scale, own.zero_point
        return own.scheme, own.scales, own.zero_points, own.axis


def _float_array(number: Any) -> Any:
    return dtypes.float32.np.type(number).reshape(())


def require_per_tensor(x: QuantizedTensor, name: str) -> PerTensor:
    """Its quantizer; torch's error where there is one for each channel."""
    if not isinstance(x.quantizer, PerTensor):
        raise RuntimeError("Setting strides is possible only on uniformly quantized tensor")
    return x.quantizer


def _part_of_channels(x: QuantizedTensor, index: Any) -> QuantizedTensor:
    """A part by whole numbers and slices: of one channel it has one scale."""
    own = x.quantizer
    steps = list(index) if isinstance(index, tuple) else [index]
    if any(not isinstance(step, (int, slice)) for step in steps):
        raise RuntimeError("Setting strides is possible only on uniformly quantized tensor")
    levels = x.levels[index]
    axis = own.axis - sum(isinstance(step, int) for step in steps[: own.axis])
    if len(steps) <= own.axis:
        return QuantizedTensor(levels, PerChannel(own.scales, own.zero_points, axis), x.dtype)
    chosen = steps[own.axis]
    if isinstance(chosen, int):
        place = normalize_axis(chosen, own.scales.aval.size)
        chosen = slice(place, place + 1)
    scales, zeros = own.scales[chosen], own.zero_points[chosen]
    if scales.aval.size == 1:
        single = PerTensor(scales.item(), int(zeros.item()))
        return QuantizedTensor(levels, single, x.dtype)
    return QuantizedTensor(levels, PerChannel(scales, zeros, axis), x.dtype)
