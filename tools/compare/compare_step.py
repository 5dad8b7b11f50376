"""Compare one step of two records: `StepComparison`.

What differs is judged where it can be. `EXACT`: other arguments, other random numbers, an input
that comes from elsewhere. `REAL`: an event that gives something else for the same input
(`replay`), or a difference far larger than everything it was made from. The rest follows from an
earlier real difference, or is rounding, or is left open while events have not been run again.
"""

import math
from collections.abc import Sequence
from typing import Any

from .align import Pair, Wiring, align, timeline
from .compare_updates import compare_updates
from .distance import SIXTEEN_BITS, Distance, module_scales, owner, shapes_note
from .findings import (
    EXACT,
    FOLLOWS,
    OPEN,
    REAL,
    ROUNDING,
    Agreement,
    Difference,
    EventRow,
    tolerance_at,
)
from .record_format import Event, Recorded, Replay, Step
from .statistics import number_difference

__all__ = ["StepComparison"]

JUMP = 300  # how much larger than all before it a difference is no rounding's
NEAR = 30  # the same, where what it is made from is known
FLOOR = 1e-6
SEQUENTIAL = ("module", "Sequential")
MOST_KEPT = 500
MOST_ROWS = 600


class StepComparison:
    """One step of both sides; fills `result` and the public figures.

    Args:
        steps: the step on both sides.
        names: what the sides are called.
        distance: how far records are apart.
        result: where differences and counts go.
        drift: for each parameter and buffer, how far the sides' values are apart; kept between
        steps. noise: for each parameter the most that its gradients were ever apart; kept between
        steps. previous: the step before on both sides.
        model: the first model's name.
    """

    def __init__(
        self,
        steps: tuple[Step, Step],
        names: tuple[str, str],
        distance: Distance,
        result: Agreement,
        drift: dict[str, float],
        noise: dict[str, float],
        previous: tuple[Step, Step] | None,
        model: str,
    ) -> None:
        self.a, self.b = steps
        self.names = names
        self.distance = distance
        self.result = result
        self.drift = drift
        self.noise = noise
        self.previous = previous
        self.model = model
        self.number = self.a.number
        self.strict = tolerance_at(self.number, result.tolerance)
        self.replayed = any(event.replays for event in self.b.events)
        recorded = [x for event in self.a.events for x in (*event.inputs, *event.outputs)]
        if recorded:  # else a second optimizer's step, after the same backward pass
            distance.rough = max(SIXTEEN_BITS.get(x.dtype, 0.0) for x in recorded)
        self.outputs: dict[int, float] = {}
        self.inputs: dict[int, float] = {}
        self.blamed: set[int] = set()
        self.rows: list[EventRow] = []
        self.largest_output = self.largest_gradient = self.largest_update = 0.0

    # -- what is found ---------------------------------------------------------------------------

    def differs(
        self,
        phase: str,
        what: str,
        name: str,
        path: str,
        value: float = math.nan,
        note: str = "",
        cause: str = OPEN,
        pair: tuple[Event | None, Event | None] = (None, None),
        evidence: Sequence[Replay] = (),
    ) -> None:
        if len(self.result.differences) < MOST_KEPT or cause in (EXACT, REAL):
            found = Difference(
                phase, what, name, path, self.number, value, note, cause, *pair, list(evidence)
            )
            self.result.differences.append(found)

    def explained(self, value: float, base: float) -> str:
        """The cause of a difference that was not shown to be real, made from things that are `base`
        apart."""
        if self.result.real or (base > FLOOR and value <= NEAR * base):
            return FOLLOWS
        return ROUNDING if self.replayed else OPEN

    # -- in the order of events ------------------------------------------------------------------

    def run(self) -> None:
        self._state()
        self._batches()
        pairing = align(self.a.events, self.b.events)
        self.pairs = pairing.pairs
        self._events(pairing.parting)
        self._losses()
        self._gradients()
        self._parameter_gradients()
        compare_updates(self)
        if self.a.full and self.b.full:
            self._rows()

    def _state(self) -> None:
        """Whether what the step begins with is what the last one ended with, on both sides or
        none."""
        if self.previous is not None:
            ends = [previous.after for previous in self.previous]
            for name in self.a.before:
                changed = [
                    name in step.before
                    and name in end
                    and step.before[name].digest != end[name].digest
                    for step, end in zip((self.a, self.b), ends, strict=True)
                ]
                path = owner(name, self.model)
                if changed[0] != changed[1]:
                    note = f"changed between the steps under {self.names[changed[1]]} only"
                    self.differs("update", "value", name, path, note=note, cause=EXACT)
                    break
                a, b = self.a.before[name], self.b.before.get(name)
                if b is None or not all(changed):
                    continue
                apart = self.distance(a, b) * self.distance.coarseness(a)
                if apart > max(self.strict, JUMP * max(self._drift_behind(name), FLOOR)):
                    note = "after what changed it between the steps"
                    self.differs("update", "value", name, path, apart, note, EXACT)
                    break
        for name, a in self.a.before.items():
            b = self.b.before.get(name)
            if b is not None:
                self.drift[name] = self.distance(a, b)

    def _drift_behind(self, name: str) -> float:
        """How far what a value was made from between two steps was apart: of another model's copy
        of a parameter (`Label#1.module.` before its name) both, else everything."""
        assert self.previous is not None
        ends = [previous.after for previous in self.previous]
        both = ends[0].keys() & ends[1].keys()
        copied = {each for each in both & self.a.gradients.keys() if name.endswith(f".{each}")}
        used = copied | {name} if copied else both
        return max(self.distance(ends[0][each], ends[1][each]) for each in used)

    def _batches(self) -> None:
        first, second = self.a.batches, self.b.batches
        if len(first) != len(second):
            note = f"{len(first)} against {len(second)}"
            self.differs("data", "number of batches", "", "", note=note, cause=EXACT)
        reported = False
        for at, (a, b) in enumerate(zip(first, second, strict=False)):
            value = self.distance.of_groups(a, b)
            self.result.batches.add(value, [x.digest for x in a] == [x.digest for x in b])
            if value > self.strict and not reported:
                reported = True
                self.differs("data", "batch", f"number {at + 1}", "", value, "", EXACT)

    def _events(self, parting: tuple[Event | None, Event | None] | None) -> None:
        wirings = Wiring(self.a), Wiring(self.b)
        told = parting is None
        for pair, ended in timeline(self.pairs):
            if not told and parting is not None and self._is_past(pair, parting):
                told = True
                self._parting(parting)
            if not ended:
                self._changed_values(pair)
                self.inputs[pair.number] = self._inputs(pair, wirings)
                self._arguments(pair)
                continue
            self._draws(pair)
            self._outputs(pair)
            wirings[0].made(pair.number, pair.first.outputs)
            wirings[1].made(pair.number, pair.second.outputs)
        if not told and parting is not None:
            self._parting(parting)

    def _changed_values(self, pair: Pair) -> None:
        """Whether a module's parameters are still as near to each other as when the step began."""
        a, b = pair.first, pair.second
        for name in a.state.keys() & b.state.keys():
            whole = name if a.path == self.model else f"{a.path}.{name}"
            apart = self.distance(a.state[name], b.state[name])
            near = NEAR * max(self.drift.get(whole, 0.0), FLOOR)
            if whole in self.a.gradients and apart > max(near, self.strict):
                self.drift[whole] = apart
                late = self.number or len(self.a.losses) > 1  # L-BFGS: several calls in a step
                path, phase = owner(whole, self.model), "update" if late else "start"
                note = f"before the call of {a.label}, not when the step began"
                self.differs(phase, "value", whole, path, apart, note, EXACT, (a, b))

    @staticmethod
    def _is_past(pair: Pair, parting: tuple[Event | None, Event | None]) -> bool:
        events = (pair.first, pair.second)
        return any(
            x is not None and y.index >= x.index for x, y in zip(parting, events, strict=True)
        )

    def _parting(self, parting: tuple[Event | None, Event | None]) -> None:
        """The sides call different things."""
        a, b = parting
        texts = [f"{x.label} ({x.line or x.name})" if x else "nothing more" for x in parting]
        chosen = self._extra(a, b)
        note = f"{self.names[0]} calls {texts[0]}, {self.names[1]} {texts[1]}"
        path = chosen.path
        if chosen.kind == "module" and not (a is not None and b is not None and a.path == b.path):
            events = self.a.events if chosen is a else self.b.events  # its caller is at fault
            path = events[chosen.parent].path if chosen.parent >= 0 else ""
        self.differs(chosen.phase, "call", chosen.label, path, note=note, cause=EXACT, pair=(a, b))

    def _extra(self, a: Event | None, b: Event | None) -> Event:
        """Which of two calls the other side does not make: it goes on with the other one later."""
        if a is None or b is None:
            found = a or b
            assert found is not None
            return found
        later = any(each.key == a.key for each in self.b.events[b.index :])
        return b if later else a

    def _arguments(self, pair: Pair) -> None:
        a, b = pair.first, pair.second
        if self._is_inner(a):
            return
        caller = self.a.events[a.parent] if a.parent >= 0 else None
        if not alike(a.arguments, b.arguments, self.strict):
            path = a.path if a.kind == "op" else caller.path if caller is not None else ""
            note = f"{a.arguments} against {b.arguments}"[:200]
            self.differs(a.phase, "arguments", a.label, path, note=note, cause=EXACT, pair=(a, b))

    def _is_inner(self, event: Event) -> bool:
        """Whether an event is the call of a module by one of torch's own: what such a module gives
        to its parts, and in what form, is each library's own."""
        caller = self.a.events[event.parent] if event.parent >= 0 else None
        return event.kind == "module" and caller is not None and caller.atomic

    def _inputs(self, pair: Pair, wirings: tuple[Wiring, Wiring]) -> float:
        """How far what an event is given is apart; and whether it is the same thing on both
        sides."""
        a, b = pair.first, pair.second
        value = self.distance.of_groups(a.inputs, b.inputs)
        if value <= self.strict or self._is_inner(a) or (a.kind, a.name) == SEQUENTIAL:
            return value
        for at, (x, y) in enumerate(zip(a.inputs, b.inputs, strict=False)):
            apart = self.distance(x, y) * self.distance.coarseness(x)
            origins = [wiring.of(each) for wiring, each in zip(wirings, (x, y), strict=True)]
            if apart <= self.strict or origins[0] & origins[1]:
                continue
            known = origins[0] | origins[1]
            made = max((self._origin(each) for each in known), default=self.all_before())
            if apart > (NEAR if known else JUMP) * max(made, FLOOR):
                note = self._origin_note(origins)
                caller = self.a.events[a.parent].path if a.parent >= 0 else ""
                path = caller if a.kind == "module" else a.path
                phase, path = ("data", "") if self._is_first_call(pair) else (a.phase, path)
                self.differs(phase, f"input {at}", a.label, path, apart, note, EXACT, (a, b))
                self.blamed.add(pair.number)
                break
        return value

    def _is_first_call(self, pair: Pair) -> bool:
        """Whether this is the first call of a model in the step: what it is given is data."""
        outermost = (
            x for x in self.pairs
            if x.first.kind == "module" and x.first.parent < 0 and x.first.phase == "forward"
        )  # fmt: skip
        return pair is next(outermost, None)

    def _origin(self, origin: Any) -> float:
        """How far the sides' values of what an input comes from are apart."""
        if isinstance(origin, str):
            return 0.0 if origin.startswith("batch ") else self.drift.get(origin, 0.0)
        return self.outputs.get(origin[0], 0.0)

    def all_before(self) -> float:
        batches = self.result.batches.largest
        return max(*self.outputs.values(), *self.drift.values(), batches, 0.0, 0.0)

    def _origin_note(self, origins: list[set[Any]]) -> str:
        for side, other in ((0, 1), (1, 0)):
            for origin in sorted(origins[side] - origins[other], key=str):
                text = origin if isinstance(origin, str) else self.pairs[origin[0]].first.label
                return f"it is what {text} gave under {self.names[side]} only"
        return "made by something that was not recorded"

    def _draws(self, pair: Pair) -> None:
        """Random numbers: drawn by both, from the same state, and dropout keeps the same."""
        a, b = pair.first, pair.second
        inner = any(self._is_inside(each, pair) and each.first.draws for each in self.pairs)
        if inner or not (a.draws or b.draws):
            return
        before = self.previous
        known = before is not None and before[0].generators != before[1].generators
        told = any(x.what.startswith("random") and x.step == self.number
                   for x in self.result.differences)  # fmt: skip
        if not known and not told:
            if a.draws != b.draws:
                side = self.names[0] if a.draws else self.names[1]
                note = f"under {side} only"
                self.differs(
                    a.phase, "random draws", a.label, a.path, note=note, cause=EXACT,
                    pair=(a, b),
                )  # fmt: skip
            elif a.generator != b.generator:
                self.differs(
                    a.phase, "random state before", a.label, a.path, cause=EXACT, pair=(a, b)
                )
        if a.mask and b.mask:
            self.result.masks.add(float(a.mask != b.mask), a.mask == b.mask)

    def _outputs(self, pair: Pair) -> None:
        a, b = pair.first, pair.second
        value = self.outputs[pair.number] = self.distance.of_groups(a.outputs, b.outputs)
        if math.isfinite(value):
            self.largest_output = max(self.largest_output, value)
        evidence = [x for x in b.replays if x.part.startswith("output") and self._weighs(x, a)]
        inner = [each for each in self.pairs if self._is_inside(each, pair)]
        innocent = not any(each.number in self.blamed for each in inner)
        notes = [shapes_note(x, y) for x, y in zip(a.outputs, b.outputs, strict=False)]
        note = next((each for each in notes if each), "")
        if evidence and innocent:
            self.blamed.add(pair.number)
            note = note or self._mode_note(a, b) or self._evidence_note(evidence)
            self.differs(a.phase, "output", a.label, a.path, value, note, REAL, (a, b), evidence)
        elif value > self.strict:
            given = self.inputs[pair.number]
            inside = max((self.outputs[each.number] for each in inner), default=0.0)
            base = max(given, inside, self._state_drift(a.path) if a.kind == "module" else 0.0)
            cause = self.explained(value, base)
            if self.replayed and not b.replays and innocent and cause == ROUNDING:
                if value > JUMP * max(base, FLOOR):
                    cause = REAL
                    self.blamed.add(pair.number)
            alike_input = f"its input differs by {given:.1e} already"
            note = note or ("its input agrees" if given <= self.strict else alike_input)
            self.differs(a.phase, "output", a.label, a.path, value, note, cause, (a, b))

    def _state_drift(self, path: str) -> float:
        """How far the parameters and buffers of a module and its parts are apart."""
        if not path or path == self.model:
            return max(self.drift.values(), default=0.0)
        return max(
            (x for name, x in self.drift.items() if name.startswith(f"{path}.")), default=0.0
        )

    def _weighs(self, replay: Replay, event: Event) -> bool:
        """Whether a replay shows a difference that is real, and one to speak of."""
        dtype = next((x for x in event.outputs), None)
        coarse = self.distance.coarseness(dtype) if dtype is not None else 1.0
        return replay.real and replay.apart * coarse > self.strict

    def _mode_note(self, a: Event, b: Event) -> str:
        if a.trained == b.trained:
            return ""
        return f"in training mode under {self.names[b.trained]} only"

    def _evidence_note(self, evidence: Sequence[Replay]) -> str:
        worst = max(evidence, key=lambda each: each.apart)
        text = f"run again on {self.names[0]}'s input it still differs by {worst.apart:.1e}"
        if worst.first is not None and worst.second is not None:
            text += f"; in float64 {self.names[1]}'s call is {worst.first:.1e} from that"
            text += f" and {worst.second:.1e} from its own result"
        return text

    def _is_inside(self, inner: Pair, outer: Pair) -> bool:
        """Whether an event happened within another's call."""
        if outer.first.kind != "module" or inner.number <= outer.number:
            return False
        return inner.first.index in self._descendants().get(outer.first.index, ())

    def _descendants(self) -> dict[int, set[int]]:
        """For each module's event the indices of those within it."""
        if not hasattr(self, "_inside"):
            parents = {pair.first.index: pair.first.parent for pair in self.pairs}
            found: dict[int, set[int]] = {}
            for index in parents:
                parent = parents[index]
                while parent >= 0:
                    found.setdefault(parent, set()).add(index)
                    parent = parents.get(parent, -1)
            self._inside = found
        return self._inside

    # -- loss and backward -----------------------------------------------------------------------

    def _losses(self) -> None:
        first, second = self.a.losses, self.b.losses
        if len(first) != len(second):
            note = f"{len(first)} against {len(second)}"
            self.differs("loss", "number of losses", "", "", note=note, cause=EXACT)
        for a, b in zip(first, second, strict=False):
            value = number_difference(a, b)
            if self.distance.rough:
                value *= 1e-5 / (4 * self.distance.rough)
            if value > self.strict:
                cause = self.explained(value, self.all_before())
                if cause == ROUNDING and value > JUMP * max(self.all_before(), FLOOR):
                    cause = REAL
                self.differs("loss", "loss", "", "", value, f"{a:.8g} against {b:.8g}", cause)

    def _gradients(self) -> None:
        """Gradients with respect to what the events gave, from the last to the first."""
        later = self.largest_output
        for pair in reversed(self.pairs):
            a, b = pair.first, pair.second
            evidence = [x for x in b.replays
                        if not x.part.startswith("output") and self._weighs(x, a)]  # fmt: skip
            inner = (each for each in self.pairs if self._is_inside(each, pair))
            innocent = not any(each.number in self.blamed for each in inner)
            if evidence and innocent and pair.number not in self.blamed:
                self.blamed.add(pair.number)
                worst = max(evidence, key=lambda each: each.apart)
                note = f"{worst.part}: {self._evidence_note(evidence)}"
                self.differs(
                    "backward", "backward pass", a.label, a.path, worst.apart, note, REAL, (a, b),
                    evidence,
                )  # fmt: skip
            value = self.distance.of_groups(a.gradients, b.gradients)
            if value > self.strict and not self.distance.choices(
                a.gradients, b.gradients, self.strict
            ):
                cause = self.explained(value, later)
                if cause == ROUNDING and value > JUMP * max(later, FLOOR):
                    turned = later and self.distance.flips(a.gradients, b.gradients, self.strict)
                    cause = ROUNDING if turned else REAL
                self.differs(
                    "backward", "gradient of the output", a.label, a.path, value, "", cause, (a, b)
                )
            # Where a gradient cancels out, a call's own rounding is large beside what is left.
            rounded = [x.apart for x in b.replays if not (x.real or x.part.startswith("output"))]
            later = max(later, *filter(math.isfinite, rounded), 0.0)
            if math.isfinite(value):
                later = max(later, value)
                self.largest_gradient = max(self.largest_gradient, value)

    def _parameter_gradients(self) -> None:
        first, second = self.a.gradients, self.b.gradients
        scales = module_scales(first)
        for name in reversed(list(dict.fromkeys([*first, *second]))):
            a, b, path = first.get(name), second.get(name), owner(name, self.model)
            if a is None or b is None:
                note = f"{self.names[0] if a else self.names[1]} only"
                self.differs("backward", "gradient", name, path, note=note, cause=EXACT)
                continue
            before = self.previous or ()
            if before and all(
                name in step.gradients and step.gradients[name].digest == now.digest
                for step, now in zip(before, (a, b), strict=True)
            ):
                continue  # judged in the step that made it
            value = self.gradient_distance(name, a, b, scales)
            own = self.distance(a, b) if value else 0.0
            self.noise[name] = max(self.noise.get(name, 0.0), own)
            if value > self.strict:
                nearby = self._around(path)
                cause = self.explained(value, nearby)
                if self.a.full and self.b.full and value > NEAR * max(nearby, FLOOR):
                    cause = REAL if cause != FOLLOWS else cause
                self.differs("backward", "gradient", name, path, value, shapes_note(a, b), cause)

    def gradient_distance(
        self, name: str, a: Recorded, b: Recorded, scales: dict[str, float]
    ) -> float:
        scale = scales[name.rpartition(".")[0]]
        if not (a.stored and b.stored):  # an estimate is of norms
            scale *= math.sqrt(max(1, math.prod(a.shape)))
        return self.distance(a, b, scale) * self.distance.coarseness(a)

    def _around(self, path: str) -> float:
        """How far what goes into a module's gradients is apart; of one whose parameters another
        uses (the projection within attention), what goes into that one's."""
        largest = 0.0
        called = {pair.first.path for pair in self.pairs}
        while path not in called and "." in path:
            path = path.rpartition(".")[0]
        if path not in called:  # of a compiled model only the whole is called
            path = self.model
        for pair in self.pairs:
            if pair.first.path == path:
                gradients = (pair.first.gradients, pair.second.gradients)
                values = (self.distance.of_groups(*gradients), self.outputs[pair.number])
                largest = max(largest, self.inputs[pair.number], *values)
        return largest

    def norms(self) -> tuple[float, float] | None:
        """The norms of all gradients of both sides."""
        if not self.a.gradients or not self.b.gradients:
            return None
        first, second = (
            math.sqrt(sum(each.norm**2 for each in step.gradients.values()))
            for step in (self.a, self.b)
        )
        return first, second

    # -- rows ------------------------------------------------------------------------------------

    def _rows(self) -> None:
        """One row for each event, in the order in which calls begin."""
        scales = module_scales(self.a.gradients)
        parameters: dict[str, float] = {}
        for name, a in self.a.gradients.items():
            b, path = self.b.gradients.get(name), owner(name, self.model)
            if b is not None:
                value = self.gradient_distance(name, a, b, scales)
                parameters[path] = max(parameters.get(path, 0.0), value)
        for pair in self.pairs[:MOST_ROWS]:
            one, two = pair.first, pair.second
            gradients = [x for x in (*one.gradients, *two.gradients) if x is not None]
            apart = self.distance.of_groups(one.gradients, two.gradients) if gradients else None
            choices = 0
            if apart is not None and apart > self.strict:
                choices = self.distance.choices(one.gradients, two.gradients, self.strict)
            row = EventRow(
                label=one.label,
                path=one.path,
                kind=one.kind,
                name=one.name,
                phase=one.phase,
                description=one.description or str(one.arguments or ""),
                output=self.outputs[pair.number],
                gradient=apart,
                parameters=parameters.get(one.path) if one.kind == "module" else None,
                choices=choices,
                bits=[x.digest for x in one.outputs] == [x.digest for x in two.outputs],
                cause=REAL if pair.number in self.blamed else "",
            )
            if one.outputs and two.outputs:
                row.output_spread = self.distance.spread(one.outputs[0], two.outputs[0])
                row.gradient_spread = self.distance.spread(one.gradients[0], two.gradients[0])
            self.rows.append(row)


def alike(a: Any, b: Any, allowed: float) -> bool:
    """Whether two calls' arguments are the same; numbers with a point may differ by rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return number_difference(a, b) <= allowed
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y, allowed) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[x], b[x], allowed) for x in a)
    return bool(a == b)
