"""MindSpore's optimizers: its formulas and defaults, on the engine's kernels and ops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.optim.functional import updated, updates

from ..common.parameter import Parameter
from ..common.tensor import T, Tensor, adopt, t
from .optimizer import Optimizer, assign

__all__ = [
    "SGD", "AdaMax", "Adadelta", "Adagrad", "Adam", "AdamWeightDecay", "Lamb", "Momentum", "RMSProp"
]  # fmt: skip


def _within(owner: str, **settings: float) -> None:
    for name, value in settings.items():
        if not 0.0 < value < 1.0:
            raise ValueError(f"For '{owner}', the '{name}' must be in (0, 1), but got {value}.")


def _not_negative(owner: str, **settings: float) -> None:
    for name, value in settings.items():
        if value < 0:
            raise ValueError(f"For '{owner}', the '{name}' must be >= 0, but got {value}.")


def _single(value: float) -> float:
    """The number nearest in float32, in which MindSpore keeps the decay rates: 1 - beta2 differs
    in its fifth digit."""
    return float(np.float32(value))


def _sgd(
    group: Any, parameters: Any, gradients: Any, states: Any, rate: float, momentum: float,
    dampening: float, nesterov: bool,
) -> None:  # fmt: skip
    """One step with momentum buffers that exist."""
    if not states:
        _step(group, updates.SGD, parameters, gradients, [], 2.0, (rate, 0.0))
        return
    settings = rate, 0.0, momentum, dampening, nesterov
    _step(group, updates.SGD_MOMENTUM, parameters, gradients, [states], 2.0, settings)


def _step(
    group: Any, update: updates.Update, parameters: Any, gradients: Any, states: Any,
    step: float, settings: Any,
) -> None:  # fmt: skip
    """One step by the fused kernel or by ops; ``states`` has a list for each of the update's."""
    steps = [step] * len(parameters)
    if group.fused.step(update, parameters, gradients, states, steps, False, settings):
        return
    for p, g, *own in zip(parameters, gradients, *states, strict=True):
        after = updated(update, p, g, own, step, settings)
        for target, value in zip([p, *own], after, strict=True):
            assign(target, value)


class SGD(Optimizer):
    """d = g + weight_decay p; v = momentum v + (1 - dampening) d; p -= lr v (first v: d).

    With ``nesterov`` the step is along d + momentum v.
    """

    by_element = True

    def __init__(
        self, params: Any, learning_rate: Any = 0.1, momentum: float = 0.0, dampening: float = 0.0,
        weight_decay: float = 0.0, nesterov: bool = False, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _not_negative("SGD", momentum=momentum, dampening=dampening)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError(
                "For 'SGD', if 'nesterov' is true, 'momentum' must be > 0 and 'dampening' 0, but "
                f"got 'momentum' {momentum}, 'dampening' {dampening}."
            )
        self.dampening, self.nesterov = dampening, nesterov
        self.momentum = Parameter(Tensor(momentum, dtypes.float32), "momentum", False)
        self.accum = self.make_states("accum")
        self.stat = self.make_states("stat", "ones")

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        momentum = float(self.momentum.flat[0])
        states = self.of_group(self.accum, group) if momentum else []
        dampening = self.dampening
        if dampening and momentum:
            stats = self.of_group(self.stat, group)
            if stats[0].flat[0] > 0:
                dampening = 0.0
                for stat in stats:
                    stat.flat[...] = 0
        _sgd(group, parameters, gradients, states, rate, momentum, dampening, self.nesterov)


class Momentum(Optimizer):
    """v = momentum v + g; p -= lr v, or with ``use_nesterov`` p -= lr (g + momentum v)."""

    by_element = True

    def __init__(
        self, params: Any, learning_rate: Any, momentum: float, weight_decay: float = 0.0,
        loss_scale: float = 1.0, use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _not_negative("Momentum", momentum=momentum)
        self.momentum = Parameter(Tensor(momentum, dtypes.float32), "momentum", False)
        self.use_nesterov = use_nesterov
        self.moments = self.make_states("moments")

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        states = self.of_group(self.moments, group)
        momentum = float(self.momentum.flat[0])
        _sgd(group, parameters, gradients, states, rate, momentum, 0.0, self.use_nesterov)


class Adam(Optimizer):
    """m and v are running means of g and g^2; p -= lr sqrt(1 - beta2^t) / (1 - beta1^t)
    m / (sqrt(v) + eps): eps is added before the correction of v, not after it as in torch.

    Args:
        use_amsgrad: divide by the largest v so far.
    """

    by_element = True

    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999,
        eps: float = 1e-8, use_locking: bool = False, use_nesterov: bool = False,
        weight_decay: float = 0.0, loss_scale: float = 1.0, use_amsgrad: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _within("Adam", beta1=beta1, beta2=beta2)
        if eps <= 0:
            raise ValueError(f"For 'Adam', the 'eps' must be > 0, but got {eps}.")
        if use_nesterov and use_amsgrad:
            raise ValueError("For 'Adam', use_nesterov and use_amsgrad exclude each other.")
        self.beta1, self.beta2, self.eps = _single(beta1), _single(beta2), eps
        self.use_locking, self.use_nesterov, self.use_amsgrad = (
            use_locking, use_nesterov, use_amsgrad
        )  # fmt: skip
        self.beta1_power = Parameter(Tensor(1.0, dtypes.float32), "beta1_power", False)
        self.beta2_power = Parameter(Tensor(1.0, dtypes.float32), "beta2_power", False)
        self.moment1 = self.make_states("moment1")
        self.moment2 = self.make_states("moment2")
        self.vhat = self.make_states("vhat") if use_amsgrad else ()

    def construct(self, gradients: Any) -> Any:
        self.beta1_power.flat[0] *= np.float32(self.beta1)
        self.beta2_power.flat[0] *= np.float32(self.beta2)
        return super().construct(gradients)

    def _corrected(self, rate: float) -> float:
        """rate sqrt(1 - beta2^t) / (1 - beta1^t), of powers that are float32 as MindSpore's."""
        left = 1 - float(self.beta1_power.flat[0]), 1 - float(self.beta2_power.flat[0])
        return rate * math.sqrt(left[1]) / left[0]

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        step = int(self.global_step.flat[0]) + 1
        first, second = self.of_group(self.moment1, group), self.of_group(self.moment2, group)
        largest = self.of_group(self.vhat, group) if self.use_amsgrad else []
        # the kernel corrects m and v by itself: these turn its formula into ours
        root = math.sqrt(1 - self.beta2**step)
        eps, own = self.eps / root, self._corrected(rate) * (1 - self.beta1**step) / root
        if self.use_nesterov:
            for p, g, m, v in zip(parameters, gradients, first, second, strict=True):
                self._nesterov(p, g, m, v, self._corrected(rate))
            return
        states = [first, second, *([largest] if largest else [])]
        update = updates.ADAM_AMSGRAD if largest else updates.ADAM
        settings = own, self.beta1, self.beta2, eps, 0.0, False
        _step(group, update, parameters, gradients, states, float(step), settings)

    def _nesterov(self, p: Any, g: Any, m: Any, v: Any, rate: float) -> None:
        assign(m, self.beta1 * m + (1 - self.beta1) * g)
        assign(v, self.beta2 * v + (1 - self.beta2) * g * g)
        along = self.beta1 * m + (1 - self.beta1) * g
        assign(p, p - rate * along / (t.sqrt(v) + self.eps))


class AdamWeightDecay(Optimizer):
    """p -= lr (m / (sqrt(v) + eps) + weight_decay p), without correction of the running means."""

    by_element = True

    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999,
        eps: float = 1e-6, weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay)
        _within("AdamWeightDecay", beta1=beta1, beta2=beta2)
        self.beta1, self.beta2, self.eps = _single(beta1), _single(beta2), eps
        self.moments1 = self.make_states("adam_m")
        self.moments2 = self.make_states("adam_v")

    def direction(self, p: Any, g: Any, m: Any, v: Any) -> Any:
        assign(m, self.beta1 * m + (1 - self.beta1) * g)
        assign(v, self.beta2 * v + (1 - self.beta2) * g * g)
        return m / (t.sqrt(v) + self.eps)

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        first, second = self.of_group(self.moments1, group), self.of_group(self.moments2, group)
        for p, g, m, v, decays in zip(
            parameters, gradients, first, second, group.decays, strict=True
        ):
            along = self.direction(p, g, m, v)
            if decays and group.decay:
                along = along + group.decay * p
            assign(p, p - rate * along)


class Lamb(Optimizer):
    """Adam's corrected direction plus weight_decay p, scaled to the norm of each parameter."""

    def __init__(
        self, params: Any, learning_rate: Any, beta1: float = 0.9, beta2: float = 0.999,
        eps: float = 1e-6, weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay)
        _within("Lamb", beta1=beta1, beta2=beta2)
        self.beta1, self.beta2, self.eps = _single(beta1), _single(beta2), eps
        self.moments1 = self.make_states("lamb_m")
        self.moments2 = self.make_states("lamb_v")

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        step = int(self.global_step.flat[0]) + 1
        first, second = self.of_group(self.moments1, group), self.of_group(self.moments2, group)
        for p, g, m, v, decays in zip(
            parameters, gradients, first, second, group.decays, strict=True
        ):
            assign(m, self.beta1 * m + (1 - self.beta1) * g)
            assign(v, self.beta2 * v + (1 - self.beta2) * g * g)
            along = m / (1 - self.beta1**step)
            along = along / (t.sqrt(v / (1 - self.beta2**step)) + self.eps)
            if decays and group.decay:
                along = along + group.decay * p
            size, reach = float(T.norm(p)), float(T.norm(along))
            ratio = size / reach if size > 0 and reach > 0 else 1.0
            assign(p, p - rate * ratio * along)


class RMSProp(Optimizer):
    """s = decay s + (1 - decay) g^2, from ones; m = momentum m + lr g / sqrt(s + epsilon);
    p -= m. With ``centered`` the square of the running mean of g is taken from s."""

    by_element = True

    def __init__(
        self, params: Any, learning_rate: Any = 0.1, decay: float = 0.9, momentum: float = 0.0,
        epsilon: float = 1e-10, use_locking: bool = False, centered: bool = False,
        loss_scale: float = 1.0, weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _not_negative("RMSProp", decay=decay, momentum=momentum)
        if epsilon <= 0:
            raise ValueError(f"For 'RMSProp', the 'epsilon' must be > 0, but got {epsilon}.")
        self.decay, self.momentum, self.epsilon = decay, momentum, epsilon
        self.use_locking, self.centered = use_locking, centered
        self.mg = self.make_states("mean_grad") if centered else ()
        self.ms = self.make_states("mean_square", "ones")
        self.moment = self.make_states("moment")

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        squares, moments = self.of_group(self.ms, group), self.of_group(self.moment, group)
        means = self.of_group(self.mg, group) if self.centered else [None] * len(squares)
        for p, g, s, m, mean in zip(parameters, gradients, squares, moments, means, strict=True):
            assign(s, self.decay * s + (1 - self.decay) * g * g)
            below = s
            if mean is not None:
                assign(mean, self.decay * mean + (1 - self.decay) * g)
                below = s - mean * mean
            assign(m, self.momentum * m + rate * g / t.sqrt(below + self.epsilon))
            assign(p, p - m)


class Adagrad(Optimizer):
    """a += g^2, from ``accum``; p -= lr g / sqrt(a).

    Args:
        update_slots: False keeps a as it is.
    """

    by_element = True

    def __init__(
        self, params: Any, accum: float = 0.1, learning_rate: Any = 0.001,
        update_slots: bool = True, loss_scale: float = 1.0, weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _not_negative("Adagrad", accum=accum)
        self.update_slots = update_slots
        self.accum = self.make_states("accum", accum)

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        for p, g, a in zip(parameters, gradients, self.of_group(self.accum, group), strict=True):
            if self.update_slots:
                assign(a, a + g * g)
            assign(p, p - rate * g / t.sqrt(a))


class AdaMax(Optimizer):
    """m as Adam's; u = max(beta2 u, |g|); p -= lr / (1 - beta1^t) m / (u + eps)."""

    by_element = True

    def __init__(
        self, params: Any, learning_rate: Any = 0.001, beta1: float = 0.9, beta2: float = 0.999,
        eps: float = 1e-8, weight_decay: float = 0.0, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        _within("AdaMax", beta1=beta1, beta2=beta2)
        self.beta1, self.beta2, self.eps = _single(beta1), _single(beta2), eps
        self.beta1_power = Parameter(Tensor(1.0, dtypes.float32), "beta1_power", False)
        self.moment1 = self.make_states("moment1")
        self.moment2 = self.make_states("moment2")

    def construct(self, gradients: Any) -> Any:
        self.beta1_power.flat[0] *= np.float32(self.beta1)
        return super().construct(gradients)

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        rate /= 1 - float(self.beta1_power.flat[0])
        first, second = self.of_group(self.moment1, group), self.of_group(self.moment2, group)
        for p, g, m, u in zip(parameters, gradients, first, second, strict=True):
            assign(m, self.beta1 * m + (1 - self.beta1) * g)
            assign(u, t.maximum(self.beta2 * adopt(u.detach()), t.abs(g)))
            assign(p, p - rate * m / (u + self.eps))


class Adadelta(Optimizer):
    """a = rho a + (1 - rho) g^2; d = sqrt(u + epsilon) / sqrt(a + epsilon) g; p -= lr d;
    u = rho u + (1 - rho) d^2."""

    by_element = True

    def __init__(
        self, params: Any, learning_rate: Any = 1.0, rho: float = 0.9, epsilon: float = 1e-6,
        loss_scale: float = 1.0, weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if not 0 <= rho <= 1:
            raise ValueError(f"For 'Adadelta', the 'rho' must be in [0, 1], but got {rho}.")
        self.rho, self.epsilon = rho, epsilon
        self.accum = self.make_states("accum")
        self.accum_update = self.make_states("accum_update")

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        gradients = self.decayed(group, parameters, gradients)
        squares, changes = self.of_group(self.accum, group), self.of_group(self.accum_update, group)
        for p, g, a, u in zip(parameters, gradients, squares, changes, strict=True):
            assign(a, self.rho * a + (1 - self.rho) * g * g)
            along = t.sqrt(u + self.epsilon) / t.sqrt(a + self.epsilon) * g
            assign(p, p - rate * along)
            assign(u, self.rho * u + (1 - self.rho) * along * along)
