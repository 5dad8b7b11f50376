"""Compare one step of two records: `StepComparison`, which does so in the order of events.

What differs is judged where it can be. `EXACT`: other arguments, other random numbers, an input
that comes from elsewhere. `REAL`: an event that gives something else for the same input
(`rerun_event`), or a difference far larger than everything it was made from. The rest follows from
an earlier real difference, or is rounding, or is left open while events have not been run again.
"""

import math
from collections.abc import Sequence
from typing import Any

from .align import Pair, Wiring, align, timeline
from .compare_gradients import compare_gradients
from .compare_starts import compare_starts
from .compare_updates import compare_updates
from .distance import SIXTEEN_BITS, Distance, owner, shapes_note
from .event_rows import event_rows
from .findings import (
    EXACT,
    FLOOR,
    FOLLOWS,
    JUMP,
    MODE,
    NEAR,
    OPEN,
    REAL,
    ROUNDING,
    Agreement,
    Difference,
    EventRow,
    RowsLeftOut,
    tolerance_at,
)
from .record_format import Event, Rerun, Step
from .statistics import number_difference

__all__ = ["StepComparison"]

SEQUENTIAL = ("module", "Sequential")
MOST_KEPT = 500


class StepComparison:
    """One step of both sides; fills `result` and the public statistics.

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
        self.was_rerun = any(event.reruns for event in self.b.events)
        recorded = [x for event in self.a.events for x in (*event.inputs, *event.outputs)]
        if recorded:  # else a second optimizer's step, after the same backward pass
            distance.rough = max(SIXTEEN_BITS.get(x.dtype, 0.0) for x in recorded)
        self.outputs: dict[int, float] = {}
        self.inputs: dict[int, float] = {}
        self.blamed: set[int] = set()
        self.rows: list[EventRow] = []
        self.rows_left_out = RowsLeftOut()
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
        evidence: Sequence[Rerun] = (),
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
        return ROUNDING if self.was_rerun else OPEN

    # -- in the order of events ------------------------------------------------------------------

    def run(self) -> None:
        pairing = align(self.a.events, self.b.events)
        self.pairs = pairing.pairs
        self._within = _descendants(self.pairs)
        self._training_modes()
        compare_starts(self)
        self._events(pairing.parting)
        compare_gradients(self)
        compare_updates(self)
        if self.a.full and self.b.full:
            self.rows = event_rows(self)

    def _training_modes(self) -> None:
        """Whether models are in training mode in both runs or in none: told before what follows
        from it, such as other running means when the next step begins."""
        for pair in self.pairs:
            a, b = pair.first, pair.second
            outer = self.a.events[a.parent].trained if a.parent >= 0 else None
            if a.kind == "module" and a.trained != b.trained and outer != a.trained:
                missing = "eval()" if a.trained < b.trained else "train()"
                note = f"{self._mode_note(a, b)}: no {missing} there?"
                self.differs(a.phase, MODE, a.label, a.path, note=note, cause=EXACT, pair=(a, b))
                return

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
        inner = any(each.first.draws for each in self.within(pair))
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
        evidence = [x for x in b.reruns if x.part.startswith("output") and self.weighs(x, a)]
        inner = self.within(pair)
        innocent = not any(each.number in self.blamed for each in inner)
        notes = [shapes_note(x, y) for x, y in zip(a.outputs, b.outputs, strict=False)]
        note = next((each for each in notes if each), "")
        if evidence and innocent:
            self.blamed.add(pair.number)
            note = note or self._mode_note(a, b) or self.evidence_note(evidence)
            self.differs(a.phase, "output", a.label, a.path, value, note, REAL, (a, b), evidence)
        elif value > self.strict:
            given = self.inputs[pair.number]
            inside = max((self.outputs[each.number] for each in inner), default=0.0)
            base = max(given, inside, self._state_drift(a.path) if a.kind == "module" else 0.0)
            cause = self.explained(value, base)
            if self.was_rerun and not b.reruns and innocent and cause == ROUNDING:
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

    def weighs(self, rerun: Rerun, event: Event) -> bool:
        """Whether a rerun shows a difference that is real, and one to speak of."""
        dtype = next((x for x in event.outputs), None)
        coarse = self.distance.coarseness(dtype) if dtype is not None else 1.0
        return rerun.real and rerun.apart * coarse > self.strict

    def _mode_note(self, a: Event, b: Event) -> str:
        if a.trained == b.trained:
            return ""
        return f"in training mode under {self.names[b.trained]} only"

    def evidence_note(self, evidence: Sequence[Rerun]) -> str:
        worst = max(evidence, key=lambda each: each.apart)
        text = f"run again on {self.names[0]}'s input it still differs by {worst.apart:.1e}"
        if worst.first is not None and worst.second is not None:
            text += f"; in float64 {self.names[1]}'s call is {worst.first:.1e} from that"
            text += f" and {worst.second:.1e} from its own result"
        return text

    def within(self, pair: Pair) -> list[Pair]:
        """The events that happened within a module's call."""
        return self._within.get(pair.first.index, []) if pair.first.kind == "module" else []


def _descendants(pairs: Sequence[Pair]) -> dict[int, list[Pair]]:
    """For each event, by its index on the first side, those within it."""
    parents = {pair.first.index: pair.first.parent for pair in pairs}
    found: dict[int, list[Pair]] = {}
    for pair in pairs:
        parent = pair.first.parent
        while parent >= 0:
            found.setdefault(parent, []).append(pair)
            parent = parents.get(parent, -1)
    return found


def alike(a: Any, b: Any, allowed: float) -> bool:
    """Whether two calls' arguments are the same; numbers with a point may differ by rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return number_difference(a, b) <= allowed
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(alike(x, y, allowed) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[x], b[x], allowed) for x in a)
    return bool(a == b)
