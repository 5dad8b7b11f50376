"""Metrics over classes, curves, rows and sentences."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from ._metric import Mean, Metric, two

__all__ = [
    "ROC", "BleuScore", "ConfusionMatrix", "CosineSimilarity", "Dice", "Fbeta", "auc",
]  # fmt: skip


def auc(x: Any, y: Any, reorder: bool = False) -> Any:
    """The area under a curve, by trapezia.

    Args:
        x: the places, rising or falling.
        y: the values there.
        reorder: sort the places first.

    Raises:
        ValueError: fewer than two places, or places that neither rise nor fall.
    """
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim != 1 or x.shape != y.shape or len(x) < 2:
        raise ValueError("For 'auc', x and y must be rows of at least 2 numbers each.")
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    if (steps < 0).any() and (steps > 0).any():
        raise ValueError(f"For 'auc', the order of 'x' is neither increasing nor decreasing: {x}")
    area = float((steps * (y[1:] + y[:-1]) / 2).sum())
    return -area if (steps < 0).any() else area


class Fbeta(Metric):
    """(1 + beta^2) precision recall / (beta^2 precision + recall) of each class.

    Args:
        beta: the weight of the recall.
    """

    def __init__(self, beta: float) -> None:
        super().__init__()
        if beta <= 0:
            raise ValueError("For 'Fbeta', the argument 'beta' must be greater than zero.")
        self.beta = beta
        self.clear()

    def clear(self) -> None:
        self._counts: Any = None

    def update(self, *inputs: Any) -> None:
        """Take in (what the network gives for each class, or numbers of classes; labels)."""
        found, right = (self._convert_data(each) for each in two("Fbeta", inputs))
        if found.ndim == right.ndim and (found.ndim == 1 or found.shape[1] == 1):
            raise ValueError("For 'Fbeta.update', the first input has a column for each class.")
        classes = found.shape[1]
        rows = np.eye(classes)
        labels = right.argmax(1) if right.ndim == found.ndim else right
        chosen, wanted = rows[found.argmax(1)], rows[labels.astype(np.int64)]
        counts = np.stack([(chosen * wanted).sum(0), chosen.sum(0), wanted.sum(0)])
        self._counts = counts if self._counts is None else self._counts + counts

    def eval(self, average: bool = False) -> Any:
        """The figure of each class, or their mean."""
        if self._counts is None:
            raise RuntimeError("Please call the 'update' method before calling 'eval' method.")
        both, chosen, wanted = self._counts
        square = self.beta**2
        found = (1 + square) * both / (square * wanted + chosen + np.finfo(np.float64).eps)
        return found.mean() if average else found


class Dice(Mean):
    """2 sum(x y) / (sum(x^2) + sum(y^2) + smooth) of each batch, all by the number of rows."""

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = smooth
        self.clear()

    def update(self, *inputs: Any) -> None:
        """Take in (found, right), of one shape."""
        found, right = (self._convert_data(each) for each in two("Dice", inputs))
        if found.shape != right.shape:
            raise ValueError(f"For 'Dice.update', shapes differ: {found.shape}, {right.shape}")
        x, y = found.reshape(-1).astype(np.float64), right.reshape(-1).astype(np.float64)
        self._sum += float(2 * (x @ y) / (x @ x + y @ y + self.smooth))
        self._total += len(found)


class ConfusionMatrix(Metric):
    """How often a label (row) was found as which class (column).

    Args:
        num_classes: how many classes there are.
        normalize: "no_norm", or divide by the sums of "target" (rows), "prediction" (columns) or
            "all".
        threshold: of binary classification: above it is class 1.
    """

    def __init__(
        self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5
    ) -> None:
        super().__init__()
        if normalize not in ("no_norm", "target", "prediction", "all"):
            raise ValueError(f"For 'ConfusionMatrix', 'normalize' is {normalize!r}")
        self.num_classes, self.normalize, self.threshold = num_classes, normalize, threshold
        self.clear()

    def clear(self) -> None:
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))

    def update(self, *inputs: Any) -> None:
        """Take in (classes, or what the network gives for each; labels)."""
        found, right = (self._convert_data(each) for each in two("ConfusionMatrix", inputs))
        if found.ndim == right.ndim + 1:
            found = found.argmax(1)
        elif found.ndim != right.ndim:
            raise ValueError("For 'ConfusionMatrix.update', the inputs have other axes.")
        elif found.dtype.kind == "f":
            found = found > self.threshold
        places = right.reshape(-1).astype(np.int64) * self.num_classes
        counts = np.bincount(places + found.reshape(-1).astype(np.int64),
                             minlength=self.num_classes**2)  # fmt: skip
        self.confusion_matrix += counts.reshape(self.num_classes, -1)

    def eval(self) -> Any:
        """The matrix."""
        axis = {"target": 1, "prediction": 0}.get(self.normalize)
        if self.normalize == "no_norm":
            return self.confusion_matrix
        sums = self.confusion_matrix.sum(axis, keepdims=True)
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(self.confusion_matrix / sums)


class CosineSimilarity(Metric):
    """The similarity of each two rows of the last batch.

    Args:
        similarity: "cosine", or "dot" without dividing by the lengths.
        reduction: "none", or the "sum" or "mean" of each row.
        zero_diagonal: 0 for a row with itself.
    """

    def __init__(
        self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True
    ) -> None:
        super().__init__()
        if similarity not in ("cosine", "dot") or reduction not in ("none", "sum", "mean"):
            raise ValueError(f"For 'CosineSimilarity', got {similarity!r} and {reduction!r}")
        self.similarity, self.reduction, self.zero_diagonal = similarity, reduction, zero_diagonal
        self.clear()

    def clear(self) -> None:
        self._found: Any = None

    def update(self, inputs: Any) -> None:
        """Take in rows."""
        rows = self._convert_data(inputs)
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
        self._found = rows @ rows.T
        if self.zero_diagonal:
            np.fill_diagonal(self._found, 0)

    def eval(self) -> Any:
        """The matrix, or a figure for each row."""
        if self._found is None:
            raise RuntimeError("Please call the 'update' method before calling 'eval' method.")
        if self.reduction == "none":
            return self._found
        return getattr(self._found, self.reduction)(axis=-1)


class ROC(Metric):
    """The shares of false and of true positives for each threshold, of two classes.

    Args:
        class_num: 1 or None: figures of one class.
        pos_label: the label that counts as positive; 1 unless given.
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        if class_num not in (None, 1):
            raise NotImplementedError("ROC of several classes: call it for each class by itself")
        self.pos_label = 1 if pos_label is None else pos_label
        self.clear()

    def clear(self) -> None:
        self._rows: list[Any] = []

    def update(self, *inputs: Any) -> None:
        """Take in (figures, labels)."""
        found, right = (self._convert_data(each).reshape(-1) for each in two("ROC", inputs))
        self._rows.append((found, right == self.pos_label))

    def eval(self) -> tuple[Any, Any, Any]:
        """(false positives' share, true positives' share, thresholds)."""
        if not self._rows:
            raise RuntimeError("Please call the 'update' method before calling 'eval' method.")
        figures, right = (np.concatenate(column) for column in zip(*self._rows, strict=True))
        order = np.argsort(figures, kind="stable")[::-1]
        figures, right = figures[order], right[order]
        ends = np.append(np.nonzero(np.diff(figures))[0], len(figures) - 1)
        true = np.append(0, right.cumsum()[ends])
        false = np.append(0, 1 + ends - true[1:])
        thresholds = np.append(figures[0] + 1, figures[ends])
        if not true[-1] or not false[-1]:
            raise ValueError("For 'ROC.eval', there must be positive and negative labels.")
        return false / false[-1], true / true[-1], thresholds


class BleuScore(Metric):
    """How many runs of up to ``n_gram`` words of sentences are in their references.

    Args:
        n_gram: the length of the longest runs, 1 to 4.
        smooth: add one to counts of runs of two words and more.
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        if not 1 <= n_gram <= 4:
            raise ValueError(f"For 'BleuScore', 'n_gram' must be 1 to 4, but got {n_gram}.")
        self.n_gram, self.smooth = n_gram, smooth
        self.clear()

    def clear(self) -> None:
        self._hits, self._all = np.zeros(self.n_gram), np.zeros(self.n_gram)
        self._length = self._wanted = 0

    def _runs(self, words: Any) -> Counter[Any]:
        return Counter(
            tuple(words[i : i + n])
            for n in range(1, self.n_gram + 1) for i in range(len(words) - n + 1)
        )  # fmt: skip

    def update(self, *inputs: Any) -> None:
        """Take in (sentences, for each the references), as lists of words."""
        sentences, references = two("BleuScore", inputs)
        if len(sentences) != len(references):
            raise ValueError("For 'BleuScore.update', there are not as many references.")
        for words, listed in zip(sentences, references, strict=True):
            self._length += len(words)
            gaps = [abs(len(words) - len(each)) for each in listed]
            self._wanted += len(listed[gaps.index(min(gaps))])
            known: Counter[Any] = Counter()
            for each in listed:
                known |= self._runs(each)
            mine = self._runs(words)
            for run, count in (mine & known).items():
                self._hits[len(run) - 1] += count
            for run, count in mine.items():
                self._all[len(run) - 1] += count

    def eval(self) -> Any:
        """The geometric mean of the shares, less for sentences that are too short."""
        if not self._length:
            raise RuntimeError("Please call the 'update' method before calling 'eval' method.")
        hits, total = self._hits, self._all
        if not hits.all() and not self.smooth:
            return 0.0
        if self.smooth:
            more = np.arange(self.n_gram) > 0
            hits, total = hits + more, total + more
        mean = math.exp(float(np.log(hits / total).mean()))
        short = self._length <= self._wanted
        return mean * (math.exp(1 - self._wanted / self._length) if short else 1.0)
