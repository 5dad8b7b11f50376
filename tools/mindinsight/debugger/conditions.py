"""Conditions of MindInsight's offline API; the debugger's own conditions compute them."""

from __future__ import annotations

from typing import Any, ClassVar

from ...debugger.conditions import checked

__all__ = [
    "ConditionBase",
    "OperatorOverflowCondition",
    "TensorAllZeroCondition",
    "TensorChangeAboveThresholdCondition",
    "TensorChangeBelowThresholdCondition",
    "TensorOverflowCondition",
    "TensorRangeCondition",
    "TensorTooLargeCondition",
    "TensorTooSmallCondition",
    "TensorUnchangedCondition",
]


class ConditionBase:
    """A condition with its thresholds; a subclass names what is looked for.

    Attributes:
        online: the condition of the debugger that computes it.
    """

    online: ClassVar[str] = ""
    _name: ClassVar[str] = ""
    _number: ClassVar[int] = 0

    def __init__(self, **given: Any) -> None:
        chosen = {x: y for x, y in given.items() if y is not None}
        self._given = chosen
        self._names = list(given)
        self.parameters = checked(self.online, chosen)

    @property
    def name(self) -> str:
        """MindInsight's name of the condition."""
        return self._name

    @property
    def condition_id(self) -> int:
        """MindInsight's number of the condition."""
        return self._number

    @property
    def param_names(self) -> list[str]:
        """The names of all parameters."""
        return list(self._names)

    @property
    def param_dict(self) -> dict[str, Any]:
        """The parameters that were set."""
        return dict(self._given)

    def __str__(self) -> str:
        return str(self.param_dict)


class TensorTooLargeCondition(ConditionBase):
    """A figure of a tensor is above a limit; at least one limit is needed.

    Args:
        abs_mean_gt, max_gt, min_gt, mean_gt: limits of mean |element|, greatest, least and mean.
    """

    online, _name, _number = "tensor_too_large", "TensorTooLarge", 15

    def __init__(
        self, abs_mean_gt: float | None = None, max_gt: float | None = None,
        min_gt: float | None = None, mean_gt: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(abs_mean_gt=abs_mean_gt, max_gt=max_gt, min_gt=min_gt, mean_gt=mean_gt)


class TensorTooSmallCondition(ConditionBase):
    """A figure of a tensor is below a limit; at least one limit is needed.

    Args:
        abs_mean_lt, max_lt, min_lt, mean_lt: limits of mean |element|, greatest, least and mean.
    """

    online, _name, _number = "tensor_too_small", "TensorTooSmall", 16

    def __init__(
        self, abs_mean_lt: float | None = None, max_lt: float | None = None,
        min_lt: float | None = None, mean_lt: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(abs_mean_lt=abs_mean_lt, max_lt=max_lt, min_lt=min_lt, mean_lt=mean_lt)


class TensorRangeCondition(ConditionBase):
    """The share of a tensor's elements within a range, or greatest - least.

    Args:
        range_start_inclusive, range_end_inclusive: the range.
        range_percentage_lt, range_percentage_gt: limits of the share, in per cent.
        max_min_lt, max_min_gt: limits of greatest - least.
    """

    online, _name, _number = "tensor_range", "TensorRange", 21

    def __init__(
        self, range_start_inclusive: float | None = None, range_end_inclusive: float | None = None,
        range_percentage_lt: float | None = None, range_percentage_gt: float | None = None,
        max_min_lt: float | None = None, max_min_gt: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            range_start_inclusive=range_start_inclusive, range_end_inclusive=range_end_inclusive,
            range_percentage_lt=range_percentage_lt, range_percentage_gt=range_percentage_gt,
            max_min_lt=max_min_lt, max_min_gt=max_min_gt,
        )  # fmt: skip


class TensorOverflowCondition(ConditionBase):
    """A tensor has NaN or infinite elements."""

    online, _name, _number = "tensor_overflow", "TensorOverflow", 13

    def __init__(self) -> None:
        super().__init__()


class OperatorOverflowCondition(ConditionBase):
    """A tensor has NaN or infinite elements, and none of its node's inputs has."""

    online, _name, _number = "operator_overflow", "OperatorOverflow", 2

    def __init__(self) -> None:
        super().__init__()


class TensorAllZeroCondition(ConditionBase):
    """So many per cent of a tensor's elements are zero.

    Args:
        zero_percentage_ge: how many at least.
    """

    online, _name, _number = "tensor_all_zero", "TensorAllZero", 17

    def __init__(self, zero_percentage_ge: float) -> None:
        super().__init__(zero_percentage_ge=zero_percentage_ge)


class TensorUnchangedCondition(ConditionBase):
    """Every element is within atol + rtol |before| of the iteration before.

    Args:
        rtol, atol: how far apart elements may be.
    """

    online, _name, _number = "tensor_unchanged", "TensorUnchanged", 20

    def __init__(self, rtol: float = 1e-5, atol: float = 1e-8) -> None:
        super().__init__(rtol=rtol, atol=atol)


class TensorChangeBelowThresholdCondition(ConditionBase):
    """mean |change| / (mean |before| + epsilon) is below a limit.

    Args:
        abs_mean_update_ratio_lt: the limit.
        epsilon: see above.
    """

    online, _name, _number = "tensor_change_too_small", "TensorChangeBelowThreshold", 19

    def __init__(self, abs_mean_update_ratio_lt: float, epsilon: float = 1e-9) -> None:
        super().__init__(abs_mean_update_ratio_lt=abs_mean_update_ratio_lt, epsilon=epsilon)


class TensorChangeAboveThresholdCondition(ConditionBase):
    """mean |change| / (mean |before| + epsilon) is above a limit.

    Args:
        abs_mean_update_ratio_gt: the limit.
        epsilon: see above.
    """

    online, _name, _number = "tensor_change_too_large", "TensorChangeAboveThreshold", 18

    def __init__(self, abs_mean_update_ratio_gt: float, epsilon: float = 1e-9) -> None:
        super().__init__(abs_mean_update_ratio_gt=abs_mean_update_ratio_gt, epsilon=epsilon)
