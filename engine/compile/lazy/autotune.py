"""Whether a script's ops wait: what does not repeat, or is faster op by op, runs op by op.

Bookkeeping costs more than small ops do, and how much a compiled partition saves depends on sizes,
threads and kernels. So it is measured. Scripts return to the same sync points: an
optimizer's step, a look at data, a model's call in a loop that looks at nothing. What it does from
one of them to the next is a region; some of its visits are timed with ops that wait, as many with
ops that run at once, and the faster way goes on. Later both are tried again.
"""

from __future__ import annotations

from time import process_time
from typing import Any

from .trace_tree import PATIENCE, TraceTree

# measured visits in each way (TIMED), after warm-up visits (FIRST) in which kernels are compiled
TIMED, FIRST = 8, 4
# visits until both ways are tried again: so many at first, twice as many each time, and four times
# as many again where one way took much longer
SPAN, LONGEST, MUCH = 64, 1 << 16, 1.25
# after so many rests at most a script that does not repeat is not looked at again
MOST_TIMES_DISABLED = 12
# so many regions are known
MOST_REGIONS = 1024
# what is saved has to be such a part, and more seconds than changing the way takes
PART, LEAST = 0.05, 3e-6


class Region:
    """What a script does from one place to the next.

    Attributes:
        remaining: so many visits go on as they are.
        trials: the ways of the next visits, each with whether it is timed; the last comes first.
        way: whether ops wait; None where it makes no difference.
    """

    __slots__ = ("remaining", "span", "times", "trials", "way")

    def __init__(self) -> None:
        self.remaining = 0
        self.span = SPAN
        self.way: bool | None = True
        self.times: dict[bool, list[float]] = {True: [], False: []}
        self.trials: list[tuple[bool, bool]] = []
        self._try(True)

    def _try(self, first: bool) -> None:
        self.trials = [
            (way, timed)
            for way in (not first, first)
            for timed, count in ((True, TIMED), (False, FIRST))
            for _ in range(count)
        ]

    def visit(self, waiting: bool) -> tuple[bool, bool]:
        """Whether ops wait on this visit, and whether it is timed; ``waiting``: whether they do."""
        if self.remaining:
            self.remaining -= 1
            return (waiting if self.way is None else self.way), False
        if not self.trials:
            self._try(waiting)
        return self.trials.pop()

    def note(self, way: bool, spent: float) -> None:
        """A visit was timed."""
        self.times[way].append(spent)
        if self.trials:
            return
        if all(self.times.values()):
            waiting, alone = _typical(self.times[True]), _typical(self.times[False])
            close = abs(waiting - alone) < max(PART * max(waiting, alone), LEAST)
            self.way = None if close else waiting < alone
            if max(waiting, alone) > MUCH * min(waiting, alone):
                self.span *= 4
        self.times = {True: [], False: []}
        self.remaining, self.span = min(self.span, LONGEST), 2 * self.span


class Autotuner:
    """Decides at each place that the script comes by.

    Attributes:
        times_disabled: how often ops were found not to repeat.
        remaining: by so many places ops run one by one, whatever regions say.
    """

    def __init__(self, tree: TraceTree) -> None:
        self.tree = tree
        self.times_disabled = 0
        self.remaining = 0
        self.runs = 0
        self._regions: dict[Any, Region] = {}
        self._timed: Region | None = None
        self._way = True
        self._clock = 0.0

    def unrepeated(self) -> None:
        """Nothing repeats here: look again after some places, more and less patiently each time."""
        if self.tree.runs - self.runs > 4 * PATIENCE:
            self.times_disabled //= 2  # it did for a while
        self.remaining = 1 << self.times_disabled
        self.times_disabled += 1
        self.tree.fresh = PATIENCE - (PATIENCE >> self.times_disabled)
        self.tree.lost = 0
        self._timed = None

    def waits(self, place: Any, waiting: bool) -> bool:
        """Whether ops wait from a place on; ``waiting``: whether they did."""
        timed, self._timed = self._timed, None
        if timed is not None and waiting is self._way:
            timed.note(waiting, process_time() - self._clock)
        if self.remaining:
            self.remaining -= 1
            if self.remaining:
                return False
            if self.times_disabled >= MOST_TIMES_DISABLED:
                self.remaining = LONGEST
                return False
            self.runs = self.tree.runs
        region = self._regions.get(place)
        if region is None:
            if len(self._regions) >= MOST_REGIONS:
                self._regions.clear()
            region = self._regions[place] = Region()
        way, times = region.visit(waiting)
        if times:
            self._timed, self._way, self._clock = region, way, process_time()
        return way


def _typical(times: list[float]) -> float:
    """The time of a visit, the longest ones left out."""
    kept = sorted(times)[: len(times) - len(times) // 4]
    return sum(kept) / len(kept)
