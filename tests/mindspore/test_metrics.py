"""Metrics over classes, curves, rows and sentences: figures that MindSpore 2.10 gave."""

import numpy as np
import pytest

from mindtorch.mindspore import Tensor, train

SHARES = [[0.2, 0.5, 0.3], [0.3, 0.1, 0.6], [0.9, 0.05, 0.05], [0.2, 0.2, 0.6]]
Y = Tensor(np.array(SHARES, np.float32))
T = Tensor(np.array([1, 0, 0, 2], np.int32))
ABOVE = Tensor(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]], np.float32))
CURVE = (Tensor(np.array([0.3, 0.3, 0.8, 0.1, 0.6], np.float32)), Tensor(np.array([1, 0, 1, 0, 0])))
WORDS = ([["a", "b", "c"], ["d", "e"]], [[["a", "b", "d"], ["a", "c"]], [["d", "e", "f"]]])


@pytest.mark.parametrize(
    ("metric", "inputs", "wanted"),
    [
        (train.Fbeta(1), (Y, T), [0.66667, 1, 0.66667]),
        (train.Dice(), (Y, ABOVE), 0.21329),
        (train.ConfusionMatrix(3, "target"), (Y, T), [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 1]]),
        (train.CosineSimilarity("dot", "mean", False), (Y,), [0.3025, 0.37375, 0.39, 0.355]),
        (train.BleuScore(2, True), WORDS, 0.70904),
    ],
)
def test_figures_of_one_batch(metric, inputs, wanted):
    """To the digits that were printed."""
    metric.update(*inputs)
    np.testing.assert_allclose(metric.eval(), wanted, atol=6e-6)


def test_curves():
    """Equal figures are one threshold."""
    metric = train.ROC(pos_label=1)
    metric.update(*CURVE)
    false, true, thresholds = metric.eval()
    np.testing.assert_allclose(false, [0, 0, 1 / 3, 2 / 3, 1])
    np.testing.assert_allclose(true, [0, 0.5, 0.5, 1, 1])
    np.testing.assert_allclose(thresholds, [1.8, 0.8, 0.6, 0.3, 0.1], rtol=1e-6)
    assert train.auc(false, true) == pytest.approx(0.75)
    with pytest.raises(ValueError, match="neither increasing"):
        train.auc([0, 1, 0], [1, 2, 3])
