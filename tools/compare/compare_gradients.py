"""Compare a step's losses, and the gradients of what its calls gave and of the parameters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .distance import module_scales, owner, shapes_note
from .findings import EXACT, FLOOR, FOLLOWS, JUMP, NEAR, REAL, ROUNDING
from .record_format import Recorded
from .statistics import number_difference

if TYPE_CHECKING:
    from .compare_step import StepComparison

__all__ = ["compare_gradients", "gradient_distance", "norms"]


def compare_gradients(step: StepComparison) -> None:
    """Losses, gradients of what calls gave, from the last to the first, and of parameters."""
    _losses(step)
    _carried(step)
    _gradients(step)
    _parameter_gradients(step)


def _carried(step: StepComparison) -> None:
    """Whether a backward pass adds to gradients that are there in one run only."""
    a, b = step.a.carried, step.b.carried
    if bool(a) != bool(b):
        name, run = a or b, step.names[not a]
        note = f"{name} has a gradient under {run} only: no zero_grad() there?"
        what = "gradients before the backward pass"
        step.differs("backward", what, "", owner(name, step.model), note=note, cause=EXACT)


def _losses(step: StepComparison) -> None:
    first, second = step.a.losses, step.b.losses
    if len(first) != len(second):
        note = f"{len(first)} against {len(second)}"
        step.differs("loss", "number of losses", "", "", note=note, cause=EXACT)
    for a, b in zip(first, second, strict=False):
        value = number_difference(a, b)
        if step.distance.rough:
            value *= 1e-5 / (4 * step.distance.rough)
        if value > step.strict:
            cause = step.explained(value, step.all_before())
            if cause == ROUNDING and value > JUMP * max(step.all_before(), FLOOR):
                cause = REAL
            step.differs("loss", "loss", "", "", value, f"{a:.8g} against {b:.8g}", cause)


def _gradients(step: StepComparison) -> None:
    """Gradients with respect to what the events gave, from the last to the first."""
    later = step.largest_output
    for pair in reversed(step.pairs):
        a, b = pair.first, pair.second
        evidence = [x for x in b.reruns
                    if not x.part.startswith("output") and step.weighs(x, a)]  # fmt: skip
        innocent = not any(each.number in step.blamed for each in step.within(pair))
        if evidence and innocent and pair.number not in step.blamed:
            step.blamed.add(pair.number)
            worst = max(evidence, key=lambda each: each.apart)
            note = f"{worst.part}: {step.evidence_note(evidence)}"
            step.differs(
                "backward", "backward pass", a.label, a.path, worst.apart, note, REAL, (a, b),
                evidence,
            )  # fmt: skip
        value = step.distance.of_groups(a.gradients, b.gradients)
        if value > step.strict and not step.distance.choices(
            a.gradients, b.gradients, step.strict
        ):
            cause = step.explained(value, later)
            if cause == ROUNDING and value > JUMP * max(later, FLOOR):
                turned = later and step.distance.flips(a.gradients, b.gradients, step.strict)
                cause = ROUNDING if turned else REAL
            step.differs(
                "backward", "gradient of the output", a.label, a.path, value, "", cause, (a, b)
            )
        # Where a gradient cancels out, a call's own rounding is large beside what is left.
        rounded = [x.apart for x in b.reruns if not (x.real or x.part.startswith("output"))]
        later = max(later, *filter(math.isfinite, rounded), 0.0)
        if math.isfinite(value):
            later = max(later, value)
            step.largest_gradient = max(step.largest_gradient, value)


def _parameter_gradients(step: StepComparison) -> None:
    first, second = step.a.gradients, step.b.gradients
    scales = module_scales(first)
    for name in reversed(list(dict.fromkeys([*first, *second]))):
        a, b, path = first.get(name), second.get(name), owner(name, step.model)
        if a is None or b is None:
            note = f"{step.names[0] if a else step.names[1]} only"
            step.differs("backward", "gradient", name, path, note=note, cause=EXACT)
            continue
        before = step.previous or ()
        if before and all(
            name in each.gradients and each.gradients[name].digest == now.digest
            for each, now in zip(before, (a, b), strict=True)
        ):
            continue  # judged in the step that made it
        value = gradient_distance(step, name, a, b, scales)
        own = step.distance(a, b) if value else 0.0
        step.noise[name] = max(step.noise.get(name, 0.0), own)
        if value > step.strict:
            nearby = _around(step, path)
            cause = step.explained(value, nearby)
            if step.a.full and step.b.full and value > NEAR * max(nearby, FLOOR):
                cause = REAL if cause != FOLLOWS else cause
            step.differs("backward", "gradient", name, path, value, shapes_note(a, b), cause)


def gradient_distance(
    step: StepComparison, name: str, a: Recorded, b: Recorded, scales: dict[str, float]
) -> float:
    """How far a parameter's gradients are apart, beside what its module has."""
    scale = scales[name.rpartition(".")[0]]
    if not (a.stored and b.stored):  # an estimate is of norms
        scale *= math.sqrt(max(1, math.prod(a.shape)))
    return step.distance(a, b, scale) * step.distance.coarseness(a)


def _around(step: StepComparison, path: str) -> float:
    """How far what goes into a module's gradients is apart; of one whose parameters another
    uses (the projection within attention), what goes into that one's."""
    largest = 0.0
    called = {pair.first.path for pair in step.pairs}
    while path not in called and "." in path:
        path = path.rpartition(".")[0]
    if path not in called:  # of a compiled model only the whole is called
        path = step.model
    for pair in step.pairs:
        if pair.first.path == path:
            gradients = (pair.first.gradients, pair.second.gradients)
            values = (step.distance.of_groups(*gradients), step.outputs[pair.number])
            largest = max(largest, step.inputs[pair.number], *values)
    return largest


def norms(step: StepComparison) -> tuple[float, float] | None:
    """The norms of all gradients of both sides."""
    if not step.a.gradients or not step.b.gradients:
        return None
    first, second = (
        math.sqrt(sum(x.norm**2 for x in each.gradients.values()))
        for each in (step.a, step.b)
    )
    return first, second
