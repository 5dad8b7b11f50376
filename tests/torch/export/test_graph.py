"""The graphs of exported programs against those of real torch: nodes, names, texts, edits."""

from __future__ import annotations

import copy
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
import mindtorch.torch.export as mt_export
import mindtorch.torch.fx as mt_fx
from mindtorch.torch._subclasses.fake_tensor import FakeTensor
from tests.torch.export.test_export import BOTH, alike, close, containers, lenet

torch = pytest.importorskip("torch")


def batch_of_images(t: Any) -> Any:
    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = t.nn.Conv2d(1, 4, 3), t.nn.BatchNorm2d(4)
            self.last = t.nn.Linear(4, 3)
            self.register_buffer("calls", t.zeros(1))

        def forward(self, input: Any, k: int = 2) -> Any:  # noqa: A002
            self.calls.add_(1)
            y = t.nn.functional.relu(self.norm(self.conv(input)), inplace=True)
            y = t.nn.functional.adaptive_avg_pool2d(y, 1).flatten(1)
            first, rest = t.split(y, [1, 3], 1)
            return self.last(y).view(input.shape[0], -1) * k, rest, t.softmax(first, -1)

    return Model()


def recurrent(t: Any) -> Any:
    return t.nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True)


def tied(t: Any) -> Any:
    class Model(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = t.nn.Linear(3, 3), t.nn.Linear(3, 3)
            self.b.weight = self.a.weight

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x)).transpose(0, 1) @ x

    return Model()


def encoder(t: Any) -> Any:
    return t.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)


CASES: list[tuple[Callable[[Any], Any], tuple[int, ...], bool]] = [
    (lenet, (2, 1, 28, 28), True), (batch_of_images, (2, 1, 8, 8), True), (tied, (2, 3), False),
]  # fmt: skip


def programs(build: Callable[[Any], Any], shape: tuple[int, ...], opened: bool) -> list[Any]:
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    made = []
    for (t, export), model in zip(BOTH, alike(build), strict=True):
        first = "input" if build is not encoder else "src"
        marks = {first: {0: export.Dim("n")}} if opened else None
        if build is batch_of_images:
            marks = {"input": {0: export.Dim("n")}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.append(export.export(model.eval(), (t.from_numpy(x),), dynamic_shapes=marks))
    return made


@pytest.mark.parametrize(("build", "shape", "opened"), CASES)
def test_nodes_are_those_of_torch(
    build: Callable[[Any], Any], shape: tuple[int, ...], opened: bool
) -> None:
    """Placeholders by name, then the same operators with the same arguments."""
    mine, theirs = programs(build, shape, opened)

    def listed(program: Any) -> list[Any]:
        names: dict[str, str] = {}
        found: list[Any] = []
        for node in program.graph.nodes:
            kept = node.op in ("placeholder", "output")
            names[node.name] = node.name if kept else f"v{len(found)}"
            args = ["?" if "sym_size" in str(a) else str(a) for a in node.args]
            shown = " ".join([str(node.target), *args])
            for name, place in sorted(names.items(), key=lambda x: -len(x[0])):
                shown = shown.replace(name, place)
            found.append((node.op, shown if not kept else node.name))
        return found

    assert listed(mine) == listed(theirs)
    assert str(mine.graph_signature).split("# outputs")[0] == (
        str(theirs.graph_signature).split("# outputs")[0]
    )
    assert str(mine.range_constraints) == str(theirs.range_constraints)
    for node, other in zip(mine.graph.nodes, theirs.graph.nodes, strict=True):
        if isinstance(node.meta.get("val"), FakeTensor):
            value, wanted = node.meta["val"], other.meta["val"]
            assert str(tuple(value.shape)) == str(tuple(wanted.shape)), node.name
            assert str(value.dtype) == str(wanted.dtype) and str(value.device) == "cpu"
            if node.op == "placeholder":
                assert repr(value) == repr(wanted)


def test_texts_are_those_of_torch() -> None:
    """What is printed of a program, but for the places in files, and of its graph."""
    mine, theirs = programs(tied, (2, 3), False)

    def without_places(text: str) -> list[str]:
        lines = (line.rstrip() for line in text.splitlines())
        return [x for x in lines if x and not x.lstrip().startswith("#")]

    assert without_places(str(mine)) == without_places(str(theirs))
    assert str(mine.graph) == str(theirs.graph)
    assert mine.dialect == theirs.dialect == "TRAINING"


def test_a_graph_module_is_run_and_changed() -> None:
    """It takes all inputs and gives a flat tuple; passes change what `module()` runs."""
    mine, _ = programs(lenet, (2, 1, 28, 28), True)
    x = mt.randn(3, 1, 28, 28)
    state = list(mine.state_dict.values())
    (direct,) = mine.graph_module(*state, x)
    assert direct.equal(mine.module()(x))
    before = mine.module()
    for node in mine.graph.find_nodes(op="call_function", target=mt.ops.aten.relu.default):
        with mine.graph.inserting_before(node):
            new = mine.graph.call_function(mt.ops.aten.tanh.default, node.args)
        node.replace_all_uses_with(new, propagate_meta=True)
        mine.graph.erase_node(node)
    mine.graph.lint()
    mine.graph_module.recompile()
    nn = mt.nn
    net = lenet(mt)
    net.load_state_dict(mine.state_dict)
    changed = nn.Sequential(*[nn.Tanh() if isinstance(x, nn.ReLU) else x for x in net])
    assert mine.module()(x).equal(changed(x)) and before(x).equal(direct)
    assert [n.target for n in copy.deepcopy(mine.graph).nodes] == [
        n.target for n in mine.graph.nodes
    ]
    traced = mt_fx.Interpreter(mine.graph_module).run(*state, x)
    assert traced[0].equal(mine.module()(x))


def test_lengths_are_nodes() -> None:
    """What follows from an open length is computed by nodes, and can be returned."""
    class_of = lambda t: type("M", (t.nn.Module,), {  # noqa: E731
        "forward": lambda self, x: (x.reshape(x.shape[0] * 2, -1), x.shape[0] * 2 + 1)
    })  # fmt: skip
    texts = []
    for t, export in BOTH:
        marks = ({0: export.Dim.DYNAMIC},)
        program = export.export(class_of(t)(), (t.ones(3, 4),), dynamic_shapes=marks)
        made, number = program.module()(t.ones(5, 4))
        assert made.shape == (10, 2) and number == 11
        values = [n.meta["val"] for n in program.graph.nodes if n.target is operator.add]
        texts.append([str(each) for each in values])
    assert texts[0] == texts[1] == ["2*s77 + 1"]


def test_containers_and_constants_have_placeholders() -> None:
    """In torch's order, with torch's names; numbers too."""
    found = []
    for (t, export), model in zip(BOTH, alike(containers), strict=True):
        parts = {"a": t.full((3,), 2.0), "b": (t.ones(3),)}
        given = {"scale": t.full((1,), 3.0), "times": 4}
        program = export.export(model.eval(), (t.ones(5, 4), parts), given)
        found.append([n.name for n in program.graph.find_nodes(op="placeholder")])
        result = program.module()(t.ones(5, 4), parts, **given)
        found.append(result["out"])
    assert found[0] == found[2]
    close(found[1], found[3])


def test_an_operator_that_torch_has_not() -> None:
    """It is a node under its own name, and no file is written."""

    class Model(mt.nn.Module):
        def forward(self, x: Any) -> Any:
            return mt.nn.functional.ctc_loss(
                x.log_softmax(2), mt.ones((2, 3), dtype=mt.int64), (5, 5), (3, 3)
            )

    x = mt.randn(5, 2, 4)
    program = mt_export.export(Model(), (x,))
    own = [n for n in program.graph.nodes if str(n.target).startswith("mindtorch.")]
    assert own and program.module()(x).equal(Model()(x))
    with pytest.raises(NotImplementedError, match=r"calls .*mindtorch.* which PyTorch does not"):
        mt_export.save(program, "never.pt2")
