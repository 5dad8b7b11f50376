"""Schedules that go up and down."""

from __future__ import annotations

import functools
import math
from typing import Any

from mindtorch.engine.compile.capture.host_calls import host_call

from ._schedule_base import LRScheduler, check_optimizer, for_each_group, function_state, set_value


def _cycle_momentum(optimizer: Any) -> bool:
    """Whether momentum is Adam's beta1; ValueError when the optimizer has neither."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], is_beta: bool, momentum: Any) -> None:
    if is_beta:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def _prepare_momentum(optimizer: Any, is_beta: bool, largest: Any, least: Any) -> None:
    for high, low, group in zip(largest, least, optimizer.param_groups, strict=True):
        _set_momentum(group, is_beta, high)
        group["max_momentum"] = high
        group["base_momentum"] = low


def _constant(x: float) -> float:
    return 1.0


def _halving(x: float) -> float:
    return 1 / 2.0 ** (x - 1)


def _exponential(gamma: float, x: float) -> float:
    return gamma**x


class CyclicLR(LRScheduler):
    """lr between ``base_lr`` and ``max_lr`` on a triangle wave, momentum the other way round.

    The wave's height is constant ("triangular"), halved each cycle ("triangular2"), or scaled by
    gamma^iteration ("exp_range"), or by ``scale_fn``.

    Args:
        step_size_up, step_size_down: batches from ``base_lr`` to ``max_lr`` and back; None for the
            same.
        mode: "triangular", "triangular2" (halved each cycle) or "exp_range" (times ``gamma`` each
            batch).
        scale_fn, scale_mode: a factor of one's own, by the "cycle" or by "iterations".
    """

    def __init__(
        self,
        optimizer: Any,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Any = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", rate)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _cycle_momentum(optimizer)
            self.base_momentums = for_each_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = for_each_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                _prepare_momentum(
                    optimizer, self.use_beta1, self.max_momentums, self.base_momentums
                )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        self._scale_fn_ref: Any = {
            "triangular": _constant,
            "triangular2": _halving,
            "exp_range": functools.partial(_exponential, self.gamma),
        }[self.mode]
        self.scale_mode = "iterations" if self.mode == "exp_range" else "cycle"

    def scale_fn(self, x: float) -> Any:
        """The wave's height in cycle, or iteration, ``x``."""
        custom = self._scale_fn_custom
        return self._scale_fn_ref(x) if custom is None else custom(x)

    def get_lr(self) -> list[Any]:
        """The rates; momentum is set on the way."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        at = cycle if self.scale_mode == "cycle" else self.last_epoch
        rates = [
            low + (high - low) * height * self.scale_fn(at)
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]
        if self.cycle_momentum:
            momentums = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, momentums, strict=True):
                momentum = high - (high - low) * height * self.scale_fn(at)
                _set_momentum(group, self.use_beta1, momentum)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """Without functions; a callable object's attributes are in it."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        custom = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if custom is None else function_state(custom)
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        custom = state_dict["_scale_fn_custom"]
        super().load_state_dict(
            {k: v for k, v in state_dict.items() if k != "_scale_fn_custom"}
        )
        if custom is not None:
            self._scale_fn_custom.__dict__.update(custom)
        self._init_scale_fn()


class CosineAnnealingWarmRestarts(LRScheduler):
    """A cosine from initial_lr to ``eta_min`` in T_0 epochs, then anew, each time T_mult longer."""

    def __init__(
        self,
        optimizer: Any,
        T_0: int,  # noqa: N803
        T_mult: int = 1,  # noqa: N803
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i: Any = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: Any = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        shape = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * shape / 2 for base in self.base_lrs]

    @host_call
    def step(self, epoch: Any = None) -> None:
        """The next epoch, or a fraction of one as a float."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._place(epoch)
        self.last_epoch = math.floor(epoch)
        with self._stepping():
            rates = self.get_lr()
        self._set_rates(rates)

    def _place(self, epoch: Any) -> None:
        """Find the cycle that ``epoch`` is in."""
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            factor = self.T_mult
            n = int(math.log(epoch / self.T_0 * (factor - 1) + 1, factor))
            self.T_cur = epoch - self.T_0 * (factor**n - 1) / (factor - 1)
            self.T_i = self.T_0 * factor**n


def _cosine(start: Any, end: Any, part: float) -> Any:
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def _line(start: Any, end: Any, part: float) -> Any:
    return (end - start) * part + start


def _phase(end: float, rates: tuple[str, str], momentums: tuple[str, str]) -> dict[str, Any]:
    return {
        "end_step": end, "start_lr": rates[0], "end_lr": rates[1],
        "start_momentum": momentums[0], "end_momentum": momentums[1],
    }  # fmt: skip


def _total_steps(total: Any, epochs: Any, per_epoch: Any) -> int:
    given = {"total_steps": total}
    if total is None:
        if epochs is None or per_epoch is None:
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        given = {"epochs": epochs, "steps_per_epoch": per_epoch}
    for name, value in given.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


class OneCycleLR(LRScheduler):
    """lr from max_lr / div_factor up to ``max_lr`` and down to a ``final_div_factor``-th of the
    start, in ``total_steps`` steps; momentum the other way round.

    Args:
        epochs, steps_per_epoch: their product is the length, in place of ``total_steps``.
        pct_start: the part of the length that goes up.
        anneal_strategy: "cos" or "linear".
        three_phase: go down to the first rate as one went up, then to the last one.
    """

    def __init__(
        self,
        optimizer: Any,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = self._phases(pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        rates = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _cycle_momentum(optimizer)
            largest = for_each_group("max_momentum", optimizer, max_momentum)
            least = for_each_group("base_momentum", optimizer, base_momentum)
            if last_epoch == -1:
                _prepare_momentum(optimizer, self.use_beta1, largest, least)
        super().__init__(optimizer, last_epoch)

    # old checkpoints hold one of these by its name
    _annealing_cos = staticmethod(_cosine)
    _annealing_linear = staticmethod(_line)

    def _anneal_func(self, *args: Any) -> Any:
        if not hasattr(self, "_anneal_func_type"):
            return self.anneal_func(*args)  # type: ignore[attr-defined]
        return (_cosine if self._anneal_func_type == "cos" else _line)(*args)

    def _phases(self, start: float, three: bool) -> list[dict[str, Any]]:
        falling, rising = ("max_momentum", "base_momentum"), ("base_momentum", "max_momentum")
        up = _phase(float(start * self.total_steps) - 1, ("initial_lr", "max_lr"), falling)
        last = self.total_steps - 1
        if not three:
            return [up, _phase(last, ("max_lr", "min_lr"), rising)]
        down = float(2 * start * self.total_steps) - 2
        return [
            up,
            _phase(down, ("max_lr", "initial_lr"), rising),
            _phase(last, ("initial_lr", "min_lr"), ("max_momentum", "max_momentum")),
        ]

    def get_lr(self) -> list[Any]:
        """The rates; momentum is set on the way."""
        self._warn_outside_step()
        now = self.last_epoch
        if now > self.total_steps:
            raise ValueError(
                f"Tried to step {now} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        anneal = self._anneal_func
        start: float = 0.0
        for phase in self._schedule_phases[:-1]:
            if now <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        part = (now - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(anneal(group[phase["start_lr"]], group[phase["end_lr"]], part))
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(group, self.use_beta1, anneal(*ends, part))
        return rates
