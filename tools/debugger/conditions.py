"""The conditions of watchpoints, by MindInsight's names, parameters and defaults.

A parameter that is a threshold is named by the figure and how it is compared: `max_gt=3` is met
where the greatest element is above 3. Others (`epsilon`, the ends of a range) belong to those.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..watchpoints.tensor_statistics import Limits, Statistics

__all__ = [
    "CONDITIONS", "KINDS", "Condition", "ConditionError", "Met", "checked", "limits", "met",
]  # fmt: skip

# kinds of tensors that are watched
KINDS = ("outputs", "output_gradients", "gradients", "weights", "losses")


class ConditionError(ValueError):
    """There is no such condition or parameter, or a value makes no sense; the text says which."""


class Met(NamedTuple):
    """A threshold that was met: its name, what was set, and the figure."""

    parameter: str
    limit: float
    value: float


class Condition(NamedTuple):
    """What is looked for.

    Attributes:
        name: MindInsight's.
        kinds: of tensors that it is about, unless a watchpoint says otherwise.
        parameters: names and defaults; None: not compared unless it is given.
        says: what it finds, in words.
        start: whether it is looked for before the first step alone.
    """

    name: str
    kinds: tuple[str, ...]
    parameters: Mapping[str, float | bool | None]
    says: str
    start: bool = False

    @property
    def thresholds(self) -> tuple[str, ...]:
        return tuple(name for name in self.parameters if name not in _SUPPORTING)


_SUPPORTING = ("epsilon", "rtol", "atol", "equal_nan", "range_start_inclusive",
               "range_end_inclusive")  # fmt: skip
_LARGE = dict.fromkeys(("abs_mean_gt", "max_gt", "min_gt", "mean_gt"))
_SMALL = dict.fromkeys(("abs_mean_lt", "max_lt", "min_lt", "mean_lt"))
_RANGE = dict.fromkeys(
    ("range_start_inclusive", "range_end_inclusive", "range_percentage_lt", "range_percentage_gt",
     "max_min_lt", "max_min_gt")
)  # fmt: skip
_CLOSE = {"rtol": 1e-5, "atol": 1e-8, "equal_nan": False}
_OUTPUTS = ("outputs", "output_gradients")
_WEIGHTS, _GRADIENTS = ("weights",), ("gradients", "output_gradients")

CONDITIONS = {
    each.name: each
    for each in (
        Condition(
            "weight_initialization", _WEIGHTS,
            {"zero_percentage_ge": 100.0, "max_gt": None, "min_lt": None},
            "a parameter begins with too many zeros, or out of range", start=True,
        ),
        Condition("weight_overflow", _WEIGHTS, {}, "a parameter has NaN or infinite elements"),
        Condition("weight_too_large", _WEIGHTS, _LARGE, "a parameter's figure is above a limit"),
        Condition("weight_too_small", _WEIGHTS, _SMALL, "a parameter's figure is below a limit"),
        Condition("gradient_vanishing", _GRADIENTS, _SMALL, "a gradient's is below a limit"),
        Condition("gradient_too_large", _GRADIENTS, _LARGE, "a gradient's is above a limit"),
        Condition("gradient_exploding", _GRADIENTS, {}, "a gradient has NaN or infinite elements"),
        Condition("tensor_overflow", _OUTPUTS, {}, "a tensor has NaN or infinite elements"),
        Condition(
            "operator_overflow", ("outputs",), {},
            "what a module or an op gives has NaN or infinite elements, and its inputs have not",
        ),
        Condition("tensor_too_large", _OUTPUTS, _LARGE, "a tensor's figure is above a limit"),
        Condition("tensor_too_small", _OUTPUTS, _SMALL, "a tensor's figure is below a limit"),
        Condition(
            "tensor_all_zero", _OUTPUTS, {"zero_percentage_ge": 100.0},
            "so many per cent of a tensor's elements are zero",
        ),
        Condition(
            "weight_not_changed", _WEIGHTS, _CLOSE,
            "every element of a parameter is within atol + rtol |before| of the step before",
        ),
        Condition(
            "weight_change_too_large", _WEIGHTS,
            {"abs_mean_update_ratio_gt": 0.1, "epsilon": 1e-9},
            "mean |change| / (mean |before| + epsilon) of a parameter is above a limit",
        ),
        Condition(
            "weight_change_too_small", _WEIGHTS,
            {"abs_mean_update_ratio_lt": 1e-4, "epsilon": 1e-9},
            "mean |change| / (mean |before| + epsilon) of a parameter is below a limit",
        ),
        Condition(
            "activation_range", ("outputs",), _RANGE,
            "of what an activation gives, the share within a range, or greatest - least",
        ),
        Condition("tensor_range", _OUTPUTS, _RANGE, "the same of any tensor"),
        Condition(
            "tensor_unchanged", _OUTPUTS, _CLOSE,
            "every element of a tensor is within atol + rtol |before| of the step before",
        ),
        Condition(
            "tensor_change_too_large", _OUTPUTS,
            {"abs_mean_update_ratio_gt": None, "epsilon": 1e-9},
            "mean |change| / (mean |before| + epsilon) of a tensor is above a limit",
        ),
        Condition(
            "tensor_change_too_small", _OUTPUTS,
            {"abs_mean_update_ratio_lt": None, "epsilon": 1e-9},
            "mean |change| / (mean |before| + epsilon) of a tensor is below a limit",
        ),
    )
}  # fmt: skip


def _figure(found: Statistics, name: str) -> float:
    """The figure of a threshold's name."""
    match name:
        case "max":
            return found.greatest
        case "min":
            return found.least
        case "max_min":
            return found.greatest - found.least
        case "zero_percentage":
            return 100.0 * found.zero / found.size if found.size else 0.0
    value: float = getattr(found, name)  # mean, abs_mean
    return value


# threshold -> the figure of :class:`Limits`
_LIMITED = {
    "abs_mean": "abs_mean", "max": "greatest", "min": "least", "mean": "mean", "max_min": "range",
    "zero_percentage": "zero_share", "abs_mean_update_ratio": "change",
}  # fmt: skip


def limits(name: str, parameters: Mapping[str, Any]) -> Limits | None:
    """What a tensor's figures must be within, so that the condition cannot be met; None: only
    :func:`met` can tell.

    Args:
        parameters: as :func:`checked` gives them.
    """
    found = Limits({})
    for threshold in CONDITIONS[name].thresholds:
        limit = parameters.get(threshold)
        if limit is None:
            continue
        figure, _, how = threshold.rpartition("_")
        if figure == "range_percentage":
            if how != "lt":
                return None
            # all elements within the range are 100 per cent of them
            ends = parameters["range_start_inclusive"], math.inf
            of = {"least": ends, "greatest": (-math.inf, parameters["range_end_inclusive"])}
        elif how == "ge":  # met by equal figures, too
            of = {_LIMITED[figure]: (-math.inf, limit / 100 if limit > 0 else -1.0)}
        else:
            of = {_LIMITED[figure]: (-math.inf, limit) if how == "gt" else (limit, math.inf)}
        found = found.both(Limits(of, (parameters["epsilon"],) if "change" in of else ()))
    return found


def checked(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A condition's parameters: those given, and defaults.

    Raises:
        ConditionError: it has no such parameter, one that is needed is missing, or a value is no
            number.
    """
    condition = CONDITIONS.get(name)
    if condition is None:
        raise ConditionError(f"no condition {name!r}; there are {', '.join(CONDITIONS)}")
    unknown = given.keys() - condition.parameters.keys()
    if unknown:
        has = ", ".join(condition.parameters) or "none"
        raise ConditionError(f"{name} has no parameter {', '.join(sorted(unknown))}; it has {has}")
    for parameter, value in given.items():
        _check_value(parameter, value)
    found = {x: y for x, y in condition.parameters.items() if y is not None} | dict(given)
    thresholds = condition.thresholds
    if thresholds and not any(x in found for x in thresholds):
        raise ConditionError(f"{name} needs one of {', '.join(thresholds)}")
    if any(x.startswith("range_percentage") for x in found):
        if not {"range_start_inclusive", "range_end_inclusive"} <= found.keys():
            raise ConditionError(
                f"{name}: range_percentage_lt and range_percentage_gt need "
                "range_start_inclusive and range_end_inclusive"
            )
    return found


def _check_value(parameter: str, value: Any) -> None:
    if parameter == "equal_nan":
        if not isinstance(value, bool):
            raise ConditionError(f"equal_nan must be true or false, not {value!r}")
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        raise ConditionError(f"{parameter} must be a number, not {value!r}")
    if "percentage" in parameter and not 0 <= value <= 100:
        raise ConditionError(f"{parameter} must be between 0 and 100, not {value:g}")
    positive = parameter.startswith(("abs_", "epsilon", "rtol", "atol"))
    if positive and value < 0:
        raise ConditionError(f"{parameter} must not be negative, but got {value:g}")


def met(
    name: str, parameters: Mapping[str, Any], found: Statistics, within: float = math.nan
) -> list[Met]:
    """The thresholds of a condition that a tensor's statistics meet.

    Args:
        parameters: as :func:`checked` gives them.
        within: per cent of the elements in the condition's range, where it has one.
    """
    if name.endswith(("_overflow", "_exploding")):
        odd = found.size - found.finite
        return [Met("overflow", 0.0, float(odd))] if odd else []
    hits = []
    for parameter in CONDITIONS[name].thresholds:
        limit = parameters.get(parameter)
        if limit is None:
            continue
        figure, _, how = parameter.rpartition("_")
        if figure == "range_percentage":
            value = within
        elif figure == "abs_mean_update_ratio":
            size = found.before / max(found.size, 1) + parameters["epsilon"]
            value = found.change / max(found.size, 1) / size
        else:
            value = _figure(found, figure)
        if getattr(operator, how)(value, limit):
            hits.append(Met(parameter, limit, value))
    return hits
