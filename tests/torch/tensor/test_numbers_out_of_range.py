"""Numbers a type cannot hold, writes over memory that is read, hooks' order: as torch has them."""

from __future__ import annotations

import operator
import pickle
from typing import Any

import pytest

import mindtorch.torch as ours

torch = pytest.importorskip("torch")

# expressions of the library T
EXPRESSIONS = """
T.tensor([300], dtype=T.uint8)
T.tensor([-1], dtype=T.uint8)
T.tensor([-300], dtype=T.uint8)
T.tensor([float("nan")], dtype=T.int64)
T.tensor([1e40], dtype=T.float32)
T.tensor([1j], dtype=T.float32)
T.tensor([0j, 1j], dtype=T.bool)
T.tensor(10**30, dtype=T.float64)
T.arange(5.0)[1:].copy_(T.arange(5.0))
(lambda x: x[1:].copy_(x[:-1]))(T.arange(5.0))
(lambda x: x.t().copy_(x))(T.ones(2, 2))
(lambda x: x.__setitem__(slice(1, 3), x[2:4]))(T.arange(5.0))
T.ones(1, 3).expand(2, 3).fill_(2)
T.ones(1, 3).expand(2, 3).copy_(T.ones(2, 3))
T.ones(2).set_(T.ones(3).long())
T.nn.utils.rnn.pad_sequence([])
""".strip().splitlines()


def _found(library: Any, expression: str) -> Any:
    try:
        value = eval(expression, {"T": library})
    except Exception as error:
        return type(error).__name__, str(error)
    return str(value.dtype), value.tolist()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_and_errors_are_torchs(expression: str) -> None:
    """A number must not wrap around unnoticed, nor a copy read what it has written."""
    assert _found(ours, expression) == _found(torch, expression)


def test_a_retained_gradient_is_the_one_after_all_hooks() -> None:
    """Whenever they were registered."""
    for library in (torch, ours):
        x = library.ones(2, requires_grad=True)
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: g * 10)
        y.sum().backward()
        assert y.grad.tolist() == [10.0, 10.0]


def test_a_function_must_not_write_to_a_leaf() -> None:
    """``mark_dirty`` says that it does."""
    for library in (torch, ours):

        class Doubled(library.autograd.Function):  # type: ignore[name-defined]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.mark_dirty(x)
                return x.mul_(2)

        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            Doubled.apply(library.ones(2, requires_grad=True))


@pytest.mark.parametrize("name", ["flip", "zeros", "sin_", "conv2d", "nn.functional.softplus"])
def test_functions_that_explain_wrong_calls_are_pickled(name: str) -> None:
    """A module may hold one, and is saved with it."""
    function = operator.attrgetter(name)(ours)
    assert pickle.loads(pickle.dumps(function)) is function
