"""Rules that scale each step by a running measure of the gradients: Adamax to RMSprop."""

from __future__ import annotations

from typing import Any

from ._parameterwise import (
    ParameterwiseOptimizer,
    check_moments,
    check_not_negative,
    check_rate,
    decayed,
    held,
    options,
    raised,
    scalar_state,
    zeros_like,
)
from .optimizer import to_scalar


def _count(state: dict[str, Any]) -> float:
    state["step"] += 1
    return float(state["step"].item())


def _filled_like(p: Any, value: float) -> Any:
    """The number, of a complex parameter in both parts."""
    return zeros_like(p).fill_(complex(value, value) if p.is_complex() else value)


def _shrink_or_decay(p: Any, grad: Any, lr: float, group: dict[str, Any]) -> Any:
    """Decoupled decay shrinks the parameter; otherwise decay joins the gradient."""
    if group["decoupled_weight_decay"]:
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        return grad
    return decayed(p, grad, group)


class Adamax(ParameterwiseOptimizer):
    """m = beta1 m + (1 - beta1) g; u = max(beta2 u, |g| + eps); p -= lr / (1 - beta1^t) m / u."""

    zeros = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_moments(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            **options(foreach, maximize, capturable, differentiable),
        })  # fmt: skip

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        count = _count(state)
        grad = decayed(p, grad, group)
        mean, largest = state["exp_avg"], state["exp_inf"]
        mean.lerp_(grad, 1 - beta1)
        largest.copy_(largest.mul(beta2).maximum(grad.abs().add_(group["eps"])))
        p.addcdiv_(held(mean), held(largest), value=-(to_scalar(group["lr"]) / (1 - beta1**count)))


class NAdam(ParameterwiseOptimizer):
    """Adam with Nesterov momentum: mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2), and p moves
    along (1 - mu_t) / (1 - prod mu) g + mu_{t+1} / (1 - prod mu mu_{t+1}) m."""

    captured = "params, mu_products"

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_moments(lr, betas, eps, weight_decay)
        check_not_negative("momentum_decay value", momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            **options(
                foreach, maximize, capturable, differentiable,
                "maximize foreach capturable differentiable",
            ),
        })  # fmt: skip

    def _init_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = scalar_state()
        state["mu_product"] = scalar_state(1.0)
        state["exp_avg"] = zeros_like(p)
        state["exp_avg_sq"] = zeros_like(p)

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        lr, drift = to_scalar(group["lr"]), group["momentum_decay"]
        count = _count(state)
        grad = _shrink_or_decay(p, grad, lr, group)
        now = beta1 * (1.0 - 0.5 * (0.96 ** (count * drift)))
        after = beta1 * (1.0 - 0.5 * (0.96 ** ((count + 1) * drift)))
        state["mu_product"] *= now
        recorded = group["differentiable"]
        product = held(state["mu_product"]) if recorded else state["mu_product"].item()
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        below = raised(square.div(1 - beta2**count).sqrt(), group["eps"])
        if recorded:
            p.addcdiv_(grad * (-lr * (1.0 - now) / (1.0 - product)), below)
            p.addcdiv_(mean * (-lr * after / (1.0 - product * after)), below)
            return
        p.addcdiv_(grad, below, value=-lr * (1.0 - now) / (1.0 - product))
        p.addcdiv_(mean, below, value=(-lr * after) / (1.0 - product * after))


class RAdam(ParameterwiseOptimizer):
    """Adam without the division while the second moment's variance is out of hand (rho_t <= 5),
    and with a rectified step after."""

    zeros = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_moments(lr, betas, eps, weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            **options(
                foreach, maximize, capturable, differentiable,
                "maximize foreach capturable decoupled_weight_decay differentiable",
                decoupled_weight_decay=decoupled_weight_decay,
            ),
        })  # fmt: skip

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        lr = to_scalar(group["lr"])
        count = _count(state)
        grad = _shrink_or_decay(p, grad, lr, group)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction = 1 - beta2**count
        move = mean / (1 - beta1**count)
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * count * (beta2**count) / correction
        if length <= 5.0:
            p.add_(move * lr, alpha=-1.0)
            return
        rectified = (
            (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
        ) ** 0.5
        scale = (correction**0.5) / raised(square.sqrt(), group["eps"])
        p.add_(move * lr * scale * rectified, alpha=-1.0)


class Adagrad(ParameterwiseOptimizer):
    """s += g²; p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps).

    Args:
        initial_accumulator_value: s at first.
        lr_decay: as above.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            **options(
                foreach, maximize, None, differentiable,
                "foreach maximize differentiable fused", fused=fused,
            ),
        })  # fmt: skip
        for group in self.param_groups:
            for p in group["params"]:
                self._init_state(p, self.state[p], group)

    def _init_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = scalar_state()
        state["sum"] = _filled_like(p, group["initial_accumulator_value"])

    def share_memory(self) -> None:
        """Move the sums into memory that other processes can map."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    takes_sparse = True

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        if grad._sparse and group.get("fused"):
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        if grad._sparse and group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        count = _count(state)
        rate = to_scalar(group["lr"]) / (1 + (count - 1) * group["lr_decay"])
        if grad._sparse:
            self._update_rows(p, grad.coalesce(), state["sum"], rate, group["eps"])
            return
        grad = decayed(p, grad, group)
        state["sum"].addcmul_(grad, grad, value=1)
        p.addcdiv_(grad, raised(state["sum"].sqrt(), group["eps"]), value=-rate)

    @staticmethod
    def _update_rows(p: Any, grad: Any, squares: Any, rate: float, eps: float) -> None:
        """The rule in those rows only that the gradient stores."""
        values = grad.values()
        squares.add_(grad.like(values * values))
        below = squares[tuple(grad.indices().unbind(0))].sqrt_().add_(eps)
        p.add_(grad.like(values / below), alpha=-rate)


class Adadelta(ParameterwiseOptimizer):
    """v = rho v + (1 - rho) g²; d = sqrt(u + eps) / sqrt(v + eps) g; u = rho u + (1 - rho) d²;
    p -= lr d."""

    zeros = ("square_avg", "acc_delta")

    on_xla = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay,
            **options(
                foreach, maximize, capturable, differentiable,
                "maximize capturable foreach differentiable",
            ),
        })  # fmt: skip

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        rho, eps = group["rho"], group["eps"]
        state["step"] += 1
        grad = decayed(p, grad, group)
        square, moved = state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = held(moved.add(eps).sqrt_()).div_(square.add(eps).sqrt_()).mul_(grad)
        moved.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        p.add_(delta, alpha=-to_scalar(group["lr"]))


class RMSprop(ParameterwiseOptimizer):
    """v = alpha v + (1 - alpha) g²; p -= lr g / (sqrt(v) + eps).

    ``centered`` takes the square of the gradients' mean from v; with momentum, p moves along
    b = momentum b + g / (sqrt(v) + eps).
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay,
            **options(
                foreach, maximize, capturable, differentiable,
                "capturable foreach maximize differentiable",
            ),
        })  # fmt: skip

    def _init_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = scalar_state()
        state["square_avg"] = zeros_like(p)
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = zeros_like(p)

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        alpha, lr = group["alpha"], to_scalar(group["lr"])
        state["step"] += 1
        grad = decayed(p, grad, group)
        square = state["square_avg"]
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            below = square.addcmul(held(mean), held(mean), value=-1).sqrt_()
        else:
            below = square.sqrt()
        below = raised(below, group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(grad, below)
            p.add_(buffer, alpha=-lr)
        else:
            p.addcdiv_(grad, below, value=-lr)


class Rprop(ParameterwiseOptimizer):
    """A step size for each element: larger while the gradient's sign holds, smaller when it
    turns.

    Args:
        etas: factors of a step that shrinks and of one that grows.
        step_sizes: the least and the greatest step.
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes,
            **options(foreach, maximize, capturable, differentiable),
        })  # fmt: skip

    def _init_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = scalar_state()
        state["prev"] = zeros_like(p)
        state["step_size"] = _filled_like(p, to_scalar(group["lr"]))

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] += 1
        smaller, larger = group["etas"]
        agreement = grad.mul(held(state["prev"]))
        turned = agreement.lt(0)
        factor = zeros_like(p).fill_(1.0)
        factor.masked_fill_(agreement.gt(0), larger).masked_fill_(turned, smaller)
        size = state["step_size"]
        size.mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.masked_fill(turned, 0.0)
        p.addcmul_(grad.sign(), held(size), value=-1)
        state["prev"].copy_(grad)


class ASGD(ParameterwiseOptimizer):
    """Averaged descent: p = (1 - lambd eta) p - eta g; ax averages p from step ``t0`` on.

    Args:
        lambd: how fast parameters and rate decay.
        alpha: the power of the rate's decay.
        t0: the step that averaging begins with.
    """

    captured = "params, mus, etas,"

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            **options(foreach, maximize, capturable, differentiable),
        })  # fmt: skip

    def _init_state(self, p: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        state["step"] = scalar_state()
        state["eta"] = scalar_state(float(to_scalar(group["lr"])))
        state["mu"] = scalar_state(1.0)
        state["ax"] = zeros_like(p)

    def _update(self, p: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, decay = to_scalar(group["lr"]), group["lambd"]
        count = _count(state)
        grad = decayed(p, grad, group)
        eta, average = state["eta"].item(), state["ax"]
        p.mul_(1 - decay * eta)
        p.add_(grad, alpha=-eta)
        if state["mu"].item() != 1:
            average.add_(p.sub(average).mul_(held(state["mu"])))
        else:
            average.copy_(p)
        # Rounded to the type of fresh state, as loaded state may have the parameter's.
        state["eta"].copy_(scalar_state(lr / ((1 + decay * lr * count) ** group["alpha"])))
        state["mu"].copy_(scalar_state(1 / max(1, count - group["t0"])))
