"""Learning rates as cells: functions of the number of the step."""

from __future__ import annotations

import math
from typing import Any

from ..common.tensor import as_tensor, t
from .cell import Cell

__all__ = [
    "CosineDecayLR", "ExponentialDecayLR", "InverseDecayLR", "LearningRateSchedule",
    "NaturalExpDecayLR", "PolynomialDecayLR", "WarmUpLR",
]  # fmt: skip


class LearningRateSchedule(Cell):
    """Base of schedules. Subclasses define ``construct(global_step)``."""

    def construct(self, global_step: Any) -> Any:
        raise NotImplementedError(
            "The 'construct' function must be overridden by subclasses of LearningRateSchedule."
        )


class _Decay(LearningRateSchedule):
    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        for name, value in (
            ("learning_rate", learning_rate), ("decay_rate", decay_rate),
            ("decay_steps", decay_steps),
        ):  # fmt: skip
            if value <= 0:
                raise ValueError(f"For '{type(self).__name__}', '{name}' must be > 0, got {value}.")
        self.learning_rate, self.decay_rate = learning_rate, decay_rate
        self.decay_steps, self.is_stair = decay_steps, is_stair

    def _progress(self, global_step: Any) -> Any:
        p = as_tensor(global_step).float() / self.decay_steps
        return t.floor(p) if self.is_stair else p


class ExponentialDecayLR(_Decay):
    """rate decay_rate^(step / decay_steps)."""

    def construct(self, global_step: Any) -> Any:
        return self.learning_rate * t.pow(self.decay_rate, self._progress(global_step))


class NaturalExpDecayLR(_Decay):
    """rate exp(-decay_rate step), the step rounded down to decay_steps with ``is_stair``."""

    def construct(self, global_step: Any) -> Any:
        p = as_tensor(global_step).float()
        if self.is_stair:
            p = t.floor(p / self.decay_steps) * self.decay_steps
        return self.learning_rate * t.exp(-self.decay_rate * p)


class InverseDecayLR(_Decay):
    """rate / (1 + decay_rate step / decay_steps)."""

    def construct(self, global_step: Any) -> Any:
        return self.learning_rate / (1 + self.decay_rate * self._progress(global_step))


class CosineDecayLR(LearningRateSchedule):
    """From max_lr to min_lr along half a cosine of decay_steps."""

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        if not 0 <= min_lr < max_lr:
            raise ValueError(
                f"For 'CosineDecayLR', need 0 <= min_lr < max_lr, got {min_lr}, {max_lr}."
            )
        self.min_lr, self.max_lr, self.decay_steps = min_lr, max_lr, decay_steps

    def construct(self, global_step: Any) -> Any:
        p = t.clamp(as_tensor(global_step).float(), max=float(self.decay_steps))
        wave = 1 + t.cos(math.pi * p / self.decay_steps)
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * wave


class PolynomialDecayLR(LearningRateSchedule):
    """(rate - end) (1 - step / decay_steps)^power + end."""

    def __init__(
        self, learning_rate: float, end_learning_rate: float, decay_steps: int, power: float,
        update_decay_steps: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.learning_rate, self.end_learning_rate = learning_rate, end_learning_rate
        self.decay_steps, self.power = decay_steps, power
        self.update_decay_steps = update_decay_steps

    def construct(self, global_step: Any) -> Any:
        p = as_tensor(global_step).float()
        steps: Any = float(self.decay_steps)
        if self.update_decay_steps:
            steps = steps * t.clamp(t.ceil(p / steps), min=1.0)
        p = t.minimum(p, as_tensor(steps).float())
        fall = self.learning_rate - self.end_learning_rate
        return fall * t.pow(1 - p / steps, self.power) + self.end_learning_rate


class WarmUpLR(LearningRateSchedule):
    """rate min(step, warmup_steps) / warmup_steps."""

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        if warmup_steps < 1:
            raise ValueError(f"For 'WarmUpLR', 'warmup_steps' must be > 0, got {warmup_steps}.")
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps

    def construct(self, global_step: Any) -> Any:
        p = t.clamp(as_tensor(global_step).float(), max=float(self.warmup_steps))
        return self.learning_rate * p / self.warmup_steps
