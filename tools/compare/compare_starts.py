"""Compare what a step begins with: parameters and buffers, and batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .distance import owner
from .findings import EXACT, FLOOR, JUMP

if TYPE_CHECKING:
    from .compare_step import StepComparison

__all__ = ["compare_starts"]


def compare_starts(step: StepComparison) -> None:
    """The state of the models, then the batches."""
    _state(step)
    _batches(step)


def _state(step: StepComparison) -> None:
    """Whether what the step begins with is what the last one ended with, on both sides or
    none."""
    if step.previous is not None:
        ends = [previous.after for previous in step.previous]
        for name in step.a.before:
            changed = [
                name in each.before
                and name in end
                and each.before[name].digest != end[name].digest
                for each, end in zip((step.a, step.b), ends, strict=True)
            ]
            path = owner(name, step.model)
            if changed[0] != changed[1]:
                note = f"changed between the steps under {step.names[changed[1]]} only"
                step.differs("update", "value", name, path, note=note, cause=EXACT)
                break
            a, b = step.a.before[name], step.b.before.get(name)
            if b is None or not all(changed):
                continue
            apart = step.distance(a, b) * step.distance.coarseness(a)
            if apart > max(step.strict, JUMP * max(_drift_behind(step, name), FLOOR)):
                note = "after what changed it between the steps"
                step.differs("update", "value", name, path, apart, note, EXACT)
                break
    for name, a in step.a.before.items():
        b = step.b.before.get(name)
        if b is not None:
            step.drift[name] = step.distance(a, b)


def _drift_behind(step: StepComparison, name: str) -> float:
    """How far what a value was made from between two steps was apart: of another model's copy
    of a parameter (`Label#1.module.` before its name) both, else everything."""
    assert step.previous is not None
    ends = [previous.after for previous in step.previous]
    both = ends[0].keys() & ends[1].keys()
    copied = {each for each in both & step.a.gradients.keys() if name.endswith(f".{each}")}
    used = copied | {name} if copied else both
    return max(step.distance(ends[0][each], ends[1][each]) for each in used)


def _batches(step: StepComparison) -> None:
    first, second = step.a.batches, step.b.batches
    if len(first) != len(second):
        note = f"{len(first)} against {len(second)}"
        step.differs("data", "number of batches", "", "", note=note, cause=EXACT)
    reported = False
    for at, (a, b) in enumerate(zip(first, second, strict=False)):
        value = step.distance.of_groups(a, b)
        step.result.batches.add(value, [x.digest for x in a] == [x.digest for x in b])
        if value > step.strict and not reported:
            reported = True
            step.differs("data", "batch", f"number {at + 1}", "", value, "", EXACT)
