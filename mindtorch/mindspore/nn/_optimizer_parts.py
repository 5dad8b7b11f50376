"""What MindSpore's optimizers offer to the ``construct`` of a user's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..common.tensor import Tensor
from ..ops.composite import HyperMap, assign_add

__all__ = ["OwnConstruct", "opt_init_args_register"]


def opt_init_args_register(fn: Callable[..., None]) -> Callable[..., None]:
    """A decorator for an optimizer's ``__init__``, which keeps its arguments in ``init_params``."""

    @functools.wraps(fn)
    def keeping(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = inspect.signature(fn).bind(self, *args, **kwargs)
        bound.apply_defaults()
        fn(self, *args, **kwargs)
        self.init_params = dict(list(bound.arguments.items())[1:])

    return keeping


class OwnConstruct:
    """Names that a subclass's ``construct`` finds on its optimizer, under MindSpore's names."""

    parameters: Any
    loss_scale: float
    _groups: list[Any]
    _default_rate: Any
    is_group: bool

    hyper_map = map_ = HyperMap()
    is_dynamic_weight_decay = False
    global_step_increase_tensor = Tensor([1])
    assignadd = staticmethod(assign_add)

    @property
    def cls_name(self) -> str:
        return type(self).__name__

    @property
    def dynamic_lr(self) -> bool:
        """Whether a rate depends on the step."""
        return any(not isinstance(g.rate, Tensor) for g in self._groups)

    @property
    def is_group_lr(self) -> bool:
        """Whether a group has a rate of its own."""
        return any(g.rate is not self._default_rate for g in self._groups)

    def _is_dynamic_lr_or_weight_decay(self) -> bool:
        return self.dynamic_lr

    use_parallel = False  # which processes make which steps: all make all

    @property
    def decay_flags(self) -> tuple[bool, ...]:
        """Whether the decay acts, for each parameter."""
        of = {i: flag for g in self._groups for i, flag in zip(g.places, g.decays, strict=True)}
        return tuple(of[i] for i in range(len(of)))

    @property
    def optim_filter(self) -> tuple[bool, ...]:
        """Whether this process makes the step of each parameter."""
        return (True,) * len(self.parameters)

    def get_weight_decay(self) -> Any:
        """The decay; with groups a tuple, one for each parameter."""
        of = {i: group.decay for group in self._groups for i in group.places}
        if not self.is_group:
            return Tensor(float(of[0]))
        return tuple(Tensor(float(of[i])) for i in range(len(of)))

    def decay_weight(self, gradients: Any) -> tuple[Any, ...]:
        """gradient + decay weight, for all parameters, scaled as the gradients are."""
        result = list(gradients)
        for group in self._groups:
            for i, decays in zip(group.places, group.decays, strict=True):
                if group.decay and decays:
                    decay = group.decay * self.loss_scale
                    result[i] = result[i] + decay * self.parameters[i].detach()
        return tuple(result)

    def scale_grad(self, gradients: Any) -> tuple[Any, ...]:
        """Gradients divided by the loss scale."""
        if self.loss_scale == 1:
            return tuple(gradients)
        return tuple(g * (1 / self.loss_scale) for g in gradients)

    def flatten_gradients(self, gradients: Any) -> Any:
        """The gradients as they are."""
        return gradients

    def gradients_centralization(self, gradients: Any) -> Any:
        """The gradients as they are: no group asks for it."""
        return gradients

    def _grad_sparse_indices_deduplicate(self, gradients: Any) -> Any:
        return gradients  # they are dense

    def broadcast_params(self, optim_result: Any) -> Any:
        """What the step gave: every process makes all steps itself."""
        return optim_result

    @property
    def target(self) -> str:
        """Where steps are made."""
        return "CPU"

    @target.setter
    def target(self, value: str) -> None:
        self._set_base_target(value)

    def _set_base_target(self, value: str) -> None:
        if value != "CPU":
            raise ValueError(f"For 'Optimizer', target={value!r}: steps are made on the CPU")
