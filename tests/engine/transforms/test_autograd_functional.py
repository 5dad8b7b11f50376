"""torch.autograd.functional, and batched gradients, against real torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mindtorch.torch as ours
from mindtorch.torch.utils._pytree import tree_leaves
from tests.support.func_cases import Case, assert_alike, quiet, source

__all__ = ["quiet"]  # a fixture of every test here


def _functional(name: str, *arguments: Any, **options: Any) -> Case:
    """autograd.functional's ``name``; options of strategies must not change the values."""
    return lambda t, m: getattr(t.autograd.functional, name)(
        *[a(t, m) if callable(a) else a for a in arguments], **options
    )


def _two(t: Any, m: Any) -> Any:
    return m(2, 3), m(3)


def _product(t: Any, m: Any) -> Any:
    return lambda a, b: ((a @ b).sin(), b * 2)


def _number(t: Any, m: Any) -> Any:
    return lambda a, b: (a @ b).sin().prod()


FUNCTIONAL: dict[str, Case] = {
    "vjp": _functional("vjp", _product, _two, lambda t, m: (m(2), m(3))),
    "jvp": _functional("jvp", _product, _two, _two),
    "vhp": _functional("vhp", _number, _two, _two),
    "hvp": _functional("hvp", _number, _two, _two),
    "vjp of a number": _functional("vjp", _number, _two),
    "strict jvp": _functional("jvp", lambda t, m: t.exp, lambda t, m: m(3), lambda t, m: m(3),
                              strict=True),
    "strict hvp": _functional("hvp", _number, _two, _two, strict=True),
    "jacobian": _functional("jacobian", _product, _two),
    "jacobian in vectors": _functional("jacobian", _product, _two, vectorize=True),
    "jacobian forward": _functional(
        "jacobian", _product, _two, vectorize=True, strategy="forward-mode"
    ),
    "jacobian of one": _functional("jacobian", lambda t, m: t.sin, lambda t, m: m(3),
                                   vectorize=True),
    "hessian": _functional("hessian", _number, _two),
    "hessian in vectors": _functional("hessian", _number, _two, vectorize=True),
    "hessian forward": _functional(
        "hessian", _number, _two, vectorize=True, outer_jacobian_strategy="forward-mode"
    ),
    "hessian of one": _functional("hessian", lambda t, m: lambda a: a.prod(), lambda t, m: m(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_autograd_functional_is_torchs(name: str) -> None:
    """Products and whole matrices, row by row, in vectors, and by columns."""
    mine = FUNCTIONAL[name](ours, source(ours))
    assert not any(x.requires_grad for x in tree_leaves(mine))
    assert_alike(mine, FUNCTIONAL[name](torch, source(torch)))


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_create_graph_lets_the_result_be_differentiated(name: str, vectorize: bool) -> None:
    """The gradient of the sum of squares of a Jacobian or Hessian."""

    def gradient(t: Any) -> Any:
        x = source(t)(3).requires_grad_()
        matrix = getattr(t.autograd.functional, name)(
            lambda a: (a.sin() * a.roll(1)).prod() if name == "hessian" else a.sin() * a.sum(),
            x, create_graph=True, vectorize=vectorize,
        )  # fmt: skip
        return t.autograd.grad(matrix.pow(2).sum(), x)

    assert_alike(gradient(ours), gradient(torch))


def test_batched_gradients_are_differentiable() -> None:
    """``is_grads_batched`` with ``create_graph``, an unused input, and materialised zeros."""

    def gradients(t: Any) -> Any:
        make = source(t)
        x, unused = make(3).requires_grad_(), make(2).requires_grad_()
        rows = t.autograd.grad(
            (x**3).sin(), [x, unused], make(4, 3), create_graph=True, is_grads_batched=True,
            materialize_grads=True,
        )  # fmt: skip
        return rows, t.autograd.grad(rows[0].pow(2).sum(), x)

    assert_alike(gradients(ours), gradients(torch))
