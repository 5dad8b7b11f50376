"""Adafactor: second moments of matrices kept as a row and a column."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor

from ._parameterwise import ParameterwiseOptimizer, scalar_state, to_scalar, zeros_like


def check_setting(name: str, holds: bool, bound: str, value: Any) -> None:
    if not holds:
        raise ValueError(f"{name} should be {bound} but is: {value}")


def check_one_element(lr: Any) -> None:
    if isinstance(lr, EngineTensor) and lr.aval.size != 1:
        raise ValueError("Tensor lr must be 1-element")


class Adafactor(ParameterwiseOptimizer):
    """p -= a u / max(1, rms(u) / d), with u = g / sqrt(v) and a = max(eps2, rms(p)) rho.

    v is the decayed mean of g² with weight t^beta2_decay for the newest; of a tensor with two or
    more axes only the means over the last axis and over the one before are kept, and v is their
    product divided by the mean of the first. rho = min(lr, 1 / sqrt(t)).

    Args:
        params: tensors or groups.
        lr: the limit of rho.
        beta2_decay: the exponent, not above 0.
        eps: (eps1, eps2); eps1 None is the rounding unit of the parameter's type.
        d: the largest root mean square of an update.
        weight_decay: p is multiplied by 1 - lr weight_decay first.
        maximize: step upwards.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_one_element(lr)
        check_setting("Learning rate", 0.0 <= lr, ">= 0", lr)  # noqa: SIM300
        check_setting("beta2_decay", 0.0 >= beta2_decay, "<= 0", beta2_decay)  # noqa: SIM300
        check_setting("epsilon1", eps[0] is None or 0.0 <= eps[0], ">= 0", eps[0])  # noqa: SIM300
        check_setting("epsilon2", 0.0 <= eps[1], ">= 0", eps[1])  # noqa: SIM300
        check_setting("Clipping threshold d", 1.0 <= d, ">= 1", d)  # noqa: SIM300
        check_setting("weight_decay", 0.0 <= weight_decay, ">= 0", weight_decay)  # noqa: SIM300
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
            "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
        })  # fmt: skip

    def _init_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state["step"] = scalar_state()
        if p.dim() > 1:
            *front, rows, columns = p.shape
            state["row_var"] = p.new_zeros((*front, rows, 1))
            state["col_var"] = p.new_zeros((*front, 1, columns))
        else:
            state["variance"] = zeros_like(p)

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, (eps1, eps2) = to_scalar(group["lr"]), group["eps"]
        if eps1 is None:
            eps1 = torch.finfo(p.dtype).eps
        state["step"] += 1
        count = state["step"].item()
        length = max(eps2, p.norm(2).item() / p.numel() ** 0.5) * min(lr, count**-0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        variance = self._variance(grad, state, count ** group["beta2_decay"], eps1)
        update = variance.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        excess = update.norm(2).item() / (update.numel() ** 0.5 * group["d"])
        p.add_(update, alpha=-length / max(1.0, excess))

    @staticmethod
    def _variance(grad: Any, state: dict[str, Any], newest: float, least: float) -> Any:
        """The estimate of the mean of g², after the new gradient's share."""
        if grad.dim() <= 1:
            return state["variance"].lerp_(grad * grad, newest).clone()
        rows, columns = state["row_var"], state["col_var"]
        for kept, axis in ((rows, -1), (columns, -2)):
            squares = grad.norm(dim=axis, keepdim=True).square_()
            kept.lerp_(squares.div_(grad.size(axis)), newest)
        return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))


__all__ = ["Adafactor"]
