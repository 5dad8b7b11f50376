"""What observers, configurations and conversions share."""

from __future__ import annotations

import warnings
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch._api.warn_caller import warn_caller

__all__ = [
    "activation_dtype", "calculate_qmin_qmax", "check_min_max_valid", "get_combined_dict",
    "get_qparam_dict", "has_no_children_ignoring_parametrizations", "is_per_channel",
    "is_per_tensor", "to_underlying_dtype", "validate_qmin_qmax", "weight_dtype",
    "weight_is_quantized",
]  # fmt: skip

DEPRECATION_WARNING = (
    "torch.ao.quantization is deprecated and will be removed in 2.10. Eager mode: migrate to "
    "torchao's quantize_; FX mode and PT2E: to torchao's pt2e quantization"
)
_UNDERLYING = {torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32}
_PER_TENSOR = (torch.per_tensor_affine, torch.per_tensor_symmetric)
_PER_CHANNEL = (
    torch.per_channel_affine, torch.per_channel_affine_float_qparams, torch.per_channel_symmetric
)  # fmt: skip
_RANGES = {
    "int8": (-128, 127), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1),
    "uint16": (0, 2**16 - 1), "int16": (-(2**15), 2**15 - 1),
}  # fmt: skip


def deprecated() -> None:
    """Warn, as torch does, that quantisation moves to another package."""
    warn_caller(DEPRECATION_WARNING, DeprecationWarning)


def is_per_tensor(qscheme: Any) -> bool:
    """Whether there is one scale for a tensor."""
    return qscheme in _PER_TENSOR


def is_per_channel(qscheme: Any) -> bool:
    """Whether there is a scale for each index of an axis."""
    return qscheme in _PER_CHANNEL


def to_underlying_dtype(qdtype: Any) -> Any:
    """The type that holds the levels of a quantised one.

    Raises:
        AssertionError: it is no quantised type.
    """
    if qdtype not in _UNDERLYING:
        raise AssertionError("Unsupported dtype: " + str(qdtype))
    return _UNDERLYING[qdtype]


def get_combined_dict(default_dict: Any, additional_dict: Any) -> dict[Any, Any]:
    """Both dictionaries in a new one; the second wins."""
    return {**default_dict, **additional_dict}


def has_no_children_ignoring_parametrizations(module: Any) -> bool:
    """Whether a module has no parts but parametrizations."""
    names = list(module._modules)
    return not names or names == ["parametrizations"]


def check_min_max_valid(min_val: Any, max_val: Any) -> bool:
    """Whether something was observed.

    Raises:
        AssertionError: a range ends before it begins.
    """
    seen = bool(min_val.numel() and max_val.numel())
    if seen and not min_val.dim():
        seen = not (min_val.item() == float("inf") and max_val.item() == -float("inf"))
    if not seen:
        warnings.warn(
            "must run observer before calling calculate_qparams. Returning default values.",
            stacklevel=3,
        )
        return False
    if bool((min_val > max_val).any()):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


def validate_qmin_qmax(quant_min: int, quant_max: int) -> None:
    """Check levels that a user names.

    Raises:
        AssertionError: 0 is not among them, or there is only one.
    """
    if not quant_min <= 0 <= quant_max:
        raise AssertionError("Used-specified quantization range must include 0.")
    if quant_min >= quant_max:
        raise AssertionError(
            "qmin must be strictly less than qmax for user-specified quantization range."
        )


def calculate_qmin_qmax(
    quant_min: Any, quant_max: Any, has_customized_qrange: bool, dtype: Any, reduce_range: bool
) -> tuple[int, int]:
    """The lowest and the highest level.

    Args:
        quant_min, quant_max: as the user names them, with ``has_customized_qrange``.
        has_customized_qrange: whether these count; else it is the type's range.
        dtype: of the levels.
        reduce_range: take every second level, as products of 8 bits in 16 need.

    Raises:
        AssertionError: more levels than the type has.
    """
    name = repr(dtype).removeprefix("torch.").removeprefix("q")
    if has_customized_qrange:
        most = {"int8": 2**8, "int32": 2**32}.get(name)
        if most is not None and not 0 < quant_max - quant_min + 1 <= most:
            raise AssertionError(
                "quantization range should be positive and not exceed the maximum bit range "
                f"(={most})."
            )
        return (quant_min // 2, quant_max // 2) if reduce_range else (quant_min, quant_max)
    low, high = _RANGES.get(name, (0, 15))
    if reduce_range and name in ("int8", "uint8"):
        return low // 2, high // 2
    return low, high


def _weight_or_none(qconfig: Any, part: str) -> Any:
    if qconfig is None:
        raise AssertionError("qconfig must be provided")
    made = getattr(qconfig, part)
    return made() if made is not None else None


def activation_dtype(qconfig: Any) -> Any:
    """The type that a configuration gives to activations."""
    return _weight_or_none(qconfig, "activation").dtype


def weight_dtype(qconfig: Any) -> Any:
    """The type that a configuration gives to weights."""
    return _weight_or_none(qconfig, "weight").dtype


def weight_is_quantized(qconfig: Any) -> bool:
    """Whether a configuration puts weights on levels."""
    return weight_dtype(qconfig) in (torch.quint8, torch.qint8, torch.qint32)


def activation_is_statically_quantized(qconfig: Any) -> bool:
    """Whether a configuration puts activations on levels that are known beforehand."""
    made = _weight_or_none(qconfig, "activation")
    return made.dtype in _UNDERLYING and not getattr(made, "is_dynamic", False)


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """What an observer says of levels: scheme, type, and scale and zero point where it has some."""
    made = observer_or_fake_quant
    found: dict[str, Any] = {"qscheme": getattr(made, "qscheme", None), "dtype": made.dtype}
    if found["qscheme"] is None:
        return found
    if found["qscheme"] in (torch.per_tensor_symmetric, torch.per_channel_symmetric):
        found["qscheme"] = (
            torch.per_tensor_affine if is_per_tensor(found["qscheme"])
            else torch.per_channel_affine
        )
    if is_per_channel(found["qscheme"]):
        found["axis"] = made.ch_axis
    if hasattr(made, "quant_min"):
        found["quant_min"], found["quant_max"] = made.quant_min, made.quant_max
    if getattr(made, "is_dynamic", False) is False and made.dtype in _UNDERLYING:
        found["scale"], found["zero_point"] = made.calculate_qparams()
    return found


def without_parametrizations(module: Any) -> Any:
    """A module's class, as it was before it was parametrized."""
    kind = type(module)
    if "parametrizations" in module._modules:
        return kind.__bases__[0]
    return kind
