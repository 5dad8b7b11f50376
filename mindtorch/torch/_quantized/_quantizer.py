"""How numbers are put on levels: one scale for a tensor, or one for each index of an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.dtypes import DType
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import movement
from mindtorch.engine.ops.quantization import quantize_levels
from mindtorch.engine.tensor import constant, from_array

from .._tensor.size_and_formats import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_tensor_affine,
)

__all__ = ["LIMITS", "STORED", "PerChannel", "PerTensor", "limits_of"]

STORED = {dtypes.qint8: dtypes.int8, dtypes.quint8: dtypes.uint8, dtypes.qint32: dtypes.int32}
LIMITS = {
    dtypes.qint8: (-128, 127), dtypes.quint8: (0, 255), dtypes.qint32: (-(2**31), 2**31 - 1)
}  # fmt: skip
_LENGTH = "length of scales must equal to channel, expected {} got, {}"


def limits_of(dtype: DType) -> tuple[int, int]:
    """The lowest and the highest level of a type.

    Raises:
        RuntimeError: it is not one of quantised tensors.
    """
    found = LIMITS.get(dtype)
    if found is None:
        name = (
            dtypes.scalar_type_name(dtype) if dtype in dtypes.ALL else dtype.name
        )
        raise RuntimeError(f"ScalarType {name} is not supported in new_qtensor.")
    return found


def stored(levels: Any, dtype: DType) -> Any:
    """Levels, whole numbers of a floating type, as the type holds them."""
    return movement.cast(levels, dtype=STORED[dtype])


class PerTensor:
    """``x = (level - zero_point) * scale``.

    Attributes:
        scale: a Python float.
        zero_point: the level that stands for 0.
    """

    scheme = per_tensor_affine

    def __init__(self, scale: float, zero_point: int) -> None:
        self.scale, self.zero_point = float(scale), int(zero_point)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerTensor) and (self.scale, self.zero_point) == (
            other.scale, other.zero_point
        )

    __hash__ = None  # type: ignore[assignment]

    def fits(self, shape: Any) -> None:
        """Every shape."""

    def levels(self, x: Any, dtype: DType) -> Any:
        """The nearest level of each element of a float32 tensor, ties to the even one."""
        low, high = limits_of(dtype)
        with np.errstate(divide="ignore"):
            inverse = np.float32(1) / np.float32(self.scale)
        if dtype is dtypes.qint32:
            return _wide_levels(x.array(), inverse, self.zero_point)
        numbers = [constant(float(v)) for v in (inverse, self.zero_point, low, high)]
        return stored(quantize_levels(x, *numbers), dtype)

    def numbers(self, levels: Any) -> Any:
        """The numbers that levels stand for, in float32."""
        if levels.aval.dtype is dtypes.int32:
            with np.errstate(over="ignore"):
                moved = levels.array() - np.int32(self.zero_point)
            return from_array(moved.astype(np.float32) * np.float32(self.scale))
        whole = movement.cast(levels, dtype=dtypes.float32)
        moved = el.subtract(whole, constant(float(self.zero_point)))
        return el.multiply(moved, constant(float(np.float32(self.scale))))


def _wide_levels(x: np.ndarray, inverse: Any, zero: Any) -> Any:
    """Levels of 32 bits: computed in float32, cut off at the limits, nan being the lowest."""
    low, high = LIMITS[dtypes.qint32]
    with np.errstate(over="ignore", invalid="ignore"):
        level = (np.rint(x * inverse + np.float32(zero))).astype(np.float32).astype(np.float64)
    level = np.where(np.isnan(level), low, np.clip(level, low, high))
    return from_array(level.astype(np.int32))


class PerChannel:
    """A scale and a zero point for each index of an axis.

    Attributes:
        scales, zero_points: one-dimensional; of float64 and int64, or both of float32, where zero
            points need not be whole.
        axis: counted from the front.
    """

    def __init__(self, scales: Any, zero_points: Any, axis: int) -> None:
        self.whole = not zero_points.aval.dtype.is_floating_point
        kinds = (dtypes.float64, dtypes.int64) if self.whole else (dtypes.float32, dtypes.float32)
        self.scales = movement.cast(scales.detach(), dtype=kinds[0])
        self.zero_points = movement.cast(zero_points.detach(), dtype=kinds[1])
        self.axis = axis

    @property
    def scheme(self) -> Any:
        return per_channel_affine if self.whole else per_channel_affine_float_qparams

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PerChannel) and self.axis == other.axis
            and np.array_equal(self.scales.array(), other.scales.array())
            and np.array_equal(self.zero_points.array(), other.zero_points.array())
        )  # fmt: skip

    __hash__ = None  # type: ignore[assignment]

    def fits(self, shape: Any) -> None:
        """Raise RuntimeError where a shape has another length along the axis."""
        if not 0 <= self.axis < len(shape):
            raise RuntimeError(
                "Channel axis out of range in per channel affine quantization. Got: "
                f"{self.axis}Expected: [0, {len(shape)})"
            )
        if shape[self.axis] != self.scales.aval.size:
            raise RuntimeError(_LENGTH.format(shape[self.axis], self.scales.aval.size))

    def _along(self, values: Any, shape: Any) -> Any:
        lengths = tuple(n if i == self.axis else 1 for i, n in enumerate(shape))
        return movement.cast(movement.reshape(values, lengths), dtype=dtypes.float32)

    def levels(self, x: Any, dtype: DType) -> Any:
        low, high = limits_of(dtype)
        shape = x.aval.shape
        inverse = el.divide(constant(1.0), self._along(self.scales, shape))
        zero = self._along(self.zero_points, shape)
        if dtype is dtypes.qint32:
            return _wide_levels(x.array(), inverse.array(), zero.array())
        ends = [constant(float(v)) for v in (low, high)]
        return stored(quantize_levels(x, inverse, zero, *ends), dtype)

    def numbers(self, levels: Any) -> Any:
        shape = levels.aval.shape
        whole = movement.cast(levels, dtype=dtypes.float32)
        moved = el.subtract(whole, self._along(self.zero_points, shape))
        return el.multiply(moved, self._along(self.scales, shape))
