"""Errors name the function as it was called, and methods without arguments say so."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mindtorch.torch as ours

CALLS = (
    "x.arctan(1)", "x.abs(bogus=1)", "x.negative_(x)", "x.isfinite(None)", "x.acos_(bogus=1)",
    "x.trace(1, dim=2)", "x.signbit(2)", "x.square(out=x)", "torch.arctan()", "torch.arctan('a')",
    "torch.less([1.0, 2.0])", "torch.concatenate()", "torch.absolute(x, bogus=1)",
    "torch.fix('a')", "torch.arctan2(x)", "torch.multiply('a')", "x.arctan2_()", "x.less('a')",
    "x.greater_('a')", "torch.special.multigammaln()", "torch.abs_(x, 1)",
    "torch.return_types.max()", "torch.return_types.median(3)", "torch.return_types.sort((1,))",
    "torch.utils.data.Sampler('a')", "torch.add(x, bogus=1)", "torch.addmm(bogus=1, other=2)",
    "x.addmv_(bogus=1)",
)  # fmt: skip


def _error(t: Any, call: str) -> tuple[str, str]:
    with pytest.raises(Exception, match=r".") as caught:
        eval(call, {"torch": t, "x": t.ones(2, 2)})
    return type(caught.value).__name__, str(caught.value)


@pytest.mark.parametrize("call", CALLS)
def test_errors_name_what_was_called(call: str) -> None:
    assert _error(ours, call) == _error(torch, call)


@pytest.mark.parametrize("name", ["arctan", "absolute", "less", "concat", "negative", "multiply"])
def test_other_names_compute_the_same(name: str) -> None:
    function, method = getattr(ours, name), getattr(ours.Tensor, name, None)
    assert function.__name__ == name
    assert method is None or method.__name__ == name
