"""Checks of losses, gradients, parameters and optimizers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..debugger.records import flat_array
from ..watchpoints.conditions import Place
from ..watchpoints.kernels import change_of, largest_of
from .findings import Finding

if TYPE_CHECKING:
    from .checker import Checker

__all__ = ["StepChecks"]

_FEW_STEPS = 4
# Mean |change| over mean |value|, by how much of the first loss the last one is more, steps.
_LARGE_UPDATES = ((0.1, 0.1, 8), (0.03, 2.0, 12))
_TIMES = 100.0  # how much greater a loss that explodes is
_FALLS = 6  # of a loss scale, one after the other


class _Parameter:
    """What was seen of a parameter that an optimizer has."""

    def __init__(self) -> None:
        self.steps = self.zero = self.missing = self.fixed = 0
        self.moved = False
        self.updates: list[float] = []
        self.gradients: list[float] = []  # the largest element, by step
        self.changes: list[float] = []  # mean size, by step


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


class StepChecks:
    """Follows losses and optimizers on behalf of a checker."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.losses: list[float] = []
        self.loss_place = Place()
        self.parameters: dict[str, _Parameter] = {}
        self.before: dict[str, np.ndarray] = {}
        self.optimizers: dict[int, Any] = {}
        self.step_places: dict[int, Place] = {}
        self.cleared: dict[int, bool] = {}
        self.left: dict[int, Any] = {}
        self.carried: dict[int, int] = {}
        self.steps_of: dict[int, int] = {}
        self.stepping: int | None = None
        self.closures: set[int] = set()
        self.scales: list[float] = []
        self.scale_place = Place()
        self.with_gradient: dict[int, Any] = {}
        self.unregistered: dict[int, tuple[str, Any]] = {}
        self.first_gradients: dict[int, list[float]] = {}
        self.in_step_losses: list[float] = []

    # -- what is told -----------------------------------------------------------------------------

    def loss(self, value: float) -> None:
        """Before a backward pass."""
        if not self.in_step_losses:
            self.loss_place = self.checker.place("backward")
        self.in_step_losses.append(value)
        if self.stepping is not None:  # a closure: it has its own order
            self.closures.add(self.stepping)
        for key, optimizer in self.optimizers.items():
            if not self.cleared.get(key, True) and not self._has_gradients(optimizer):
                self.cleared[key] = True

    @staticmethod
    def _parameters_of(optimizer: Any) -> list[Any]:
        return [p for group in optimizer.param_groups for p in group["params"]]

    def _has_gradients(self, optimizer: Any) -> bool:
        grads = (p.grad for p in self._parameters_of(optimizer))
        return any(g is not None and largest_of(flat_array(g)) > 0 for g in grads)

    def zeroed(self, optimizer: Any) -> None:
        """An optimizer's `zero_grad` was called."""
        self.cleared[id(optimizer)] = True

    def module_zeroed(self, module: Any) -> None:
        """A module's `zero_grad` was called."""
        own = {id(p) for p in module.parameters()}
        for key, optimizer in self.optimizers.items():
            if any(id(p) in own for p in self._parameters_of(optimizer)):
                self.cleared[key] = True

    def before_step(self, optimizer: Any, named: dict[str, Any], given: dict[int, Any]) -> None:
        """Gradients are there; `given` are those that the step uses, by parameter."""
        key = id(optimizer)
        self.stepping = key
        self.optimizers[key] = optimizer
        self.step_places[key] = self.checker.place("step")
        first = next((g for g in given.values() if g is not None), None)
        known = self.left.get(key)
        # another object: somebody has put a new gradient in its place
        self.first_gradients.setdefault(key, []).append(self._size_of(first))
        if known is not None and first is known and not self.cleared.get(key, True):
            self.carried[key] = self.carried.get(key, 0) + 1
        for name, parameter in named.items():
            seen = self.parameters.setdefault(name, _Parameter())
            gradient = given.get(id(parameter))
            seen.steps += 1
            seen.fixed += not parameter.requires_grad
            seen.missing += gradient is None
            seen.gradients.append(self._size_of(gradient))
            if gradient is not None and not gradient.is_sparse:
                seen.zero += seen.gradients[-1] == 0
            self.before[name] = np.array(flat_array(parameter))

    @staticmethod
    def _size_of(gradient: Any) -> float:
        dense = gradient is not None and not gradient.is_sparse
        return float(largest_of(flat_array(gradient))) if dense else 0.0

    def after_step(self, optimizer: Any, named: dict[str, Any], given: dict[int, Any]) -> None:
        """Parameters have changed."""
        key = id(optimizer)
        self.stepping = None
        self.steps_of[key] = self.steps_of.get(key, 0) + 1
        self.cleared[key] = False
        self.left[key] = next((g for g in given.values() if g is not None), None)
        for name, parameter in named.items():
            seen, before = self.parameters[name], self.before.get(name)
            after = flat_array(parameter)
            if before is None or before.size != after.size or not after.size:
                continue
            change, size = change_of(before, after)
            seen.moved = seen.moved or change > 0
            seen.changes.append(float(change))
            if size > 0 and parameter.ndim > 1:
                seen.updates.append(change / size)
        self.before.clear()
        if self.in_step_losses:
            self.losses.append(self.in_step_losses[-1])
            self.in_step_losses = []
        self._note_gradients()

    def _note_gradients(self) -> None:
        """The parameters of models that have gradients, whoever has them."""
        met = [*self.checker.parameters().items(), *self.unregistered.values()]
        for name, parameter in met:
            if parameter.grad is None:
                continue
            size = self._size_of(parameter.grad)
            if size > 0 or id(parameter) in self.with_gradient:
                known = self.with_gradient.setdefault(id(parameter), (name, parameter, []))
                known[2].append(size)

    def scale(self, value: float) -> None:
        """A scaler has updated its scale."""
        self.scales.append(value)
        self.scale_place = self.checker.place("update")

    # -- what is found ----------------------------------------------------------------------------

    def findings(self) -> list[Finding]:
        """What all steps together show."""
        return [
            *self._gradients(), *self._carried(), *self._not_held(), *self._frozen(),
            *self._loss(), *self._rate(), *self._scale(),
        ]  # fmt: skip

    def _step_place(self) -> Place:
        return next(iter(self.step_places.values()), Place())

    def _gradients(self) -> list[Finding]:
        zero, missing = [], []
        learns = {
            name.rpartition(".")[0]
            for name, seen in self.parameters.items()
            if seen.zero + seen.missing < seen.steps and not name.endswith("bias")
        }
        for name, seen in self.parameters.items():
            layer, _, own = name.rpartition(".")
            # a shift that what follows takes out again, as a distance or a batch norm does
            taken_out = own == "bias" and layer in learns
            if seen.steps < _FEW_STEPS or taken_out or seen.fixed == seen.steps:
                continue
            if seen.missing == seen.steps:
                missing.append(name)
            elif seen.zero and seen.zero + seen.missing == seen.steps:
                zero.append(name)
        if len(missing) == len(self.parameters):
            return []  # gradients go to the step in another way
        findings = []
        for names, what in ((zero, "is zero"), (missing, "is missing")):
            if names:
                steps = self.parameters[names[0]].steps
                findings.append(Finding(
                    "zero_gradients",
                    f"the gradient of {_shown(names)} {what} in all {steps} steps",
                    self._step_place(),
                    "look for detach(), no_grad(), a layer that is not used, a dead relu or a "
                    "saturated activation behind it",
                    f"largest element of the gradient of {names[0]}, by step",
                    self.parameters[names[0]].gradients,
                ))  # fmt: skip
        return findings

    def _carried(self) -> list[Finding]:
        findings = []
        for key, times in self.carried.items():
            if key not in self.closures and times >= 2 and times >= self.steps_of.get(key, 0) - 2:
                name = type(self.optimizers[key]).__name__
                findings.append(Finding(
                    "missing_zero_grad",
                    f"{name}'s gradients were not cleared between {times} of "
                    f"{self.steps_of[key]} steps, so each step uses the sum of all before it",
                    self.step_places[key], "call optimizer.zero_grad() in each step",
                    "largest element of the first parameter's gradient, by step",
                    self.first_gradients[key],
                ))  # fmt: skip
        return findings

    def _held(self) -> set[int]:
        every = [*self.checker.made_optimizers, *self.optimizers.values()]
        return {id(p) for optimizer in every for p in self._parameters_of(optimizer)}

    def _not_held(self) -> list[Finding]:
        held = self._held()
        if not self.optimizers:
            return []
        of_models = [
            {name for name, p in root.named_parameters() if id(p) in held}
            for root in self.checker.roots
        ]
        found: dict[str, list[float]] = {}
        for (name, parameter, sizes), root, own in self._with_roots(of_models):
            if own and id(parameter) not in held:
                path = next(x for x, p in root.named_parameters() if p is parameter)
                found[path or name] = sizes
        for key, (name, _) in self.unregistered.items():
            if key in self.with_gradient and key not in held:
                found[f"{name} which is not among its parameters,"] = self.with_gradient[key][2]
        if not found:
            return []
        names, many = list(found), len(found) > 1
        return [Finding(
            "not_in_optimizer",
            f"{_shown(names)} {'have' if many else 'has'} gradients, and no optimizer has "
            f"{'them' if many else 'it'}; it has other parameters of the same model",
            self._step_place(),
            "give the optimizer model.parameters() after all layers are made; keep layers as "
            "attributes, in ModuleList or ModuleDict",
            f"largest element of the gradient of {names[0]}, by step", found[names[0]],
        )]  # fmt: skip

    def _with_roots(self, of_models: list[set[str]]) -> Any:
        for known in self.with_gradient.values():
            for root, own in zip(self.checker.roots, of_models, strict=True):
                if any(p is known[1] for p in root.parameters()):
                    yield known, root, own
                    break

    def _frozen(self) -> list[Finding]:
        stuck, fixed = [], []
        for optimizer in self.optimizers.values():
            for name in self.checker.named(optimizer):
                seen = self.parameters.get(name)
                if seen is not None and seen.fixed == seen.steps:
                    fixed.append(name)
                elif seen is None or seen.steps < _FEW_STEPS or seen.moved:
                    continue
                elif seen.zero + seen.missing < seen.steps:
                    stuck.append(name)
        findings = []
        if fixed:
            findings.append(Finding(
                "frozen_parameters",
                f"an optimizer has {_shown(fixed)}, which requires no gradient",
                self._step_place(), "set requires_grad, or leave it out of the optimizer",
                f"mean change of {fixed[0]}, by step", self._changes(fixed[0]),
            ))  # fmt: skip
        if stuck:
            steps = self.parameters[stuck[0]].steps
            findings.append(Finding(
                "frozen_parameters",
                f"{_shown(stuck)} has a gradient and kept its value for {steps} steps",
                self._step_place(), "look at the learning rate of its group",
                f"mean change of {stuck[0]}, by step", self._changes(stuck[0]),
            ))  # fmt: skip
        return findings

    def _changes(self, name: str) -> list[float]:
        return self.parameters[name].changes

    def _loss(self) -> list[Finding]:
        losses = [*self.losses, *self.in_step_losses]
        if not losses:
            return []
        odd = next((at for at, x in enumerate(losses) if not math.isfinite(x)), None)
        if odd is not None:
            evidence = f"the loss is {losses[odd]} at step {odd + 1}"
        elif len(losses) >= _FEW_STEPS and abs(losses[-1]) > _TIMES * max(abs(losses[0]), 1e-2):
            evidence = f"the loss went from {losses[0]:.4g} to {losses[-1]:.4g}"
        else:
            return []
        rate = self._rate_of_now()
        return [Finding(
            "exploding_loss", f"{evidence}{rate}", self.loss_place,
            "lower the learning rate, clip gradients, look for logarithms and divisions near zero "
            "(`mindtorch run --watch overflow` tells the op)", "loss by step", losses,
        )]  # fmt: skip

    def _rate_of_now(self) -> str:
        rates = {g["lr"] for o in self.optimizers.values() for g in o.param_groups if "lr" in g}
        said = ", ".join(f"{float(x):g}" for x in rates)
        return f"; learning rate {said}" if said else ""

    def _rate(self) -> list[Finding]:
        losses = self.losses
        finite = all(map(math.isfinite, losses))
        if not losses or len(self.optimizers) != 1 or not finite:
            return []
        updates = [float(np.median(x.updates)) for x in self.parameters.values() if x.updates]
        quarter = max(2, len(losses) // 4)
        first, last = min(losses[:quarter]), float(np.median(losses[-quarter:]))
        update = float(np.median(updates)) if updates else 0.0
        # of losses that may be negative, as of policies, twice as much says nothing
        rules = _LARGE_UPDATES[: 1 if min(losses) < 0 else None]
        rises = (last > first + share * abs(first) for least, share, steps in rules
                 if update >= least and len(losses) >= steps)  # fmt: skip
        if not any(rises):
            return []
        evidence = (
            f"a step changes parameters by {update:.1%} of their size (median), and "
            f"the loss went from {first:.4g} to {last:.4g}{self._rate_of_now()}"
        )
        return [Finding(
            "learning_rate_too_high", evidence, self._step_place(),
            "try a tenth of the learning rate; 0.1 % of the size in a step is usual",
            "loss by step", losses,
        )]  # fmt: skip

    def _scale(self) -> list[Finding]:
        falls = 0
        for before, after in zip(self.scales, self.scales[1:], strict=False):
            falls = falls + 1 if after < before else 0
        if falls < _FALLS and not (self.scales and self.scales[-1] < 1):
            return []
        evidence = (
            f"the loss scale fell from {self.scales[0]:g} to {self.scales[-1]:g} in "
            f"{len(self.scales)} updates: gradients are NaN or infinite at every scale"
        )
        return [Finding(
            "falling_loss_scale", evidence, self.scale_place,
            "look for NaN in the loss itself: `mindtorch run --watch overflow`",
            "loss scale by update", self.scales,
        )]  # fmt: skip
