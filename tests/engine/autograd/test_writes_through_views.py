"""Writes in place through views against real torch: values, versions, gradients, refusals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import mindtorch.torch as mt
from tests.support.view_steps import (
    PLAIN_VIEWS,
    Step,
    as_strided,
    assert_equal,
    assert_same,
    base_pair,
    drawn,
    outcome,
    same_outcome,
)

torch = pytest.importorskip("torch")

WRITES: dict[str, Callable[[Any, Any, float], Any]] = {
    "mul_": lambda t, x, c: x.mul_(c),
    "add_": lambda t, x, c: x.add_(c),
    "square": lambda t, x, c: x.mul_(x.detach().clone()),
    "copy_": lambda t, x, c: x.copy_(t.full(tuple(x.shape), c, dtype=t.float64)),
    "fill_": lambda t, x, c: x.fill_(c),
    "zero_": lambda t, x, c: x.zero_(),
    "sigmoid_": lambda t, x, c: x.mul_(1 / 16).sigmoid_(),
    "clamp_": lambda t, x, c: x.clamp_(max=5.0),
    "masked_fill_": lambda t, x, c: x.masked_fill_(x.detach() > 3, c),
}
DIFFERENTIABLE_VIEWS = tuple(v for v in PLAIN_VIEWS if v not in (as_strided,))


class Pool:
    """Tensors of one library, each a view of another or the result of a write."""

    def __init__(self, namespace: Any, base: Any) -> None:
        self.namespace = namespace
        self.leaf = base.detach().requires_grad_()
        self.members = [self.leaf * 1]

    def view(self, source: int, step: Step) -> Any:
        found = outcome(lambda: step(self.namespace, self.members[source]))
        if not isinstance(found, Exception):
            self.members.append(found)
        return found

    def write(self, target: int, name: str, number: float) -> Any:
        member = self.members[target]
        return outcome(lambda: WRITES[name](self.namespace, member, number))

    def add(self, target: int, source: int) -> Any:
        return outcome(lambda: self.members[target].add_(self.members[source]))

    def gradient(self) -> Any:
        """Of a weighted sum of all members, so that every path of derivation counts."""
        total = sum((k + 2) * (m * m).sum() for k, m in enumerate(self.members))
        return outcome(lambda: self.namespace.autograd.grad(total, self.leaf)[0])


def drop_outdated(mine: Pool, theirs: Pool) -> None:
    """Forget views by split or unbind whose base was written to: they are of no more use."""
    nodes = [outcome(partial(getattr, m, "grad_fn")) for m in theirs.members]
    usable = [not isinstance(node, Exception) for node in nodes]
    for pool in (mine, theirs):
        pool.members = [m for m, use in zip(pool.members, usable, strict=True) if use]


@drawn(120)
def test_writes_through_views_and_their_gradients_are_torchs(data: Any) -> None:
    """A write shows in all views, in the versions of all, and in the gradient by way of each."""
    mine, theirs = (Pool(t, x) for t, x in zip((mt, torch), base_pair(data), strict=True))
    log: list[Any] = []
    for _ in range(data.draw(st.integers(2, 7))):
        member = data.draw(st.integers(0, len(theirs.members) - 1))
        if data.draw(st.booleans()):
            kind = data.draw(st.sampled_from(DIFFERENTIABLE_VIEWS))
            step = kind(data, theirs.members[member])
            log.append((kind.__name__, member))
            same_outcome(mine.view(member, step), theirs.view(member, step), log)
        elif data.draw(st.integers(0, 3)) == 0:
            other = data.draw(st.integers(0, len(theirs.members) - 1))
            log.append(("add_", member, other))
            if not same_outcome(mine.add(member, other), theirs.add(member, other), log):
                return
        else:
            name, number = data.draw(st.sampled_from(sorted(WRITES))), 0.25 + len(log)
            log.append((name, member))
            if not same_outcome(
                mine.write(member, name, number), theirs.write(member, name, number), log
            ):
                return
        drop_outdated(mine, theirs)
        for a, b in zip(mine.members, theirs.members, strict=True):
            assert tuple(a.shape) == tuple(b.shape), log
            assert a._version == b._version, log
            np.testing.assert_allclose(
                a.detach().numpy(), b.detach().numpy(), rtol=1e-12, err_msg=str(log)
            )
    a, b = mine.gradient(), theirs.gradient()
    if same_outcome(a, b, log):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-11, atol=1e-11,
                                   err_msg=str(log))  # fmt: skip


# --- what a drawn case would seldom reach --------------------------------------------------------


def _each(function: Callable[[Any], Any]) -> list[Any]:
    return [outcome(partial(function, t)) for t in (mt, torch)]


def _leaf(t: Any) -> Any:
    return t.arange(6, dtype=t.float64).reshape(2, 3).clone().requires_grad_()


def _as_strided_beyond(t: Any) -> Any:
    whole = t.arange(12.0)
    part = whole[4:6]
    seen = [part.as_strided((2, 2), (3, 1)), part.as_strided((3,), (4,), 0)]
    seen[0].mul_(10)
    seen[1].add_(1)
    return [*seen, whole]


def test_as_strided_reaches_beyond_its_view_within_the_storage() -> None:
    """It is defined on the storage: before and behind the view that it is called on."""
    for mine, theirs in zip(*_each(_as_strided_beyond), strict=True):
        assert_same(mine, theirs, "as_strided")


def _seen_as_other_types(t: Any) -> Any:
    x = t.tensor([1.0, 2.0, 3.0, 4.0])
    bits = x[1:].view(t.int32)
    bits[0] = 0
    halves = x.view(t.int16)
    halves[-1] = 0
    numbers = t.tensor([1 + 2j, 3 - 4j])
    numbers.real.mul_(2)
    numbers.imag[1] = 7
    t.view_as_real(numbers)[0, 0] = -1
    pairs = t.arange(8.0).reshape(2, 2, 2)
    t.view_as_complex(pairs)[1].mul_(1j)
    return [x, bits, halves, numbers, pairs]


def test_writes_through_views_of_other_types_show_in_the_storage() -> None:
    """view(dtype), view_as_real, view_as_complex, real and imag share memory."""
    for mine, theirs in zip(*_each(_seen_as_other_types), strict=True):
        assert_same(mine, theirs, "view of another type")
        assert mine._version == theirs._version


def _complex_gradients(t: Any) -> Any:
    z = t.tensor([1 + 2j, 3 - 4j]).requires_grad_()
    w = z * 1
    w.imag.mul_(3)
    t.view_as_real(w)[0, 0] = 5.0
    total = (w.real * w.imag).sum() + t.view_as_real(w).pow(2).sum()
    return t.autograd.grad(total, z)


def test_gradients_of_writes_through_parts_of_complex_numbers() -> None:
    """The base's gradient goes by way of the part that was written to."""
    for mine, theirs in zip(*_each(_complex_gradients), strict=True):
        assert_equal(mine, theirs, "complex")


def _changed_after_saving(kind: str, target: str) -> Callable[[Any], Any]:
    def run(t: Any) -> Any:
        leaf = _leaf(t)
        x = leaf * 1
        y = {
            "sigmoid": lambda: x.sigmoid(),
            "square": lambda: x * x,
            "exp_of_view": lambda: x[1].exp(),
            "log_softmax": lambda: x.log_softmax(1),
            "max": lambda: x.max(1)[0],
            "add": lambda: x + 1,
        }[kind]()
        {"input": x, "result": y, "view": x[0], "detached": x.detach()}[target].mul_(2)
        return t.autograd.grad(y.sum(), leaf)[0]

    return run


@pytest.mark.parametrize("target", ["input", "result", "view", "detached"])
@pytest.mark.parametrize(
    "kind", ["sigmoid", "square", "exp_of_view", "log_softmax", "max", "add"]
)
def test_a_write_to_a_saved_tensor_is_found(kind: str, target: str) -> None:
    """The version counter is shared by views and detached tensors."""
    mine, theirs = _each(_changed_after_saving(kind, target))
    if same_outcome(mine, theirs, (kind, target)):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-12)


REFUSED_WRITES: dict[str, Callable[[Any], Any]] = {
    "leaf": lambda t: _leaf(t).mul_(2),
    "view_of_leaf": lambda t: _leaf(t)[0].mul_(2),
    "split": lambda t: (_leaf(t) * 1).split(1)[1].mul_(2),
    "split_sizes": lambda t: (_leaf(t) * 1).split([1, 1])[0].mul_(2),
    "unbind": lambda t: (_leaf(t) * 1).unbind(1)[2].mul_(2),
    "iteration": lambda t: [row.mul_(2) for row in _leaf(t) * 1],
    "chunk": lambda t: (_leaf(t) * 1).chunk(2)[0].mul_(2),
    "view_of_chunk": lambda t: (_leaf(t) * 1).chunk(2)[0].view(-1).mul_(2),
    "part_of_leaf": lambda t: _leaf(t).split(1)[0].mul_(2),
    "no_grad_view": lambda t: _no_grad_view(t).mul_(2),
    "outdated_part": lambda t: _outdated_part(t).sum(),
    "expanded": lambda t: t.zeros(1).expand(3).mul_(2),
    "transposed_self": lambda t: (lambda x: x.add_(x.mT))(t.ones(2, 2)),
    "shifted_self": lambda t: (lambda x: x[1:].mul_(x[:-1]))(t.ones(4)),
    "integer_result": lambda t: t.ones(3, dtype=t.int64).mul_(0.5),
    "broadcast_result": lambda t: t.ones(3).mul_(t.ones(2, 3)),
    "index_of_leaf": lambda t: _leaf(t).__setitem__(0, 1.0),
    "mask_of_leaf": lambda t: (lambda x: x.__setitem__(x.detach() > 1, 1.0))(_leaf(t)),
    "negative_step": lambda t: _leaf(t)[::-1],
    "zero_step": lambda t: _leaf(t)[::0],
}


def _no_grad_view(t: Any) -> Any:
    x = _leaf(t) * 1
    with t.no_grad():
        return x[0]


def _outdated_part(t: Any) -> Any:
    x = _leaf(t) * 1
    part = x.split(1)[0]
    x.mul_(2)
    assert part.requires_grad
    return part


@pytest.mark.parametrize("name", REFUSED_WRITES)
def test_refused_writes_have_torchs_errors(name: str) -> None:
    """Each would give a wrong gradient, or write to one place twice."""
    mine, theirs = _each(REFUSED_WRITES[name])
    assert isinstance(theirs, Exception)
    assert not same_outcome(mine, theirs, name)


def test_parts_may_be_written_to_where_torch_allows_it() -> None:
    """tensor_split gives single views, and without gradients anything goes."""

    def run(t: Any) -> Any:
        x = _leaf(t) * 1
        x.tensor_split(2)[1].mul_(3)
        plain = t.zeros(4)
        for part in plain.chunk(2):
            part.add_(1)
        for element in plain:
            element.mul_(2)
        with t.no_grad():
            x.split(1)[0].mul_(5)
        return [x.detach(), plain]

    for mine, theirs in zip(*_each(run), strict=True):
        assert_equal(mine, theirs, "parts")


def _written_by_places(t: Any) -> list[Any]:
    found = []
    for turned, upstream in itertools.product((False, True), ("expanded", "contiguous", "turned")):
        leaf = t.arange(12.0).reshape(3, 4).requires_grad_()
        base = ((leaf.t() if turned else leaf) * 2).clone()
        value = t.ones(2, requires_grad=True)
        base.as_strided((2,), (4,), 2).copy_(value * 3)
        shape = tuple(base.shape)
        gradient = {
            "expanded": lambda shape: t.ones(()).expand(shape),
            "contiguous": lambda shape: t.arange(12.0).reshape(shape),
            "turned": lambda shape: t.arange(12.0).reshape(shape[::-1]).t(),
        }[upstream](shape)
        base.backward(gradient)
        found += [leaf.grad, value.grad]
    return found


def test_a_write_by_places_has_the_gradient_of_these_elements_however_the_other_lies() -> None:
    """The places are those in the base; a gradient from above may have other strides, or none."""
    for mine, theirs in zip(*_each(_written_by_places), strict=True):
        assert_same(mine, theirs, "gradient")
