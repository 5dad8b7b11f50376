"""Tracing: what is done to tensors is written down, checked, and runs again with the same
result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.capture.tracer import TracingError, trace
from mindtorch.engine.compile.ir.interpreter import interpret
from mindtorch.engine.compile.ir.verifier import check_graph
from mindtorch.engine.compile.jit import jit
from mindtorch.engine.compile.passes.cleanup import dead_code

F = torch.nn.functional


def _in_place(x: Any) -> Any:
    y = x * 2
    y[1].add_(1)
    y[:, 0] = 7.0
    return y.t() + y[0, 0]


def _views(x: Any) -> Any:
    y = x.clone()
    row = y[0]
    y.mul_(3)
    return row + y.view(-1)[:4]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: (x * 2 + 1).exp() / (x * x + 1),
    "broadcast": lambda x: x + x[0] - x[:, :1],
    "reductions": lambda x: (x.sum(), x.mean(0), x.amax(1, keepdim=True)),
    "shapes": lambda x: x.reshape(2, 6).t().contiguous().view(3, 4).unsqueeze(0).permute(2, 0, 1),
    "matmul": lambda x: x @ x.t(),
    "softmax": lambda x: F.softmax(x, -1) + F.log_softmax(x, 0),
    "cat": lambda x: torch.cat([x, x * 2], 1).split(4, 1)[1],
    "max": lambda x: x.max(1),
    "index": lambda x: x[torch.tensor([2, 0])],
    "masked": lambda x: x.masked_fill(x > 0, 0.0),
    "written in place": _in_place,
    "views of a written tensor": _views,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced_equals_eager(name: str) -> None:
    """The interpreter over the graph gives the eager result bit for bit."""
    torch.manual_seed(0)
    function = FUNCTIONS[name]
    graph = trace(function, torch.randn(3, 4))
    check_graph(graph)
    x = torch.randn(3, 4)
    expected = function(x.clone())
    many = list(expected) if isinstance(expected, tuple) else [expected]
    for found, wanted in zip(interpret(graph, x), many, strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def _training_step(weights: list[Any]) -> Callable[[Any, Any], Any]:
    def step(x: Any, y: Any) -> Any:
        for w in weights:
            w.grad = None
        hidden = torch.relu(F.linear(x, weights[0], weights[1]))
        loss = F.cross_entropy(F.linear(hidden, weights[2], weights[3]), y)
        loss.backward()
        with torch.no_grad():
            for w in weights:
                w -= 0.1 * w.grad
        return loss.detach()

    return step


def _weights() -> list[Any]:
    torch.manual_seed(1)
    shapes = ((8, 4), (8,), (3, 8), (3,))
    return [(torch.randn(*s) * 0.5).requires_grad_() for s in shapes]


def test_a_training_step_is_one_graph() -> None:
    """forward, backward and update in place are recorded, and replayed step after step."""
    torch.manual_seed(2)
    x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))
    eager, compiled = _weights(), _weights()
    by_hand, step = _training_step(eager), jit(_training_step(compiled))
    for _ in range(3):
        np.testing.assert_array_equal(step(x, y).numpy(), by_hand(x, y).numpy())
    for a, b in zip(eager, compiled, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
        np.testing.assert_array_equal(a.grad.numpy(), b.grad.numpy())
    assert step.traces == 1


def test_jit_differentiates_outside() -> None:
    """A traced forward is part of an eager graph."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    jit(lambda v: (v**3).sum())(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [3.0, 12.0])


def test_jit_traces_anew_for_other_arguments() -> None:
    """Shapes and Python values are guards."""
    call = jit(lambda x, n: x * n)
    call(torch.ones(2), 2)
    call(torch.ones(2), 2)
    assert call.traces == 1
    assert call(torch.ones(3), 2).tolist() == [2, 2, 2]
    assert call(torch.ones(2), 2).tolist() == [2, 2]
    assert call.traces == 2
    assert call(torch.ones(2), 3).tolist() == [3, 3]


def test_further_sizes_are_traced_when_they_have_come_often() -> None:
    """Two sizes are traced at once; of many that come once each, none would earn its trace."""
    call = jit(lambda x: x * 2 + 1, dynamic=False)
    for size in range(1, 20):
        assert call(torch.ones(size)).tolist() == [3] * size
    assert call.traces == 2
    for _ in range(10**6):
        assert call(torch.ones(7)).tolist() == [3] * 7
        if call.traces == 3:
            break
    assert call.traces == 3 and not call.misses


def test_a_captured_tensor_is_read_at_each_run() -> None:
    """What a function finds by closure is an input, not a constant."""
    offset = torch.zeros(2)
    call = jit(lambda x: x + offset)
    assert call(torch.ones(2)).tolist() == [1, 1]
    offset.fill_(5)
    assert call(torch.ones(2)).tolist() == [6, 6]


def test_data_of_a_traced_tensor_is_refused() -> None:
    """The message names the user's line."""
    with pytest.raises(TracingError, match=r"test_tracer\.py:\d+"):
        trace(lambda x: x if x.sum() > 0 else -x, torch.ones(2))


def test_the_printed_graph() -> None:
    """Text of a small graph: a change of tracing shows here."""
    graph = trace(lambda x: (x * 2).sum(0), torch.ones(2, 3))
    assert str(graph) == (
        "graph(%0: float32[2, 3]):\n"
        "    %1: int64[], weak = captured\n"
        "    %2: float32[2, 3] = multiply(%0, %1)\n"
        "    %3: float32[3] = sum(%2, axis=(0,), keepdims=False)\n"
        "    return %3"
    )


def test_dead_code_is_dropped() -> None:
    """A node that nobody uses goes, with what only it needed."""
    graph = trace(lambda x: (x.exp(), x + 1)[1], torch.ones(2))
    assert dead_code(graph) == 1
    assert [node.op.name for node in graph.nodes] == ["add"]


def test_a_wrong_aval_is_found() -> None:
    """The checker derives every aval again, and shows the place."""
    graph = trace(lambda x: x.exp() + 1, torch.ones(2))
    graph.nodes[0].outputs[0].aval = torch.ones(3).aval
    with pytest.raises(AssertionError, match=r"-> .*exp"):
        check_graph(graph)
