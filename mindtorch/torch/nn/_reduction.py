"""The reduction that a loss's arguments ask for."""

from __future__ import annotations

from typing import Any, NoReturn

from mindtorch.engine.dtypes import scalar_type_name

from .._api.warn_caller import warn_caller

_REDUCTIONS = ("none", "mean", "sum")


def legacy_get_string(size_average: Any, reduce: Any, emit_warning: bool = True) -> str:
    """The reduction that the deprecated arguments mean."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    chosen = "mean" if size_average and reduce else "sum" if reduce else "none"
    if emit_warning:
        warn_caller(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{chosen}' instead.",
        )
    return chosen


def get_enum(reduction: str) -> int:
    """0, 1 and 2 for "none", "mean" and "sum": torch's numbers of them."""
    if reduction == "elementwise_mean":
        warn_caller(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead."
        )
        reduction = "mean"
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS.index(reduction)


def legacy_get_enum(size_average: Any, reduce: Any, emit_warning: bool = True) -> int:
    """The number of the reduction that the deprecated arguments mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def chosen_reduction(size_average: Any, reduce: Any, reduction: str) -> str:
    """``reduction``, unless a deprecated argument is given."""
    if size_average is not None or reduce is not None:
        return legacy_get_string(size_average, reduce)
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(loss: Any, reduction: str) -> Any:
    """``loss``, its mean or its sum."""
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def refuse_cast(result: Any, own: Any) -> NoReturn:
    """torch's error of a loss whose elements are not of the type that it is written to."""
    names = map(scalar_type_name, (result, own))
    raise RuntimeError("result type {} can't be cast to the desired output type {}".format(*names))


__all__ = [
    "chosen_reduction", "get_enum", "legacy_get_enum", "legacy_get_string", "reduced",
    "refuse_cast",
]  # fmt: skip
