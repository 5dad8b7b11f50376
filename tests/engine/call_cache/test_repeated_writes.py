"""Cached calls that write, draw, make views or new tensors: the fourth call is as torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as theirs

import mindtorch.torch as mt

Written = Callable[[Any, Any], Any]  # of the namespace and the tensor that is written to
_INDEX = [0, 2, 1, 2]
WRITES: dict[str, Written] = {
    "add_": lambda T, x: x.add_(T.arange(4.0)),
    "add_, alpha": lambda T, x: x.add_(T.arange(4.0), alpha=0.5),
    "mul_": lambda T, x: x.mul_(-1.5),
    "clamp_": lambda T, x: x.clamp_(min=0.5),
    "copy_": lambda T, x: x.copy_(T.tensor([1, 2, 3, 4])),
    "fill_": lambda T, x: x.fill_(2.5),
    "zero_": lambda T, x: x.zero_(),
    "round_": lambda T, x: x.mul_(1.37).round_(decimals=1),
    "ge_": lambda T, x: x.ge_(1),
    "masked_fill_": lambda T, x: x.masked_fill_(T.tensor([True, False, True, False]), 7),
    "lerp_": lambda T, x: x.lerp_(T.arange(4.0), 0.25),
    "addcmul_": lambda T, x: x.addcmul_(T.arange(4.0), T.arange(4.0), value=0.5),
    "index_add_": lambda T, x: x.index_add_(0, T.tensor(_INDEX), T.arange(4.0)),
    "index_copy_": lambda T, x: x.index_copy_(0, T.tensor(_INDEX), T.arange(4.0)),
    "index_fill_": lambda T, x: x.index_fill_(0, T.tensor([1, -1]), 3),
    "scatter_": lambda T, x: x.scatter_(0, T.tensor(_INDEX), T.arange(4.0)),
    "scatter_reduce_": lambda T, x: x.scatter_reduce_(0, T.tensor(_INDEX), T.arange(4.0), "sum"),
    "elu_": lambda T, x: T.nn.functional.elu_(x),
    "of itself": lambda T, x: x.add_(x),
    "its own part": lambda T, x: x.clone()[:2].add_(x[2:]),
    "index out of range": lambda T, x: x.index_add_(0, T.tensor([9]), T.ones(1)),
    "another type": lambda T, x: x.long().add_(0.5),
    "x[2]": lambda T, x: x.__setitem__(2, 5),
    "x[1:3]": lambda T, x: x.__setitem__(slice(1, 3), T.tensor([8.0, 9.0])),
    "x[1:3], one number": lambda T, x: x.__setitem__(slice(1, 3), -2),
    "x[i]": lambda T, x: x.__setitem__(T.tensor([1, -1]), T.tensor([8.0, 9.0])),
    "x[7]": lambda T, x: x.__setitem__(7, 5),
    "uniform_": lambda T, x: x.uniform_(-1, 2),
    "normal_": lambda T, x: x.normal_(1.0, 0.5),
    "random_": lambda T, x: x.random_(3, 9),
    "bernoulli_": lambda T, x: x.bernoulli_(0.3),
}
MAKERS: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda T: T.zeros(2, 3), "ones": lambda T: T.ones(3, dtype=T.long),
    "full": lambda T: T.full((3,), -0.0), "eye": lambda T: T.eye(3, 2),
    "arange": lambda T: T.arange(1, 9, 3), "linspace": lambda T: T.linspace(0, 1, 7),
    "window": lambda T: T.hann_window(6), "like": lambda T: T.ones_like(T.zeros(2, 3).t()),
    "new": lambda T: T.zeros(2, dtype=T.int32).new_full((2,), 4),
    "many": lambda T: T.full((20_000,), 0.1, dtype=T.bfloat16),
    "leaf": lambda T: T.zeros(3, requires_grad=True), "drawn leaf": lambda T: T.rand(
        3, requires_grad=True), "rand": lambda T: T.rand(2, 3), "randn": lambda T: T.randn(20),
    "randint": lambda T: T.randint(2, 9, (5,)), "randperm": lambda T: T.randperm(7),
    "normal": lambda T: T.normal(1.0, 2.0, (3,)), "randn_like": lambda T: T.randn_like(T.ones(4)),
}  # fmt: skip
VIEWS: dict[str, Callable[[Any], Any]] = {
    "chunk": lambda x: x.chunk(2), "unbind": lambda x: x.unbind(1), "split": lambda x: x.split(2),
    "sizes": lambda x: x.split_with_sizes([1, 3], 1), "T": lambda x: (x.T, x.mT),
    "tensor_split": lambda x: x.tensor_split(3, 1), "axis": lambda x: (x[None], x[..., None]),
}  # fmt: skip


def _described(x: Any) -> Any:
    if x is None or not hasattr(x, "detach"):
        return x
    values = x.detach().float().numpy() if "bfloat16" in str(x.dtype) else x.detach().numpy()
    return str(x.dtype), tuple(x.stride()), x.requires_grad, np.round(values, 5).tolist()


def _written(T: Any, call: Written, x: Any) -> Any:
    try:
        found = call(T, x)
        return _described(found), found is x
    except (RuntimeError, IndexError) as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("name", WRITES)
def test_a_write_that_is_repeated(name: str) -> None:
    """Values, versions, errors, of a tensor, a view of one, under ``no_grad`` and recorded."""

    def all_of(T: Any) -> Any:
        T.manual_seed(0)
        found: list[Any] = []
        x, base, leaf = T.arange(4.0), T.arange(12.0).reshape(3, 4), T.ones(4, requires_grad=True)
        for _ in range(4):
            found += [_written(T, WRITES[name], x), x._version, _described(x)]
            found += [_written(T, WRITES[name], base[1]), base._version, _described(base)]
            found += [_written(T, WRITES[name], leaf)]
            with T.no_grad():
                found += [_written(T, WRITES[name], leaf), _described(leaf)]
            y = leaf * 2
            found += [_written(T, WRITES[name], y)]
            y.sum().backward()
            found += [None if leaf.grad is None else leaf.grad.tolist()]
        return found

    assert all_of(mt) == all_of(theirs)


@pytest.mark.parametrize("name", MAKERS)
def test_a_tensor_that_is_made_again(name: str) -> None:
    def all_of(T: Any) -> Any:
        T.manual_seed(0)
        found = []
        for _ in range(4):
            made = MAKERS[name](T)
            found.append(_described(made))
            made.detach().add_(1)  # nobody else has its memory
        return found

    assert all_of(mt) == all_of(theirs)


def test_tensors_are_made_where_and_of_what_they_are_to_be() -> None:
    for _ in range(3):
        assert mt.zeros(3).dtype is mt.float32 and mt.rand(3).device.type == "cpu"
    mt.set_default_device("meta")
    try:
        assert mt.zeros(3).device.type == mt.rand(3).device.type == "meta"
    finally:
        mt.set_default_device(None)
    mt.set_default_dtype(mt.float64)
    try:
        assert mt.zeros(3).dtype is mt.rand(3).dtype is mt.float64
    finally:
        mt.set_default_dtype(mt.float32)


@pytest.mark.parametrize("name", VIEWS)
def test_views_that_are_made_again(name: str) -> None:
    """Layouts, nodes, gradients, and what a write to one of them says."""

    def all_of(T: Any) -> Any:
        found: list[Any] = []
        for tracked in (False, True, False, True):
            for _ in range(2):
                x = T.arange(12.0).reshape(3, 4).requires_grad_(tracked)
                views = VIEWS[name](x * 1 if tracked else x)
                found += [(_described(v), v.storage_offset(), v.output_nr) for v in views]
                if tracked:
                    sum((v * v).sum() for v in views).backward()
                    found += [views[0].grad_fn.name(), x.grad.tolist()]
                found.append(_written(T, lambda T, v: v.mul_(2.0), views[0]))
        return found

    assert all_of(mt) == all_of(theirs)


@pytest.mark.parametrize("enabled", [False, True])
def test_parts_of_one_kind_begin_where_they_are_asked_for(enabled: bool) -> None:
    """The plan of the first of them is taken for all, in a block of autocast, too."""
    x = mt.arange(12.0).reshape(6, 2)
    for first in (0, 2, 4, 1):
        with mt.autocast("cpu", enabled=enabled):
            part, row = x[first : first + 2], x[first]
        assert part.tolist() == [[2.0 * n, 2.0 * n + 1] for n in (first, first + 1)]
        assert row.tolist() == [2.0 * first, 2.0 * first + 1]


def test_empty_lists_and_signs_of_zeros_tell_calls_apart() -> None:
    one, zero = mt.ones(1), mt.ones(0)
    for _ in range(3):
        assert one.view(()).shape == () and zero.view((0,)).shape == (0,)
        assert str(mt.full((1,), 0.0).item()) == "0.0" and str(mt.full((1,), -0.0).item()) == "-0.0"
        assert mt.full((1,), True).dtype is mt.bool and mt.full((1,), 1).dtype is mt.int64
