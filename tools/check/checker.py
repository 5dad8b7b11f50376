"""Watches the first steps of a script on behalf of all checks."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine.op import Op
from mindtorch.engine.tensor import Tensor

from ..compare.tensor_probe import tensors_in
from ..debugger.records import flat_array, whole_array
from ..watchpoints.conditions import Place
from ..watchpoints.observer import Observer, is_watched
from .data_checks import DataChecks
from .findings import Finding
from .step_checks import StepChecks

__all__ = ["Checker", "EnoughError"]

_FEW_STEPS = 4
_DEAD = 0.9  # the share of units that are dead in every step
_LOSSES = ("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
_MODAL = (torch.nn.Dropout, torch.nn.modules.batchnorm._BatchNorm)


class EnoughError(BaseException):
    """So many steps were seen. No `Exception`: a script must not handle it."""


class _Units:
    """The units of a relu that were zero for all examples so far."""

    def __init__(self, place: Place, dead: np.ndarray) -> None:
        self.place = place
        self.dead = dead
        self.calls = 1
        self.shares = [float(dead.mean())]

    def add(self, dead: np.ndarray) -> None:
        if dead.shape == self.dead.shape:
            self.dead = self.dead & dead
            self.calls += 1
            self.shares.append(float(dead.mean()))


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
        self.roots: list[Any] = []
        self.made_optimizers: list[Any] = []
        self.steps_seen = self.losses_seen = self.calls = 0
        self._told: dict[tuple[str, str, int], Finding] = {}
        self._relus: dict[tuple[str, int, str], _Units] = {}
        self._modes: dict[int, tuple[Any, str, Place]] = {}
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

    def _called(self, module: Any, args: Any, kwargs: Any, result: Any) -> None:
        if self._inside or len(self.layers) != 1:
            return
        parameters = list(module.parameters())
        if not parameters:
            return
        self.calls += 1
        if not any(module is root for root in self.roots):
            self.roots.append(module)
        known = self.names.get(id(module))
        path = known[1] if known is not None else type(module).__name__
        recorded = torch.is_grad_enabled() and any(p.requires_grad for p in parameters)
        with self.away(), torch.no_grad():
            tensors = list(tensors_in((args, kwargs), Tensor))
            self.data.model_called(path, recorded, tensors)
        if recorded:
            self._note_mode(module, path)

    def _note_mode(self, module: Any, path: str) -> None:
        """Remember a model with layers that are in evaluation mode while it is recorded."""
        modal = [(n, m) for n, m in module.named_modules() if isinstance(m, _MODAL)]
        resting = [name for name, m in modal if not m.training]
        if modal and len(resting) == len(modal) and not module.training:
            self._modes.setdefault(id(module), (module, path, self.place("")))
        else:
            self._modes[id(module)] = (None, path, Place())

    def apply(self, op: Op, inputs: Any, params: Any) -> Any:
        with self.away():
            result = op(*inputs, **params)
        if op.name == "relu" and not self.backward and not self._inside:
            self._look_at_relu(result)
        return result

    def _look_at_relu(self, result: Any) -> None:
        """Units are along dimension 1: channels, or columns."""
        shape: tuple[int, ...] = result.aval.shape if is_watched(result) else ()
        if len(shape) < 2 or shape[0] < 2 or shape[1] < 4 or not result.aval.size:
            return
        with self.away():
            array = whole_array(result)
        axes = (0, *range(2, len(shape)))
        dead = ~np.any(array, axis=axes)
        place = self.place("relu")
        key = place.file, place.line, place.layer
        known = self._relus.get(key)
        if known is None:
            self._relus[key] = _Units(place, dead)
        else:
            known.add(dead)

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
            found = [*self.data.findings(), *self.steps_checks.findings(), *self._dead()]
            found += self._resting()
        self._inside = False
        for each in found:
            self.found(each)
        return list(self._told.values())

    def _dead(self) -> list[Finding]:
        findings = []
        for units in self._relus.values():
            share = float(units.dead.mean())
            if units.calls < _FEW_STEPS or share < _DEAD:
                continue
            evidence = (
                f"{int(units.dead.sum())} of {units.dead.size} units are zero for all examples "
                f"of {units.calls} calls"
            )
            findings.append(Finding(
                "dead_relu", evidence, units.place,
                "lower the learning rate, look at biases and initial weights, or use leaky_relu",
                "share of units that are zero for all examples, by call", units.shares,
            ))  # fmt: skip
        return findings

    def _resting(self) -> list[Finding]:
        if self.steps_seen < _FEW_STEPS:
            return []
        return [
            Finding(
                "eval_mode_in_training",
                f"dropout and batch norm of {path} are in evaluation mode in every training call",
                place, "call model.train() before each epoch, and after an evaluation",
            )
            for module, path, place in self._modes.values()
            if module is not None
        ]  # fmt: skip
