"""The watchpoints of whole steps: losses, gradients of parameters, and how parameters change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .kernels import change_of, size_of

if TYPE_CHECKING:
    from .watcher import Watch

__all__ = ["StepChecks"]

_FEW = 16  # elements whose mean |value| says little
_YOUTH = 10  # steps in which what began as zeros finds a size to compare its changes with


def _array(tensor: Any) -> np.ndarray:
    """A tensor's elements in the order of its axes; of a sparse one those that it holds."""
    tensor = tensor.detach()
    if tensor.is_sparse:
        tensor = tensor.coalesce().values()
    return np.ravel(tensor.array())


class StepChecks:
    """Listens to steps (see steps.StepListener) on behalf of a watch."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.before: dict[int, np.ndarray] = {}
        self.unchanged: dict[str, int] = {}
        self.young: dict[str, int] = {}
        self.sizes: dict[str, float] = {}
        self.zero: dict[str, int] = {}
        self.lowest = math.inf
        self.since = 0

    def _names(self, optimizer: Any) -> dict[str, Any]:
        """Parameters by the names of the watch's model where it has one."""
        held = [p for group in optimizer.param_groups for p in group["params"]]
        names: dict[int, str] = {}
        for module, path in list(self.watch.names.values()):
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    names.setdefault(id(parameter), f"{path}.{name}")
        found = {names.get(id(p), f"parameter{at}"): p for at, p in enumerate(held)}
        if len(found) == len(held):
            return found
        return {f"parameter{at}": p for at, p in enumerate(held)}

    def _tell(self, check: str, name: str, words: str, value: float) -> None:
        layer, _, parameter = name.rpartition(".")
        place = self.watch.place(parameter)._replace(layer=layer or parameter)
        self.watch.tell(check, place, words, value)

    def on_loss(self, loss: Any) -> None:
        with self.watch.away():
            value = float(np.mean(_array(loss)).real)
        self.loss(value)

    def loss(self, value: float) -> None:
        """A step's loss, as a number."""
        if "loss_not_falling" not in self.watch.wanted:
            return
        if value < self.lowest:
            self.lowest, self.since = value, 0
            return
        self.since += 1
        if self.since >= self.watch.limits["loss_not_falling"]:
            words = f"{value:.6g}; the lowest, {self.lowest:.6g}, was {self.since} steps ago"
            self.watch.tell("loss_not_falling", self.watch.place("loss"), words, value)
            self.since = 0

    def on_gradients(self, optimizer: Any) -> None:
        with self.watch.away():
            named = self._names(optimizer)
            gradients = self.watch.steps.gradients(optimizer)
            moving = {n: p for n, p in named.items() if gradients.get(id(p)) is not None}
            self.before_update(moving)
            for name, parameter in moving.items():
                self._look_at_gradient(name, _array(gradients[id(parameter)]))

    def _look_at_gradient(self, name: str, gradient: np.ndarray) -> None:
        wanted, limits = self.watch.wanted, self.watch.limits
        largest, norm = size_of(gradient)
        self.zero[name] = self.zero.get(name, 0) + 1 if largest == 0 else 0
        small = largest < limits["gradient_vanishing"] and self.zero[name] != 1
        if "gradient_vanishing" in wanted and small:
            self._tell("gradient_vanishing", name, f"largest |element| {largest:.4g}", largest)
        if "gradient_exploding" in wanted and not norm <= limits["gradient_exploding"]:
            self._tell("gradient_exploding", name, f"norm {norm:.4g}", norm)

    def on_step(self, optimizer: Any) -> None:
        with self.watch.away():
            self.after_update(self._names(optimizer))

    def before_update(self, parameters: dict[str, Any]) -> None:
        """Keep what parameters are before a step."""
        if self.watch.wanted & {"weight_change_too_large", "weight_unchanged"}:
            self.before = {id(p): np.array(_array(p)) for p in parameters.values()}

    def after_update(self, parameters: dict[str, Any]) -> None:
        """A step has been made: compare with what parameters were."""
        changes = {}
        for name, parameter in parameters.items():
            before, after = self.before.pop(id(parameter), None), _array(parameter)
            if before is not None and before.size and before.shape == after.shape:
                changes[name] = (*change_of(before, after), before.size)
        around: dict[str, float] = {}
        for name, (_, size, _) in changes.items():
            layer = name.rpartition(".")[0]
            around[layer] = max(size, around.get(layer, 0.0))
        for name, (change, size, count) in changes.items():
            # One number may be near zero by chance: the layer's others tell what is usual there.
            usual = around[name.rpartition(".")[0]] if size and count < _FEW else size
            self._look_at_change(name, change, usual)
        self.before.clear()
        self.watch.origins.clear()
        self.watch.step += 1

    def _look_at_change(self, name: str, change: float, size: float) -> None:
        """`change`: the mean |change|; `size`: the mean |value| that it is held against."""
        wanted, limits = self.watch.wanted, self.watch.limits
        self.unchanged[name] = self.unchanged.get(name, 0) + 1 if change == 0 else 0
        young = self.young[name] = _YOUTH if size == 0 else self.young.get(name, 0) - 1
        size = self.sizes[name] = max(size, self.sizes.get(name, 0.0))  # it may cross zero
        if "weight_change_too_large" in wanted and young < 0:
            ratio = change / size
            if not ratio <= limits["weight_change_too_large"]:
                words = f"mean |change| is {ratio:.3g} of mean |value|"
                self._tell("weight_change_too_large", name, words, ratio)
        if "weight_unchanged" in wanted and self.unchanged[name] >= limits["weight_unchanged"]:
            words = f"the same for {self.unchanged[name]} steps"
            self._tell("weight_unchanged", name, words, 0.0)
            self.unchanged[name] = 0
