"""Losses with kernels of their own, against torch: CTC, and cross entropy in one op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")

STEPS, BATCH, CLASSES = 9, 5, 6
LENGTHS, COUNTS = [9, 7, 4, 3, 6], [4, 3, 0, 3, 1]  # the fourth has repeats and too few steps
LABELS = np.array([[1, 1, 2, 3], [5, 4, 5, 0], [0, 0, 0, 0], [2, 2, 2, 0], [3, 0, 0, 0]])


def logits(dtype: str) -> Any:
    return np.random.RandomState(0).standard_normal((STEPS, BATCH, CLASSES)).astype(dtype)


def close(actual: list[Any], expected: list[Any], dtype: str) -> None:
    """A few dozen logarithms of sums, each rounded."""
    unit = float(np.finfo(np.dtype(dtype)).eps)
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == e.dtype and a.shape == e.shape
        np.testing.assert_allclose(a, e, rtol=64 * unit, atol=64 * unit)


def run(namespace: Any, dtype: str, options: Any, form: str = "padded") -> list[Any]:
    """The loss, and the gradients for logits and for given log probabilities."""
    labels = LABELS.copy()
    blank = options.get("blank", 0)
    if blank == CLASSES - 1:
        labels = np.maximum(labels - 1, 0)
    if form == "joined":
        labels = np.concatenate([row[:n] for row, n in zip(labels, COUNTS, strict=True)])
    lengths: Any = (tuple(LENGTHS), tuple(COUNTS))
    if form == "tensors":
        lengths = [namespace.tensor(v) for v in lengths]
    found = []
    for normalised in (True, False):
        x = namespace.tensor(logits(dtype), requires_grad=True)
        logs = x.log_softmax(-1) if normalised else x
        loss = namespace.nn.functional.ctc_loss(
            logs, namespace.tensor(labels), *lengths, **options
        )
        factors = namespace.arange(1.0, loss.numel() + 1, dtype=x.dtype).reshape(loss.shape)
        (loss * factors).sum().backward()
        found += [loss.detach().numpy(), x.grad.numpy()]
    return found


@pytest.mark.parametrize("form", ["padded", "joined", "tensors"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_ctc_is_torchs(dtype: str, reduction: str, form: str) -> None:
    """Losses and gradients, infinite ones set to 0."""
    options = {"reduction": reduction, "zero_infinity": True}
    close(run(ours, dtype, options, form), run(torch, dtype, options, form), dtype)


def test_ctc_with_another_blank_is_torchs() -> None:
    """The last class as blank."""
    options = {"blank": CLASSES - 1, "reduction": "none", "zero_infinity": True}
    close(run(ours, "float64", options), run(torch, "float64", options), "float64")


def test_infinite_losses_stay_infinite() -> None:
    """Without zero_infinity a sample with too few steps has loss inf and gradient NaN."""
    actual, expected = (run(n, "float64", {"reduction": "none"}) for n in (ours, torch))
    assert np.isinf(actual[0][3]) and np.isnan(actual[1][:, 3]).any()
    close(actual, expected, "float64")


def test_a_single_sequence_is_torchs() -> None:
    """Log probabilities without a batch axis, through the module; no steps and no labels."""

    def one(namespace: Any) -> list[Any]:
        x = namespace.tensor(logits("float64")[:, 0], requires_grad=True)
        module = namespace.nn.CTCLoss(reduction="none")
        loss = module(x.log_softmax(-1), namespace.tensor([1, 1, 2]), namespace.tensor(9),
                      namespace.tensor(3))  # fmt: skip
        loss.backward()
        logs = x.detach().unsqueeze(1)
        empty = module(logs, namespace.zeros(1, 0, dtype=namespace.int64), (0,), (0,))
        short = module(logs, namespace.tensor([[1]]), (0,), (1,))
        return [v.detach().numpy() for v in (loss, x.grad, empty, short)]

    close(one(ours), one(torch), "float64")


def test_impossible_classes_have_no_part_in_the_gradient() -> None:
    """A log probability of -inf: other classes get what they get when it is very low."""

    def one(low: float) -> Any:
        values = logits("float64")[:, :1].copy()
        values[:, 0, 3] = values[4, 0, 1] = low
        x = ours.tensor(values, requires_grad=True)
        ours.nn.functional.ctc_loss(x, ours.tensor([[1, 2, 2]]), (9,), (3,)).backward()
        return x.grad.numpy()

    np.testing.assert_allclose(one(-np.inf), one(-1e6), atol=1e-12)


def test_second_derivatives_are_refused() -> None:
    """As torch does, when the second backward reaches the loss."""

    def attempt(namespace: Any) -> str:
        x = namespace.tensor(logits("float64"), requires_grad=True)
        loss = namespace.nn.functional.ctc_loss(
            x.log_softmax(-1), namespace.tensor(LABELS), LENGTHS, COUNTS, zero_infinity=True
        )
        (g,) = namespace.autograd.grad(loss, x, create_graph=True)
        with pytest.raises(RuntimeError) as error:
            (g * g).sum().backward()
        return str(error.value)

    assert attempt(ours) == attempt(torch)


ERRORS: list[Any] = [
    lambda n, f, x, t: f(x, t, [5, 5], [2, 2], blank=4),
    lambda n, f, x, t: f(x, t, [5, 5], [2, 2], blank=-1),
    lambda n, f, x, t: f(x, t, [5, 6], [2, 2]),
    lambda n, f, x, t: f(x, t, [5, -5], [2, 2]),
    lambda n, f, x, t: f(x, t, [5, 5], [2, -1]),
    lambda n, f, x, t: f(x, t, [5, 5], [2, 3]),
    lambda n, f, x, t: f(x, t, [5], [2, 2]),
    lambda n, f, x, t: f(x, t, [5, 5], [2]),
    lambda n, f, x, t: f(x, t[:1], [5, 5], [2, 2]),
    lambda n, f, x, t: f(x, t[None], [5, 5], [2, 2]),
    lambda n, f, x, t: f(x, n.tensor([1, 2, 3]), [5, 5], [2, 2]),
    lambda n, f, x, t: f(x, t, n.tensor([5.0, 5.0]), n.tensor([2, 2])),
    lambda n, f, x, t: f(x, t, n.tensor([5, 5]), n.tensor([2.0, 2.0])),
    lambda n, f, x, t: f(x.half(), t, [5, 5], [2, 2]),
    lambda n, f, x, t: f(x, t, [5, 5], [2, 2], reduction="x"),
]


@pytest.mark.parametrize("call", ERRORS, ids=range(len(ERRORS)))
def test_errors_are_torchs(call: Any) -> None:
    """Lengths, targets and types that do not fit are refused in torch's words."""

    def attempt(namespace: Any) -> None:
        call(namespace, namespace.nn.functional.ctc_loss, namespace.zeros(5, 2, 4),
             namespace.tensor([[1, 2], [3, 1]]))  # fmt: skip

    with pytest.raises(Exception) as expected:
        attempt(torch)
    with pytest.raises(type(expected.value)) as found:
        attempt(ours)
    assert str(found.value) == str(expected.value)


def test_labels_that_are_no_class_are_refused() -> None:
    """torch reads past the end of the array; there is nothing to be equal to."""
    with pytest.raises(IndexError, match="Target 9 is out of bounds"):
        ours.nn.functional.ctc_loss(ours.zeros(5, 1, 4), ours.tensor([[1, 9]]), (5,), (2,))


CASES: list[Any] = [
    {}, {"ignore_index": 2}, {"label_smoothing": 0.3}, {"ignore_index": 1, "label_smoothing": 0.1},
]  # fmt: skip


@pytest.mark.parametrize("shape", [(7, 5), (300, 40), (3, 5, 4, 2), (2, 5, 100)])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("options", CASES, ids=["plain", "ignore", "smooth", "both"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy_is_torchs(
    shape: Any, reduction: str, options: Any, weighted: bool
) -> None:
    """Loss and gradient for rows and for images, with weights of classes and ignored targets."""
    random = np.random.RandomState(0)
    values, weights = 3 * random.standard_normal(shape), random.rand(shape[1])
    target = random.randint(0, shape[1], (shape[0], *shape[2:]))

    def one(namespace: Any) -> list[Any]:
        x = namespace.tensor(values, requires_grad=True)
        weight = namespace.tensor(weights) if weighted else None
        loss = namespace.nn.functional.cross_entropy(
            x, namespace.tensor(target), weight, reduction=reduction, **options
        )
        (loss * 0.7).sum().backward()
        return [loss.detach().numpy(), x.grad.numpy()]

    close(one(ours), one(torch), "float64")


def test_cross_entropy_of_huge_scores_is_exact() -> None:
    """Scores of 1e4 in float32: the logarithm of the sum must not be added to the maximum."""

    def one(namespace: Any) -> list[Any]:
        x = namespace.tensor([[1e4, 1e4, 9999.5], [-1e4, 0.0, 1e4]], requires_grad=True)
        loss = namespace.nn.functional.cross_entropy(x, namespace.tensor([0, 2]), reduction="none")
        loss.sum().backward()
        return [loss.detach().numpy(), x.grad.numpy()]

    close(one(ours), one(torch), "float32")


def test_nothing_but_ignored_targets_gives_nan_and_no_gradient() -> None:
    """The mean over no targets."""

    def one(namespace: Any) -> list[Any]:
        x = namespace.tensor(logits("float32")[0], requires_grad=True)
        loss = namespace.nn.functional.cross_entropy(x, namespace.full((BATCH,), -100))
        loss.backward()
        return [loss.detach().numpy(), x.grad.numpy()]

    close(one(ours), one(torch), "float32")
