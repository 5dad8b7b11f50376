"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.ops.movement import clone
from mindtorch.engine.tensor import Tensor as EngineTensor

from ._fused import on_tensors, updates
from ._parameterwise import (
    ParameterwiseOptimizer,
    gather,
    options,
    refuse_complex,
    refuse_negative,
)
from .optimizer import required, to_scalar


class SGD(ParameterwiseOptimizer):
    """d = g + weight_decay p; b = momentum b + (1 - dampening) d; p -= lr b.

    The first b is d; with ``nesterov`` the step is along d + momentum b.
    """

    records_foreach = True

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
            if isinstance(lr, EngineTensor) and lr.aval.size != 1:
                raise ValueError("Tensor lr must be 1-element")
            refuse_negative("learning rate", lr)
        refuse_negative("momentum value", momentum)
        refuse_negative("weight_decay value", weight_decay)
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

    def _update_of(self, group: dict[str, Any]) -> updates.Update:
        return updates.SGD_MOMENTUM if group["momentum"] != 0 else updates.SGD

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        lr, decay, momentum = group["lr"], group["weight_decay"], group["momentum"]
        if not group["differentiable"] or not getattr(lr, "requires_grad", False):
            lr = to_scalar(lr)
        if not group["differentiable"] or not getattr(decay, "requires_grad", False):
            decay = to_scalar(decay)
        if momentum == 0:
            return lr, decay
        return lr, decay, momentum, group["dampening"], group["nesterov"]

    def _step_group(self, group: dict[str, Any], given: Any) -> None:
        update, settings, fused = self._update_of(group), self._settings(group), self._fused(group)
        maximize = bool(group["maximize"])
        if given is None and fused.unchanged(update, self.state, group["params"]):
            fused.again(maximize, settings)
            return
        params, grads = gather(group, given)
        if not params:
            return
        states = [self.state[p] for p in params] if update.state_names else []
        if not group["differentiable"] and _fused_step(
            fused, update, params, grads, states, maximize, settings
        ):
            if given is None and len(params) == len(group["params"]):
                fused.watch(self.state, params, update.state_names)
            return
        for i, (p, grad) in enumerate(zip(params, grads, strict=True)):
            state = states[i] if states else {}
            refuse_complex(p, group)
            if group.get("fused") and grad._sparse:
                raise RuntimeError("`_fused_sgd` does not support sparse gradients")
            update_tensors(update, p, -grad if maximize else grad, state, settings)


def _fused_step(
    fused: Any, update: updates.Update, params: Any, grads: Any, states: Any, maximize: bool,
    settings: Any,
) -> bool:  # fmt: skip
    """One step by a kernel, where one takes the tensors; momentum begins as the gradient."""
    buffers = [state.get("momentum_buffer") for state in states]
    new = [i for i, b in enumerate(buffers) if b is None]
    for i in new:
        buffers[i] = grads[i]
    lists = [buffers] if states else []
    if new:
        if not fused.takes(update, params, grads, lists):
            return False
        for i in new:
            buffers[i] = clone.evaluate(0, (grads[i],), {})
    steps = [2.0] * len(params)
    for i in new:
        steps[i] = 1.0
    if not fused.step(update, params, grads, lists, steps, maximize, settings):
        return False
    for i in new:
        states[i]["momentum_buffer"] = buffers[i]
    return True


def update_tensors(
    update: updates.Update, p: Any, grad: Any, state: dict[str, Any], settings: Any
) -> None:
    """One step of ops on tensors, for parameters that the kernel does not take."""
    buffers = [state.get(name) for name in update.state_names]
    first = any(buffer is None for buffer in buffers)
    numbers = update.numbers(1 if first else 2, *settings)
    _, *after = on_tensors(update)(p, grad, *buffers, *numbers)
    state.update(zip(update.state_names, after, strict=True))
