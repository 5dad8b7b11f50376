"""Learning rates as lists, one for each step of an optimizer."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = [
    "cosine_decay_lr", "exponential_decay_lr", "inverse_decay_lr", "natural_exp_decay_lr",
    "piecewise_constant_lr", "polynomial_decay_lr", "warmup_lr",
]  # fmt: skip


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """``learning_rates[i]`` up to step ``milestone[i]``."""
    if len(milestone) != len(learning_rates):
        raise ValueError("For 'piecewise_constant_lr', milestone and learning_rates differ in size")
    rates: list[float] = []
    for i, (end, rate) in enumerate(zip(milestone, learning_rates, strict=True)):
        if end <= len(rates):
            raise ValueError(
                f"For 'piecewise_constant_lr', the value of milestone[{i}] must be greater than "
                f"milestone[{i - 1}], but got milestone[{i}]: {end}."
            )
        rates += [float(rate)] * (end - len(rates))
    return rates


def _epochs(total_step: int, step_per_epoch: int, decay_epoch: int, is_stair: bool) -> list[int]:
    epochs = [i // step_per_epoch for i in range(total_step)]
    return [e // decay_epoch * decay_epoch for e in epochs] if is_stair else epochs


def exponential_decay_lr(
    learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int,
    decay_epoch: int, is_stair: bool = False,
) -> list[float]:  # fmt: skip
    """rate decay_rate^(epoch / decay_epoch)."""
    epochs = _epochs(total_step, step_per_epoch, decay_epoch, is_stair)
    return [learning_rate * decay_rate ** (e / decay_epoch) for e in epochs]


def natural_exp_decay_lr(
    learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int,
    decay_epoch: int, is_stair: bool = False,
) -> list[float]:  # fmt: skip
    """rate exp(-decay_rate epoch)."""
    epochs = _epochs(total_step, step_per_epoch, decay_epoch, is_stair)
    return [learning_rate * math.exp(-decay_rate * e) for e in epochs]


def inverse_decay_lr(
    learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int,
    decay_epoch: int, is_stair: bool = False,
) -> list[float]:  # fmt: skip
    """rate / (1 + decay_rate epoch / decay_epoch)."""
    epochs = _epochs(total_step, step_per_epoch, decay_epoch, is_stair)
    return [learning_rate / (1 + decay_rate * e / decay_epoch) for e in epochs]


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """From max_lr to min_lr along half a cosine of decay_epoch epochs."""
    if not 0 <= min_lr < max_lr:
        raise ValueError(f"For 'cosine_decay_lr', need 0 <= min_lr < max_lr: {min_lr}, {max_lr}")
    epochs = [min(i // step_per_epoch, decay_epoch) for i in range(total_step)]
    half = 0.5 * (max_lr - min_lr)
    return [min_lr + half * (1 + math.cos(math.pi * e / decay_epoch)) for e in epochs]


def polynomial_decay_lr(
    learning_rate: float, end_learning_rate: float, total_step: int, step_per_epoch: int,
    decay_epoch: int, power: float, update_decay_epoch: bool = False,
) -> list[float]:  # fmt: skip
    """(rate - end) (1 - epoch / decay_epoch)^power + end."""
    rates = []
    for i in range(total_step):
        epoch = i // step_per_epoch
        span = decay_epoch * max(math.ceil(epoch / decay_epoch), 1) if update_decay_epoch else (
            decay_epoch
        )
        left = 1 - min(epoch, span) / span
        rates.append((learning_rate - end_learning_rate) * left**power + end_learning_rate)
    return rates


def warmup_lr(
    learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int
) -> list[float]:
    """rate min(epoch, warmup_epoch) / warmup_epoch."""
    epochs = [min(i // step_per_epoch, warmup_epoch) for i in range(total_step)]
    return [learning_rate * e / warmup_epoch if warmup_epoch else learning_rate for e in epochs]
