"""Where two records of the same script differ.

Everything is looked at in the order in which it happened, so that the first difference found is
the first there was: starting parameters, batches, dropout masks, the outputs of the layers in the
order of their calls, the loss, the gradients backwards through the layers, the parameters'
gradients, what the optimizer made of them; then the losses of the later steps.

Two arrays are close when the greatest difference of their elements is small beside the greatest
magnitude in them (`relative_difference`), not beside each element: an element that is zero but for
rounding is nothing to compare with.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .records import ArrayReader, LayerCall, Mask, Record, Recorded

__all__ = ["Agreement", "Difference", "LayerRow", "Side", "compare_sides", "find_accuracies"]

# One rounding to a 16-bit dtype; differences of a few of them say nothing.
ROUNDING = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
ACCURACY_TOLERANCE = 0.005

# Where two values tie, max pooling sends the gradient to one or the other, by their last bits. That
# many of the elements (and their sum unchanged) are taken for such choices.
CHOICES = 1e-3


@dataclass
class Side:
    """One run: its record, its arrays, what it printed."""

    name: str
    record: Record
    arrays: ArrayReader
    output: str


@dataclass(frozen=True)
class Difference:
    """One thing in which the sides differ: `what` of `name`, by `value` (relative)."""

    what: str
    name: str
    step: int
    value: float
    note: str = ""
    layer: LayerCall | None = None
    other: LayerCall | None = None

    def __str__(self) -> str:
        where = f"{self.what} of {self.name}" if self.name else self.what
        size = "" if math.isnan(self.value) else f" by {self.value:.1e}"
        note = f" ({self.note})" if self.note else ""
        return f"{where} at step {self.step + 1}{size}{note}"


@dataclass
class LayerRow:
    """The largest relative differences of one layer in the step recorded in detail."""

    name: str
    kind: str
    output: float
    gradient: float | None
    parameters: float | None
    choices: int = 0


@dataclass
class Count:
    """How many of a kind were looked at, how many had the same bits, and the largest difference."""

    equal: int = 0
    total: int = 0
    largest: float = 0.0

    def add(self, difference: float, equal: bool) -> None:
        self.total += 1
        self.equal += equal
        self.largest = max(self.largest, difference)


@dataclass
class Agreement:
    """Everything the report shows. `differences` is in order of occurrence."""

    tolerance: float
    detail_step: int
    differences: list[Difference] = field(default_factory=list)
    parameters: Count = field(default_factory=Count)
    buffers: Count = field(default_factory=Count)
    batches: Count = field(default_factory=Count)
    masks: Count = field(default_factory=Count)
    generators: Count = field(default_factory=Count)
    updates: Count = field(default_factory=Count)
    final: Count = field(default_factory=Count)
    layers: list[LayerRow] = field(default_factory=list)
    losses: list[tuple[float, float, int]] = field(default_factory=list)
    accuracies: tuple[float, float] | None = None
    seconds: tuple[float, float] | None = None

    @property
    def strict(self) -> float:
        """The tolerance of the first step, where nothing has had time to grow."""
        return self.tolerance / 10 if self.detail_step == 0 else self.tolerance

    @property
    def is_empty(self) -> bool:
        """Whether nothing was seen that could differ."""
        seen = (self.parameters.total, self.layers, self.losses, self.accuracies)
        return not (any(seen) or self.differences)

    @property
    def largest_loss_difference(self) -> float:
        return max((number_difference(a, b) for a, b, _ in self.losses), default=0.0)


def number_difference(a: float, b: float) -> float:
    """|a - b| beside the greater magnitude. Two NaN agree, and two infinities of one sign."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b))


def relative_difference(a: np.ndarray, b: np.ndarray, scale: float = 0.0) -> float:
    """max |a - b| beside the greatest of max |a|, max |b| and `scale`; infinite across shapes.

    Elements that are not finite must be the same on both sides.
    """
    if a.shape != b.shape:
        return math.inf
    if a.size == 0:
        return 0.0
    wide = np.complex128 if np.iscomplexobj(a) or np.iscomplexobj(b) else np.float64
    a, b = a.astype(wide), b.astype(wide)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return math.inf
    a, b = a[finite], b[finite]
    greatest = float(np.abs(a - b).max(initial=0))
    if greatest == 0:
        return 0.0
    return greatest / max(scale, float(np.abs(a).max()), float(np.abs(b).max()))


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
    """Fills an `Agreement` from two sides."""

    def __init__(self, first: Side, second: Side, tolerance: float) -> None:
        self.first, self.second = first, second
        self.a, self.b = first.record, second.record
        self.result = Agreement(tolerance, self.a.detail_step)

    def differs(self, *args: Any, **kwargs: Any) -> None:
        self.result.differences.append(Difference(*args, **kwargs))

    def difference(self, a: Recorded, b: Recorded, scale: float = 0.0) -> float:
        """How far two recorded arrays are apart; from their figures where values were not kept."""
        if a.digest == b.digest:
            return 0.0
        if a.shape != b.shape or a.dtype != b.dtype:
            return math.inf
        if a.stored and b.stored:
            return relative_difference(self.first.arrays[a], self.second.arrays[b], scale)
        return max(number_difference(a.largest, b.largest), number_difference(a.mean, b.mean))

    def allowed(self, recorded: Recorded) -> float:
        return max(self.result.strict, 4 * ROUNDING.get(recorded.dtype, 0.0))

    def named(
        self,
        what: str,
        first: dict[str, Recorded],
        second: dict[str, Recorded],
        count: Count,
        backwards: bool = False,
    ) -> None:
        """Compare arrays that have names."""
        scales = module_scales(first)
        names = list(dict.fromkeys([*first, *second]))
        for name in reversed(names) if backwards else names:
            a, b = first.get(name), second.get(name)
            if a is None or b is None:
                self.differs(what, name, self.a.detail_step, math.nan, self.only_one(a))
                continue
            value = self.difference(a, b, scales[name.rpartition(".")[0]])
            count.add(value, a.digest == b.digest)
            if value > self.allowed(a):
                self.differs(what, name, self.a.detail_step, value, shapes_note(a, b))

    def only_one(self, a: object | None) -> str:
        side = self.first if a is not None else self.second
        return f"{side.name} only"

    # -- in the order of events ------------------------------------------------------------------

    def run(self) -> Agreement:
        step = self.a.detail_step
        self.named("starting value", self.a.parameters, self.b.parameters, self.result.parameters)
        self.named("starting buffer", self.a.buffers, self.b.buffers, self.result.buffers)
        self.compare_batches()
        self.compare_masks(lambda at: at <= step)
        pairs = list(self.layer_pairs())
        self.compare_outputs(pairs)
        self.compare_losses(lambda at: at <= step)
        self.compare_gradients(pairs)
        self.compare_updates()
        self.layer_rows(pairs)
        self.compare_masks(lambda at: at > step)
        self.compare_losses(lambda at: at > step)
        self.compare_endings()
        return self.result

    def compare_batches(self) -> None:
        if len(self.a.batches) != len(self.b.batches):
            note = f"{len(self.a.batches)} against {len(self.b.batches)}"
            self.differs("number of batches", "", 0, math.nan, note)
        reported = False
        for index, (first, second) in enumerate(zip(self.a.batches, self.b.batches, strict=False)):
            value = math.inf
            if len(first) == len(second):
                parts = [self.difference(a, b) for a, b in zip(first, second, strict=True)]
                value = max(parts, default=0.0)
            self.result.batches.add(value, [a.digest for a in first] == [b.digest for b in second])
            if value > self.result.strict and not reported:
                reported = True
                self.differs("batch", f"number {index + 1}", 0, value, "counted over all loaders")

    def compare_masks(self, chosen: Any) -> None:
        masks = [[each for each in x.masks if chosen(each.step)] for x in (self.a, self.b)]
        if len(masks[0]) != len(masks[1]):
            note = f"{len(masks[0])} against {len(masks[1])}"
            self.differs("number of dropout masks", "", self.a.detail_step, math.nan, note)
        reported = False
        for first, second in zip(*masks, strict=False):
            changed = self.mask_difference(first, second)
            self.result.masks.add(changed, changed == 0)
            if changed and not reported:
                reported = True
                self.differs("dropout mask", first.name, first.step, changed)

    def mask_difference(self, a: Mask, b: Mask) -> float:
        """The share of elements which one side kept and the other did not."""
        if a.shape != b.shape:
            return math.inf
        first, second = self.first.arrays, self.second.arrays
        known = first[a.known] & second[b.known]
        wrong = (first[a.keep] ^ second[b.keep]) & known
        return float(np.bitwise_count(wrong).sum() / max(1, np.bitwise_count(known).sum()))

    def layer_pairs(self) -> Iterator[tuple[LayerCall, LayerCall]]:
        """The calls that both sides made, as long as they made the same."""
        for a, b in zip(self.a.layers, self.b.layers, strict=False):
            if (a.name, a.call) != (b.name, b.call):
                note = f"{self.second.name} calls {b.name} in its place"
                self.differs("call", a.name, self.a.detail_step, math.nan, note, a, b)
                return
            yield a, b
        shared = min(len(self.a.layers), len(self.b.layers))
        for side, rest in ((self.a, self.a.layers[shared:]), (self.b, self.b.layers[shared:])):
            if rest:
                note = f"{(self.first if side is self.a else self.second).name} only"
                self.differs("call", rest[0].name, self.a.detail_step, math.nan, note, rest[0])

    def group_difference(
        self, first: Sequence[Recorded | None], second: Sequence[Recorded | None]
    ) -> float:
        """The largest difference of two groups, in units of what each may have."""
        if len(first) != len(second):
            return math.inf
        largest = 0.0
        for a, b in zip(first, second, strict=True):
            if (a is None) != (b is None):
                return math.inf
            if a is not None and b is not None:
                slack = self.result.strict / self.allowed(a)
                largest = max(largest, self.difference(a, b) * slack)
        return largest

    def compare_outputs(self, pairs: Iterable[tuple[LayerCall, LayerCall]]) -> None:
        for a, b in pairs:
            value = self.group_difference(a.outputs, b.outputs)
            if value > self.result.strict:
                given = self.group_difference(a.inputs, b.inputs)
                alike = given <= self.result.strict
                note = "its input agrees" if alike else f"its input differs by {given:.1e} already"
                self.differs("output", a.name, self.a.detail_step, value, note, a, b)

    def compare_gradients(self, pairs: Sequence[tuple[LayerCall, LayerCall]]) -> None:
        for a, b in reversed(pairs):
            value = self.group_difference(a.gradients, b.gradients)
            if value > self.result.strict and not self.choices(a, b):
                self.differs("gradient of the output", a.name, self.a.detail_step, value, "", a, b)
        first, second = self.a.parameter_gradients, self.b.parameter_gradients
        self.named("gradient", first, second, Count(), backwards=True)

    def choices(self, a: LayerCall, b: LayerCall) -> int:
        """In how many elements the gradients differ, if that is by choices between equals; else 0.

        Few elements, and the sum of the gradient as it was: it only went to others.
        """
        found = 0
        for first, second in zip(a.gradients, b.gradients, strict=True):
            if first is None or second is None or not (first.stored and second.stored):
                return 0
            if first.shape != second.shape:
                return 0
            x, y = self.first.arrays[first], self.second.arrays[second]
            apart = np.abs(x.astype(np.float64) - y)
            count = int((apart > self.allowed(first) * first.largest).sum())
            moved = abs(float((x.astype(np.float64) - y).sum()))
            if count > CHOICES * x.size or moved > self.allowed(first) * float(np.abs(x).sum()):
                return 0
            found += count
        return found

    def compare_updates(self) -> None:
        """What the optimizer did, beside the largest change it made to any parameter's module."""
        for name, a in self.a.updated.items():
            b, before = self.b.updated.get(name), self.a.parameters.get(name)
            if b is None or before is None:
                self.differs("updated value", name, self.a.detail_step, math.nan, "one side only")
                continue
            value = self.update_difference(name, a, b, before)
            self.result.updates.add(value, a.digest == b.digest)
            if value > self.allowed(a):
                self.differs("optimizer step", name, self.a.detail_step, value)
        buffers = (self.a.updated_buffers, self.b.updated_buffers)
        self.named("buffer after the step", *buffers, self.result.buffers)

    def update_difference(self, name: str, a: Recorded, b: Recorded, before: Recorded) -> float:
        """The difference of two updates beside their size, less one rounding of the value.

        Elements whose gradients are not alike are left out: what Adam makes of a gradient that is
        nothing but rounding has its whole step size.
        """
        if a.digest == b.digest:
            return 0.0
        if not (a.stored and b.stored and before.stored and a.shape == b.shape == before.shape):
            return self.difference(a, b)
        first, second = (
            side.arrays[x].astype(np.float64) for side, x in ((self.first, a), (self.second, b))
        )
        start = self.first.arrays[before].astype(np.float64)
        size = float(np.abs(first - start).max())
        rounding = ROUNDING.get(a.dtype, 2.0**-24) * 2 * a.largest
        apart = float(np.abs(first - second)[self.alike_gradients(name, a.shape)].max(initial=0))
        return max(0.0, apart - rounding) / size if size else relative_difference(first, second)

    def alike_gradients(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        """Where the gradients of a parameter agree, element by element."""
        a, b = self.a.parameter_gradients.get(name), self.b.parameter_gradients.get(name)
        if a is None or b is None or not (a.stored and b.stored and a.shape == b.shape == shape):
            return np.ones(shape, bool)
        first, second = self.first.arrays[a], self.second.arrays[b]
        return np.asarray(np.abs(first - second) <= self.allowed(a) * np.abs(first))

    def layer_rows(self, pairs: Iterable[tuple[LayerCall, LayerCall]]) -> None:
        """One row for each layer, over all its calls."""
        rows: dict[str, LayerRow] = {}
        for a, b in pairs:
            row = rows.setdefault(a.name, LayerRow(a.name, a.kind, 0.0, None, None))
            row.output = max(row.output, self.group_difference(a.outputs, b.outputs))
            if any(each is not None for each in (*a.gradients, *b.gradients)):
                value = self.group_difference(a.gradients, b.gradients)
                row.gradient = max(row.gradient or 0.0, value)
                row.choices += self.choices(a, b) if value > self.result.strict else 0
        scales = module_scales(self.a.parameter_gradients)
        for name, a_gradient in self.a.parameter_gradients.items():
            module = name.rpartition(".")[0] or self.a.model
            b_gradient = self.b.parameter_gradients.get(name)
            if module in rows and b_gradient is not None:
                value = self.difference(a_gradient, b_gradient, scales[name.rpartition(".")[0]])
                rows[module].parameters = max(rows[module].parameters or 0.0, value)
        self.result.layers = list(rows.values())

    def compare_losses(self, chosen: Any) -> None:
        """Losses and the generator's state, step by step."""
        lost = False
        for at, (a, b) in enumerate(zip(self.a.steps, self.b.steps, strict=False)):
            if not chosen(at):
                continue
            same = a.generator == b.generator
            self.result.generators.add(0.0 if same else math.inf, same)
            if len(a.losses) != len(b.losses):
                note = f"{len(a.losses)} against {len(b.losses)}"
                self.differs("number of losses", "", at, math.nan, note)
            allowed = self.result.strict if at == 0 else self.result.tolerance
            for first, second in zip(a.losses, b.losses, strict=False):
                self.result.losses.append((first, second, a.epoch))
                value = number_difference(first, second)
                if value > allowed:
                    self.differs("loss", "", at, value, f"{first:.8g} against {second:.8g}")
            if not same and not lost:
                lost = True
                self.differs("state of the random generator", "", at, math.nan)

    def compare_endings(self) -> None:
        if len(self.a.steps) != len(self.b.steps):
            note = f"{len(self.a.steps)} against {len(self.b.steps)}"
            shared = min(len(self.a.steps), len(self.b.steps))
            self.differs("number of steps", "", shared, math.nan, note)
        for name, a in self.a.final.items():
            if name in self.b.final:
                b = self.b.final[name]
                self.result.final.add(self.difference(a, b), a.digest == b.digest)
        last = max(0, len(self.a.steps) - 1)
        accuracies = [find_accuracies(side.output) for side in (self.first, self.second)]
        if all(accuracies):
            a_last, b_last = accuracies[0][-1], accuracies[1][-1]
            self.result.accuracies = (a_last, b_last)
            value = number_difference(a_last, b_last)
            if value > ACCURACY_TOLERANCE:
                self.differs("printed accuracy", "", last, value, f"{a_last:g} against {b_last:g}")
        times = [[x.seconds for x in record.steps if x.seconds] for record in (self.a, self.b)]
        if all(times):
            self.result.seconds = (float(np.median(times[0])), float(np.median(times[1])))


def module_scales(arrays: dict[str, Recorded]) -> dict[str, float]:
    """For each module the greatest magnitude in its arrays: a bias whose exact gradient is zero
    (before a batch norm, say) holds nothing but rounding and is measured by its weight's."""
    scales: dict[str, float] = {}
    for name, recorded in arrays.items():
        module = name.rpartition(".")[0]
        largest = recorded.largest if math.isfinite(recorded.largest) else 0.0
        scales[module] = max(scales.get(module, 0.0), largest)
    return scales


def shapes_note(a: Recorded, b: Recorded) -> str:
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}"
    return ""


def compare_sides(first: Side, second: Side, tolerance: float) -> Agreement:
    """Compare two runs of one script; `first` is the one that is right by definition."""
    return _Comparison(first, second, tolerance).run()
