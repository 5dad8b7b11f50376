"""The base of MindSpore's optimizers: groups, rates that depend on the step, weight decay."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import api
from mindtorch.engine.compile.capture.host_calls import host_call
from mindtorch.engine.optim.multi_tensor import Fused
from mindtorch.engine.tensor import Tensor as EngineTensor

from ..common.parameter import DEFAULT_NAME, Parameter, ParameterTuple
from ..common.tensor import Tensor
from ._optimizer_parts import OwnConstruct
from .cell import Cell
from .learning_rate_schedule import LearningRateSchedule

__all__ = ["Optimizer", "assign"]


_KEYS = ["params", "lr", "weight_decay", "order_params", "grad_centralization"]


def assign(parameter: Any, value: Any) -> None:
    """Overwrite the elements of ``parameter``."""
    parameter.assign_value(value)


class _Group:
    """Parameters with a rate and a decay of their own.

    Attributes:
        places: where they stand in ``optimizer.parameters``.
        rate: a Parameter, an array of rates by step, or a schedule.
        decay: what their weights are multiplied by.
        decays: whether the decay acts, for each.
    """

    def __init__(self, rate: Any, decay: float) -> None:
        self.places: list[int] = []
        self.rate, self.decay = rate, decay
        self.decays: list[bool] = []
        self.fused = Fused()

    def leave_out(self, elsewhere: list[bool]) -> None:
        """Forget the parameters of other pipeline stages.

        Args:
            elsewhere: by place, whether a parameter is one.
        """
        kept = [n for n, place in enumerate(self.places) if not elsewhere[place]]
        self.places = [self.places[n] for n in kept]
        self.decays = [self.decays[n] for n in kept]


def _rate(value: Any) -> Any:
    if isinstance(value, LearningRateSchedule):
        return value
    if isinstance(value, EngineTensor) and value.aval.ndim == 0:
        value = float(value.item())
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"the 'learning rate' must be float and must >= 0, but got '{value}'.")
        return Parameter(Tensor(float(value), dtypes.float32), "learning_rate")
    if isinstance(value, EngineTensor):
        value = value.asnumpy()
    if isinstance(value, bool) or not hasattr(value, "__iter__"):
        raise TypeError(
            "For 'Optimizer', the argument 'learning_rate' must be int, float, Tensor, iterable or "
            f"LearningRateSchedule, but got {type(value)}."
        )
    rates = np.asarray(list(value), np.float32)
    if rates.ndim != 1 or not rates.size:
        raise ValueError("For 'Optimizer', the rates by step must be a row of numbers.")
    return rates


class Optimizer(OwnConstruct, Cell):
    """Base of the optimizers. ``optimizer(gradients)`` makes a step.

    Args:
        learning_rate: a number, one for each step (the last one stays), or a schedule of the step.
        parameters: parameters, or groups: dicts with "params" and perhaps "lr", "weight_decay",
            "grad_centralization"; one dict may have "order_params", the order of gradients.
        weight_decay: added to gradients times the weights. Without groups, parameters with "beta"
            or "gamma" in their names are left out.
        loss_scale: gradients are divided by it.

    Attributes:
        parameters: in the order of the gradients.
        weight_decay: times the loss scale; with groups a tuple, one for each parameter.
        param_length: the number of parameters.
        need_scale, exec_weight_decay: whether the loss scale is not 1, whether anything decays.
        is_group_params_ordered: whether "order_params" was given.
        learning_rate: a Parameter unless it depends on the step.
        global_step: the number of steps made.
    """

    parameters: Any
    by_element = False  # whether each element's update needs nothing of the others
    _slices: Any = None
    _begun = False

    def __init__(
        self, learning_rate: Any, parameters: Any, weight_decay: Any = 0.0, loss_scale: float = 1.0
    ) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(loss_scale, (int, float)) or loss_scale <= 0:
            raise ValueError(
                f"For 'Optimizer', the argument 'loss_scale' must be > 0, but got {loss_scale}."
            )
        _check_decay(weight_decay)
        self.loss_scale = float(loss_scale)
        self.reciprocal_scale = 1 / self.loss_scale
        self.global_step = Parameter(Tensor([0], dtypes.int32), "global_step", requires_grad=False)
        if parameters is None:
            raise ValueError("For 'Optimizer', the argument parameters can not be None.")
        listed = list(parameters)
        if not listed:
            raise ValueError("For 'Optimizer', the argument parameters must not be empty.")
        self.is_group = isinstance(listed[0], dict)
        rate = _rate(learning_rate)
        object.__setattr__(self, "_default_rate", rate)
        if isinstance(rate, Parameter):
            self.learning_rate: Any = rate
        else:
            object.__setattr__(self, "learning_rate", rate)
        given = listed if self.is_group else [{"params": listed}]
        object.__setattr__(self, "parameters", ParameterTuple(_in_order(given)))
        self.param_length = len(self.parameters)
        self.is_group_params_ordered = any("order_params" in entry for entry in given)
        self.need_scale = self.loss_scale != 1
        self._groups = self._make_groups(given, rate, weight_decay)
        self.exec_weight_decay = any(group.decay for group in self._groups)
        for i, group in enumerate(self._groups):
            if group.rate is not rate and isinstance(group.rate, Parameter):
                group.rate.name = f"learning_rate_group_{i}"
                self.register_parameter(group.rate.name, group.rate)
        self._hold(self.parameters)
        decays = {i: group.decay for group in self._groups for i in group.places}
        each = tuple(
            Tensor(decays[i] * self.loss_scale, dtypes.float32) for i in range(len(decays))
        )
        self.weight_decay: Any = each if self.is_group else each[0]

    def _make_groups(self, given: list[Any], rate: Any, weight_decay: Any) -> list[_Group]:
        place = {id(p): i for i, p in enumerate(self.parameters)}
        groups = []
        for entry in given:
            if "order_params" in entry:
                continue
            if unknown := set(entry) - set(_KEYS):
                raise KeyError(f"For 'Optimizer', a group has no setting {sorted(unknown)}")
            if entry.get("grad_centralization"):
                raise NotImplementedError("grad_centralization is not implemented")
            decay = entry.get("weight_decay", weight_decay)
            _check_decay(decay)
            group = _Group(_rate(entry["lr"]) if "lr" in entry else rate, float(decay))
            for parameter in entry["params"]:
                group.places.append(place[id(parameter)])
                kept = "beta" in parameter.name or "gamma" in parameter.name
                group.decays.append(self.is_group or not kept)
            groups.append(group)
        return groups

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, tuple):  # states: their parameters are registered already
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def _hold(self, parameters: Any) -> None:
        """Register parameters under their names: checkpoints have them, and renaming does."""
        for parameter in parameters:
            key = parameter.name
            self._parameters[f"{key}_" if key in self._parameters else key] = parameter

    # --- rates -------------------------------------------------------------------------------

    def _value_of(self, rate: Any) -> float:
        if not isinstance(rate, (LearningRateSchedule, np.ndarray)):
            return float(rate.array().item())  # by array(): what waits to be written is written
        step = int(self.global_step.array().item())
        if isinstance(rate, LearningRateSchedule):
            return float(rate(Tensor(step, dtypes.int32)).item())
        return float(rate[min(step, len(rate) - 1)])

    def get_lr(self) -> Any:
        """The rate of the next step; a tuple, one for each parameter, where a group has its own."""
        if not self.is_group_lr:
            return Tensor(self._value_of(self._default_rate), dtypes.float32)
        return tuple(self.get_lr_parameter(self.parameters, values=True))

    def get_lr_parameter(self, param: Any, values: bool = False) -> Any:
        """The rate of a parameter, or a list of the rates of several.

        Raises:
            ValueError: not a parameter of this optimizer.
        """
        if isinstance(param, EngineTensor):
            return self.get_lr_parameter([param], values)[0]
        of = {id(self.parameters[i]): group for group in self._groups for i in group.places}
        found = []
        for each in param:
            if id(each) not in of:
                raise ValueError(f"The parameter {each.name} is not in optimizer.")
            rate = of[id(each)].rate
            found.append(Tensor(self._value_of(rate), dtypes.float32) if values else rate)
        return found

    # --- a step ------------------------------------------------------------------------------

    @host_call
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = int(self.global_step.array().item())
        with api.grad_mode(False):
            result = super().__call__(*args, **kwargs)
            if self._slices is not None:
                self._slices.gather()
        if int(self.global_step.array().item()) == made:  # a user's construct may count itself
            self.global_step.flat[0] += 1
        return result

    def construct(self, gradients: Any) -> Any:
        """One step. Subclasses define this, or ``update``."""
        grads = self._checked(gradients)
        if not self._begun:
            self._begun = True
            for group in self._groups:
                group.leave_out([p.elsewhere for p in self.parameters])
        slices = self._slices
        for group in self._groups:
            own = [grads[i] for i in group.places]
            parameters = [self.parameters[i] for i in group.places]
            if slices is not None:
                own = [slices.gradient(i, grads[i]) for i in group.places]
                parameters = [slices.own(i) for i in group.places]
            if self.loss_scale != 1:
                own = [g * (1 / self.loss_scale) for g in own]
            own = [
                g if g.aval.dtype is p.aval.dtype else g.to(p.aval.dtype)
                for g, p in zip(own, parameters, strict=True)
            ]
            self.update(group, parameters, own, self._value_of(group.rate))
        return True

    def _checked(self, gradients: Any) -> Any:
        grads = (gradients,) if isinstance(gradients, EngineTensor) else tuple(gradients)
        if len(grads) != len(self.parameters):
            raise RuntimeError(
                f"{type(self).__name__} got {len(grads)} gradients for {len(self.parameters)} "
                "parameters"
            )
        return grads

    def update(self, group: Any, parameters: Any, gradients: Any, rate: float) -> None:
        """What a step does to the parameters of one group."""
        raise NotImplementedError

    def decayed(self, group: Any, parameters: Any, gradients: Any) -> list[Any]:
        """gradient + decay weight, for those that decay."""
        if group.decay == 0:
            return list(gradients)
        return [
            g + group.decay * p.detach() if decays else g
            for p, g, decays in zip(parameters, gradients, group.decays, strict=True)
        ]

    def of_group(self, states: Any, group: Any) -> list[Any]:
        """The states of the group's parameters."""
        return [states[i] for i in group.places]

    def make_states(self, prefix: str, init: Any = "zeros") -> ParameterTuple:
        """A state for each parameter, saved in checkpoints under ``prefix.name``."""
        states = self.parameters.clone(prefix, init)
        for state in states:
            state.requires_grad = False
        self._hold(states)
        return states


def _check_decay(value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(
            f"For 'Optimizer', 'weight_decay' must be a number, but got {type(value).__name__}."
        )
    if value < 0:
        raise ValueError(f"For 'Optimizer', 'weight_decay' must be >= 0, but got {value}.")


def _in_order(groups: list[Any]) -> list[Any]:
    """All parameters: as "order_params" says, else group after group."""
    listed: list[Any] = []
    order = None
    for entry in groups:
        if "order_params" in entry:
            order = list(entry["order_params"])
            continue
        if "params" not in entry:
            raise KeyError(
                f"For 'Optimizer', the key in group params must be one of in {_KEYS}, but got "
                f"{list(entry)}."
            )
        entry["params"] = list(entry["params"])
        if not entry["params"]:
            raise ValueError("For 'Optimizer', the argument group `params` must not be empty.")
        listed += entry["params"]
    for i, parameter in enumerate(listed):
        if not isinstance(parameter, Parameter):
            raise TypeError(
                "For 'Optimizer', the argument parameters must be Parameters, but got "
                f"{type(parameter)}."
            )
        if parameter.name in (None, DEFAULT_NAME):
            parameter.name = f"{DEFAULT_NAME}_{i}"
    if len({id(p) for p in listed}) != len(listed):
        raise RuntimeError("some parameters appear in more than one parameter group")
    if order is None:
        return listed
    if {id(p) for p in order} != {id(p) for p in listed}:
        raise ValueError("'order_params' must hold the parameters of the groups")
    return order
