"""Sums of elementwise chains are made in the chain's own pass, with the bits of the ops alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.explain import explain


def _norm(x: Any, w: Any) -> Any:
    return w * (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6))


def _spread(x: Any, w: Any) -> Any:
    d = x - x.mean(-1, keepdim=True)
    return d * w, (d * d).sum(-1), (d.abs() + 1).mean(-1)


def _loss(x: Any, w: Any) -> Any:
    return ((x - w) ** 2).mean(), (x * 2).exp().sum()


def _last_two(x: Any, w: Any) -> Any:
    return (x * w - 1).sum((-1, -2)), (x + w).mean((-2, -1), keepdim=True)


PROGRAMS = [(_norm, 1), (_spread, 2), (_loss, 2), (_last_two, 2)]
SHAPES = [
    (20, 30, 512), (3, 7, 300), (2, 9, 256), (700, 1, 77), (1, 1, 5000), (4096, 1, 64), (3, 1, 2111)
]  # fmt: skip


@pytest.mark.parametrize("function", [each for each, _ in PROGRAMS])
def test_sums_in_a_chains_pass_have_the_bits_of_the_ops(function: Callable[..., Any]) -> None:
    compiled = torch.compile(function)
    torch.manual_seed(0)
    before = torch.get_num_threads()
    try:
        for shape in SHAPES:
            x, w = torch.randn(shape), torch.randn(shape[-1])
            for threads in (1, 2, 3):  # a sum of many elements is cut into a range for each
                torch.set_num_threads(threads)
                _same(compiled(x, w), function(x, w), (shape, threads))
    finally:
        torch.set_num_threads(before)


def _same(made: Any, expected: Any, label: Any) -> None:
    made, expected = ([x] if isinstance(x, torch.Tensor) else x for x in (made, expected))
    for a, b in zip(made, expected, strict=True):
        assert torch.equal(a, b), label


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_step_whose_backward_pass_sums(dtype: Any) -> None:
    def step(x: Any, w: Any) -> Any:
        loss = (_norm(x, w) ** 2).mean()
        return loss.detach(), *torch.autograd.grad(loss, (x, w))

    torch.manual_seed(0)
    x = torch.randn(30, 300, dtype=dtype, requires_grad=True)
    w = torch.randn(300, dtype=dtype, requires_grad=True)
    _same(torch.compile(step)(x, w), step(x, w), dtype)


@pytest.mark.parametrize(("function", "count"), PROGRAMS)
def test_a_chain_makes_its_sums(function: Callable[..., Any], count: int) -> None:
    x, w = torch.ones(4, 16, 512), torch.ones(512)
    names = [name.split("+") for each in explain(function)(x, w).ops for name in each]
    assert sum(n in ("sum", "mean") for many in names if len(many) > 1 for n in many) == count


def test_sums_of_other_sizes_than_those_that_were_captured() -> None:
    """Sizes for which a pass over rows is none over the inputs follow those for which it is."""

    @torch.compile(dynamic=True)
    def total(x: Any, w: Any) -> Any:
        return (x * w).sum(), (x * w + 1).mean(-1)

    torch.manual_seed(1)
    for rows, columns in ((32, 512), (40, 768), (33, 300), (7, 4001), (300, 20)):
        x, w = torch.randn(rows, columns), torch.randn(columns)
        _same(total(x, w), ((x * w).sum(), (x * w + 1).mean(-1)), (rows, columns))


def test_sums_that_no_pass_over_rows_makes() -> None:
    """Over other axes than the last, of short rows, of transposed values: as before."""
    torch.manual_seed(2)
    x, w = torch.randn(70, 90), torch.randn(90)

    def sums(x: Any, w: Any) -> Any:
        y = x * w + 1
        return y.sum(0), (x.t() * 2 + 1).sum(-1), (x.view(-1, 10) * 3).mean(-1)

    _same(torch.compile(sums)(x, w), sums(x, w), "no rows")
