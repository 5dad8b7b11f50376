"""Adam for sparse gradients, which takes no others."""

from __future__ import annotations

import math
from typing import Any

from ._parameterwise import ParameterwiseOptimizer, check_betas, to_scalar, zeros_like
from .adafactor import check_one_element


class SparseAdam(ParameterwiseOptimizer):
    """Adam in those rows only that a sparse gradient names.

    Args:
        params: dense real tensors.
        lr, betas, eps, maximize: as of Adam.

    Raises:
        ValueError: for sparse or complex parameters.
        RuntimeError: in a step with a dense gradient.
    """

    _names_sparse = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_one_element(lr)
        if not 0.0 < lr:  # noqa: SIM300
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:  # noqa: SIM300
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        self._refuse("Sparse", "requires dense parameter tensors", lambda p: p.is_sparse)
        self._refuse("Complex", "does not support complex parameters", lambda p: p.is_complex())

    def _refuse(self, kind: str, text: str, is_one: Any) -> None:
        places = [
            [i, j]
            for i, group in enumerate(self.param_groups)
            for j, p in enumerate(group["params"])
            if is_one(p)
        ]
        if places:
            raise ValueError(f"{kind} params at indices {places}: SparseAdam {text}")

    takes_sparse = True

    def _step_group(self, group: dict[str, Any], given: Any) -> None:
        for p in group["params"]:
            grad = p._grad if given is None else given[id(p)]
            if grad is not None and not grad.is_sparse:
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
        super()._step_group(group, given)

    def _init_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = 0
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        state["step"] += 1
        count = state["step"]
        grad = grad.coalesce()
        if grad._nnz() == 0:
            return
        places, values = tuple(grad.indices().unbind(0)), grad.values()
        mean, square = state["exp_avg"][places], state["exp_avg_sq"][places]
        mean_change = values.sub(mean).mul_(1 - beta1)
        square_change = values.pow(2).sub_(square).mul_(1 - beta2)
        state["exp_avg"].add_(grad.like(mean_change))
        state["exp_avg_sq"].add_(grad.like(square_change))
        length = to_scalar(group["lr"]) * math.sqrt(1 - beta2**count) / (1 - beta1**count)
        below = square_change.add_(square).sqrt_().add_(group["eps"])
        p.add_(grad.like(-length * mean_change.add_(mean).div_(below)))


__all__ = ["SparseAdam"]
