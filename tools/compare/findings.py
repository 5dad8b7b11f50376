"""What a comparison finds: differences, in order, each with its phase and what is known of its
cause."""

import math
from dataclasses import dataclass, field

from .record_format import Event, Rerun
from .statistics import Spread, number_difference

__all__ = [
    "ACCURACY",
    "ENDINGS",
    "EXACT",
    "FLOOR",
    "FOLLOWS",
    "JUMP",
    "MODE",
    "NEAR",
    "OPEN",
    "PHASES",
    "REAL",
    "ROUNDING",
    "SETTINGS",
    "STEPS",
    "Agreement",
    "Count",
    "Difference",
    "EventRow",
    "RowsLeftOut",
    "StepRow",
    "tolerance_at",
]

PHASES = ("start", "data", "forward", "loss", "backward", "update")

EXACT, REAL, FOLLOWS, ROUNDING, OPEN = "exact", "real", "follows", "rounding", "open"

JUMP = 300  # how much larger than all before it a difference is no rounding's
NEAR = 30  # the same, where what it is made from is known
FLOOR = 1e-6

# What is of a whole run and of no step: looking closer at one tells nothing of it.
STEPS, ACCURACY, SETTINGS = "number of steps", "printed accuracy", "settings of the layer"
ENDINGS = (STEPS, ACCURACY, SETTINGS)

MODE = "mode"  # training or evaluation, of a call


@dataclass
class Difference:
    """One thing in which the sides differ: `what` of `name`, by `value` (relative).

    `path` is the module it belongs to. `cause` is one of: exact (the sides did different things: no
    rounding explains it), real (this layer gives something else for the same input), follows (from
    what differs before), rounding, open (not looked into).
    """

    phase: str
    what: str
    name: str
    path: str
    step: int
    value: float = math.nan
    note: str = ""
    cause: str = OPEN
    first: Event | None = None
    second: Event | None = None
    evidence: list[Rerun] = field(default_factory=list)

    @property
    def without_note(self) -> str:
        """What differs, where and by how much."""
        where = f"{self.what} of {self.name}" if self.name else self.what
        size = "" if math.isnan(self.value) else f" by {self.value:.1e}"
        return f"{where} at step {self.step + 1}{size}"

    def __str__(self) -> str:
        return f"{self.without_note} ({self.note})" if self.note else self.without_note

    @property
    def is_real(self) -> bool:
        return self.cause in (EXACT, REAL)


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
class EventRow:
    """The differences of one event in the step recorded in full."""

    label: str
    path: str
    kind: str
    name: str
    phase: str
    description: str
    output: float
    gradient: float | None
    parameters: float | None = None
    choices: int = 0
    cause: str = ""
    bits: bool = False
    output_spread: Spread | None = None
    gradient_spread: Spread | None = None


@dataclass
class RowsLeftOut:
    """The calls of a step that a table does not show, by kind, and the largest difference in
    them."""

    modules: int = 0
    functions: int = 0
    largest: float = 0.0

    def __str__(self) -> str:
        kinds = ((self.modules, "modules"), (self.functions, "functions"))
        parts = [f"{count} calls of {kind}" for count, kind in kinds if count]
        if not parts:
            return ""
        size = f"their largest difference is {self.largest:.1e}" if self.largest else "they agree"
        return f"left out: {' and '.join(parts)}; {size}"


@dataclass
class StepRow:
    """One step: the losses and gradient norms of both sides, the largest differences, the times."""

    number: int
    epoch: int
    losses: list[tuple[float, float]]
    norms: tuple[float, float] | None
    output: float
    gradient: float
    update: float
    seconds: tuple[float | None, float | None]
    events: int


@dataclass
class Agreement:
    """Everything the report shows. `differences` is in order of occurrence."""

    tolerance: float
    full_step: int = 0
    differences: list[Difference] = field(default_factory=list)
    parameters: Count = field(default_factory=Count)
    buffers: Count = field(default_factory=Count)
    batches: Count = field(default_factory=Count)
    masks: Count = field(default_factory=Count)
    generators: Count = field(default_factory=Count)
    updates: Count = field(default_factory=Count)
    final: Count = field(default_factory=Count)
    rows: list[EventRow] = field(default_factory=list)
    steps: list[StepRow] = field(default_factory=list)
    accuracies: tuple[float, float] | None = None
    rows_left_out: RowsLeftOut = field(default_factory=RowsLeftOut)
    rerun_count: int = 0
    rerun_failures: list[str] = field(default_factory=list)
    calls_left_out: int = 0

    @property
    def losses(self) -> list[tuple[float, float, int]]:
        """(first, second, epoch) of every loss."""
        return [(a, b, step.epoch) for step in self.steps for a, b in step.losses]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was seen that could differ."""
        called = any(row.kind == "module" or row.phase != "data" for row in self.rows)
        seen = (self.parameters.total, called, self.losses, self.accuracies)
        return not (any(seen) or self.differences)

    @property
    def largest_loss_difference(self) -> float:
        return max((number_difference(a, b) for a, b, _ in self.losses), default=0.0)

    @property
    def real(self) -> list[Difference]:
        """What no rounding explains."""
        return [each for each in self.differences if each.is_real]


def tolerance_at(step: int, tolerance: float) -> float:
    """What is allowed in a step: a tenth in the first, where nothing has had time to grow."""
    return tolerance / 10 if step == 0 else tolerance
