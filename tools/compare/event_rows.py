"""The table of a step's events: how far what each of them gave is apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .compare_gradients import gradient_distance
from .distance import module_scales, owner
from .findings import REAL, EventRow

if TYPE_CHECKING:
    from .compare_step import StepComparison

__all__ = ["event_rows"]
MOST_ROWS = 600


def event_rows(step: StepComparison) -> list[EventRow]:
    """One row for each event, in the order in which calls begin."""
    scales = module_scales(step.a.gradients)
    parameters: dict[str, float] = {}
    rows = []
    for name, a in step.a.gradients.items():
        b, path = step.b.gradients.get(name), owner(name, step.model)
        if b is not None:
            value = gradient_distance(step, name, a, b, scales)
            parameters[path] = max(parameters.get(path, 0.0), value)
    for pair in step.pairs[:MOST_ROWS]:
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
