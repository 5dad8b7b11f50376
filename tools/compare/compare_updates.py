"""Compare what the optimizer made of a step's parameters, and what became of the buffers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .distance import SIXTEEN_BITS, owner
from .findings import EXACT, FOLLOWS, REAL
from .record_format import Recorded
from .statistics import number_difference, relative_difference, sketch_of
from .tensor_probe import plain

if TYPE_CHECKING:
    from .compare_step import StepComparison

__all__ = ["compare_updates"]

LATER = 0.02  # the share of an update that may differ once the optimizer has a history
NEAR = 300
FLOOR = 1e-7
FEW = 1e-6  # a few roundings of float32


def compare_updates(step: StepComparison) -> None:
    """Settings, parameters, then buffers."""
    _settings(step)
    for name, a in step.a.after.items():
        b, before = step.b.after.get(name), step.a.before.get(name)
        if b is None or before is None:
            continue
        if name in step.a.gradients:
            _parameter(step, name, a, b)
        else:
            _buffer(step, name, a, b)


def _settings(step: StepComparison) -> None:
    """The optimizer's options, where both sides have them."""
    first, second = step.a.optimizer, step.b.optimizer
    if first is None or second is None:
        return
    if first.name != second.name or len(first.groups) != len(second.groups):
        note = f"{len(first.groups)} groups against {second.name}, {len(second.groups)}"
        step.differs("update", "optimizer", first.name, "", note=note, cause=EXACT)
        return
    for at, (a, b) in enumerate(zip(first.groups, second.groups, strict=True)):
        for name in a.keys() & b.keys():
            if not _same(a[name], b[name]):
                note = f"{name} is {plain(a[name])} against {plain(b[name])}"
                note += f" in group {at}" if len(first.groups) > 1 else ""
                step.differs("update", "settings", first.name, "", note=note, cause=EXACT)
        moved = sorted(set(first.parameters[at]) ^ set(second.parameters[at]))
        if moved:
            owner = step.names[moved[0] not in first.parameters[at]]
            more = f" and {len(moved) - 1} more" if len(moved) > 1 else ""
            note = f"{moved[0]} is in group {at} under {owner} only{more}"
            step.differs("update", "groups", first.name, "", note=note, cause=EXACT)


def _same(a: object, b: object) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    numbers = [isinstance(x, (int, float)) and not isinstance(x, bool) for x in (a, b)]
    if all(numbers):
        return number_difference(float(a), float(b)) <= 1e-6  # type: ignore[arg-type]
    # Options that only one library has a use for may have another way of being off.
    return a == b or (not a and not b)


def _parameter(step: StepComparison, name: str, a: Recorded, b: Recorded) -> None:
    value = _update_difference(step, name, a, b)
    step.result.updates.add(value, a.digest == b.digest)
    step.largest_update = max(step.largest_update, value if math.isfinite(value) else 0.0)
    allowed = step.strict if step.number == 0 else max(step.strict, LATER)
    rough = max(step.distance.rough, SIXTEEN_BITS.get(a.dtype, 0.0))
    allowed = max(allowed, 4 * rough, LATER if rough else 0.0)
    if value <= allowed:
        return
    # An optimizer with a history has kept what was noise in earlier gradients.
    noise = step.noise.get(name, 0.0) if step.number else 0.0
    cause = step.explained(value, noise)
    exact = step.a.full and step.b.full and a.stored and b.stored
    if exact and cause != FOLLOWS:
        cause = REAL
    step.differs("update", "optimizer step", name, owner(name, step.model), value, "", cause)


def _update_difference(step: StepComparison, name: str, a: Recorded, b: Recorded) -> float:
    """The difference of two updates beside their size, less one rounding of the value.

    Elements whose gradients are not alike are left out: what Adam makes of a gradient that is
    nothing but rounding has its whole step size.
    """
    before, other = step.a.before[name], step.b.before.get(name)
    if other is None or a.shape != b.shape or a.dtype != b.dtype:
        return math.inf
    if a.digest == b.digest and before.digest == other.digest:
        return 0.0
    records = (a, before), (b, other)
    if not all(each.stored for pair in records for each in pair):
        return _estimate(records)
    readers = step.distance.first, step.distance.second
    updates = []
    for reader, (after, start) in zip(readers, records, strict=True):
        updates.append(reader[after].astype(np.float64) - reader[start].astype(np.float64))
    size = float(np.abs(updates[0]).max(initial=0))
    rounding = SIXTEEN_BITS.get(a.dtype, 2.0**-24) * 4 * a.largest
    apart = np.maximum(np.abs(updates[0] - updates[1]) - rounding, 0)
    apart = np.where(_alike_gradients(step, name, a.shape), apart, 0)
    if not size:
        return relative_difference(updates[0], updates[1]) if apart.any() else 0.0
    if step.number == 0:
        return float(apart.max(initial=0)) / size
    return float(np.linalg.norm(apart) / np.linalg.norm(updates[0]))


def _alike_gradients(step: StepComparison, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Where the gradients of a parameter agree, element by element."""
    a, b = step.a.gradients.get(name), step.b.gradients.get(name)
    if a is None or b is None or not (a.stored and b.stored and a.shape == b.shape == shape):
        return np.ones(shape, bool)
    first, second = step.distance.first[a], step.distance.second[b]
    share = max(step.strict, 4 * SIXTEEN_BITS.get(a.dtype, 0.0)) if step.number == 0 else 1e-3
    return np.asarray(np.abs(first - second) <= share * np.abs(first))


def _estimate(records: tuple[tuple[Recorded, Recorded], tuple[Recorded, Recorded]]) -> float:
    """The same from sketches, which are sums: those of an update are differences of two."""
    updates = [sketch_of(after.sketch) - sketch_of(start.sketch) for after, start in records]
    size = float(np.linalg.norm(updates[0]))
    rounding = 2.0**-20 * records[0][0].norm  # what is left of a sketch's digits
    apart = max(0.0, float(np.linalg.norm(updates[0] - updates[1])) - rounding)
    return apart / size if size else (math.inf if apart else 0.0)


def _buffer(step: StepComparison, name: str, a: Recorded, b: Recorded) -> None:
    value, path = step.distance(a, b) * step.distance.coarseness(a), owner(name, step.model)
    if step.number == 0:
        step.result.buffers.add(value, a.digest == b.digest)
    if value <= step.strict:
        return
    calls = [pair for pair in step.pairs if pair.first.path == path]
    inputs = [x.largest for pair in calls for x in pair.first.inputs]
    # The mean of what a layer before has centred is nothing but rounding of its values.
    if "float" in a.dtype and value * max(a.largest, b.largest) <= FEW * max(inputs, default=0.0):
        return
    # Of a call that was not seen, in a compiled model, the inputs may come from anything.
    given = max((step.inputs[pair.number] for pair in calls), default=step.all_before())
    nearby = max(given, step.drift.get(name, 0.0), FLOOR)
    cause = step.explained(value, nearby)
    if value > NEAR * nearby and cause != FOLLOWS:
        cause = REAL
    step.differs("update", "buffer after the step", name, path, value, "", cause)
