"""Steps of optimizers as operators (ai.onnx.preview.training): Adagrad, Adam, Momentum."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch import torch

from .errors import ONNXError
from .registry import operator
from .values import number

_TRAINING = "ai.onnx.preview.training"


def _steps(values: Sequence[Any], kinds: int, step: Callable[..., tuple[Any, ...]]) -> Any:
    """What a step gives for each of some tensors, of which ``values`` has ``kinds`` lists one after
    another: all new tensors, then what else it keeps."""
    count, rest = divmod(len(values), kinds)
    if rest:
        raise ONNXError(f"{len(values)} tensors are not {kinds} for each")
    rows = [step(*values[i::count]) for i in range(count)]
    return tuple(each for column in zip(*rows, strict=True) for each in column)


@operator("Adagrad", domain=_TRAINING)
def _adagrad(
    rate: Any, turns: Any, *values: Any, decay_factor: float = 0.0, epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> Any:  # fmt: skip
    now = rate / (1 + turns * decay_factor)

    def step(x: Any, gradient: Any, squares: Any) -> tuple[Any, ...]:
        gradient = norm_coefficient * x + gradient
        squares = squares + gradient * gradient
        return x - now * gradient / (torch.sqrt(squares) + epsilon), squares

    return _steps(values, 3, step)


@operator("Adam", domain=_TRAINING)
def _adam(
    rate: Any, turns: Any, *values: Any, alpha: float = 0.9, beta: float = 0.999,
    epsilon: float = 1e-6, norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0,
) -> Any:  # fmt: skip
    passed = number(turns)
    now = rate * math.sqrt(1 - beta**passed) / (1 - alpha**passed) if passed > 0 else rate

    def step(x: Any, gradient: Any, mean: Any, squares: Any) -> tuple[Any, ...]:
        gradient = norm_coefficient * x + gradient
        mean = alpha * mean + (1 - alpha) * gradient
        squares = beta * squares + (1 - beta) * gradient * gradient
        x = x - now * mean / (torch.sqrt(squares) + epsilon)
        return (1 - norm_coefficient_post) * x, mean, squares

    return _steps(values, 4, step)


@operator("Momentum", domain=_TRAINING)
def _momentum(
    rate: Any, turns: Any, *values: Any, alpha: float, beta: float, mode: str,
    norm_coefficient: float,
) -> Any:  # fmt: skip
    share = beta if number(turns) > 0 else 1.0

    def step(x: Any, gradient: Any, mean: Any) -> tuple[Any, ...]:
        gradient = norm_coefficient * x + gradient
        mean = alpha * mean + share * gradient
        return x - rate * (gradient + alpha * mean if mode == "nesterov" else mean), mean

    return _steps(values, 3, step)
