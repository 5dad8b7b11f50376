"""Inputs without elements, and at the ends of what a function is defined for, against PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")


def outcome(library: Any, expression: str, array: Any) -> Any:
    """Values, gradient and warnings of the expression in ``x``, or its error."""
    x = library.from_numpy(array.copy()).requires_grad_()
    names = {"t": library, "F": library.nn.functional, "x": x}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = eval(expression, names)
            whole = result[0] if isinstance(result, tuple) else result
            if whole.requires_grad:
                whole.sum().backward()
        except Exception as error:
            return type(error).__name__, str(error)
    texts = [str(w.message).split(" (Triggered internally")[0] for w in seen]
    parts = result if isinstance(result, tuple) else (result,)
    gradient = None if x.grad is None else x.grad.numpy()
    return [part.detach().numpy() for part in parts], gradient, texts


def agree(expression: str, array: Any) -> None:
    expected, found = outcome(torch, expression, array), outcome(ours, expression, array)
    if isinstance(expected[0], str):
        assert found == expected
        return
    assert not isinstance(found[0], str), found
    for a, b in zip(expected[0], found[0], strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(b, a, 1e-5, 1e-6)
    assert (expected[1] is None) == (found[1] is None)
    if expected[1] is not None:
        np.testing.assert_allclose(found[1], expected[1], 1e-5, 1e-6)
    assert found[2] == expected[2]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_functions_of_no_elements(shape: tuple[int, int]) -> None:
    """Each of these gave another value, an error of numpy's, or none where torch raises one."""
    for expression in (
        "x.median()", "x.std()", "x.var(1)", "t.std_mean(x, 0)", "x.logsumexp(0)",
        "x.logsumexp(1)", "x.logsumexp((0, 1))", "x.mode(0)", "x.mode(1)", "x.kthvalue(1, 0)",
        "x.norm(p=float('inf'), dim=1)", "x.norm(p=-1)", "t.trapezoid(x)", "t.trapezoid(x, dim=0)",
        "t.cumulative_trapezoid(x)", "x.take(t.tensor([0]))", "x.index_select(1, t.tensor([0]))",
        "t.linalg.lu_factor(x)", "F.linear(x, x)", "F.cross_entropy(x, x)",
        "F.pad(x, (1, 1), 'reflect')", "F.pad(x, (1, 1), 'replicate')", "x.nanquantile(0.5, 1)",
        "F.scaled_dot_product_attention(x, x, x)", "F.soft_margin_loss(x, x)",
        "t.multinomial(x.detach().t().contiguous().t() + 1, 2, True)",
    ):  # fmt: skip
        agree(expression, np.zeros(shape, np.float32))


def test_a_prediction_of_0_or_1_is_pushed_back_by_binary_cross_entropy() -> None:
    """A derivative of clamped logarithms is nan there, and stops the training of a GAN."""
    x = np.array([0, 1, 0, 1, 0.5, 1e-20], np.float32)
    for goal in ("0", "1", "0.25"):
        agree(f"F.binary_cross_entropy(x, t.full((6,), {goal}), reduction='none')", x)
    agree("F.binary_cross_entropy(t.sigmoid(x * 400 - 200), t.ones(6))", x)


def test_slopes_at_the_ends() -> None:
    """Zeros, infinities, numbers out of range and nan, where the slope is a matter of choice."""
    ends = np.array([-np.inf, -3, -1, -0.0, 0, 1e-30, 1, 3, np.inf, np.nan], np.float32)
    for name in (
        "F.elu", "F.selu", "F.celu", "F.hardtanh", "F.relu6", "F.hardswish", "F.hardsigmoid",
        "t.abs", "t.sign", "t.sinc", "t.acosh", "t.logit",
    ):  # fmt: skip
        agree(f"{name}(x)", ends)
    agree("t.atan2(x, x)", np.zeros(3, np.float32))
    agree("t.hypot(x, x)", np.zeros(3, np.float32))


def test_equal_elements_share_the_gradient_of_a_median_of_all() -> None:
    """torch divides it between them; one element would get it all."""
    for array in (np.zeros(4), np.array([1.0, 2, 2, 2, 3]), np.array([1, np.nan, 1])):
        agree("x.median()", array)
        agree("x.nanmedian()", array)


def test_kthvalue_finds_the_place_that_torch_finds_of_equal_elements() -> None:
    """Its selection is no stable sort, but it is determined."""
    rows = np.random.default_rng(0).integers(0, 4, (6, 40)).astype(np.float32)
    for k in (1, 7, 20, 40):
        agree(f"x.kthvalue({k}, 1)", rows)
    agree("x.kthvalue(3, 0)", rows)
