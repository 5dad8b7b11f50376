"""Muon: momentum whose matrix is made nearly orthogonal before each step."""

from __future__ import annotations

import math
from typing import Any

from ._parameterwise import ParameterwiseOptimizer, to_scalar, zeros_like
from .adafactor import check_one_element, check_setting


def orthogonalize(
    matrix: Any, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Any:
    """Newton-Schulz steps X <- a X + (b G + c G²) X, G = X Xᵀ, from X = matrix / |matrix|.

    Runs in bfloat16; the singular values of the result are near one.

    Raises:
        ValueError: for other than a matrix, other than three coefficients, or 100 steps and more.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if matrix.dim() != 2:
        raise ValueError("Input tensor gradient must be a 2D matrix")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    x = x.t() if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.t()
        change = _combine(gram, b, gram, gram, c)
        x = _combine(x, a, change, x, 1.0)
    return x.t() if tall else x


def _combine(x: Any, beta: float, left: Any, right: Any, alpha: float) -> Any:
    """beta x + alpha left @ right, rounded to bfloat16 once."""
    return (beta * x.float() + alpha * (left.float() @ right.float())).bfloat16()


class Muon(ParameterwiseOptimizer):
    """p -= lr f orthogonalize(m'), where m is a running mean of gradients.

    m += (1 - momentum)(g - m); m' is m, or with ``nesterov`` the mean of g and m in the ratio of
    the momentum. f depends on the shape (A, B): sqrt(max(1, A / B)) for "original" (or None),
    0.2 sqrt(max(A, B)) for "match_rms_adamw". For matrices only.

    Args:
        params: tensors of two axes.
        lr, weight_decay, momentum, nesterov: as above; p is first multiplied by
            1 - lr weight_decay.
        ns_coefficients, eps, ns_steps: of :func:`orthogonalize`.
        adjust_lr_fn: how f is made.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_one_element(lr)
        check_setting("Learning rate", 0.0 <= lr, ">= 0", lr)  # noqa: SIM300
        check_setting("momentum", 0.0 <= momentum, ">= 0", momentum)  # noqa: SIM300
        check_setting("weight decay", 0.0 <= weight_decay, ">= 0", weight_decay)  # noqa: SIM300
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        })  # fmt: skip
        for p in self.parameters:
            if p.dim() != 2:
                raise ValueError(
                    "Muon only supports 2D parameters whereas we found a parameter with size: "
                    f"{p.size()}"
                )

    def _init_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state["momentum_buffer"] = zeros_like(p)

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, momentum = to_scalar(group["lr"]), group["momentum"]
        mean = state["momentum_buffer"]
        mean.lerp_(grad, 1 - momentum)
        update = orthogonalize(
            grad.lerp(mean, momentum) if group["nesterov"] else mean,
            group["ns_coefficients"], group["ns_steps"], group["eps"],
        )  # fmt: skip
        rows, columns = p.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            factor = 0.2 * math.sqrt(max(rows, columns))
        else:
            factor = math.sqrt(max(1.0, rows / columns))
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update, alpha=-lr * factor)


__all__ = ["Muon"]
