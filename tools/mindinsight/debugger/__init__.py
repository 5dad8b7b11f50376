"""MindInsight's debugger over dumps: tensors of a run that has ended, and watchpoints on them."""

from .analyzer import DumpAnalyzer
from .conditions import (
    ConditionBase,
    OperatorOverflowCondition,
    TensorAllZeroCondition,
    TensorChangeAboveThresholdCondition,
    TensorChangeBelowThresholdCondition,
    TensorOverflowCondition,
    TensorRangeCondition,
    TensorTooLargeCondition,
    TensorTooSmallCondition,
    TensorUnchangedCondition,
)
from .nodes import DebuggerTensor, Node
from .watchpoints import Watchpoint, WatchpointHit

__all__ = [
    "ConditionBase",
    "DebuggerTensor",
    "DumpAnalyzer",
    "Node",
    "OperatorOverflowCondition",
    "TensorAllZeroCondition",
    "TensorChangeAboveThresholdCondition",
    "TensorChangeBelowThresholdCondition",
    "TensorOverflowCondition",
    "TensorRangeCondition",
    "TensorTooLargeCondition",
    "TensorTooSmallCondition",
    "TensorUnchangedCondition",
    "Watchpoint",
    "WatchpointHit",
]
