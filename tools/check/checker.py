"""Watches the first steps of a script on behalf of all checks."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine.autograd import inplace
from mindtorch.engine.op import Op
from mindtorch.engine.tensor import Tensor

from ..compare.tensor_probe import tensors_in
from ..debugger.records import flat_array
from ..watchpoints.conditions import Place
from ..watchpoints.observer import Observer, is_watched
from .data_checks import DataChecks
from .findings import Finding
from .step_checks import StepChecks
from .unit_checks import UnitChecks

__all__ = ["Checker", "EnoughError"]

_FEW_STEPS = 4
_LOSSES = ("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
_MODAL = (torch.nn.Dropout, torch.nn.modules.batchnorm._BatchNorm)


class EnoughError(BaseException):
    """So many steps were seen. No `Exception`: a script must not handle it."""


class _Call:
    """A call of an outermost module with parameters that is under way."""

    def __init__(self, parameters: list[Any], path: str, recorded: bool, place: Place) -> None:
        self.held = {id(p) for p in parameters}
        self.path, self.recorded, self.place = path, recorded, place
        self.met_layer = False


class _Mode:
    """How a model's dropout and batch norm stood in its training calls."""

    def __init__(self, path: str, place: Place) -> None:
        self.path, self.place = path, place
        self.resting = 0  # calls in evaluation mode since the last other one
        self.series: list[float] = []


def _own_parameters(module: Any) -> list[Any]:
    return [p for p in module._parameters.values() if p is not None]


class Checker(Observer):
    """Looks for what usually goes wrong while it is entered.

    Args:
        most_steps: after so many steps of optimizers `EnoughError` ends the script.

    Attributes:
        steps_seen, losses_seen, calls: how much was seen.
        roots: the outermost modules that were called.
        made_optimizers: all that the script has constructed.
    """

    def __init__(self, most_steps: int | None = None) -> None:
        super().__init__()
        self.most_steps = most_steps
        self.data, self.steps_checks = DataChecks(self), StepChecks(self)
        self.unit_checks = UnitChecks(self)
        self.roots: list[Any] = []
        self.made_optimizers: list[Any] = []
        self.steps_seen = self.losses_seen = self.calls = 0
        self._told: dict[tuple[str, str, int], Finding] = {}
        self._modes: dict[int, _Mode] = {}
        self._call: _Call | None = None
        self._inside = False

    def __enter__(self) -> Checker:
        self._install(self)
        functional = torch.nn.functional
        for name in _LOSSES:
            self._stand_in(functional, name, self._loss_function(name))
        told = (
            (torch.optim.Optimizer, "__init__", self.made_optimizers.append),
            (torch.optim.Optimizer, "zero_grad", self.steps_checks.zeroed),
            (torch.nn.Module, "zero_grad", self.steps_checks.module_zeroed),
            (torch.utils.data.DataLoader, "__iter__", self._loader),
        )
        for kind, name, listener in told:
            owner = next(each for each in kind.__mro__ if name in vars(each))
            self._stand_in(owner, name, self._before(listener))
        self._stand_in(torch.amp.GradScaler, "update", self._scaler)
        self._undo.callback(self._enter_door())
        return self

    def found(self, finding: Finding) -> None:
        """Keep a finding; of one check and line the first."""
        key = finding.check, finding.place.file, finding.place.line
        self._told.setdefault(key, finding)

    def named(self, optimizer: Any) -> dict[str, Any]:
        return self.steps.names(optimizer)

    # -- functions that are stood in for ----------------------------------------------------------

    def _is_ours(self) -> bool:
        return not self._inside and threading.get_ident() == self.thread

    def _before(self, told: Callable[[Any], Any]) -> Callable[..., Any]:
        """A stand-in for a method that tells of the object first."""

        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(owner: Any, *args: Any, **kwargs: Any) -> Any:
                if self._is_ours():
                    told(owner)
                return original(owner, *args, **kwargs)

            return call

        return make

    def _loss_function(self, name: str) -> Callable[..., Any]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            signature = inspect.signature(original)

            def call(*args: Any, **kwargs: Any) -> Any:
                if self._is_ours():
                    with self.away(), torch.no_grad():
                        self._look_at_loss(name, signature, args, kwargs)
                return original(*args, **kwargs)

            return call

        return make

    def _look_at_loss(self, name: str, signature: Any, args: Any, kwargs: Any) -> None:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:
            return  # the call itself says so
        given.apply_defaults()
        found = given.arguments
        scores, target = found.get("input"), found.get("target")
        if not isinstance(scores, Tensor) or not isinstance(target, Tensor):
            return
        if name.startswith("binary"):
            self.data.binary_cross_entropy(name, scores, target)
        else:
            self.data.cross_entropy(name, scores, target, found.get("ignore_index", -100))

    def _scaler(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def update(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.steps_checks.scales:
                self.steps_checks.scale(float(scaler.get_scale()))
            result = original(scaler, *args, **kwargs)
            self.steps_checks.scale(float(scaler.get_scale()))
            return result

        return update

    def _loader(self, loader: Any) -> None:
        try:
            self.data.loader_batches = max(self.data.loader_batches, len(loader))
        except TypeError:
            self.data.loader_batches = max(self.data.loader_batches, 2)  # of unknown length

    # -- modules and ops --------------------------------------------------------------------------

    def in_model(self) -> bool:
        """Whether the forward pass of a module with parameters is running."""
        return self._call is not None

    def _calling(self, module: Any, args: Any) -> None:
        if self._inside:
            return
        if len(self.layers) == 1:
            # by parts: in MindSpore optimizers are modules, whose `parameters` is no method
            held = [p for part in module.modules() for p in _own_parameters(part)]
            known = self.names.get(id(module))
            path = known[1] if known is not None else type(module).__name__
            recorded = torch.is_grad_enabled() and any(p.requires_grad for p in held)
            self._call = _Call(held, path, recorded, self.place("")) if held else None
        call = self._call
        if call is None:
            return
        own = _own_parameters(module)
        for name, parameter in module._parameters.items():
            if parameter is not None and id(parameter) not in call.held:
                where = f"{type(module).__name__}.{name}, used by {call.path},"
                self.steps_checks.unregistered[id(parameter)] = where, parameter
        if not call.met_layer and any(p.ndim > 1 for p in own):
            call.met_layer = True
            self._look_at_inputs(call, args)

    def _look_at_inputs(self, call: _Call, args: Any) -> None:
        """What the first layer is given: what the model does to its inputs before belongs to
        their preparation."""
        with self.away(), torch.no_grad():
            first: Any = next(tensors_in((args,), Tensor), None)
            if is_watched(first) and first.aval.size:
                self.data.given_to(call.path, call.recorded, first, call.place)

    def _called(self, module: Any, args: Any, kwargs: Any, result: Any) -> None:
        call = self._call
        if self._inside or len(self.layers) != 1 or call is None:
            return
        self._call = None
        self.calls += 1
        if not any(module is root for root in self.roots):
            self.roots.append(module)
        if not call.met_layer:
            self._look_at_inputs(call, (args, kwargs))
        if call.recorded:
            with self.away(), torch.no_grad():
                self.data.trained_on(list(tensors_in((args, kwargs), Tensor)), call.place)
            self._note_mode(module, call)

    def _note_mode(self, module: Any, call: _Call) -> None:
        """Remember whether a model's layers are in evaluation mode while it is recorded."""
        modal = [part for part in module.modules() if isinstance(part, _MODAL)]
        if not modal:
            return
        mode = self._modes.setdefault(id(module), _Mode(call.path, call.place))
        active = sum(part.training for part in modal)
        if active or module.training:
            mode.resting = 0
        elif not mode.resting:
            mode.place = call.place
        mode.resting += not (active or module.training)
        mode.series.append(active / len(modal))

    def apply(self, op: Op, inputs: Any, params: Any) -> Any:
        with self.away():
            result = op(*inputs, **params)
        if not self.backward and not self._inside:
            self.unit_checks.applied(op, result)
        return result

    def apply_in_place(self, op: Op, target: Any, inputs: Any, params: Any) -> Any:
        with self.away():
            result = inplace.apply_in_place(op, target, *inputs, **params)
        if not self.backward and not self._inside:
            self.unit_checks.applied(op, result)
        return result

    # -- steps ------------------------------------------------------------------------------------

    def on_loss(self, loss: Any) -> None:
        self.losses_seen += 1
        with self.away():
            self.steps_checks.loss(float(np.mean(flat_array(loss)).real))

    def on_gradients(self, optimizer: Any) -> None:
        with self.away():
            given = self.steps.gradients(optimizer)
            self.steps_checks.before_step(optimizer, self.named(optimizer), given)

    def on_step(self, optimizer: Any) -> None:
        with self.away():
            given = self.steps.gradients(optimizer)
            self.steps_checks.after_step(optimizer, self.named(optimizer), given)
        self.data.step_ended()
        self.steps_seen += 1
        if self.most_steps is not None and self.steps_seen >= self.most_steps:
            raise EnoughError

    # -- what is found ----------------------------------------------------------------------------

    def findings(self) -> list[Finding]:
        """Everything that was found, each check at each line once."""
        self._inside = True
        with self.away(), torch.no_grad():
            found = [*self.data.findings(), *self.steps_checks.findings()]
            found += [*self.unit_checks.findings(), *self._resting()]
        self._inside = False
        for each in found:
            self.found(each)
        return list(self._told.values())

    def _resting(self) -> list[Finding]:
        return [
            Finding(
                "eval_mode_in_training",
                f"dropout and batch norm of {mode.path} are in evaluation mode in the last "
                f"{mode.resting} of {len(mode.series)} training calls",
                mode.place, "call model.train() before each epoch, and after an evaluation",
                "share of these layers in training mode, by call", mode.series,
            )
            for mode in self._modes.values()
            if mode.resting >= _FEW_STEPS and self.steps_seen >= _FEW_STEPS
        ]  # fmt: skip
