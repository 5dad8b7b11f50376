"""What all schedules of learning rates share."""

from __future__ import annotations

import contextlib
import functools
import types
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

from mindtorch.engine.compile.capture.host_calls import host_call
from mindtorch.engine.tensor import Tensor as EngineTensor

from .optimizer import Optimizer, Rate

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_DOCUMENTATION = (
    "See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
    "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. "
    + _DOCUMENTATION
)
_WRONG_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
    "you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  "
    "Failure to do this will result in PyTorch skipping the first value of the learning rate "
    "schedule. " + _DOCUMENTATION
)
_NO_INITIAL_RATE = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with "
    "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
    "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
    "for a fresh training run (not recommended)"
)


def own_copy(value: Any) -> Any:
    """A copy of a tensor; anything else as it is."""
    if isinstance(value, float):
        return float(value)  # a Rate stays with its group
    return value.clone() if isinstance(value, EngineTensor) else value


def values_of(optimizer: Any, key: str) -> list[Any]:
    """An option's value in every group."""
    return [own_copy(group[key]) for group in optimizer.param_groups]


def set_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; a tensor keeps its identity."""
    held = group[key]
    if isinstance(held, EngineTensor):
        number = value.item() if isinstance(value, EngineTensor) else value
        held.fill_(number)
    else:
        group[key] = value


def for_each_group(name: str, optimizer: Any, value: Any) -> list[Any]:
    """One value for each group, of one value or a list with as many."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [own_copy(value) for _ in range(groups)]
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {groups}."
        )
    return [own_copy(v) for v in value]


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def notice_steps(optimizer: Any) -> None:
    """Make ``optimizer.step`` leave a mark, so that schedules can tell a wrong order of calls."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function = optimizer.step.__func__
    reference = weakref.ref(optimizer)

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        owner: Any = reference()
        owner._opt_called = True
        return function.__get__(owner, type(owner))(*args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step


class LRScheduler:
    """Sets the learning rate of every group at each :meth:`step`.

    Subclasses define ``get_lr``, which derives the next rates from the present ones, and may
    define ``_get_closed_form_lr``, which computes them from ``last_epoch`` alone.

    Args:
        optimizer: whose rates to set.
        last_epoch: the number of the last epoch; -1 begins.
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", own_copy(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(_NO_INITIAL_RATE.format(i))
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        notice_steps(optimizer)
        self._initial_step()

    host_methods = frozenset({"step"})

    def host_guard(self) -> None:
        """Nothing: captured calls run :meth:`step` as it is."""

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The next rates, from the present ones."""
        raise NotImplementedError

    @host_call
    def step(self, epoch: Any = None) -> None:
        """Set the rates of the next epoch, or of the one given."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=3)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_WRONG_ORDER, UserWarning, stacklevel=3)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=3)
        self._update_lr(epoch)

    @contextlib.contextmanager
    def _stepping(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _update_lr(self, epoch: Any = None) -> None:
        closed = getattr(self, "_get_closed_form_lr", None)
        with self._stepping():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                rates = self.get_lr() if closed is None else closed()
        self._set_rates(rates)

    def _set_rates(self, rates: Any) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            set_value(group, "lr", rate)
            Rate.of(group)
        self._last_lr = values_of(self.optimizer, "lr")

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _rates(self, factor: float | None = None) -> list[Any]:
        """The present rates, multiplied by ``factor``."""
        if factor is None:
            return values_of(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def function_state(function: Any) -> Any:
    """What a state_dict holds of a callable: the attributes of an object, nothing of a function."""
    return None if isinstance(function, types.FunctionType) else function.__dict__.copy()
