"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from ._parameterwise import (
    ParameterwiseOptimizer,
    check_not_negative,
    check_rate,
    decayed,
    gather,
    held,
    options,
)
from .optimizer import required, to_scalar

_STATES = ("momentum_buffer",)


class SGD(ParameterwiseOptimizer):
    """d = g + weight_decay p; b = momentum b + (1 - dampening) d; p -= lr b.

    The first b is d; with ``nesterov`` the step is along d + momentum b.
    """

    _fused_update = "sgd"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        lr = required if lr is None else lr  # every group has its own then, as MindTorch allows
        if lr is not required:
            check_rate(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, **options(
                foreach, maximize, None, differentiable, "maximize foreach differentiable fused",
                fused=fused,
            ),
        }  # fmt: skip
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("nesterov", False), ("maximize", False), ("foreach", None),
                                ("differentiable", False), ("fused", False)):
                group.setdefault(name, value)

    def _step_group(self, group: dict[str, Any], given: Any) -> None:
        momentum = group["momentum"]
        if group["differentiable"]:
            for p, grad in zip(*gather(group, given), strict=True):
                _update(p, grad, self.state[p] if momentum != 0 else None, group)
            return
        numbers = {
            "lr": to_scalar(group["lr"]), "momentum": momentum, "dampening": group["dampening"],
            "weight_decay": to_scalar(group["weight_decay"]), "nesterov": group["nesterov"],
            "maximize": group["maximize"],
        }  # fmt: skip
        update, names = self._fused(group), _STATES if momentum != 0 else ()
        if given is None and update.stands(self.state, group["params"], names):
            update.sgd_again(**numbers)
            return
        params, grads = gather(group, given)
        if not params:
            return
        states = [self.state[p] for p in params] if momentum != 0 else []
        buffers = [state.get("momentum_buffer") for state in states]
        made = update.sgd(params, grads, buffers, **numbers)
        if made is not None:
            for state, buffer in zip(states, made, strict=True):
                state["momentum_buffer"] = buffer
            if given is None and len(params) == len(group["params"]):
                update.watch(self.state, params, names)
            return
        for i, (p, grad) in enumerate(zip(params, grads, strict=True)):
            _update(p, grad, states[i] if states else None, group)


def _update(p: Any, grad: Any, state: Any, group: dict[str, Any]) -> None:
    """One step of ops on tensors, for parameters that the kernel does not take."""
    if group["maximize"]:
        grad = -grad
    grad = decayed(p, grad, group)
    momentum = group["momentum"]
    if state is not None:
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
        grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
    lr = group["lr"]
    if isinstance(lr, EngineTensor) and lr.requires_grad and group["differentiable"]:
        p.addcmul_(held(grad), lr, value=-1)
    else:
        p.add_(grad, alpha=-to_scalar(lr))
