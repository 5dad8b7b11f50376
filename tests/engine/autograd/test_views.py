"""Views and indexing against real torch, on cases that hypothesis draws.

Each draw does the same steps in both libraries and compares everything that can be seen: values,
shapes, strides, offsets, gradients, and the errors with their text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import mindtorch.torch as mt
from tests.support.view_steps import (
    ALL_VIEWS,
    assert_equal,
    assert_same,
    base_pair,
    drawn,
    outcome,
    same_outcome,
)

torch = pytest.importorskip("torch")

# --- views of views ------------------------------------------------------------------------------


@drawn(300)
def test_views_of_views_are_laid_out_as_torchs(data: Any) -> None:
    """Strides and offsets decide what later views and writes mean, so they must be torch's."""
    dtype = data.draw(st.sampled_from(["float64", "float32", "int64", "complex64"]))
    mine, theirs = base_pair(data, dtype)
    steps = []
    for _ in range(data.draw(st.integers(1, 5))):
        kind = data.draw(st.sampled_from(ALL_VIEWS))
        step = kind(data, theirs)
        steps.append((kind.__name__, tuple(theirs.shape), theirs.stride()))
        a = outcome(partial(step, mt, mine))
        b = outcome(partial(step, torch, theirs))
        if not same_outcome(a, b, steps):
            continue
        assert_same(a, b, steps)
        if a.numel() and mine.numel():
            moved = [n.data_ptr() - x.data_ptr() for n, x in ((a, mine), (b, theirs))]
            shares = [
                n.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
                for n, x in ((a, mine), (b, theirs))
            ]
            assert shares[0] == shares[1], steps
            assert not shares[0] or moved[0] == moved[1], steps
        mine, theirs = a, b


# --- indexing ------------------------------------------------------------------------------------


def _index_item(data: Any, length: int) -> Any:
    """One item: (kind, ...), made into each library's own by :func:`made`."""
    kind = data.draw(st.sampled_from(
        ["int", "slice", "slice", "none", "ellipsis", "list", "tensor", "mask", "bool", "negative"]
    ))  # fmt: skip
    if kind == "int":
        return kind, data.draw(st.integers(-length, length))
    if kind in ("slice", "negative"):
        ends = st.one_of(st.none(), st.integers(-length - 1, length + 1))
        step = -1 if kind == "negative" else data.draw(st.sampled_from([None, 1, 2, 3]))
        return kind, slice(data.draw(ends), data.draw(ends), step)
    if kind == "list":
        return kind, data.draw(st.lists(st.integers(0, max(length - 1, 0)), min_size=1, max_size=3))
    if kind == "tensor":
        shape = data.draw(st.sampled_from([(), (1,), (2,), (3,), (2, 1), (0,)]))
        high = max(length, 1)
        return kind, np.asarray(
            data.draw(st.lists(st.integers(-high, high - 1), min_size=6, max_size=6))
        )[: int(np.prod(shape))].reshape(shape)
    if kind == "mask":
        wrong = data.draw(st.integers(0, 9)) == 0
        size = length + wrong
        return kind, np.asarray(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)),
                                dtype=bool)  # fmt: skip
    return kind, data.draw(st.booleans())


def _index(data: Any, shape: Any) -> list[Any]:
    """Items for some of the axes, with None and ... between them."""
    items: list[Any] = []
    axis = 0
    for _ in range(data.draw(st.integers(0, len(shape) + 1))):
        length = shape[axis] if axis < len(shape) else 1
        item = _index_item(data, length)
        if item[0] == "ellipsis" and any(kind == "ellipsis" for kind, _ in items):
            item = ("none", True)  # a second ... is taken for axes that are not there
        items.append(item)
        axis += items[-1][0] not in ("none", "ellipsis", "bool")
    return items


def made(namespace: Any, items: list[Any]) -> Any:
    result: list[Any] = []
    for kind, value in items:
        if kind == "none":
            result.append(None)
        elif kind == "ellipsis":
            result.append(Ellipsis)
        elif kind in ("tensor", "mask"):
            result.append(namespace.from_numpy(value.copy()))
        else:
            result.append(value)
    return result[0] if len(result) == 1 else tuple(result)


def _tracked(namespace: Any, x: Any) -> Any:
    return x.clone().requires_grad_() if x.is_floating_point() else x


@drawn(250)
def test_indexing_is_torchs(data: Any) -> None:
    """Ints, slices, None, ..., lists, tensors, masks and bools in any order, and the gradient."""
    mine, theirs = base_pair(data)
    if data.draw(st.booleans()):
        mine, theirs = mine.transpose(0, -1), theirs.transpose(0, -1)
    items = _index(data, theirs.shape)
    what = (tuple(theirs.shape), items)
    results = []
    for namespace, x in ((mt, mine), (torch, theirs)):
        x = x.detach().requires_grad_()
        results.append((x, outcome(partial(x.__getitem__, made(namespace, items)))))
    (x, a), (y, b) = results
    if not same_outcome(a, b, what):
        return
    assert tuple(a.shape) == tuple(b.shape), what
    assert_equal(a, b, what)
    assert not a.numel() or (a.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()) == (
        b.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    ), what
    if a.numel() and a.untyped_storage().data_ptr() == x.untyped_storage().data_ptr():
        assert_same(a, b, what)
    (a * a).sum().backward()
    (b * b).sum().backward()
    assert_equal(x.grad, y.grad, what)


@drawn(250)
def test_writing_through_an_index_is_torchs(data: Any) -> None:
    """Numbers, tensors that broadcast and tensors that do not; gradients of target and value."""
    mine, theirs = base_pair(data)
    items = _index(data, theirs.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        part = outcome(lambda: theirs[made(torch, items)])
    shape = list(getattr(part, "shape", [1]))
    if shape and data.draw(st.booleans()):
        shape = shape[data.draw(st.integers(0, len(shape))) :]
    if shape and data.draw(st.booleans()):
        shape[data.draw(st.integers(0, len(shape) - 1))] = data.draw(st.sampled_from([1, 1, 2]))
    if data.draw(st.integers(0, 4)) == 0:
        shape = [1, *shape]
    number = data.draw(st.integers(0, 3)) == 0
    values = np.arange(101.0, 101 + int(np.prod(shape))).reshape(shape)
    repeated = _repeats(items)
    what = (tuple(theirs.shape), items, "number" if number else shape)
    found = []
    for namespace, source in ((mt, mine), (torch, theirs)):
        leaf = source.detach().requires_grad_()
        value = namespace.from_numpy(values.copy()).requires_grad_()
        x = leaf * 1

        def write(t: Any = namespace, x: Any = x, value: Any = value) -> Any:
            x[made(t, items)] = 7.5 if number else value
            return x

        found.append((leaf, value, outcome(write)))
    (leaf, value, a), (leaf2, value2, b) = found
    if not same_outcome(a, b, what):
        return
    if repeated:
        return  # which of several values wins is not defined
    assert_equal(a, b, what)
    assert a._version == b._version, what
    (a * a).sum().backward()
    (b * b).sum().backward()
    for p, q in ((leaf, leaf2), (value, value2)):
        assert (p.grad is None) == (q.grad is None), what
        if q.grad is not None:
            assert_equal(p.grad, q.grad, what)


def _repeats(items: list[Any]) -> bool:
    """Whether an index may name one place twice."""
    for kind, value in items:
        if kind == "list" and len(set(value)) < len(value):
            return True
        if kind == "tensor" and value.size > 1:
            return True
    return False


# --- broadcasting ---------------------------------------------------------------------------------

BROADCASTS: tuple[Callable[..., Any], ...] = (
    lambda t, x, y, z: x + y,
    lambda t, x, y, z: t.where(x > 0, y, z),
    lambda t, x, y, z: t.broadcast_tensors(x, y, z)[0],
    lambda t, x, y, z: x.clone().add_(y),
    lambda t, x, y, z: x.expand_as(y),
)


@drawn(120)
def test_shapes_are_broadcast_as_torchs(data: Any) -> None:
    """The common shape, or the text of the error with the axis it names."""
    shapes = [
        tuple(data.draw(st.lists(st.sampled_from([1, 1, 2, 3, 0]), max_size=4))) for _ in range(3)
    ]
    for call in BROADCASTS:
        a, b = (
            outcome(partial(call, t, *[t.zeros(s) for s in shapes]))
            for t in (mt, torch)
        )
        if same_outcome(a, b, shapes):
            assert tuple(a.shape) == tuple(b.shape), shapes
            assert a.numel() == 0 or a.stride() == b.stride(), shapes


# --- views that one function makes together ------------------------------------------------------

PIECES: dict[str, Callable[[Any], Any]] = {
    "split": lambda x: x.split(2, 1),
    "split with sizes": lambda x: x.split([1, 3, 1], 1),
    "chunk of a transposed tensor": lambda x: x.permute(1, 0).chunk(3),
    "unbind": lambda x: x.unbind(1),
    "a loop over a tensor": lambda x: list(x),
    "one piece": lambda x: x.split(9, 0),
}


@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
def test_pieces_share_a_node_and_give_back_their_gradients(pieces: Callable[[Any], Any]) -> None:
    """All, some and one of the pieces used; the gradient's gradient; the node's name."""

    def results(t: Any) -> list[Any]:
        x = t.arange(20.0, dtype=t.float64).reshape(4, 5).requires_grad_()
        found = []
        for use in (slice(None), slice(None, None, 2), slice(1)):
            parts = pieces(x * 0.5)
            y = sum((p * p * (i + 1)).sum() for i, p in enumerate(parts[use]))
            (g,) = t.autograd.grad(y, x, create_graph=True)
            (second,) = t.autograd.grad((g**3).sum(), x)
            node = parts[-1].grad_fn
            found += [g.tolist(), second.tolist(), node.name(), parts[-1].output_nr]
            found.append([fn[0].name() for fn in node.next_functions])
        return found

    assert results(mt) == results(torch)
