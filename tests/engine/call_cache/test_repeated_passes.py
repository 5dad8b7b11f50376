"""A backward pass over a graph that is built as one before it was runs by generated code, and does
what it did; where something differs, the tape is followed as ever."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch as reference

import mindtorch.torch as torch
from mindtorch.engine import switches
from mindtorch.engine.call_cache import pass_cache
from mindtorch.engine.op import forget_plans

MANY = 6  # passes, of which the last are repeated


@pytest.fixture(autouse=True)
def _plans() -> Iterator[None]:
    forget_plans()
    yield
    forget_plans()


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each pass that might be repeated, whether it was."""
    found: list[bool] = []
    own = pass_cache.repeat

    def repeat(*given: Any) -> bool:
        found.append(own(*given))
        return found[-1]

    monkeypatch.setattr(pass_cache, "repeat", repeat)
    return found


def leaves(library: Any) -> list[Any]:
    """A matrix, another, and a row; fixed numbers."""
    draw = np.random.default_rng(0).standard_normal
    sizes = (6, 5), (6, 5), (5,)
    return [
        library.tensor(draw(size).astype(np.float32), requires_grad=True) for size in sizes
    ]


def residual(t: Any, a: Any, b: Any, c: Any) -> Any:
    y = a * 2
    return (y.sin() + y.cos() * y + b).sum()


def same_twice(t: Any, a: Any, b: Any, c: Any) -> Any:
    return (a * a + t.nn.functional.linear(b, b, None).sum()).mean()


def passed_along(t: Any, a: Any, b: Any, c: Any) -> Any:
    return (a + b + c).sum()


def through_views(t: Any, a: Any, b: Any, c: Any) -> Any:
    return a.t().sin().sum() + a.reshape(-1)[3:7].cos().sum() + b[1].exp().sum() * c[0]


def several_results(t: Any, a: Any, b: Any, c: Any) -> Any:
    left, middle, right = a.split([1, 2, 2], 1)
    values, _ = b.max(1)
    return (left * right).sum() + values.sum() + middle[0].sum() + t.unbind(c)[2]


def layers(t: Any, a: Any, b: Any, c: Any) -> Any:
    f = t.nn.functional
    y = f.relu(f.linear(a, b)) + c[0]
    return f.cross_entropy(f.dropout(y, 0.0).reshape(-1, 6), t.arange(6) % 3)


def written_in_place(t: Any, a: Any, b: Any, c: Any) -> Any:
    y = a * 2
    y[1:].mul_(b[1:])
    y.add_(c)
    return (y * y).sum()


GRAPHS = [
    residual, same_twice, passed_along, through_views, several_results, layers, written_in_place,
]  # fmt: skip


def gradients(library: Any, graph: Any, accumulated: bool) -> list[Any]:
    """Those of the last of many passes, or the sums over all of them."""
    own = leaves(library)
    for _ in range(MANY):
        if not accumulated:
            for x in own:
                x.grad = None
        graph(library, *own).backward()
    return [None if x.grad is None else x.grad for x in own]


@pytest.mark.parametrize("accumulated", [False, True])
@pytest.mark.parametrize("graph", GRAPHS)
def test_gradients_stay(graph: Any, accumulated: bool, repeated: list[bool]) -> None:
    """Bit by bit what the tape gives without caches, and PyTorch's but for rounding."""
    found = gradients(torch, graph, accumulated)
    assert repeated.index(True) <= 4 and all(repeated[4:])
    with switches.off("vjp_cache"):
        plain = gradients(torch, graph, accumulated)
    assert not repeated[-1]
    theirs = gradients(reference, graph, accumulated)
    for ours, before, real in zip(found, plain, theirs, strict=True):
        if real is None:
            assert ours is before is None
            continue
        assert ours.numpy().tobytes() == before.numpy().tobytes()
        assert (ours.stride(), ours._version) == (before.stride(), before._version)
        np.testing.assert_allclose(ours.numpy(), real.numpy(), rtol=2e-6, atol=1e-6)


def known_pass(graph: Any = residual) -> list[Any]:
    """Leaves without gradients, after so many passes that the next one is repeated."""
    own = leaves(torch)
    for _ in range(MANY):
        graph(torch, *own).backward()
    for x in own:
        x.grad = None
    return own


def test_hooks_run() -> None:
    """On nodes, on leaves and on what ops make, wherever they are added."""
    a, b, c = known_pass()
    seen: list[str] = []
    loss = residual(torch, a, b, c)
    loss.grad_fn.register_hook(lambda *_: seen.append("node"))
    loss.backward()

    def tripled(g: Any) -> Any:
        seen.append("leaf")
        return g * 3

    b.register_hook(tripled)
    residual(torch, a, b, c).backward()
    b.register_post_accumulate_grad_hook(lambda _: seen.append("accumulated"))
    residual(torch, a, b, c).backward()
    assert seen == ["node", "leaf", "leaf", "accumulated"]
    assert b.grad.eq(7).all()


def test_kept_gradients_of_results() -> None:
    a, b, c = known_pass(passed_along)
    y = a + b + c
    y.retain_grad()
    y.sum().backward()
    assert y.grad.eq(1).all()


def test_errors_stay(repeated: list[bool]) -> None:
    """Saved tensors that were let go, or written to, are told of as ever; no leaf is changed."""
    a, b, c = known_pass()
    loss = residual(torch, a, b, c)
    loss.backward()
    assert repeated[-1]
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()
    for x in (a, b, c):
        x.grad = None
    y = a * 2
    changed = (y.sin() + y.cos() * y + b).sum()
    y.data.zero_()  # is not seen
    y.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        changed.backward()
    assert a.grad is b.grad is None


def test_a_kept_graph_runs_again(repeated: list[bool]) -> None:
    a, b, c = known_pass()
    loss = residual(torch, a, b, c)
    loss.backward(retain_graph=True)
    first = a.grad.clone()
    loss.backward()
    assert repeated[-2:] == [True, True]
    assert a.grad.eq(first + first).all()


def test_another_graph_from_the_same_op(repeated: list[bool]) -> None:
    """Two leaves that were two are one, nodes come in another order, or other inputs are
    tracked."""

    def graph(x: Any, y: Any, late: bool = False) -> Any:
        left = None if late else x.sin()
        right = y.cos()
        return ((x.sin() if late else left) * right).sum()

    a, b, _ = leaves(torch)
    for _ in range(MANY):
        graph(a, b).backward()
    assert repeated[-1]
    a.grad = b.grad = None
    graph(a, a).backward()
    assert not repeated[-1]
    expected = a.detach().cos() * a.detach().cos() - a.detach().sin() * a.detach().sin()
    torch.testing.assert_close(a.grad, expected)
    graph(a, b, late=True).backward()
    assert not repeated[-1]
    graph(a, b.detach()).backward()
    assert not repeated[-1]
    assert graph(a, b).backward() is None and repeated[-1]


def test_what_watches_sees_all() -> None:
    """Anomaly mode finds NaN, hooks on saved tensors unpack, a profile has the nodes."""
    a, b, c = known_pass()
    with torch.autograd.set_detect_anomaly(True), pytest.warns(UserWarning, match="SumBackward0"):
        loss = residual(torch, a, b, c)
        with pytest.raises(RuntimeError, match="returned nan values"):
            loss.backward(torch.tensor(float("nan")))
    seen: list[Any] = []

    def unpacked(x: Any) -> Any:
        seen.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(lambda x: x, unpacked):
        loss = residual(torch, a, b, c)
    loss.backward()
    assert seen


def test_a_given_gradient_stays_the_callers() -> None:
    """No leaf takes its memory."""
    a, b, c = leaves(torch)
    given = torch.ones(6, 5)
    for _ in range(MANY):
        for x in (a, b, c):
            x.grad = None
        (a + b).backward(given)
        a.grad.zero_()
    assert given.eq(1).all() and b.grad.eq(1).all()


def test_memory_is_let_go() -> None:
    """What a node has saved goes when its rule has run."""
    a, b, _ = known_pass()
    y = a * 2
    kept = weakref.ref(y.flat)
    loss = (y.sin() + y.cos() * y + b).sum()
    del y
    loss.backward()
    assert kept() is None


def test_graphs_that_are_never_the_same_are_not_noted_for_ever() -> None:
    a, _, _ = leaves(torch)
    for count in range(pass_cache._MOST_NOTED + 9):
        y = a
        for _ in range(count):
            y = y.sin()
        loss = y.sum()
        loss.backward()
    passes = loss.grad_fn.plan.passes
    assert passes.noted == pass_cache._MOST_NOTED and not passes.known


