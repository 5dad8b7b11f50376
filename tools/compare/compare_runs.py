"""Compare two records of one script, step by step, in the order in which things happened.

Within a step: starting values, batches, the calls with what they are given and what they make of
it, the losses, the gradients backwards through the calls, the parameters' gradients, what the
optimizer made of them. Two arrays are close when the greatest difference of their elements is
small beside the greatest magnitude in them.
"""

import math
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from .compare_gradients import norms
from .compare_step import StepComparison
from .distance import Distance, Side, owner
from .findings import (
    ACCURACY,
    EXACT,
    FLOOR,
    FOLLOWS,
    JUMP,
    STEPS,
    Agreement,
    Difference,
    StepRow,
    tolerance_at,
)
from .record_format import LEFT, Step
from .statistics import number_difference

__all__ = ["compare_sides", "find_accuracies"]

ACCURACY_TOLERANCE = 0.005


def find_accuracies(output: str) -> list[float]:
    """The last number of each printed line that speaks of accuracy; a per cent sign divides."""
    found = []
    for line in output.splitlines():
        # The number that belongs to the word stands behind it, or, with none there, before it.
        match = re.search(r"acc", line, re.IGNORECASE)
        if match:
            parts = (line[match.start() :], line[: match.start()])
            numbers = [re.findall(r"(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(%?)", x) for x in parts]
            for value, per_cent in (numbers[0] or numbers[1])[-1:]:
                found.append(float(value) / (100 if per_cent else 1))
    return found


class _Comparison:
    """Fills an `Agreement` from two sides and the steps of both."""

    def __init__(self, sides: tuple[Side, Side], tolerance: float) -> None:
        self.first, self.second = sides
        self.a, self.b = self.first.record, self.second.record
        self.distance = Distance(self.first.arrays, self.second.arrays)
        self.result = Agreement(tolerance)
        self.drift: dict[str, float] = {}
        self.noise: dict[str, float] = {}
        self.previous: tuple[Step, Step] | None = None
        self.same_generators = True

    def differs(self, *args: Any, **kwargs: Any) -> None:
        self.result.differences.append(Difference(*args, **kwargs))

    def run(self, steps: Iterator[tuple[Step | None, Step | None]]) -> Agreement:
        count = 0
        self._starts(0)
        for first, second in steps:
            if first is None or second is None:
                break
            if count:
                self._starts(count)
            self._step(first, second)
            count += 1
        self._starts(count, math.inf)
        self._endings(count)
        return self.result

    def _starts(self, number: int, last: float = 0) -> None:
        """Starting parameters and buffers of the models that are first called in step `number`, up
        to step `last`."""
        rows = self.result.steps
        before = max((x for row in rows for x in (row.output, row.gradient, row.update)), default=0)
        allowed = tolerance_at(number, self.result.tolerance)
        for what, first, second, count in (
            ("starting value", self.a.parameters, self.b.parameters, self.result.parameters),
            ("starting buffer", self.a.buffers, self.b.buffers, self.result.buffers),
        ):
            names = self.first.name, self.second.name
            for name in dict.fromkeys([*first, *second]):
                a, b = first.get(name), second.get(name)
                path = owner(name, self.a.model)
                late = self.a.late.get(name, self.b.late.get(name, 0))
                if not number <= late <= max(number, last):
                    continue
                if a is None or b is None:
                    only = f"{(self.first if a else self.second).name} only"
                    self.differs("start", what, name, path, number, note=only, cause=EXACT)
                    continue
                value = self.distance(a, b)
                count.add(value, a.digest == b.digest)
                if value > allowed:
                    note = self.distance.how_apart(a, b, names)
                    made = number and (self.result.real or value <= JUMP * max(before, FLOOR))
                    cause = FOLLOWS if made else EXACT
                    self.differs("start", what, name, path, number, value, note, cause)

    def _step(self, first: Step, second: Step) -> None:
        names = (self.first.name, self.second.name)
        compared = StepComparison(
            (first, second),
            names,
            self.distance,
            self.result,
            self.drift,
            self.noise,
            self.previous,
            self.a.model,
        )
        compared.run()
        result, same = self.result, first.generators == second.generators
        result.generators.add(0.0 if same else math.inf, same)
        if not same and self.same_generators:
            others = [
                x for x in first.generators if first.generators[x] != second.generators.get(x)
            ]
            what = f"state of the random generator{'s' if len(others) > 1 else ''}"
            note = "of " + ", ".join(others)
            self.differs("update", what, "", "", first.number, note=note, cause=EXACT)
        self.same_generators = same
        result.steps.append(
            StepRow(
                number=first.number,
                epoch=first.epoch,
                losses=list(zip(first.losses, second.losses, strict=False)),
                norms=norms(compared),
                output=compared.largest_output,
                gradient=compared.largest_gradient,
                update=compared.largest_update,
                seconds=(first.seconds, second.seconds),
                events=len(first.events),
            )
        )
        result.calls_left_out += max(first.events_left_out, second.events_left_out)
        if first.full and second.full:
            result.full_step = first.number
            result.rows = compared.rows
            result.rows_left_out = compared.rows_left_out
            result.rerun_count = sum(bool(event.reruns) for event in second.events)
            failures = [f"{x.label}: {x.rerun_failure}" for x in second.events if x.rerun_failure]
            result.rerun_failures = failures
        self.previous = (first, second)

    def _endings(self, count: int) -> None:
        ended = {self.a.status, self.b.status} <= {"finished", LEFT}
        if self.a.steps != self.b.steps and ended:
            note = f"{self.a.steps} against {self.b.steps}"
            self.differs("update", STEPS, "", "", count, note=note, cause=EXACT)
        for name, a in self.a.final.items():
            if name in self.b.final:
                b = self.b.final[name]
                self.result.final.add(self.distance(a, b), a.digest == b.digest)
        accuracies = [find_accuracies(side.output) for side in (self.first, self.second)]
        if all(accuracies):
            a_last, b_last = accuracies[0][-1], accuracies[1][-1]
            self.result.accuracies = (a_last, b_last)
            value = number_difference(a_last, b_last)
            if value > ACCURACY_TOLERANCE:
                note = f"{a_last:g} against {b_last:g}"
                self.differs("loss", ACCURACY, "", "", max(0, count - 1), value, note)


def compare_sides(
    sides: tuple[Side, Side], steps: tuple[Iterator[Step], Iterator[Step]], tolerance: float
) -> Agreement:
    """Compare two runs of one script; the first is the one that is right by definition."""
    return _Comparison(sides, tolerance).run(zip_longest(*steps))
