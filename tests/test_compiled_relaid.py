"""Tensors from outside that a compiled function gives another shape in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from tests.compiled_kinds import KINDS, running, wrapped


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
