"""Figures of merit, collected batch after batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._metric import Mean, Metric, two
from ._metrics_of_classes import (
    ROC,
    BleuScore,
    ConfusionMatrix,
    CosineSimilarity,
    Dice,
    Fbeta,
    auc,
)

__all__ = [
    "F1",
    "MAE",
    "MSE",
    "ROC",
    "Accuracy",
    "BleuScore",
    "ConfusionMatrix",
    "CosineSimilarity",
    "Dice",
    "Fbeta",
    "Loss",
    "Metric",
    "Perplexity",
    "Precision",
    "Recall",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "auc",
    "get_metric_fn",
    "get_metrics",
    "names",
]  # fmt: skip


def _classes(labels: Any, predicted: Any) -> Any:
    """Class numbers of labels that may be one-hot rows."""
    return labels.argmax(1) if labels.ndim == predicted.ndim else labels


class Accuracy(Mean):
    """The share of right answers.

    Args:
        eval_type: "classification": the most probable class is the label; "multilabel": all
            labels of an example are right.
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise TypeError(f"'eval_type' must be classification or multilabel, got {eval_type!r}")
        self._type = eval_type

    def update(self, *inputs: Any) -> None:
        predicted, labels = map(self._convert_data, two("Accuracy", inputs))
        if self._type == "classification":
            right = predicted.argmax(1) == _classes(labels, predicted)
        else:
            if predicted.shape != labels.shape:
                raise ValueError("For 'Accuracy.update', multilabel shapes should be the same")
            kept = (predicted == labels).reshape(labels.shape[0], labels.shape[1], -1)
            right = kept.all(axis=1).reshape(-1)
        self._sum += int(right.sum())
        self._total += right.size


class Loss(Mean):
    """The mean of the losses of the batches."""

    def update(self, *inputs: Any) -> None:
        if len(inputs) != 1:
            raise ValueError(f"For 'Loss.update', it needs 1 input, but got {len(inputs)}.")
        loss = self._convert_data(inputs[0])
        if loss.ndim == 0:
            loss = loss.reshape(1)
        if loss.ndim != 1:
            raise ValueError(f"For 'Loss.update', the loss should have 1 axis, got {loss.ndim}.")
        self._sum += float(loss.mean(-1))
        self._total += 1


class MAE(Mean):
    """The mean over examples of sum |predicted - true|."""

    def _of(self, difference: Any) -> Any:
        return np.abs(difference)

    def update(self, *inputs: Any) -> None:
        predicted, labels = map(self._convert_data, two(type(self).__name__, inputs))
        self._sum += float(self._of(labels.reshape(predicted.shape) - predicted).sum())
        self._total += labels.shape[0]


class MSE(MAE):
    """The mean over examples of sum (predicted - true)^2."""

    def _of(self, difference: Any) -> Any:
        return difference**2


class _ByClass(Metric):
    """Counts for each class: right answers, answers, labels."""

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise TypeError(f"'eval_type' must be classification or multilabel, got {eval_type!r}")
        self._type = eval_type
        self.clear()

    def clear(self) -> None:
        self._right = self._answers = self._labels = 0

    def update(self, *inputs: Any) -> None:
        predicted, labels = map(self._convert_data, two(type(self).__name__, inputs))
        if self._type == "classification":
            classes = predicted.shape[1]
            rows = np.eye(classes, dtype=np.int64)
            answers = rows[predicted.argmax(1).reshape(-1)]
            labelled = rows[_classes(labels, predicted).reshape(-1).astype(np.int64)]
        else:
            answers, labelled = predicted.astype(np.int64), labels.astype(np.int64)
        self._right = self._right + (answers * labelled).sum(0)
        self._answers = self._answers + answers.sum(0)
        self._labels = self._labels + labelled.sum(0)

    def _ratio(self, below: Any) -> Any:
        if isinstance(self._labels, int):
            raise RuntimeError(
                f"'{type(self).__name__}' can not be calculated, because the number of samples is "
                "0."
            )
        return self._right / np.maximum(below, 1e-20)


class Precision(_ByClass):
    """The share of each class's answers that are right; their mean with ``average``."""

    def eval(self, average: bool = False) -> Any:
        found = self._ratio(self._answers)
        return float(found.mean()) if average else found


class Recall(_ByClass):
    """The share of each class's labels that were found; their mean with ``average``."""

    def eval(self, average: bool = False) -> Any:
        found = self._ratio(self._labels)
        return float(found.mean()) if average else found


class F1(_ByClass):
    """2 right / (answers + labels) of each class; their mean with ``average``."""

    def eval(self, average: bool = False) -> Any:
        found = 2 * self._ratio(self._answers + self._labels)
        return float(found.mean()) if average else found


class TopKCategoricalAccuracy(Mean):
    """The share of labels among the ``k`` most probable classes."""

    _called = "TopKCategoricalAccuracy"

    def __init__(self, k: int) -> None:
        super().__init__()
        if not isinstance(k, int) or k < 1:
            raise ValueError(f"For 'TopKCategoricalAccuracy', 'k' must be > 0, but got {k}.")
        self.k = k

    def update(self, *inputs: Any) -> None:
        predicted, labels = map(self._convert_data, two("TopKCategoricalAccuracy", inputs))
        labels = _classes(labels, predicted)
        best = np.argsort(-predicted, axis=1, kind="stable")[:, : self.k]
        self._sum += int((best == labels[:, None]).any(1).sum())
        self._total += labels.shape[0]


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of labels that are the most probable class."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of labels among the five most probable classes."""

    def __init__(self) -> None:
        super().__init__(5)


class Perplexity(Mean):
    """exp of the mean of -log of the labels' probabilities."""

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        self.ignore_label = ignore_label

    def update(self, *inputs: Any) -> None:
        predicted, labels = map(self._convert_data, two("Perplexity", inputs))
        labels = labels.reshape(-1).astype(np.int64)
        rows = predicted.reshape(-1, predicted.shape[-1])
        probabilities = rows[np.arange(len(labels)), labels]
        if self.ignore_label is not None:
            probabilities = probabilities[labels != self.ignore_label]
        self._sum -= float(np.log(np.maximum(probabilities, 1e-10)).sum())
        self._total += len(probabilities)

    def eval(self) -> float:
        return float(np.exp(super().eval()))


_NAMES: dict[str, Any] = {
    "accuracy": Accuracy, "acc": Accuracy, "loss": Loss, "mae": MAE, "mse": MSE,
    "precision": Precision, "recall": Recall, "F1": F1, "topk": TopKCategoricalAccuracy,
    "top_1_accuracy": Top1CategoricalAccuracy, "top_5_accuracy": Top5CategoricalAccuracy,
    "perplexity": Perplexity, "dice": Dice, "roc_curve": ROC, "auc": auc, "bleu_score": BleuScore,
    "cosine_similarity": CosineSimilarity, "confusion_matrix": ConfusionMatrix, "fbeta": Fbeta,
}  # fmt: skip


def names() -> list[str]:
    """The names that :func:`get_metric_fn` knows."""
    return list(_NAMES)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Metric:
    """A new metric by its name.

    Raises:
        KeyError: no such metric.
    """
    if name not in _NAMES:
        raise KeyError(f"For 'get_metric_fn', unsupported metric {name!r}: one of {names()}")
    metric: Metric = _NAMES[name](*args, **kwargs)
    return metric


def get_metrics(metrics: Any) -> dict[str, Metric]:
    """{name: metric} of a dict of metrics, or a list or set of names."""
    if metrics is None:
        return {}
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(metric, Metric):
                raise TypeError(f"the metric {name!r} is a {type(metric).__name__}")
        return metrics
    if isinstance(metrics, (set, list, tuple)):
        return {name: get_metric_fn(name) for name in metrics}
    raise TypeError(f"'metrics' should be None, dict, set or list, but got {type(metrics)}")
