"""Tensors from outside that a compiled function gives another shape in place; results that lie
otherwise than their kernels write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine import op
from tests.support.compiled_kinds import KINDS, running, wrapped


def transposed(x: Any) -> Any:
    x[0].mul_(2)
    x.t_()
    column = x[:, 0]
    column.add_(1)
    return column


def unsqueezed(x: Any) -> None:
    x.unsqueeze_(0)
    x.mul_(2)


def squeezed(x: Any) -> Any:
    return x.squeeze_(0).exp_().sum()


def made_inside(x: Any) -> Any:
    y = x * 2
    y.unsqueeze_(-1).add_(1)
    return y.transpose_(0, -1)


def results(wrap: Callable[[Any], Any], function: Any, kind: str) -> list[Any]:
    """What is returned, and the argument afterwards, for the same argument three times."""
    call = wrap(function)
    x = torch.arange(6.0).reshape(2, 3) / 7
    found = []
    with running(kind):
        for _ in range(3):
            returned = call(x)
            found.append([None if returned is None else returned.tolist(), x.tolist()])
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", [transposed, unsqueezed, squeezed, made_inside])
def test_a_shape_given_in_place_stays(function: Any, kind: str) -> None:
    """The tensor's own memory was taken for something that was still to be computed."""
    expected = results(lambda f: f, function, "eager")
    assert results(wrapped(kind), function, kind) == expected


def test_what_is_made_before_it_is_relaid_has_planned_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kernels that write C order alone take nothing while a program runs (a CUDA graph could not
    let them), and results are eager ones to the bit."""
    f: Any = torch.nn.functional
    torch.manual_seed(0)
    x = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)

    def function(x: Any) -> Any:
        y = f.group_norm(x, 2)
        return f.interpolate(y, scale_factor=2), f.avg_pool2d(y, 2) + 1

    expected, run = function(x), torch.compile(function, fullgraph=True)
    planned: list[Any] = []
    before = op.Moved.planned

    def noted(self: Any, *flat: Any) -> None:
        planned.append(self)
        before(self, *flat)

    monkeypatch.setattr(op.Moved, "__call__", None)
    monkeypatch.setattr(op.Moved, "planned", noted)
    for _ in range(2):
        for made, wanted in zip(run(x), expected, strict=True):
            assert made.equal(wanted) and made.stride() == wanted.stride()
    assert planned
