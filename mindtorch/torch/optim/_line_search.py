"""A step length that fulfils the strong Wolfe conditions (Nocedal & Wright, algorithms 3.5,
3.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Trial(NamedTuple):
    """A step length, the loss there, its gradient, and the slope along the direction."""

    t: Any
    loss: float
    gradient: Any
    slope: Any


def cubic_minimum(a: Trial, b: Trial, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two losses and slopes is least, within ``bounds``."""
    low, high = bounds if bounds is not None else ((a.t, b.t) if a.t <= b.t else (b.t, a.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if a.t <= b.t:
        least = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        least = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(least, low), high)


class Line:
    """The losses along ``direction``, and the two conditions on a step length.

    Args:
        evaluate: of a step length; the loss there and its gradient.
        direction: along which the steps go.
        loss, slope: where the line begins.
        c1: by which share of what the slope promises the loss must fall.
        c2: to which share of itself the slope must shrink.
    """

    def __init__(
        self, evaluate: Callable[[Any], tuple[float, Any]], direction: Any, loss: float,
        slope: Any, c1: float, c2: float,
    ) -> None:  # fmt: skip
        self.evaluate, self.direction, self.loss, self.slope = evaluate, direction, loss, slope
        self.c1, self.c2 = c1, c2
        self.evaluations = 0

    def trial(self, t: Any) -> Trial:
        self.evaluations += 1
        loss, gradient = self.evaluate(t)
        return Trial(t, loss, gradient, gradient.dot(self.direction))

    def is_too_high(self, point: Trial) -> bool:
        return bool(point.loss > self.loss + self.c1 * point.t * self.slope)

    def is_flat(self, point: Trial) -> bool:
        return bool(abs(point.slope) <= -self.c2 * self.slope)


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Any]], t: Any, direction: Any, loss: float,
    gradient: Any, slope: Any, *, c1: float = 1e-4, c2: float = 0.9,
    tolerance_change: float = 1e-9, max_trials: int = 25,
) -> tuple[float, Any, Any, int]:  # fmt: skip
    """Search along ``direction`` from step length ``t``.

    Args:
        evaluate, direction, loss, slope, c1, c2: as in :class:`Line`.
        t: the first step length that is tried.
        gradient: where the line begins.
        tolerance_change: the search ends where no element would move by so much.
        max_trials: how often it goes on before it takes the best it has.

    Returns:
        The loss, the gradient and the step length found, and how often ``evaluate`` was called.
    """
    line = Line(evaluate, direction, loss, slope, c1, c2)
    start = Trial(0, loss, gradient.clone(), slope)
    found, rounds = _bracket(line, start, t, max_trials)
    best = found[0]
    if len(found) == 2:
        best = _zoom(line, found, max_trials - rounds, tolerance_change)
    return best.loss, best.gradient, best.t, line.evaluations


def _bracket(line: Line, start: Trial, t: Any, max_trials: int) -> tuple[list[Trial], int]:
    """A trial that fulfils both conditions, or two with such a one between them; and the rounds."""
    before, now = start, line.trial(t)
    for rounds in range(max_trials):
        if line.is_too_high(now) or (rounds > 1 and now.loss >= before.loss):
            return [before, now], rounds
        if line.is_flat(now):
            return [now], rounds
        if now.slope >= 0:
            return [before, now], rounds
        bounds = (now.t + 0.01 * (now.t - before.t), now.t * 10)
        before, now = now, line.trial(cubic_minimum(before, now, bounds))
    return [start, now], max_trials


def _zoom(line: Line, bracket: list[Trial], max_trials: int, tolerance_change: float) -> Trial:
    """The best of the trials that narrow ``bracket``, which is changed."""
    low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
    length = line.direction.abs().max()
    stalled = False
    for _ in range(max_trials):
        if abs(bracket[1].t - bracket[0].t) * length < tolerance_change:
            break
        t = cubic_minimum(bracket[0], bracket[1])
        least, most = min(b.t for b in bracket), max(b.t for b in bracket)
        margin = 0.1 * (most - least)
        close = min(most - t, t - least) < margin
        if close and (stalled or t >= most or t <= least):
            t = most - margin if abs(t - most) < abs(t - least) else least + margin
            stalled = False
        else:
            stalled = bool(close)
        now = line.trial(t)
        if line.is_too_high(now) or now.loss >= bracket[low].loss:
            bracket[high] = now
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        done = line.is_flat(now)
        if not done and now.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = now
        if done:
            break
    return bracket[low]
