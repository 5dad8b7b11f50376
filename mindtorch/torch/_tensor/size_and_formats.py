"""Small value types of the namespace: Size, memory formats, layouts, finfo and iinfo."""

from __future__ import annotations

import math
from math import prod
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.bounded_cache import Bounded
from mindtorch.engine.call_cache.keys import equal_is_same
from mindtorch.engine.dtypes import DType
from mindtorch.engine.symbolic_sizes import as_whole, has_amounts, open_sizes


def _length(value: Any, place: int) -> int:
    if type(value) is int:
        return value
    if isinstance(value, float) or getattr(
        getattr(value, "dtype", None), "is_floating_point", False
    ):  # fmt: skip
        raise _no_length(value, place)
    try:
        return as_whole(value)
    except (TypeError, ValueError):
        raise _no_length(value, place) from None


def _no_length(value: Any, place: int) -> TypeError:
    return TypeError(
        f"torch.Size() takes an iterable of 'int' (item {place} is '{type(value).__name__}')"
    )


_item, _new = tuple.__getitem__, tuple.__new__


@equal_is_same
class Size(tuple[int, ...]):
    """A shape: a tuple of ints with :meth:`numel`."""

    __slots__ = ()

    def __new__(cls, values: Any = ()) -> Size:
        return super().__new__(cls, [_length(v, i) for i, v in enumerate(values)])

    def numel(self) -> int:
        """The product of the lengths."""
        return prod(self)

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __add__(self, other: Any) -> Size:
        return Size(tuple(self) + tuple(other))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, count: Any) -> Size:
        return Size(tuple(self) * count)

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        found: Any = _item(self, index)
        return _new(Size, found) if found.__class__ is tuple else found  # a slice, or a length

    def __reduce__(self) -> Any:
        return (Size, (tuple(self),))


_sizes = Bounded(4096)


class _SizesOf(Bounded):
    """The Size objects of tensors' descriptions."""

    def __missing__(self, described: Any) -> Size:
        if open_sizes and has_amounts(described.shape):
            return Size(described.shape)
        found: Size = self.keep(described, size_of(described.shape))
        return found


sizes_of = _SizesOf(4096)


def size_of(shape: tuple[int, ...]) -> Size:
    """The Size object for a shape, made once."""
    if open_sizes and has_amounts(shape):
        return Size(shape)
    found: Size | None = _sizes.get(shape)
    if found is None:
        found = _sizes.keep(shape, Size(shape))
    return found


class _Named:
    """A value known by its name alone."""

    _name: str

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"cannot create 'torch.{cls.__name__}' instances")

    @classmethod
    def _called(cls, name: str) -> Any:
        made = object.__new__(cls)
        made._name = name
        return made

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> Any:
        return (_named, (type(self).__name__, self._name))


class memory_format(_Named):  # noqa: N801
    """The order of a tensor's axes in memory, by its ``name``."""


class layout(_Named):  # noqa: N801
    """How a tensor's elements are stored, by its ``name``."""


class qscheme(_Named):  # noqa: N801
    """How numbers are put on the levels of a quantised tensor, by its ``name``."""


contiguous_format = memory_format._called("contiguous_format")
channels_last = memory_format._called("channels_last")
channels_last_3d = memory_format._called("channels_last_3d")
preserve_format = memory_format._called("preserve_format")
strided = layout._called("strided")
sparse_coo = layout._called("sparse_coo")
sparse_csr = layout._called("sparse_csr")
sparse_csc = layout._called("sparse_csc")
sparse_bsr = layout._called("sparse_bsr")
sparse_bsc = layout._called("sparse_bsc")
jagged = layout._called("jagged")
_mkldnn = layout._called("_mkldnn")
per_tensor_affine = qscheme._called("per_tensor_affine")
per_channel_affine = qscheme._called("per_channel_affine")
per_tensor_symmetric = qscheme._called("per_tensor_symmetric")
per_channel_symmetric = qscheme._called("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme._called("per_channel_affine_float_qparams")


def _named(kind: str, name: str) -> Any:
    return globals()[name]


class _Limits:
    """What finfo and iinfo have in common: those of one type are equal, and no keys."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)


_DEFAULT: Any = object()
_OF_PYTHON = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool_}


def _limited(name: str, kind: Any) -> DType:
    """The type whose limits are asked for; Python's own stand for torch's."""
    found = _OF_PYTHON.get(kind, kind) if isinstance(kind, type) else kind
    if not isinstance(found, DType):
        raise TypeError(
            f"{name}(): argument 'type' (position 1) must be torch.dtype, not "
            f"{kind.__class__.__name__}"
        )
    return found


class _Once(type):
    """The class of finfo, which is made once for each element type."""

    made: ClassVar[dict[DType, Any]] = {}

    def __call__(cls, type: Any = _DEFAULT) -> Any:  # noqa: A002
        kind = dtypes.default if type is _DEFAULT else type
        found = cls.made.get(kind) if kind.__class__ is DType else None
        if found is None:
            found = super().__call__(kind)
            if kind.__class__ is DType:
                cls.made[kind] = found
        return found


class finfo(_Limits, metaclass=_Once):  # noqa: N801
    """Limits of a floating-point type (default: the default dtype), as Python floats."""

    def __init__(self, type: Any = _DEFAULT) -> None:  # noqa: A002
        dtype = _limited("finfo", type).to_real()
        if dtype.category != dtypes.FLOAT:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                "'torch.finfo'"
            )
        found: Any = ml_dtypes.finfo(dtype.np)  # also of numpy's own types
        self.bits = dtype.itemsize * 8
        # PyTorch's eps of e5m2fnuz is that of numbers with one more bit
        self.eps = float(found.eps) / (2 if dtype.name == "float8_e5m2fnuz" else 1)
        self.max = float(found.max)
        self.min = float(found.min)
        self.tiny = self.smallest_normal = float(found.smallest_normal)
        # ten to minus the number of decimal digits that survive
        self.resolution = 10.0 ** -int(found.nmant * math.log10(2))
        self.dtype = dtype.name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo(_Limits):  # noqa: N801
    """Limits of an integer type."""

    def __init__(self, type: DType) -> None:  # noqa: A002
        type = _limited("iinfo", type)  # noqa: A001
        if type.category == dtypes.BOOL:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category != dtypes.INTEGER:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle "
                "'torch.iinfo'"
            )
        found = np.iinfo(type.np)
        self.bits, self.max, self.min, self.dtype = found.bits, int(found.max), int(found.min), (
            type.name
        )

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
