"""Adam, and AdamW whose weight decay stands apart from the gradient."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from ._parameterwise import (
    ParameterwiseOptimizer,
    check_moments,
    decayed,
    gather,
    held,
    options,
    scalar_state,
    zeros_like,
)
from .optimizer import to_scalar

_STATES = ("exp_avg", "exp_avg_sq", "step")
_WITH_LARGEST = (*_STATES, "max_exp_avg_sq")


class Adam(ParameterwiseOptimizer):
    """m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g²;
    p -= lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)."""

    _fused_update = "adam"

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

    def _step_group(self, group: dict[str, Any], given: Any) -> None:
        if group["differentiable"]:
            super()._step_group(group, given)
            return
        beta1, beta2 = group["betas"]
        numbers = {
            "lr": to_scalar(group["lr"]), "beta1": to_scalar(beta1), "beta2": to_scalar(beta2),
            "eps": group["eps"], "weight_decay": to_scalar(group["weight_decay"]),
            "decoupled": group["decoupled_weight_decay"], "maximize": group["maximize"],
        }  # fmt: skip
        update, names = self._fused(group), _WITH_LARGEST if group["amsgrad"] else _STATES
        if given is None and update.stands(self.state, group["params"], names):
            update.adam_again(**numbers)
            return
        params, grads = gather(group, given)
        if not params:
            return
        if True in [g._sparse for g in grads]:
            raise RuntimeError(
                "Adam does not support sparse gradients, please consider SparseAdam instead"
            )
        states = [self.state[p] for p in params]
        if not all(states):
            for p, state in zip(params, states, strict=True):
                if not state:
                    self._init_state(p, state, group)
        first, second, steps = ([s[name] for s in states] for name in _STATES)
        largest = [s["max_exp_avg_sq"] for s in states] if group["amsgrad"] else []
        if update.adam(params, grads, first, second, largest, steps, **numbers):
            if given is None and len(params) == len(group["params"]):
                update.watch(self.state, params, names)
            return
        for p, grad, state in zip(params, grads, states, strict=True):
            self._update_one(p, -grad if group["maximize"] else grad, state, group)

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """One step of ops on tensors, for parameters that the kernel does not take."""
        if group["differentiable"]:
            _recorded(p, grad, state, group)
            return
        beta1, beta2 = (to_scalar(b) for b in group["betas"])
        lr, mean, square = to_scalar(group["lr"]), state["exp_avg"], state["exp_avg_sq"]
        state["step"] += 1
        count = state["step"].item()
        if group["decoupled_weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        else:
            grad = decayed(p, grad, group)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"].copy_(state["max_exp_avg_sq"].maximum(square))
        below = square.sqrt().div_((1 - beta2**count) ** 0.5).add_(group["eps"])
        p.addcdiv_(mean, below, value=-(lr / (1 - beta1**count)))


def _recorded(p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
    """A step that is recorded, also in a rate, betas and a decay that are tensors."""
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
