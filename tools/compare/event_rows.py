"""The table of a step's events: how far what each of them gave is apart.

Of a step of many calls those are chosen that say most: what is at fault, then calls of modules,
then functions called in them, then functions that the script calls elsewhere (to prepare data,
say); of one kind those that differ most. They stay in the order in which calls begin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .compare_gradients import gradient_distance
from .distance import module_scales, owner
from .findings import REAL, EventRow, RowsLeftOut

if TYPE_CHECKING:
    from .align import Pair
    from .compare_step import StepComparison

__all__ = ["chosen", "event_rows", "weight"]

MOST_ROWS = 600
OUTSIDE = 3  # the weight of a function that no model calls
MOST_MODULES = 2000  # the module tree is to be whole

T = TypeVar("T")


def weight(kind: str, path: str, phase: str, at_fault: bool) -> int:
    """How much a call says: the smaller the more."""
    if at_fault:
        return 0
    if kind == "module":
        return 1
    return 2 if path or phase != "data" else OUTSIDE


def chosen(rows: Sequence[T], most: int, rank: Callable[[T], Any]) -> list[T]:
    """The `most` rows of the smallest rank, in their own order."""
    if len(rows) <= most:
        return list(rows)
    places = sorted(range(len(rows)), key=lambda place: rank(rows[place]))
    return [rows[place] for place in sorted(places[:most])]


def _chosen_pairs(step: StepComparison) -> list[Pair]:
    def rank(pair: Pair) -> Any:
        event = pair.first
        gradients = step.distance.of_groups(event.gradients, pair.second.gradients)
        size = max(step.outputs[pair.number], gradients)
        return weight(event.kind, event.path, event.phase, pair.number in step.blamed), -size

    modules = sum(pair.first.kind == "module" for pair in step.pairs)
    return chosen(step.pairs, max(MOST_ROWS, min(modules, MOST_MODULES)), rank)


def _left_out(step: StepComparison, shown: Sequence[Pair]) -> RowsLeftOut:
    numbers = {pair.number for pair in shown}
    others = [pair for pair in step.pairs if pair.number not in numbers]
    modules = sum(pair.first.kind == "module" for pair in others)
    largest = max((step.outputs[pair.number] for pair in others), default=0.0)
    return RowsLeftOut(modules, len(others) - modules, largest)


def event_rows(step: StepComparison) -> list[EventRow]:
    """A row for each event, or for those that say most, in the order in which calls begin."""
    scales = module_scales(step.a.gradients)
    parameters: dict[str, float] = {}
    rows = []
    for name, a in step.a.gradients.items():
        b, path = step.b.gradients.get(name), owner(name, step.model)
        if b is not None:
            value = gradient_distance(step, name, a, b, scales)
            parameters[path] = max(parameters.get(path, 0.0), value)
    pairs = _chosen_pairs(step)
    step.rows_left_out = _left_out(step, pairs)
    for pair in pairs:
        one, two = pair.first, pair.second
        gradients = [x for x in (*one.gradients, *two.gradients) if x is not None]
        apart = step.distance.of_groups(one.gradients, two.gradients) if gradients else None
        choices = 0
        if apart is not None and apart > step.strict:
            choices = step.distance.choices(one.gradients, two.gradients, step.strict)
        row = EventRow(
            label=one.label,
            path=one.path,
            kind=one.kind,
            name=one.name,
            phase=one.phase,
            description=one.description or str(one.arguments or ""),
            output=step.outputs[pair.number],
            gradient=apart,
            parameters=parameters.get(one.path) if one.kind == "module" else None,
            choices=choices,
            bits=[x.digest for x in one.outputs] == [x.digest for x in two.outputs],
            cause=REAL if pair.number in step.blamed else "",
        )
        if one.outputs and two.outputs:
            row.output_spread = step.distance.spread(one.outputs[0], two.outputs[0])
            row.gradient_spread = step.distance.spread(one.gradients[0], two.gradients[0])
        rows.append(row)
    return rows
