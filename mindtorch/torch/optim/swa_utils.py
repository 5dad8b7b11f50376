"""Averages of a model's weights over training, and the schedule that goes with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, ClassVar

import mindtorch.torch as torch
from mindtorch.torch.autograd.grad_mode import no_grad
from mindtorch.torch.nn import Module
from mindtorch.torch.nn.modules.batchnorm import _BatchNorm

from ._schedule_base import LRScheduler, for_each_group


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """A function (average, current, count) -> decay average + (1 - decay) current."""
    _check_decay(decay)

    def average(held: Any, current: Any, count: Any) -> Any:
        with no_grad():
            return decay * held + (1 - decay) * current

    return average


def get_swa_avg_fn() -> Callable[[Any, Any, Any], Any]:
    """A function (average, current, count) -> average + (current - average) / (count + 1)."""

    def average(held: Any, current: Any, count: Any) -> Any:
        with no_grad():
            return held + (current - held) / (count + 1)

    return average


def _move_towards(held: Any, current: Any, weight: float) -> None:
    """held += weight (current - held), for lists of tensors."""
    for one, other in zip(held, current, strict=True):
        if one.is_floating_point() or one.is_complex():
            one.lerp_(other, weight)
        else:
            one.copy_(one * (1 - weight) + other * weight)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], None]:
    """As :func:`get_ema_avg_fn`, for lists of tensors and in place."""
    _check_decay(decay)

    def average(held: Any, current: Any, count: Any) -> None:
        with no_grad():
            _move_towards(held, current, 1 - decay)

    return average


def get_swa_multi_avg_fn() -> Callable[[Any, Any, Any], None]:
    """As :func:`get_swa_avg_fn`, for lists of tensors and in place."""

    def average(held: Any, current: Any, count: Any) -> None:
        with no_grad():
            _move_towards(held, current, 1 / (float(count) + 1))

    return average


class AveragedModel(Module):
    """A copy of a model whose parameters are an average over the model's updates.

    Args:
        model: the model to copy.
        device: where to keep the copy.
        avg_fn: (average, current, count) -> new average, for one tensor.
        multi_avg_fn: the same in place for lists of tensors; without either the average is plain.
        use_buffers: average buffers too, in place of copying them.
    """

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Any, Any, Any], Any] | None = None,
        multi_avg_fn: Callable[[Any, Any, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The averaged model's result."""
        return self.module(*args, **kwargs)

    def _tensors(self, model: Any) -> list[Any]:
        buffers = model.buffers() if self.use_buffers else ()
        return [t.detach() for t in itertools.chain(model.parameters(), buffers)]

    def update_parameters(self, model: Module) -> None:
        """Take the model's present parameters into the average; the first time, copy them."""
        held = self._tensors(self.module)
        current = [
            t.to(mine.device) for mine, t in zip(held, self._tensors(model), strict=True)
        ]
        if self.n_averaged == 0:
            for mine, other in zip(held, current, strict=True):
                mine.copy_(other)
        elif self.multi_avg_fn is not None:
            by_type: dict[Any, tuple[list[Any], list[Any]]] = {}
            for mine, other in zip(held, current, strict=True):
                one, two = by_type.setdefault(mine.dtype, ([], []))
                one.append(mine)
                two.append(other)
            for one, two in by_type.values():
                self.multi_avg_fn(one, two, self.n_averaged)
        else:
            average = self.avg_fn or get_swa_avg_fn()
            for mine, other in zip(held, current, strict=True):
                mine.copy_(average(mine, other, self.n_averaged))
        if not self.use_buffers:
            for mine, other in zip(self.module.buffers(), model.buffers(), strict=True):
                mine.detach().copy_(other.detach())
        self.n_averaged += 1


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of the batch norms anew, as means over ``loader``.

    Args:
        loader: batches; of a list or tuple the first entry is the input.
        model: whose statistics to compute; its mode is as before afterwards.
        device: where to move each batch.
    """
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    with no_grad():
        for batch in loader:
            inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(inputs if device is None else inputs.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


def _linear(t: float) -> float:
    return t


def _cosine(t: float) -> float:
    return (1 - math.cos(math.pi * t)) / 2


class SWALR(LRScheduler):
    """Goes from the present rates to ``swa_lr`` in ``anneal_epochs`` epochs and stays there.

    Args:
        optimizer: whose rates to set.
        swa_lr: the final rate, or one for each group.
        anneal_epochs: how many epochs it takes.
        anneal_strategy: "cos" or "linear".
        last_epoch: the number of the last epoch; -1 begins.
    """

    _ANNEALING: ClassVar[dict[str, Callable[[float], float]]] = {"cos": _cosine, "linear": _linear}

    def __init__(
        self,
        optimizer: Any,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = for_each_group("swa_lr", optimizer, swa_lr)
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in self._ANNEALING:
            raise ValueError(
                "anneal_strategy must be one of 'cos' or 'linear', instead got "
                f"{anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(
                f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}"
            )
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @property
    def anneal_func(self) -> Callable[[float], float]:
        """From the share of the annealing that is over to the share of ``swa_lr``."""
        return self._ANNEALING[self._anneal_strategy]

    def _share(self, step: int) -> float:
        return self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))

    def get_lr(self) -> list[Any]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, share = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            final = group["swa_lr"]
            # The rate before annealing began, from the present one.
            first = final if before == 1 else (group["lr"] - before * final) / (1 - before)
            rates.append(final * share + first * (1 - share))
        return rates


__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
    "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip
