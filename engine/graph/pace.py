"""Whether a script's ops wait: what does not repeat, or is faster op by op, runs op by op.

Bookkeeping costs more than small ops do, and how much a compiled segment saves depends on sizes,
threads and kernels. So it is measured: some optimizer's steps are timed with ops that wait, as many
with ops that run at once, and the faster way goes on; later the other one is tried again.
"""

from __future__ import annotations

from time import process_time

from .tree import PATIENCE, Tree

# so many steps are timed in each way, after so many that are not: kernels are compiled in those
TIMED, FIRST = 8, 4
# steps until the other way is tried again: so many at first, twice as many each time
SPAN, LONGEST = 64, 1 << 16
# after so many rests at most a script that does not repeat is not looked at again
MOST_RESTS = 12


class Pace:
    """Decides after each step of an optimizer.

    Attributes:
        rests: how often ops were found not to repeat.
        left: so many steps go on as they are.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.rests = 0
        self.left = FIRST
        self.runs = 0
        self._span = SPAN
        self._clock = process_time()
        self._times: dict[bool, list[float]] = {True: [], False: []}
        self._timing = False

    def unrepeated(self) -> None:
        """Nothing repeats here: look again after some steps, more and less patiently each time."""
        if self.tree.runs - self.runs > 4 * PATIENCE:
            self.rests //= 2  # it did for a while
        self.left = 1 << self.rests
        self.rests += 1
        self.tree.fresh = PATIENCE - (PATIENCE >> self.rests)
        self.tree.lost = 0
        self._forget_times()

    def waits(self, waiting: bool) -> bool:
        """Whether ops wait after a step that has just ended; ``waiting``: whether they did."""
        now = process_time()
        spent, self._clock = now - self._clock, now
        if self.left:
            self.left -= 1
            if self.left or self._timing:
                return waiting
            if not waiting:
                self.runs = self.tree.runs
                self.left = FIRST if self.rests < MOST_RESTS else LONGEST
                return self.rests < MOST_RESTS
            self._timing = True
            return True
        times = self._times[waiting]
        times.append(spent)
        if len(times) < TIMED:
            return waiting
        if not self._times[not waiting]:
            self.left = 1  # the first step in another way is not timed
            return not waiting
        faster = _typical(self._times[True]) < _typical(self._times[False])
        self._forget_times()
        self.left, self._span = self._span, min(2 * self._span, LONGEST)
        return faster

    def _forget_times(self) -> None:
        self._timing = False
        self._times = {True: [], False: []}


def _typical(times: list[float]) -> float:
    """The time of the steps without the longest ones."""
    return sum(sorted(times)[: -(len(times) // 4)])
