"""torch.masked: functions of the elements that a mask leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.masked

import mindtorch.torch as mt

VALUES = [[1.5, -2.0, 3.25], [4.0, 5.5, -6.0], [0.5, 0.25, -1.0]]
MASK = [[True, False, True], [False, False, False], [True, True, True]]
ROW = [True, False, True]


def _along(name: str) -> Callable[[Any, Any, Any], Any]:
    return lambda m, x, k: getattr(m, name)(x, 1, mask=k)


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{
        name: _along(name)
        for name in (
            "sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "logsumexp",
            "var", "std", "norm", "cumsum", "cumprod", "softmax", "log_softmax", "softmin",
        )
    },
    "sum_all": lambda m, x, k: m.sum(x, mask=k),
    "prod_axes": lambda m, x, k: m.prod(x, (0, 1), keepdim=True, mask=k),
    "mean_double": lambda m, x, k: m.mean(x, 0, mask=k, dtype=x.double().dtype),
    "norm_least": lambda m, x, k: m.norm(x, -float("inf"), 1, mask=k),
    "norm_third": lambda m, x, k: m.norm(x, 3, 0, keepdim=True, mask=k),
    "var_biased": lambda m, x, k: m.var(x, 1, False, mask=k),
    "std_correction": lambda m, x, k: m.std(x, 0, correction=2, mask=k),
    "normalize": lambda m, x, k: m.normalize(x, 2.0, 1, mask=k),
    "logaddexp": lambda m, x, k: m.logaddexp(x, x * 2, input_mask=k, other_mask=~k),
    "no_mask": lambda m, x, k: m.std(x, 1),
}  # fmt: skip


def _numbers(x: Any) -> Any:
    return np.array(x.detach().tolist())


@pytest.mark.parametrize("mask", [MASK, ROW], ids=["full", "broadcast"])
@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_torchs(name: str, mask: Any) -> None:
    """A row without any element shows the identity of each function."""
    results = []
    for library in (mt, torch):
        x = library.tensor(VALUES, dtype=library.float64, requires_grad=True)
        y = CALLS[name](library.masked, x, library.tensor(mask))
        if y.requires_grad:
            (y * library.arange(1, y.numel() + 1).reshape(y.shape)).sum().backward()
        results.append((str(y.dtype), tuple(y.shape), _numbers(y), x.grad))
    mine, theirs = results
    assert mine[:2] == theirs[:2]
    np.testing.assert_allclose(mine[2], theirs[2], rtol=1e-13)
    assert (mine[3] is None) == (theirs[3] is None)
    if mine[3] is not None:
        np.testing.assert_allclose(_numbers(mine[3]), _numbers(theirs[3]), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "argmax", "cumsum", "cumprod"])
def test_integers_keep_torchs_types(name: str) -> None:
    """Sums of integers are int64; an empty maximum is the type's least number."""
    for kind in ("int64", "int32", "uint8"):
        mine, theirs = (
            getattr(t.masked, name)(
                t.tensor([[3, 1], [2, 5]], dtype=getattr(t, kind)), 1,
                mask=t.tensor([[True, True], [False, False]]),
            )
            for t in (mt, torch)
        )  # fmt: skip
        assert (str(mine.dtype), mine.tolist()) == (str(theirs.dtype), theirs.tolist())


def _message(call: Callable[[], Any]) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value).__name__, str(caught.value)


ERRORS: list[Callable[[Any], Any]] = [
    lambda t: t.masked.sum(t.ones(2, 3), 5),
    lambda t: t.masked.sum(t.ones(2, 3), (0, 0)),
    lambda t: t.masked.sum(t.ones(2, 3), 1, mask=t.ones(1, 2, 3)),
    lambda t: t.masked.sum(t.ones(2, 3), 1, mask=t.ones(5)),
    lambda t: t.masked.amax(t.ones(2).bool(), 0, mask=t.ones(2).bool()),
    lambda t: t.masked.mean(t.ones(2, dtype=t.int64), 0),
    lambda t: t.masked.median(t.ones(2, dtype=t.int64), 0, mask=t.zeros(2)),
    lambda t: t.masked.var(t.ones(2), 0, True, correction=1),
    lambda t: t.masked.amax(t.zeros(0, 3), 0),
    lambda t: t.masked.softmax(t.ones(2, dtype=t.int64), 0),
    lambda t: t.masked.logaddexp(t.ones(2, dtype=t.int64), t.ones(2, dtype=t.int64)),
    lambda t: t.masked.argmax(t.ones(2, 3), (0, 1)),
    lambda t: t.masked.norm(t.ones(2), "fro", 0),
    lambda t: t.masked.normalize(t.ones(2, dtype=t.int64), 2.0, 0, dtype=t.float64),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_have_torchs_type_and_text(number: int) -> None:
    """Axes, masks and types that do not fit."""
    assert _message(lambda: ERRORS[number](mt)) == _message(lambda: ERRORS[number](torch))



@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_an_integer_type_that_is_asked_for_is_kept(name: str) -> None:
    """Without one, sums of integers are int64; with one, they wrap round in it."""
    mine, theirs = (
        getattr(t, name)(t.tensor([200, 100, 7]), 0, dtype=t.uint8) for t in (mt, torch)
    )
    assert (str(mine.dtype), mine.tolist()) == (str(theirs.dtype), theirs.tolist())
