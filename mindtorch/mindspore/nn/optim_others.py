"""MindSpore's less common optimizers: its formulas and defaults, on ops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine import dtypes

from ..common.parameter import Parameter
from ..common.tensor import T, Tensor, t
from .optim import Adam
from .optimizer import Optimizer, assign

__all__ = ["ASGD", "FTRL", "LARS", "LazyAdam", "ProximalAdagrad", "Rprop"]


def _at_least_zero(owner: str, **settings: float) -> None:
    for name, value in settings.items():
        if not isinstance(value, (int, float)) or value < 0:
            raise ValueError(f"For '{owner}', the '{name}' must be >= 0, but got {value}.")


class FTRL(Optimizer):
    """Follow the regularised leader: n is the sum of g^2 from ``initial_accum``, q = -lr_power,
    z += g - (n_new^q - n_old^q) / lr p; p = (clip(z, -l1, l1) - z) / (n_new^q / lr + 2 l2).

    Raises:
        ValueError: the rate depends on the step or the group, ``lr_power`` is positive, or another
            setting is negative.
    """

    by_element = True

    def __init__(
        self, params: Any, initial_accum: float = 0.1, learning_rate: Any = 0.001,
        lr_power: float = -0.5, l1: float = 0.0, l2: float = 0.0, use_locking: bool = False,
        loss_scale: float = 1.0, weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        rates = {id(group.rate) for group in self._groups}
        if not isinstance(self._default_rate, Parameter) or len(rates) > 1:
            raise ValueError(
                "For 'FTRL', dynamic learning rate and group learning rate are currently not "
                "supported in FTRL."
            )
        _at_least_zero("FTRL", initial_accum=initial_accum, l1=l1, l2=l2)
        if lr_power > 0:
            raise ValueError(f"For 'FTRL', the 'lr_power' must be <= 0, but got {lr_power}.")
        for group in self._groups:  # beta and gamma decay as all others do
            group.decays = [True] * len(group.decays)
        self.l1, self.l2, self.lr_power, self.use_locking = l1, l2, lr_power, use_locking
        self.moments = self.make_states("moments", initial_accum)
        self.linear = self.make_states("linear")

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        sums, lines = self.of_group(self.moments, group), self.of_group(self.linear, group)
        for p, g, n, z in zip(parameters, gradients, sums, lines, strict=True):
            after = n + g * g
            root = t.pow(after, -self.lr_power)
            assign(z, z + g - (root - t.pow(n, -self.lr_power)) / rate * p.detach())
            assign(n, after)
            assign(p, (t.clamp(z, -self.l1, self.l1) - z) / (root / rate + 2 * self.l2))


class LazyAdam(Adam):
    """:class:`Adam`: gradients are dense here, so no row is left out."""

    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999,
        eps: float = 1e-8, use_locking: bool = False, use_nesterov: bool = False,
        weight_decay: float = 0.0, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov,
                         weight_decay, loss_scale)  # fmt: skip


class ProximalAdagrad(Optimizer):
    """a += g^2, from ``accum``; r = lr / sqrt(a); q = p - r g;
    p = sign(q) max(|q| - r l1, 0) / (1 + r l2)."""

    by_element = True

    def __init__(
        self, params: Any, accum: float = 0.1, learning_rate: Any = 0.001, l1: float = 0.0,
        l2: float = 0.0, use_locking: bool = False, loss_scale: float = 1.0,
        weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _at_least_zero("ProximalAdagrad", accum=accum, l1=l1, l2=l2)
        self.l1, self.l2, self.use_locking = l1, l2, use_locking
        self.accum = self.make_states("accum", accum)

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        for p, g, a in zip(parameters, gradients, self.of_group(self.accum, group), strict=True):
            assign(a, a + g * g)
            own = rate / t.sqrt(a)
            moved = p.detach() - own * g
            shrunk = t.clamp(t.abs(moved) - own * self.l1, 0.0) if self.l1 else t.abs(moved)
            assign(p, t.sign(moved) * shrunk / (1 + own * self.l2))


class Rprop(Optimizer):
    """Steps of a size for each element: times ``etas[1]`` while its gradient keeps the sign, times
    ``etas[0]`` and no step when it changes; from the learning rate, within ``step_sizes``."""

    by_element = True

    def __init__(
        self, params: Any, learning_rate: Any = 0.1, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0), weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay)
        for name, pair in (("etas", etas), ("step_sizes", step_sizes)):
            if not isinstance(pair, tuple):
                raise TypeError(f"For Rprop, {name} must be a tuple, but got {type(pair)}.")
            if len(pair) != 2:
                raise ValueError(
                    f"For Rprop, {name} must be a tuple with the size of 2, but got {len(pair)}."
                )
        if step_sizes[0] > step_sizes[1]:
            raise ValueError(
                "For Rprop, maximal step size should not be less than minimal step size, but got "
                f"{step_sizes[0]} > {step_sizes[1]}."
            )
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"For Rprop, etas must be in (0, 1) and > 1, but got {etas}.")
        self.etas, self.step_sizes = etas, step_sizes
        self.prev = self.make_states("prev")
        self.step_size = self.make_states("step_size")

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        first = int(self.global_step.flat[0]) == 0
        before, sizes = self.of_group(self.prev, group), self.of_group(self.step_size, group)
        for p, g, last, size in zip(parameters, gradients, before, sizes, strict=True):
            turn = t.sign(g * last)
            factor = t.where(turn > 0, self.etas[1], t.where(turn < 0, self.etas[0], 1.0))
            held = t.full_like(size, rate) if first else size
            assign(size, t.clamp(held * factor.to(size.dtype), *self.step_sizes))
            kept = t.where(turn < 0, t.zeros_like(g), g)
            assign(last, kept)
            assign(p, p.detach() - t.sign(kept) * size)


class ASGD(Optimizer):
    """p = p (1 - lambd eta) - eta g, eta = lr / (1 + lambd lr step)^alpha; ``ax`` is the mean of p
    after step ``t0``."""

    def __init__(
        self, params: Any, learning_rate: Any = 0.1, lambd: float = 1e-4, alpha: float = 0.75,
        t0: float = 1e6, weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay)
        for name, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0)):
            if not isinstance(value, float):
                raise TypeError(f"For 'ASGD', the '{name}' must be float, but got {value!r}.")
        self.lambd, self.alpha, self.t0 = lambd, alpha, t0
        self.ax = self.make_states("ax_")
        self.mu = tuple(self._scalar("mu", i, 1.0) for i in range(len(self.parameters)))
        self.eta = tuple(self._scalar("eta", i, 0.0) for i in range(len(self.parameters)))

    def _scalar(self, prefix: str, i: int, value: float) -> Any:
        name = f"{prefix}_{self.parameters[i].name}"
        state = Parameter(Tensor(value, dtypes.float32), name, False)
        self.register_parameter(f"{prefix}_{i}", state)
        return state

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        step = int(self.global_step.flat[0]) + 1
        states = (self.of_group(s, group) for s in (self.mu, self.eta, self.ax))
        for p, g, mu, eta, mean in zip(parameters, gradients, *states, strict=True):
            if step == 1:
                eta.flat[0] = rate
            size, share = float(eta.flat[0]), float(mu.flat[0])
            new = p.detach() * (1 - self.lambd * size) - size * g
            assign(p, new)
            assign(mean, new if share == 1 else mean + (new - mean) * share)
            eta.flat[0] = rate / math.pow(1 + self.lambd * rate * step, self.alpha)
            mu.flat[0] = 1 / max(1.0, step - self.t0)


def _not_bias_nor_norm(parameter: Any) -> bool:
    return "LayerNorm" not in parameter.name and "bias" not in parameter.name


class LARS(Optimizer):
    """Before ``optimizer`` steps, each gradient g becomes r (g + decay p) with the trust ratio
    r = coefficient |p| / (|g| + decay |p| + epsilon); with ``use_clip`` r is min(r / lr, 1).

    Args:
        optimizer: its weight decay and loss scale are applied here and no more by itself.
        lars_filter: for which parameters; the gradients of others stay as they are.
    """

    def __init__(
        self, optimizer: Any, epsilon: float = 1e-5, coefficient: float = 0.001,
        use_clip: bool = False, lars_filter: Callable[[Any], bool] = _not_bias_nor_norm,
    ) -> None:  # fmt: skip
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"For 'LARS', {type(optimizer).__name__} is not an optimizer")
        super().__init__(0.0, list(optimizer.parameters))
        self.opt, self.epsilon, self.coefficient = optimizer, epsilon, coefficient
        self.use_clip = use_clip
        self.lars_flag = tuple(bool(lars_filter(p)) for p in self.parameters)
        decays = [0.0] * len(self.parameters)
        for group in optimizer._groups:
            for i, acts in zip(group.places, group.decays, strict=True):
                decays[i] = float(group.decay) if acts else 0.0
            group.decay = 0.0
        self.decay = tuple(decays)
        self.loss_scale, optimizer.loss_scale = optimizer.loss_scale, 1.0

    def construct(self, gradients: Any) -> Any:
        rates = [0.0] * len(self.parameters)
        if self.use_clip:
            for group in self.opt._groups:
                for i in group.places:
                    rates[i] = self.opt._value_of(group.rate)
        scaled = self.scale_grad(self._checked(gradients))
        return self.opt(tuple(
            self._trusted(p, g, decay, rate) if flag else g
            for p, g, flag, decay, rate in zip(
                self.parameters, scaled, self.lars_flag, self.decay, rates, strict=True
            )
        ))  # fmt: skip

    def _trusted(self, p: Any, g: Any, decay: float, rate: float) -> Any:
        p = p.detach()
        size, slope = float(T.norm(p)), float(T.norm(g))
        ratio = 1.0
        if size > 0 and slope > 0:
            ratio = self.coefficient * size / (slope + decay * size + self.epsilon)
        if self.use_clip:
            ratio = min(ratio / rate, 1.0) if rate else 1.0
        return (g + decay * p) * np.float32(ratio)
