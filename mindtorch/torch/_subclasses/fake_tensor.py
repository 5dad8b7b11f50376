"""Tensors without data that say which device they stand for: what nodes of graphs give."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.aval import aval
from mindtorch.engine.devices.device import cpu, meta
from mindtorch.torch._api.arguments import as_device
from mindtorch.torch._compat.unsupported_names import absent_class
from mindtorch.torch._tensor.size_and_formats import Size
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.functions.creation import new_empty

__all__ = ["FakeTensor", "FakeTensorMode", "fake", "is_fake"]

FakeTensorMode = absent_class(
    "torch._subclasses.fake_tensor", "FakeTensorMode",
    'FakeTensors are made by torch.export alone; torch.device("meta") has tensors without data',
)  # fmt: skip


class FakeTensor(Tensor):
    """A tensor of ``device="meta"`` that stands for one on ``device``; lengths may be open ones,
    numbers that are shown by their names. :func:`fake` makes it.

    Attributes:
        fake_device: the device that it stands for.
    """

    fake_device: Any
    _lengths: Any
    _strides: Any

    @property
    def shape(self) -> Any:
        return self._lengths

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of axis ``dim``."""
        return self._lengths if dim is None else self._lengths[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Strides in elements, or that of axis ``dim``."""
        return self._strides if dim is None else self._strides[dim]

    @property
    def device(self) -> Any:
        return self.fake_device

    def __repr__(self, **options: Any) -> str:  # type: ignore[override]
        place = "" if self.fake_device == cpu else f"device='{self.fake_device}', "
        kind = "" if self.dtype is dtypes.default else f", dtype={self.dtype}"
        gradient = ", requires_grad=True" if self.requires_grad else ""
        lengths = ", ".join(map(str, self._lengths))
        size = f"({lengths},)" if len(self._lengths) == 1 else f"({lengths})"
        return f"FakeTensor(..., {place}size={size}{kind}{gradient})"


def fake(
    shape: Any, dtype: Any, strides: Any = None, device: Any = cpu, requires_grad: bool = False
) -> FakeTensor:
    """A tensor without data.

    Args:
        shape, strides: plain numbers, or open lengths, which are ints too; strides of C order
            where they are None.
        device: what it stands for.
    """
    plain = tuple([int(n) for n in shape])
    described = aval(plain, dtype, None if strides is None else tuple(map(int, strides)), meta)
    made: FakeTensor = Tensor._make_subclass(FakeTensor, new_empty(described), requires_grad)
    made._lengths = OpenSize(shape)
    made._strides = described.strides if strides is None else tuple(strides)
    made.fake_device = as_device(device)
    return made


class OpenSize(Size):
    """A shape that keeps the names of open lengths."""

    __slots__ = ()

    def __new__(cls, values: Any = ()) -> OpenSize:
        return tuple.__new__(cls, values)


def is_fake(x: Any) -> bool:
    """Whether ``x`` is a :class:`FakeTensor`."""
    return isinstance(x, FakeTensor)
