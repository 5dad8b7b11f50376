"""Checks of what a model and a loss are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compare.statistics import digest_of
from ..debugger.records import flat_array, whole_array
from ..watchpoints.conditions import Place
from ..watchpoints.observer import is_watched
from ..watchpoints.tensor_statistics import Statistics, statistics
from .findings import Finding

if TYPE_CHECKING:
    from .checker import Checker

__all__ = ["DataChecks"]

_FAR = 10.0  # a mean or a deviation of inputs
_FEW_STEPS = 4
_FEW = 8  # scores that may be within 0 .. 1 by chance
_BINS = 20
_SUM = 1e-3  # how near to 1 probabilities add up


class _Given(NamedTuple):
    """The inputs of a model's calls so far, in one mode."""

    found: Statistics
    place: Place
    counts: list[float]


def _added(first: Statistics, second: Statistics) -> Statistics:
    """The statistics of two arrays together."""
    sums = ("size", "nan", "positive_infinite", "negative_infinite", "zero", "total", "sizes",
            "squares")  # fmt: skip
    own = {name: getattr(first, name) + getattr(second, name) for name in sums}
    least = min(first.least, second.least)
    return Statistics(**own, least=least, greatest=max(first.greatest, second.greatest))


def _counts(array: np.ndarray) -> list[float]:
    """A histogram; in float64, since the bins of float32 may be wider than its numbers."""
    values = np.asarray(array.real, np.float64)
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-12 * max(abs(low), abs(high)):
        low, high = low - 0.5 * max(abs(low), 1.0), high + 0.5 * max(abs(high), 1.0)
    return [float(x) for x in np.histogram(values, bins=_BINS, range=(low, high))[0]]


def _mean(array: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):  # infinite elements of both signs
        return float(np.mean(array.real, dtype=np.float64)) if array.size else 0.0


class DataChecks:
    """Looks at inputs, labels and predictions on behalf of a checker."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.given: dict[tuple[str, bool], _Given] = {}
        self.digests: list[str] = []
        self.means: list[float] = []
        self.places: list[Place] = []
        self.loader_batches = 0
        self.whole_range: dict[str, int] = {}
        self._seen_in_step = False

    # -- inputs -----------------------------------------------------------------------------------

    def trained_on(self, inputs: list[Any], place: Place) -> None:
        """The outermost call of a model in training; of a step the first one counts."""
        if inputs and not self._seen_in_step:
            self._seen_in_step = True
            arrays = [np.ascontiguousarray(whole_array(x)) for x in inputs]
            self.digests.append("".join(digest_of(x, str(x.dtype)) for x in arrays))
            self.means.append(_mean(arrays[0]))
            self.places.append(place)

    def given_to(self, path: str, training: bool, tensor: Any, place: Place) -> None:
        """What the first layer of a model is given."""
        array = flat_array(tensor)
        found = statistics(array)
        known = self.given.get((path, training))
        if known is not None and not training:
            return  # what a model is given later may be what it gave before
        if known is not None:
            self.given[path, training] = known._replace(found=_added(known.found, found))
        elif found.finite == found.size:
            self.given[path, training] = _Given(found, place, _counts(array))

    def step_ended(self) -> None:
        self._seen_in_step = False

    def _inputs(self) -> list[Finding]:
        findings = []
        for (path, training), given in self.given.items():
            found = given.found
            if not training or (abs(found.mean) < _FAR and found.deviation < _FAR):
                continue
            evidence = (
                f"{path} is given numbers from {found.least:.6g} to {found.greatest:.6g}, "
                f"mean {found.mean:.4g}, standard deviation {found.deviation:.4g}"
            )
            findings.append(Finding(
                "unnormalised_inputs", evidence, given.place,
                "subtract the mean and divide by the deviation of the training data",
                f"elements from {found.least:.4g} to {found.greatest:.4g}", given.counts,
            ))  # fmt: skip
        return findings

    def _preprocessing(self) -> list[Finding]:
        findings = []
        for (path, training), given in self.given.items():
            other = self.given.get((path, True))
            if training or other is None:
                continue
            here, there = given.found, other.found
            spread = max(here.deviation, there.deviation, 1e-12)
            ratio = spread / max(min(here.deviation, there.deviation), 1e-12)
            enough = min(here.size, there.size) >= 100
            if enough and (abs(here.mean - there.mean) > spread or ratio > 3):
                evidence = (
                    f"{path} is given mean {there.mean:.4g}, deviation {there.deviation:.4g} in "
                    f"training, mean {here.mean:.4g}, deviation {here.deviation:.4g} in evaluation"
                )
                findings.append(Finding(
                    "train_eval_preprocessing", evidence, given.place,
                    "prepare data for evaluation as for training, without random augmentation",
                    "elements in evaluation", given.counts,
                ))  # fmt: skip
        return findings

    def _same_data(self) -> list[Finding]:
        count = len(self.digests)
        if self.loader_batches < 2 or count < _FEW_STEPS or len(set(self.digests)) > 1:
            return []
        evidence = (
            f"the inputs of all {count} steps are the same, bit for bit; "
            f"the loader has {self.loader_batches} batches"
        )
        return [Finding(
            "same_data_each_step", evidence, self.places[0],
            "iterate over the loader; next(iter(loader)) begins anew each time",
            "mean of the first input, by step", self.means,
        )]  # fmt: skip

    # -- losses -----------------------------------------------------------------------------------

    def cross_entropy(self, name: str, given: Any, target: Any, ignored: int) -> None:
        """A call of cross_entropy or nll_loss."""
        if not is_watched(given) or given.aval.ndim < 1 or not given.aval.size:
            return
        scores = np.asarray(whole_array(given), np.float64)
        axis = 1 if scores.ndim > 1 else 0
        if target.aval.dtype.category < given.aval.dtype.category:
            self._labels(name, np.asarray(whole_array(target)), scores.shape[axis], ignored)
        sums = scores.sum(axis=axis)
        near = np.abs(sums - 1).max() < _SUM and scores.min() >= 0 and scores.shape[axis] > 1
        self._probabilities(name, bool(near), scores)

    def _labels(self, name: str, labels: np.ndarray, classes: int, ignored: int) -> None:
        used = labels[labels != ignored]
        wrong = used[(used < 0) | (used >= classes)]
        if not wrong.size:
            return
        evidence = (
            f"{name} got {wrong.size} of {labels.size} labels outside 0 .. {classes - 1}: "
            f"labels are from {used.min()} to {used.max()}, the output has {classes} classes"
        )
        counts = _counts(used)
        self.checker.found(Finding(
            "labels_out_of_range", evidence, self.checker.place(name),
            "labels count from 0; the last layer needs one output for each class",
            f"labels from {used.min()} to {used.max()}", counts,
        ))  # fmt: skip

    def _probabilities(self, name: str, whole: bool, scores: np.ndarray) -> None:
        """Note whether what a loss got were probabilities; told when it is so in every call."""
        place = self.checker.place(name)
        key = f"{name} {place.file}:{place.line}"
        before = self.whole_range.get(key, 0)
        if not whole or before < 0:
            self.whole_range[key] = -1
            return
        self.whole_range[key] = before + 1
        if before + 1 != 2:
            return
        wanted = {
            "nll_loss": "it needs logarithms: log_softmax in place of softmax",
            "binary_cross_entropy_with_logits": "it applies the sigmoid itself: leave it out",
        }
        self.checker.found(Finding(
            "softmax_before_cross_entropy",
            f"{name} is given probabilities: numbers of 0 at least, with sum 1, in every call"
            if name != "binary_cross_entropy_with_logits"
            else f"{name} is given numbers from 0 to 1 in every call, as a sigmoid gives",
            place, wanted.get(name, "it applies softmax itself: leave it out"),
            "what it is given, from the least to the greatest", _counts(scores),
        ))  # fmt: skip

    def binary_cross_entropy(self, name: str, given: Any, target: Any) -> None:
        """A call of binary_cross_entropy, with or without logits."""
        if not is_watched(given) or not is_watched(target) or not target.aval.size:
            return
        found = statistics(flat_array(target))
        if found.least < 0 or found.greatest > 1:
            self.checker.found(Finding(
                "labels_out_of_range",
                f"{name} got targets from {found.least:.4g} to {found.greatest:.4g}",
                self.checker.place(name), "targets are probabilities: 0 .. 1",
                f"targets from {found.least:.4g} to {found.greatest:.4g}",
                _counts(flat_array(target)),
            ))  # fmt: skip
        if name.endswith("with_logits"):
            scores = statistics(flat_array(given))
            whole = scores.size >= _FEW and scores.least >= 0 and scores.greatest <= 1
            self._probabilities(name, whole, flat_array(given))

    def findings(self) -> list[Finding]:
        """What all steps together show."""
        return [*self._inputs(), *self._preprocessing(), *self._same_data()]
