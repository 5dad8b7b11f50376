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


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Any]], t: Any, direction: Any, loss: float,
    gradient: Any, slope: Any, *, c1: float = 1e-4, c2: float = 0.9,
    tolerance_change: float = 1e-9, max_trials: int = 25,
) -> tuple[float, Any, Any, int]:  # fmt: skip
    """Search along ``direction`` from step length ``t``.

    Returns:
        The loss, the gradient and the step length found, and how often ``evaluate`` was called.
    """
    evaluations = 0

    def trial(at: Any) -> Trial:
        nonlocal evaluations
        evaluations += 1
        value, grad = evaluate(at)
        return Trial(at, value, grad, grad.dot(direction))

    def is_too_high(point: Trial) -> bool:
        return bool(point.loss > loss + c1 * point.t * slope)

    def is_flat(point: Trial) -> bool:
        return bool(abs(point.slope) <= -c2 * slope)

    start = Trial(0, loss, gradient.clone(), slope)
    before, now = start, trial(t)
    rounds = 0
    bracket: list[Trial] = []
    while rounds < max_trials:
        if is_too_high(now) or (rounds > 1 and now.loss >= before.loss):
            bracket = [before, now]
            break
        if is_flat(now):
            return now.loss, now.gradient, now.t, evaluations
        if now.slope >= 0:
            bracket = [before, now]
            break
        bounds = (now.t + 0.01 * (now.t - before.t), now.t * 10)
        before, now = now, trial(cubic_minimum(before, now, bounds))
        rounds += 1
    if rounds == max_trials:
        bracket = [start, now]
    low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
    length = direction.abs().max()
    stalled = False
    while rounds < max_trials:
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
        now = trial(t)
        rounds += 1
        if is_too_high(now) or now.loss >= bracket[low].loss:
            bracket[high] = now
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
            continue
        done = is_flat(now)
        if not done and now.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = now
        if done:
            break
    best = bracket[low]
    return best.loss, best.gradient, best.t, evaluations
