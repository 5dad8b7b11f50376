"""Adam, and AdamW whose weight decay stands apart from the gradient."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from ._fused import FusedOptimizer, updates
from ._parameterwise import (
    check_moments,
    decayed,
    held,
    options,
    scalar_state,
    zeros_like,
)
from .optimizer import to_scalar


class Adam(FusedOptimizer):
    """m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g²;
    p -= lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)."""

    sparse_error = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, EngineTensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_moments(lr, betas, eps, weight_decay)
        if not any(all(isinstance(b, kind) for b in betas[:2]) for kind in (float, EngineTensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, EngineTensor) and foreach and not capturable:
                raise ValueError(
                    f"betas[{i}] as a Tensor is not supported for capturable=False and "
                    "foreach=True"
                )
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        defaults = {
            "lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, **options(
                foreach, maximize, capturable, differentiable,
                "maximize foreach capturable differentiable fused", fused=fused,
            ),
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("amsgrad", False), ("maximize", False), ("foreach", None),
                                ("capturable", False), ("differentiable", False), ("fused", None),
                                ("decoupled_weight_decay", False)):
                group.setdefault(name, value)

    def _init_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = scalar_state()
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(p)

    def _update_of(self, group: dict[str, Any]) -> updates.Update:
        return updates.ADAM_AMSGRAD if group["amsgrad"] else updates.ADAM

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        return (
            to_scalar(group["lr"]), to_scalar(beta1), to_scalar(beta2), group["eps"],
            to_scalar(group["weight_decay"]), group["decoupled_weight_decay"],
        )  # fmt: skip

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        step = _recorded if group["differentiable"] else super()._update
        step(p, grad, state, group)


def _recorded(p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
    """A step that is recorded, also in a rate, betas and a decay that are tensors. It rounds in
    torch's order for such steps, which is another than that of the rest."""
    (beta1, beta2), lr = group["betas"], group["lr"]
    mean, square, step = state["exp_avg"], state["exp_avg_sq"], state["step"]
    if step.requires_grad:
        raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
    step += 1
    if group["decoupled_weight_decay"]:
        p.mul_(1 - lr * group["weight_decay"])
    else:
        grad = decayed(p, grad, group)
    mean.lerp_(grad, 1 - beta1)
    if getattr(beta2, "requires_grad", False):
        square.lerp_(grad.square(), 1 - beta2)
    else:
        square.mul_(beta2).addcmul_(grad, grad, value=1 - to_scalar(beta2))
    against = (lr / (1 - beta1 ** held(step))).neg()
    if group["amsgrad"]:
        square = state["max_exp_avg_sq"].copy_(held(state["max_exp_avg_sq"]).maximum(square))
    below = square.sqrt() / ((1 - beta2 ** held(step)).sqrt() * against)
    p.addcdiv_(held(mean), below.add_(group["eps"] / against))


class AdamW(Adam):
    """Adam with p -= lr weight_decay p in place of a term in the gradient."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
