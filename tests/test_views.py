"""Views, indexing and writes in place against real torch, on cases that hypothesis draws.

Each draw does the same steps in both libraries and compares everything that can be seen: values,
shapes, strides, offsets, versions, gradients, and the errors with their text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch.torch as mt

torch = pytest.importorskip("torch")

Step = Callable[[Any, Any], Any]


def drawn(examples: int) -> Callable[[Any], Any]:
    """``data`` drawn the same way in every run."""

    def decorate(function: Any) -> Any:
        return given(st.data())(settings(
            max_examples=examples, derandomize=True, deadline=None, database=None
        )(function))  # fmt: skip

    return decorate


def outcome(function: Callable[[], Any]) -> Any:
    """What a call returns, or its error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()
    except Exception as error:
        return error


def same_outcome(mine: Any, theirs: Any, what: Any) -> bool:
    """Whether both calls returned; where one failed, so must the other, with the same error."""
    if isinstance(mine, Exception) or isinstance(theirs, Exception):
        assert type(mine) is type(theirs), (what, mine, theirs)
        first = [str(error).split("\n")[0].replace("mindtorch.", "") for error in (mine, theirs)]
        assert first[0] == first[1], what
        return False
    return True


def assert_same(mine: Any, theirs: Any, what: Any) -> None:
    """Layout and elements of two tensors are equal."""
    assert tuple(mine.shape) == tuple(theirs.shape), what
    assert str(mine.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], what
    assert mine.stride() == theirs.stride(), what
    assert mine.storage_offset() == theirs.storage_offset(), what
    assert mine.is_contiguous() == theirs.is_contiguous(), what
    assert_equal(mine, theirs, what)


def assert_equal(mine: Any, theirs: Any, what: Any) -> None:
    a, b = mine.detach(), theirs.detach()
    np.testing.assert_array_equal(a.numpy(), b.resolve_conj().resolve_neg().numpy(), str(what))


# --- how a step is drawn -------------------------------------------------------------------------


def axis_of(data: Any, x: Any, extra: int = 0) -> int:
    """An axis from either end; sometimes one that does not exist."""
    n = x.dim() + extra
    return int(data.draw(st.integers(-n - (n == 0), max(n - 1, 0))))


def factored(data: Any, size: int) -> list[int]:
    """A shape of ``size`` elements."""
    shape = []
    for _ in range(data.draw(st.integers(0, 2))):
        divisors = [d for d in range(1, size + 1) if size % d == 0] or [0]
        shape.append(data.draw(st.sampled_from(divisors)))
        size = size // shape[-1] if shape[-1] else size
    shape.insert(data.draw(st.integers(0, len(shape))), size)
    if data.draw(st.booleans()):
        shape[data.draw(st.integers(0, len(shape) - 1))] = -1
    return shape


def _view(data: Any, x: Any) -> Step:
    shape = factored(data, x.numel())
    return lambda t, x: x.view(shape)


def _reshape(data: Any, x: Any) -> Step:
    shape = factored(data, x.numel())
    return lambda t, x: x.reshape(shape)


def _transpose(data: Any, x: Any) -> Step:
    a, b = axis_of(data, x), axis_of(data, x)
    return lambda t, x: x.transpose(a, b)


def _permute(data: Any, x: Any) -> Step:
    order = data.draw(st.permutations(range(x.dim())))
    return lambda t, x: x.permute(order)


def _expand(data: Any, x: Any) -> Step:
    sizes = [data.draw(st.sampled_from([-1, n, 3] if n == 1 else [-1, n])) for n in x.shape]
    sizes = [*data.draw(st.lists(st.integers(1, 3), max_size=1)), *sizes]
    return lambda t, x: x.expand(sizes)


def _narrow(data: Any, x: Any) -> Step:
    axis = axis_of(data, x)
    n = x.shape[axis] if x.dim() else 0
    start, length = data.draw(st.integers(-n, n)), data.draw(st.integers(0, max(n, 0)))
    return lambda t, x: x.narrow(axis, start, length)


def _select(data: Any, x: Any) -> Step:
    axis = axis_of(data, x)
    n = x.shape[axis] if x.dim() else 1
    index = data.draw(st.integers(-n, n))
    return lambda t, x: x.select(axis, index)


def _unfold(data: Any, x: Any) -> Step:
    axis, size, step = axis_of(data, x), data.draw(st.integers(0, 3)), data.draw(st.integers(1, 2))
    return lambda t, x: x.unfold(axis, size, step)


def _diagonal(data: Any, x: Any) -> Step:
    offset, a, b = data.draw(st.integers(-2, 2)), axis_of(data, x), axis_of(data, x)
    return lambda t, x: x.diagonal(offset, a, b)


def _squeeze(data: Any, x: Any) -> Step:
    if data.draw(st.booleans()):
        return lambda t, x: x.squeeze()
    axis = axis_of(data, x)
    return lambda t, x: x.squeeze(axis)


def _unsqueeze(data: Any, x: Any) -> Step:
    axis = axis_of(data, x, 1)
    return lambda t, x: x.unsqueeze(axis)


def _movedim(data: Any, x: Any) -> Step:
    a, b = axis_of(data, x), axis_of(data, x)
    return lambda t, x: x.movedim(a, b)


def _split(data: Any, x: Any) -> Step:
    axis, size, which = axis_of(data, x), data.draw(st.integers(1, 3)), data.draw(st.booleans())
    return lambda t, x: x.split(size, axis)[-1 if which else 0]


def _split_sizes(data: Any, x: Any) -> Step:
    axis = axis_of(data, x)
    first = data.draw(st.integers(0, 2))
    rest = (x.shape[axis] if x.dim() else 1) - first
    return lambda t, x: x.split([first, rest], axis)[1]


def _chunk(data: Any, x: Any) -> Step:
    axis, count = axis_of(data, x), data.draw(st.integers(1, 4))
    return lambda t, x: x.chunk(count, axis)[-1]


def _tensor_split(data: Any, x: Any) -> Step:
    axis, count = axis_of(data, x), data.draw(st.integers(1, 3))
    return lambda t, x: x.tensor_split(count, axis)[-1]


def _unbind(data: Any, x: Any) -> Step:
    axis = axis_of(data, x)
    return lambda t, x: x.unbind(axis)[-1]


def _as_strided(data: Any, x: Any) -> Step:
    ndim = data.draw(st.integers(0, 3))
    shape = [data.draw(st.integers(0, 3)) for _ in range(ndim)]
    strides = [data.draw(st.integers(0, 4)) for _ in range(ndim)]
    offset = data.draw(st.sampled_from([None, 0, 1, 2]))
    return lambda t, x: x.as_strided(shape, strides, offset)


def _view_dtype(data: Any, x: Any) -> Step:
    name = data.draw(st.sampled_from(["int64", "float32", "int32", "int16", "uint8", "complex64"]))
    return lambda t, x: x.view(getattr(t, name))


def _view_as_real(data: Any, x: Any) -> Step:
    return lambda t, x: t.view_as_real(x)


def _view_as_complex(data: Any, x: Any) -> Step:
    return lambda t, x: t.view_as_complex(x)


def _flatten(data: Any, x: Any) -> Step:
    start, end = sorted(abs(axis_of(data, x)) % max(x.dim(), 1) for _ in range(2))
    return lambda t, x: x.flatten(start, end)


def _unflatten(data: Any, x: Any) -> Step:
    axis = axis_of(data, x)
    sizes = factored(data, x.shape[axis] if x.dim() else 1)
    return lambda t, x: x.unflatten(axis, sizes)


def _view_as(data: Any, x: Any) -> Step:
    shape = [n for n in x.shape if n != 1]
    return lambda t, x: x.view_as(t.empty(shape))


PLAIN_VIEWS = (
    _view, _reshape, _transpose, _permute, _expand, _narrow, _select, _unfold, _diagonal, _squeeze,
    _unsqueeze, _movedim, _split, _split_sizes, _chunk, _tensor_split, _unbind, _as_strided,
    _flatten, _unflatten, _view_as,
)  # fmt: skip
ALL_VIEWS = (*PLAIN_VIEWS, _view_dtype, _view_dtype, _view_as_real, _view_as_complex)


def base_pair(data: Any, dtype: str = "float64") -> tuple[Any, Any]:
    """The same tensor in both libraries, of 1 to 4 axes."""
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    if data.draw(st.integers(0, 9)) == 0:
        shape[0] = 0
    values = np.arange(1, 1 + int(np.prod(shape)), dtype=dtype).reshape(shape)
    return mt.from_numpy(values.copy()), torch.from_numpy(values.copy())


# --- views of views ------------------------------------------------------------------------------


@drawn(700)
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


@drawn(500)
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


@drawn(500)
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


# --- writes in place -----------------------------------------------------------------------------

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
DIFFERENTIABLE_VIEWS = tuple(v for v in PLAIN_VIEWS if v not in (_as_strided,))


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


@drawn(200)
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


BROADCASTS: tuple[Callable[..., Any], ...] = (
    lambda t, x, y, z: x + y,
    lambda t, x, y, z: t.where(x > 0, y, z),
    lambda t, x, y, z: t.broadcast_tensors(x, y, z)[0],
    lambda t, x, y, z: x.clone().add_(y),
    lambda t, x, y, z: x.expand_as(y),
)


@drawn(200)
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
