"""Chains of elementwise nodes as one loop: the values of the nodes one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.explain import explain
from mindtorch.engine.compile.jit import jit
from mindtorch.engine.compile.passes import fusion


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of a test's size are fused too."""
    monkeypatch.setattr(fusion, "SMALLEST", 1)


def _kernels(function: Callable[..., Any], *args: Any) -> list[str]:
    return [name for names in explain(function)(*args).ops for name in names]


def _same(function: Callable[..., Any], *args: Any) -> None:
    """Compiled and run twice, the results are the eager ones, bit for bit."""
    expected = function(*args)
    compiled = jit(function)
    for _ in range(2):
        found = compiled(*args)
        for mine, eager in zip(found, expected, strict=True):
            assert mine.dtype == eager.dtype and mine.stride() == eager.stride()
            raw = (x.detach().contiguous().view(torch.uint8).numpy() for x in (mine, eager))
            np.testing.assert_array_equal(*raw)


def test_a_chain_is_one_kernel_and_stores_only_what_is_used() -> None:
    x, y = torch.randn(5, 7), torch.randn(7)

    def chain(x: Any, y: Any) -> tuple[Any, ...]:
        h = torch.tanh(x * y + 1.0)
        return (h.exp() - y, h)

    _same(chain, x, y)
    (name,) = _kernels(chain, x, y)
    assert name == "multiply+add+tanh+exp+subtract"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "uint8"])
def test_each_step_is_rounded_to_its_type(dtype: str) -> None:
    """Half types are rounded, whole ones wrap, between the steps as after each op."""
    kind = getattr(torch, dtype)
    x = (torch.randn(64) * 300).to(kind)
    y = (torch.randn(64) * 90).to(kind)
    _same(lambda x, y: ((x * y + x) * y, x * 3 - y), x, y)


def test_types_may_change_in_a_chain() -> None:
    x, mask = torch.randn(4, 6), torch.randn(4, 1) > 0

    def chain(x: Any) -> tuple[Any, ...]:
        large = x > 0.25
        kept = torch.where(large, x.double(), 2.0).masked_fill(mask, -1e9)
        return (kept.to(torch.bfloat16) + 1, large & mask, kept.to(torch.int32) * 2)

    _same(chain, x)
    assert len(_kernels(chain, x)) < 4


def test_a_way_around_through_another_op_stays_in_order() -> None:
    """exp feeds the last addition directly and through the sums: they cannot be one loop."""
    x = torch.randn(6, 6)

    def around(x: Any) -> tuple[Any, ...]:
        e = x.exp()
        share = e / e.sum(1, keepdim=True)
        return (share * e + share.sum(0) * e,)

    _same(around, x)


def test_two_chains_that_feed_each_other_stay_apart() -> None:
    x = torch.randn(3, 4)

    def crossed(x: Any) -> tuple[Any, ...]:
        a = x * 2
        b = a.sum() + x * 3
        c = a + b
        d = b * a
        return (c.sum() * d + c, d)

    _same(crossed, x)


def test_transposed_operands_keep_their_strides() -> None:
    x, y = torch.randn(5, 4).t(), torch.randn(4, 5)
    _same(lambda x, y: ((x + x) * 2, (y + x) * x, (x.t() * 2 + 1)), x, y)


def test_gradients_of_a_compiled_step_are_the_eager_ones() -> None:
    x = torch.randn(8, 16, requires_grad=True)
    mask = torch.rand(8, 16) > 0.5

    def step() -> Any:
        x.grad = None
        h = 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.04 * x * x * x)))
        loss = torch.where(mask, h, h.sigmoid()).pow(2).mean()
        loss.backward()
        return loss

    expected = step().item(), x.grad.numpy().copy()
    compiled = jit(step)
    for _ in range(2):
        assert compiled().item() == expected[0]
        np.testing.assert_array_equal(x.grad.numpy(), expected[1])
    assert any("tanh_gradient+" in name for name in _kernels(step))


def test_what_is_cheap_is_done_again_and_not_stored() -> None:
    """``x * 3`` is wanted before the sum and after it: the second loop makes it from x again."""
    x = torch.randn(6, 8)

    def twice(x: Any) -> tuple[Any, ...]:
        tripled = x * 3
        share = (tripled + 1).tanh().sum()
        return (x * tripled + share, tripled.exp().sum() * tripled - x)

    _same(twice, x)
    made = explain(twice)(x)
    loops = [node for node in made.graphs[0].nodes if "+" in node.op.name]
    wide = [v for node in loops for v in node.outputs if v.aval.shape == (6, 8)]
    assert loops[1].op.name == "multiply+multiply+subtract"
    assert len(wide) == 4  # what both sums add up, one factor and one result; not x * 3


def test_small_tensors_are_not_worth_a_loop_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fusion, "SMALLEST", 4096)
    assert _kernels(lambda x: x.exp() + 1, torch.randn(10)) == ["exp", "add"]


def test_explain_says_what_was_traced_and_why_kernels_are_not_one_loop() -> None:
    w = torch.ones(8, 8)

    def step(x: Any) -> Any:
        y = (x * 2).exp()
        z = (y @ w).relu() + 1
        return z.sum(0), (z.t() * y).sum(-1)

    shown = explain(step)(torch.ones(8, 8))
    assert "relu(" in shown.traced[0] and "relu(" not in str(shown.graphs[0])
    assert [line.partition(": ")[2] for line in shown.fusion_report[0]] == [
        "%3 is read from memory by what is no loop over elements",
        "%5 is made by what is no loop over elements",
        "%8 is summed over other axes than the last, short rows, or beside other axes' sums",
        "%10 is read as a view",
        "%3 lies in memory in another order",
        "%11 is summed over other axes than the last, short rows, or beside other axes' sums",
    ]
    assert shown.fusion_report[0][0].startswith("multiply+exp (%3) -> matmul (%5): ")
    assert "kernels that are not one loop" in str(shown) and "as traced:" in str(shown)
    summary = shown.summary.splitlines()
    assert str(shown).startswith(shown.summary) and "as traced:" not in shown.summary
    assert summary[0].startswith("graphs: 1, kernels: 6, ") and "traced once in" in summary[0]
    text = "2 times two kernels are not one loop, since a value is summed over other axes"
    assert any(line.startswith(text) for line in summary)
    assert any(line.startswith("kernels took ") and "matmul" in line for line in summary)
    again = jit(step)
    again(torch.ones(8, 8))
    assert explain(again)(torch.ones(8, 8)).traced == [""]


def test_mindtorch_jit_and_explain_are_those_of_the_engine() -> None:
    import mindtorch

    net = torch.nn.Linear(3, 2)
    x = torch.ones(4, 3)
    assert torch.equal(mindtorch.jit(net)(x), net(x))
    assert torch.equal(mindtorch.jit(dynamic=True)(lambda a: a * 2 + 1)(x), x * 2 + 1)
    assert mindtorch.explain(net)(x).ops[0] == ["linear"]
