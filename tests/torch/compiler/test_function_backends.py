"""``torch.compile(backend=function)``: graphs of torch.fx, guards, registered names."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import mindtorch.torch as ours

Graphs = list[tuple[list[tuple[int, ...]], list[tuple[str, str]]]]


def keeping(graphs: Graphs) -> Callable[[Any, Any], Any]:
    """A backend that notes what it is given and runs the graph as it is."""

    def backend(gm: Any, example_inputs: Any) -> Any:
        nodes = [(n.op, getattr(n.target, "__name__", n.target)) for n in gm.graph.nodes]
        graphs.append(([tuple(x.shape) for x in example_inputs], nodes))
        return gm.forward

    return backend


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    torch._dynamo.reset()
    ours._dynamo.reset()


def a_function(t: Any, graphs: Graphs) -> Any:
    def f(x: Any, y: Any) -> Any:
        return t.relu(x @ y) + x.sin() * 2

    f = t.compile(f, backend=keeping(graphs))
    a = t.ones(3, 3)
    results = [f(a * 2, a).tolist(), f(a, a + 1).tolist()]
    shapes = [each[0] for each in graphs[:1]]
    return results, shapes, [n for n in graphs[0][1] if n[0] != "placeholder"]


def a_module_trains(t: Any, graphs: Graphs) -> Any:
    t.manual_seed(0)
    nn = t.nn
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    compiled = t.compile(net, backend=keeping(graphs))
    optimizer = t.optim.SGD(net.parameters(), 0.1)
    losses = []
    for _ in range(3):
        loss = compiled(t.ones(2, 4)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 4))
    return losses, len(graphs), sorted(graphs[0][0]), [n for n in graphs[0][1] if n[0][:2] == "ca"]


def nested_results(t: Any, graphs: Graphs) -> Any:
    f = t.compile(lambda d: {"a": d["x"] + 1, "b": [d["x"], 3]}, backend=keeping(graphs))
    return [f({"x": t.ones(2) * k}) for k in (1, 2)]


def writes_are_done_once(t: Any, graphs: Graphs) -> Any:
    def f(x: Any) -> Any:
        x.add_(1)
        return x * 2

    compiled, x = t.compile(f, backend=keeping(graphs)), t.ones(2)
    return [compiled(x).tolist(), x.tolist(), compiled(x).tolist(), x.tolist(), len(graphs)]


def a_backend_changes_the_graph(t: Any, graphs: Graphs) -> Any:
    def backend(gm: Any, example_inputs: Any) -> Any:
        for node in gm.graph.nodes:
            if node.target is t.relu:
                node.target = t.sigmoid
        gm.recompile()
        return gm

    f = t.compile(lambda x: t.relu(x), backend=backend)
    return f(t.zeros(2)).tolist(), f(t.zeros(2)).tolist()


def a_registered_name(t: Any, graphs: Graphs) -> Any:
    if "mindtorch_test" not in t._dynamo.list_backends():
        t._dynamo.register_backend(keeping(graphs), name="mindtorch_test")
    f = t.compile(lambda x: x + 1, backend="mindtorch_test")
    return f(t.ones(1)).tolist(), "mindtorch_test" in t._dynamo.list_backends()


def values_that_are_read_are_guarded(t: Any, graphs: Graphs) -> Any:
    held = {"scale": 2.0}
    f = t.compile(lambda x: x * held["scale"], backend=keeping(graphs))
    first = f(t.ones(1)).tolist(), f(t.ones(1)).tolist()
    held["scale"] = 3.0
    return first, f(t.ones(1)).tolist()


@pytest.mark.parametrize(
    "program",
    [
        a_function, a_module_trains, nested_results, writes_are_done_once,
        a_backend_changes_the_graph, a_registered_name, values_that_are_read_are_guarded,
    ],
)  # fmt: skip
def test_programs_with_backends(program: Callable[[Any, Graphs], Any]) -> None:
    assert str(program(ours, [])) == str(program(torch, []))


def test_methods_are_themselves_after_a_function_was_differentiated() -> None:
    """Methods in place then check what they write to, below what asks modes and classes."""
    ours.compile(lambda x: x, backend=keeping([]))
    ours.func.grad(lambda x: x.square().sum())(ours.ones(2))
    called: list[bool] = []

    class Mode(ours.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            called.append(func is ours.Tensor.add_)
            return func(*args, **(kwargs or {}))

    x = ours.ones(2)
    with Mode():
        x.add_(1)
    assert called == [True]
    assert str(writes_are_done_once(ours, [])) == str(writes_are_done_once(torch, []))


def test_random_numbers_are_drawn_once() -> None:
    ours.manual_seed(0)
    expected = [ours.nn.functional.dropout(ours.ones(8)).tolist() for _ in range(2)]
    ours.manual_seed(0)
    f = ours.compile(lambda x: ours.nn.functional.dropout(x), backend=keeping([]))
    assert [f(ours.ones(8)).tolist() for _ in range(2)] == expected


def test_what_is_no_graph_runs_op_by_op(caplog: pytest.LogCaptureFixture) -> None:
    def f(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x * 3

    graphs: Graphs = []
    with caplog.at_level(logging.WARNING, "mindtorch.graph"):
        compiled = ours.compile(f, backend=keeping(graphs))
        assert compiled(ours.ones(2)).tolist() == [2.0, 2.0]
        assert compiled(-ours.ones(2)).tolist() == [-3.0, -3.0]
    assert not graphs
    assert "it asks for a tensor's data (item)" in caplog.text
    with pytest.raises(ours._dynamo.exc.Unsupported, match="fullgraph=True wants one graph"):
        ours.compile(f, backend=keeping(graphs), fullgraph=True)(ours.ones(2))


def test_tensors_made_out_of_sight_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    lstm, graphs = ours.nn.LSTM(2, 3), []  # type: ignore[var-annotated]
    with caplog.at_level(logging.WARNING, "mindtorch.graph"):
        compiled = ours.compile(lstm, backend=keeping(graphs))
        x = ours.ones(4, 1, 2)
        assert compiled(x)[0].tolist() == lstm(x)[0].tolist()
    assert graphs or "runs op by op" in caplog.text


def test_errors_of_a_backend_are_told() -> None:
    def fails(gm: Any, example_inputs: Any) -> Any:
        raise ValueError("no")

    failed = ours._dynamo.exc.BackendCompilerFailed
    with pytest.raises(failed, match="backend='fails' raised:\nValueError: no"):
        ours.compile(lambda x: x + 1, backend=fails)(ours.ones(1))
    with pytest.raises(TypeError, match="did not return callable"):
        ours.compile(lambda x: x + 1, backend=lambda gm, inputs: 3)(ours.ones(1))
    with pytest.raises(ours._dynamo.exc.InvalidBackend):
        ours.compile(lambda x: x + 1, backend="nobody's")
