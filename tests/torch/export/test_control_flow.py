"""Branches, loops and named tuples in programs: against eager runs, and real PyTorch both ways."""

from __future__ import annotations

import io
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours
from mindtorch import lite
from mindtorch import onnx as our_onnx
from mindtorch.exporting.errors import ExportError

BOTH = (torch, ours)
Pair = namedtuple("Pair", "first second")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def loop(t: Any, *arguments: Any) -> Any:
    return t._higher_order_ops.while_loop(*arguments)


def net(t: Any) -> Any:
    """Parameters, constants and results of other nodes in branches within branches, and loops."""

    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = t.nn.Linear(3, 3), t.nn.Linear(3, 3)
            self.register_buffer("limit", t.tensor(4))

        def forward(self, x: Any, y: Any) -> Any:
            z = x * 2

            def deep(x: Any, y: Any) -> Any:
                return t.cond(y.mean() > 0, lambda v: self.b(v) + z, lambda v: v - z, (x,))

            def flat(x: Any, y: Any) -> Any:
                return self.a(y).tanh() + z

            (made,) = (t.cond(x.sum() > 0, deep, flat, (x, y)),)

            def body(i: Any, v: Any) -> Any:
                return i + 1, t.cond(v.sum() > 3, lambda v: v * 0.5, lambda v: v + z.abs(), (v,))

            steps, v = loop(
                t, lambda i, v: i < self.limit, body, (t.zeros((), dtype=t.int64), made)
            )
            return {"made": made, "steps": steps}, v

    t.manual_seed(0)
    return Net().eval()


def alike(build: Callable[[Any], Any]) -> tuple[Any, Any]:
    theirs, mine = build(torch), build(ours)
    mine.load_state_dict({
        k: ours.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()
    })
    return theirs, mine


def given(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(0)
    found = []
    for sign in (1, -1):
        for other in (1, -1):
            x, y = np.abs(generator.standard_normal((2, count, 3), np.float32))
            found.append((sign * x, other * y))
    return found


def flat(found: Any) -> list[Any]:
    if isinstance(found, dict):
        found = tuple(found.values())
    if not isinstance(found, (list, tuple)):
        return [found.detach().numpy()]
    return [x for each in found for x in flat(each)]


def same(one: Any, other: Any) -> None:
    for a, b in zip(flat(one), flat(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def check(modules: Any, calls: Any) -> None:
    """Both libraries' modules, for the same arguments."""
    for arrays in calls:
        results = [
            module(*[t.from_numpy(x) for x in arrays])
            for t, module in zip((torch, *[ours] * (len(modules) - 1)), modules, strict=True)
        ]
        for each in results[1:]:
            same(each, results[0])


def test_programs_branch_and_loop_as_the_module_does() -> None:
    theirs, mine = alike(net)
    x = ours.ones(4, 3)
    program = ours.export.export(mine, (x, x))
    nodes = [n for n in program.graph.nodes if n.op == "call_function"]
    called = [n for n in nodes if "higher_order" in str(n.target.__module__)]
    assert [n.target for n in called] == [
        ours.ops.higher_order.cond, ours.ops.higher_order.while_loop
    ]
    assert "class true_graph_0" in str(program)
    fewer = program.run_decompositions()
    inner = fewer.graph_module.true_graph_0.true_graph_0
    assert "addmm" in inner.code and "linear" not in inner.code
    again = ours.export.export(program.module(), (x, x))
    check([theirs, mine, *[p.module() for p in (program, fewer, again)]], given(4))


def test_files_with_control_flow_are_read_by_real_pytorch_and_the_other_way_round() -> None:
    theirs, mine = alike(net)
    made = [t.export.export(m, (t.ones(4, 3), t.ones(4, 3)))
            for t, m in zip(BOTH, (theirs, mine), strict=True)]  # fmt: skip
    for programs in (made, [p.run_decompositions() for p in made]):
        files = [io.BytesIO(), io.BytesIO()]
        for t, program, file in zip(BOTH, programs, files, strict=True):
            t.export.save(program, file)
            file.seek(0)
        loaded = torch.export.load(files[1]).module(), ours.export.load(files[0]).module()
        check([loaded[0], loaded[1], mine], given(4))


def test_open_lengths_reach_into_branches() -> None:
    def build(t: Any) -> Any:
        class Net(t.nn.Module):
            def forward(self, x: Any, y: Any) -> Any:
                def longer(x: Any) -> Any:
                    return x.reshape(x.shape[0] * 3).reshape(-1, 3) + y

                return t.cond(x.sum() > 0, longer, lambda x: x * x.shape[0], (x,))

        return Net()

    _, mine = alike(build)
    axes = {0: ours.export.Dim.DYNAMIC}
    x = ours.ones(4, 3)
    program = ours.export.export(mine, (x, x), dynamic_shapes={"x": axes, "y": axes})
    file = io.BytesIO()
    ours.export.save(program, file)
    file.seek(0)
    module = torch.export.load(io.BytesIO(file.getvalue())).module()
    for count in (2, 7):
        check([module, mine, program.module(), ours.export.load(file).module()], given(count))
        file.seek(0)


def test_gradients_go_through_branches() -> None:
    def build(t: Any) -> Any:
        class Net(t.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a = t.nn.Linear(3, 3)

            def forward(self, x: Any) -> Any:
                return t.cond(x.sum() > 0, lambda x: self.a(x) * x, lambda x: x * x, (x,))

        return Net()

    _, mine = alike(build)
    module = ours.export.export(mine, (ours.ones(2, 3),)).module()
    for sign in (1, -1):
        grads = []
        for each in (mine, module):
            x = (sign * ours.arange(6.0).reshape(2, 3)).requires_grad_()
            mine.zero_grad()
            each(x).sum().backward()
            grads.append([x.grad, mine.a.weight.grad])
        assert ours.equal(grads[0][0], grads[1][0])
        assert (grads[0][1] is None) is (grads[1][1] is None)
        assert grads[0][1] is None or ours.equal(grads[0][1], grads[1][1])


def _branch(function: Callable[..., Any]) -> Any:
    class Net(ours.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x + 1
            return ours.cond(x.sum() > 0, lambda x: function(x, y), lambda x: x * 2, (x,))

    return Net()


@pytest.mark.parametrize(("function", "words"), [
    (lambda x, y: y.add_(x), "writes to a tensor that it has not made"),
    (lambda x, y: x.view(-1).mul_(2).view(2, 3), "writes to a tensor that it has not made"),
    (lambda x, y: x[:1], r"\(float32\[1, 3\]\) where the condition holds, \(float32\[2, 3\]\)"),
    (lambda x, y: (x, x), "the branches return other things"),
    (lambda x, y: 1, "a branch must return tensors only"),
])  # fmt: skip
def test_what_has_no_place_in_a_program_is_refused(function: Any, words: str) -> None:
    with pytest.raises(ExportError, match=words):
        ours.export.export(_branch(function), (ours.ones(2, 3),))


def test_loops_that_change_what_they_carry_are_refused() -> None:
    def exported(carried: Any, body: Any) -> None:
        class Net(ours.nn.Module):
            def forward(self, x: Any) -> Any:
                return loop(ours, lambda i, v: i < 3, body, (carried, x))

        ours.export.export(Net(), (ours.ones(2, 3),))

    start = ours.zeros((), dtype=ours.int64)
    with pytest.raises(ExportError, match=r"takes int64\[\], float32\[2, 3\] and returns"):
        exported(start, lambda i, v: (i + 1, v[:1]))
    with pytest.raises(ExportError, match="numbers that change must be tensors"):
        exported(0, lambda i, v: (i + 1, v))


def test_graphs_without_branches_compute_both(tmp_path: Any) -> None:
    """ONNX, MindIR and Lite: the results of one are selected."""
    net = _branch(lambda x, y: x.log() * y)
    program = ours.export.export(net, (ours.ones(2, 3),))
    for each in (net, program):
        file = tmp_path / "net.onnx"
        ours.onnx.export(each, (ours.ones(2, 3),), file)
        model = our_onnx.load(file)
        for sign in (1, -1):
            x = ours.full((2, 3), 2.0 * sign)
            assert ours.allclose(model(x), net(x))
    lite.Converter().convert_module(net, [ours.ones(2, 3)], str(tmp_path / "net"))
    runs = lite.Model()
    runs.build_from_file(str(tmp_path / "net.ms"), lite.ModelType.MINDIR_LITE)
    for sign in (1, -1):
        array = np.full((2, 3), 2.0 * sign, np.float32)
        (inputs,) = runs.get_inputs()
        inputs.set_data_from_numpy(array)
        (found,) = runs.predict([inputs])
        same(ours.from_numpy(found.get_data_to_numpy()), net(ours.from_numpy(array)))


def test_named_tuples_are_kept_by_the_names_of_their_classes() -> None:
    def build(t: Any) -> Any:
        class Net(t.nn.Module):
            def forward(self, x: Any) -> Any:
                return Pair(x + 1, [x, Pair(x, x * 2)])

        return Net()

    theirs, mine = build(torch), build(ours)
    given = [t.ones(2) for t in BOTH]
    made = [t.export.export(m, (x,)) for t, m, x in zip(BOTH, (theirs, mine), given, strict=True)]
    with pytest.raises(NotImplementedError, match="give the class a name with"):
        ours.export.save(made[1], io.BytesIO())
    for t in BOTH:
        t.utils._pytree._register_namedtuple(Pair, serialized_type_name="tests.Pair")
    files = [io.BytesIO(), io.BytesIO()]
    for t, program, file in zip(BOTH, made, files, strict=True):
        t.export.save(program, file)
        file.seek(0)
    found = [
        t.export.load(file).module()(x) for t, file, x in zip(BOTH, files[::-1], given, strict=True)
    ]
    same(*found)
    assert all(type(x) is Pair and type(x.second[1]) is Pair for x in found)
    with pytest.raises(ValueError, match="already registered"):
        ours.utils._pytree._register_namedtuple(type("Other", (Pair,), {}),
                                                serialized_type_name="tests.Pair")  # fmt: skip


def test_named_tuples_among_arguments() -> None:
    class Net(ours.nn.Module):
        def forward(self, pair: Any) -> Any:
            return pair.first + pair.second

    ours.utils._pytree._register_namedtuple(Pair, serialized_type_name="tests.Pair")
    pair, file = Pair(ours.ones(2), ours.full((2,), 3.0)), io.BytesIO()
    ours.export.save(ours.export.export(Net(), (pair,)), file)
    file.seek(0)
    program = ours.export.load(file)
    assert program.module()(pair).tolist() == [4, 4]
    assert program.example_inputs is not None
    assert type(program.example_inputs[0][0]) is Pair
    assert Pair not in ours.serialization.get_safe_globals()
