"""Backward work is cached under signatures that no two different calls share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.autograd.backward import add_signature
from mindtorch.engine.compile.lazy import script_mode


def signature(made: torch.Tensor) -> tuple[Any, ...]:
    """Of the gradient of a result: its node's plan, and what the caches ask for."""
    node: Any = made.grad_fn
    key: list[Any] = [node.plan]
    add_signature(key, (torch.ones_like(made), *node.saved), node)
    return tuple(key)


X = torch.randn(4, 4, requires_grad=True)
NAN = float("nan")

PAIRS: dict[str, tuple[Callable[[], torch.Tensor], Callable[[], torch.Tensor]]] = {
    "views that begin elsewhere": (lambda: X[:2], lambda: X[2:]),
    "views of another step": (lambda: X[::2], lambda: X[:2]),
    "numbers": (lambda: X * 2.0, lambda: X * 3.0),
    "zeros with signs": (lambda: X * 0.0, lambda: X * -0.0),
    "a number and NaN": (lambda: X * NAN, lambda: X * 1.0),
    "params": (lambda: X.sum(0), lambda: X.sum(1)),
    "layouts": (lambda: X * torch.ones(4, 4), lambda: X * torch.ones(4, 4).t()),
    "types": (lambda: X * torch.ones(4), lambda: X * torch.ones(4, dtype=torch.float64)),
    "shapes": (lambda: X * torch.ones(4), lambda: X * torch.ones(4, 1)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_different_calls_have_different_signatures(name: str) -> None:
    one, other = PAIRS[name]
    assert signature(one()) != signature(other())
    assert signature(one()) == signature(one())


def test_nan_is_found_again() -> None:
    assert signature(X * NAN) == signature(X * NAN)


def gradients(part: Callable[[torch.Tensor, int], torch.Tensor]) -> list[Any]:
    """Of a leaf whose part was taken while ops ran one by one, and used while they wait."""
    found = []
    run = script_mode._active[-1] if script_mode._active else None
    for k in (0, 0, 0, 1, 1, 0, 1):
        leaf = torch.arange(4.0).requires_grad_()
        if run is not None:
            run.set_disabled(True)
        taken = part(leaf, k)
        if run is not None:
            run.set_disabled(False)
        (taken * taken).sum().backward()
        found.append(leaf.grad.tolist())
    return found


PARTS: dict[str, Callable[[torch.Tensor, int], torch.Tensor]] = {
    "a view": lambda x, k: x[2 * k : 2 * k + 2],
    "a number": lambda x, k: x * (k + 2.0),
    "a zero": lambda x, k: 1 / (x * (-0.0 if k else 0.0) + 1),
    "a param": lambda x, k: x.view(2, 2).sum(k),
}


@pytest.mark.parametrize("name", PARTS)
def test_passes_over_older_nodes_are_told_apart(name: str) -> None:
    expected = gradients(PARTS[name])
    script_mode.begin()
    try:
        assert gradients(PARTS[name]) == expected
    finally:
        script_mode.end()
