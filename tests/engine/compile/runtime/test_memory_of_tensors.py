"""Compiled code that reaches for the memory of tensors: what waits to be written is there first."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from tests.support.compiled_kinds import arrays, first_difference, wrapped

CALLS = 3
WAYS = ("captured", "replayed")


def _saved(x: Any) -> Any:
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


def _enlarged(x: Any) -> Any:
    x.resize_(8)
    x[6:] = 0
    return x * 2


def _shortened(x: Any) -> Any:
    return x.resize_(3) + 1


def _replaced(x: Any) -> Any:
    x.data = x.data * 3
    return x + 1


def _byte_written(x: Any) -> Any:
    x.untyped_storage()[3] = 64
    return x + 1


def _filled(x: Any) -> Any:
    x.untyped_storage().fill_(0)
    return x + 1


REACHING: dict[str, Callable[[Any], Any]] = {
    "deepcopy": lambda x: copy.deepcopy(x) + 1,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)) + 1,
    "save": _saved,
    "byte": lambda x: x + x.untyped_storage()[6],
    "bytes": lambda x: x + x.untyped_storage().nbytes(),
    "set": lambda x: torch.empty(0).set_(x.untyped_storage()) * 2,
    "address": lambda x: x + int(x.data_ptr() == x.untyped_storage().data_ptr()),
    "as_strided": lambda x: torch.as_strided(x, (2, 2), (1, 2), 1) + 1,
    "enlarged": _enlarged,
    "shortened": _shortened,
    "replaced": _replaced,
    "byte written": _byte_written,
    "filled": _filled,
}


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize("own", [True, False], ids=["made inside", "argument"])
@pytest.mark.parametrize("name", REACHING)
def test_memory_is_what_it_is_eagerly(name: str, own: bool, kind: str) -> None:
    """Directly after a write, of a tensor that the call made and of one that it was given."""

    def body(x: Any) -> Any:
        x = x * 2 if own else x.add_(1)
        return REACHING[name](x)

    def left(call: Any) -> list[Any]:
        x = torch.arange(6.0)
        return arrays([call(x), x])

    expected = left(body)
    call = wrapped(kind)(body)
    for _ in range(CALLS):
        assert not first_difference(expected, left(call))


@pytest.mark.parametrize("tracked", [True, False])
def test_what_was_written_in_place_and_let_go_is_no_result(tracked: bool) -> None:
    """Its memory is of the arena, where others follow it."""

    def body(x: Any) -> Any:
        y = (x * 2).clamp_(1, 7)
        for _ in range(3):
            y = (y @ torch.ones(6, 6)).neg_()
            y.view(2, 3)[0].mul_(0.5)
        if tracked:
            y.sum().backward()
        return y.detach() + 1

    x, other = (torch.arange(6.0, requires_grad=tracked) for _ in range(2))
    call = torch.compile(body)
    for _ in range(CALLS):
        assert not first_difference(arrays([body(x), x.grad]), arrays([call(other), other.grad]))
    compiled = [c for found in call.compiled.values() for c in found]
    assert compiled
    for step in compiled[-1].steps:
        assert len(step.numbers) == 1 + tracked  # the result and the gradient


def _elements(x: Any) -> list[float]:
    """What an array, a tensor or a storage shows."""
    return [] if x is None else x.tolist()


@pytest.mark.parametrize("held", ["nothing", "gradient", "detached", "array", "storage", "row"])
def test_the_second_run_fills_the_gradients_of_the_first(held: str) -> None:
    """Unless somebody holds one, or sees its memory."""
    holds: dict[str, Callable[[Any], Any]] = {
        "nothing": lambda g: None,
        "gradient": lambda g: g,
        "detached": lambda g: g.detach(),
        "array": lambda g: g.numpy(),
        "storage": lambda g: g.untyped_storage(),
        "row": lambda g: g[1],
    }
    weight = torch.ones(3, 4, requires_grad=True)

    @torch.compile
    def step(x: Any) -> None:
        weight.grad = None
        (weight * x).sum().backward()

    step(torch.full((4,), 2.0))
    assert weight.grad is not None
    place, kept = weight.grad.data_ptr(), holds[held](weight.grad)
    before = _elements(kept)
    step(torch.full((4,), 3.0))
    assert weight.grad.tolist() == [[3.0] * 4] * 3
    assert (weight.grad.data_ptr() == place) is (held == "nothing")
    assert _elements(kept) == before
