"""Optimizers whose step of a whole group is one kernel, made from the formula for one element."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine.optim.functional import updates
from mindtorch.engine.tensor import Tensor as EngineTensor

from ._parameterwise import ParameterwiseOptimizer, gather, held

__all__ = ["FusedOptimizer", "on_tensors", "updates"]


def _add(x: Any, y: Any, alpha: Any) -> Any:
    if isinstance(alpha, EngineTensor):
        return x.addcmul(y.clone(), alpha)
    return x.add(y, alpha=alpha)


def _add_in_place(x: Any, y: Any, alpha: Any) -> Any:
    if isinstance(alpha, EngineTensor):
        return x.addcmul_(held(y), alpha)
    return x.add_(y, alpha=alpha)


def _copied(x: Any, y: Any) -> Any:
    return y.detach().clone() if x is None else x.copy_(y)


def _method(name: str) -> Callable[..., Any]:
    def call(x: Any, *arguments: Any) -> Any:
        method = getattr(x, name, None)
        if method is None:
            raise AttributeError(
                f"tensors have no method {name!r}: say in _IN_PLACE of {__name__} what the "
                "operation does to them"
            )
        return method(*arguments)

    return call


# operations that are no method of the same name, or take keywords
_IN_PLACE: dict[str, Callable[..., Any]] = {
    "decayed": _add, "add": _add, "add_": _add_in_place, "copy_": _copied,
    "add_number_": lambda x, y: x.add_(y),
    "addcmul_": lambda x, y, z, value: x.addcmul_(y, z, value=value),
    "addcdiv_": lambda x, y, z, value: x.addcdiv_(y, z, value=value),
    "maximum_": lambda x, y: x.copy_(x.maximum(y)),
}  # fmt: skip


@functools.cache
def on_tensors(update: updates.Update) -> Callable[..., Any]:
    """The update's formula on tensors: it overwrites the parameter and its states."""
    methods = {name: _method(name) for name in updates.OPERATIONS}
    return updates.with_operations(update, {**methods, **_IN_PLACE})


class FusedOptimizer(ParameterwiseOptimizer):
    """Subclasses define ``_update_of`` and ``_settings``, and ``_init_state`` where states that the
    update names are not zeros.

    A group's step is one kernel; of tensors that it does not take (other types than float32 and
    float64, gaps, a graph under way) each parameter's step is the same formula in ops.
    """

    def _update_of(self, group: dict[str, Any]) -> updates.Update:
        """The update of a group. Of two groups with equal settings it is one object."""
        raise NotImplementedError

    def _settings(self, group: dict[str, Any]) -> tuple[Any, ...]:
        """The numbers that ``_update_of(group).settings`` names."""
        raise NotImplementedError

    def _step_group(self, group: dict[str, Any], given: Any) -> None:
        if group.get("differentiable"):
            super()._step_group(group, given)
            return
        settings, update = self._settings(group), self._update_of(group)
        fused, maximize = self._fused(group), bool(group.get("maximize"))
        if given is None and fused.unchanged(update, self.state, group["params"]):
            fused.again(maximize, settings)
            return
        params, grads = gather(group, given)
        if not params:
            return
        if True in [g._sparse for g in grads]:
            self._refuse_sparse(group, given)
        states = [self.state[p] for p in params]
        if not all(states):
            for p, state in zip(params, states, strict=True):
                if not state:
                    self._init_state(p, state, group)
        self._check(update, states, settings)
        lists = [[state[name] for state in states] for name in update.state_names]
        steps = [state["step"] for state in states]
        if fused.step(update, params, grads, lists, steps, maximize, settings):
            if given is None and len(params) == len(group["params"]):
                fused.watch(self.state, params, (*update.state_names, "step"))
            return
        for p, grad, state in zip(params, grads, states, strict=True):
            self._update_one(p, -grad if maximize else grad, state, group)

    def _check(self, update: updates.Update, states: Any, settings: Any) -> None:
        own = type(self).__name__
        if len(settings) != len(update.settings):
            raise TypeError(
                f"{own}._settings returns {len(settings)} values; {update.numbers.__name__} "
                f"takes {len(update.settings)}: {', '.join(update.settings)}"
            )
        for name in update.state_names:
            if not all(name in state for state in states):
                raise KeyError(
                    f"{name}: {update.name} takes this state of {own}; zeros, _init_state or the "
                    "state dict that was loaded does not have it"
                )

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        update = self._update_of(group)
        state["step"] += 1
        numbers = update.numbers(state["step"].item(), *self._settings(group))
        names = ("p", *update.state_names)
        own = (p, *[state[name] for name in update.state_names])
        found = on_tensors(update)(p, grad, *own[1:], *numbers)
        for name, old, new in zip(names, own, found, strict=True):
            if new is not old and old is not None:
                raise TypeError(
                    f"{update.name} returns a new tensor for {name}, which keeps its value: its "
                    "last operation has to be one that ends in _, as add_ and copy_ do"
                )
