"""When an input of an op is tracked, code is generated that makes nodes of such applications from
then on; other inputs, and what watches the tape, are seen as before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch as reference

import mindtorch.torch as torch
from mindtorch.engine.autograd import tape
from mindtorch.engine.op import forget_plans
from mindtorch.engine.switches import off


@pytest.fixture(autouse=True)
def _plans() -> Iterator[None]:
    forget_plans()
    yield
    forget_plans()


def product(t: Any, a: Any, b: Any) -> Any:
    return a * b


def saved_result(t: Any, a: Any, b: Any) -> Any:
    return (a + b).exp()


def several(t: Any, a: Any, b: Any) -> Any:
    return t.var_mean(a * b, 1)[0]


def without_bias(t: Any, a: Any, b: Any) -> Any:
    return t.nn.functional.linear(a, b)


def of_views(t: Any, a: Any, b: Any) -> Any:
    y = a.t() * 1
    y[0].add_(b[:, 0])
    return y[1:].t() * b[:, 1:]


def layer_norm(t: Any, a: Any, b: Any) -> Any:
    return t.nn.functional.layer_norm(a, (3,), b[0], None)


def loss(t: Any, a: Any, b: Any) -> Any:
    return t.nn.functional.cross_entropy(a * b, t.tensor([0, 1, 2, 1]))


def used(library: Any, function: Any, tracked: tuple[bool, bool]) -> list[Any]:
    draw = np.random.default_rng(1).standard_normal
    a, b = (
        library.tensor(draw((4, 3)).astype(np.float32), requires_grad=each) for each in tracked
    )
    for each in (True, False), (False, True), (True, True), tracked:
        a.requires_grad_(each[0])
        b.requires_grad_(each[1])
        for _ in range(3):
            a.grad = b.grad = None
            made = function(library, a, b)
            made.square().sum().backward()
    return [made.detach(), a.grad, b.grad]


@pytest.mark.parametrize("tracked", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(
    "function", [product, saved_result, several, without_bias, of_views, layer_norm, loss]
)
def test_gradients_stay(function: Any, tracked: tuple[bool, bool]) -> None:
    ours, theirs = used(torch, function, tracked), used(reference, function, tracked)
    with off("call_cache"):
        plain = used(torch, function, tracked)
    for one, before, other in zip(ours, plain, theirs, strict=True):
        assert (one is None) == (other is None)
        if other is not None:
            assert one.numpy().tobytes() == before.numpy().tobytes()
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=2e-5, atol=2e-6)


def _exp(x: Any) -> Any:
    return (x * 1).exp()


def test_code_is_generated_where_the_switch_is_on() -> None:
    x = torch.ones(3, requires_grad=True)
    nodes = [_exp(x).grad_fn for _ in range(3)]
    assert nodes[-1].plan.record is not tape.record
    assert [node._sequence_nr() for node in nodes] == sorted(n._sequence_nr() for n in nodes)
    with off("call_cache"):
        assert [_exp(x).grad_fn for _ in range(3)][-1].plan.record is tape.record


def test_watchers_see_nodes() -> None:
    """Hooks on saved tensors, anomaly mode, and writes to what a node has saved."""
    x = torch.ones(3, requires_grad=True)
    for _ in range(4):
        y = _exp(x)
    seen: list[Any] = []

    def pack(saved: Any) -> Any:
        seen.append(saved)
        return saved

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
        _exp(x)
    assert len(seen) == 1
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with torch.autograd.set_detect_anomaly(True), pytest.warns(UserWarning, match="_exp"):
        y = _exp(x)
        with pytest.raises(RuntimeError, match="returned nan values"):
            y.backward(torch.full((3,), float("nan")))
