"""torch.fx: patterns, passes and pickles, against real torch."""

from __future__ import annotations

import operator
import pickle
from typing import Any

import numpy as np
import pytest
import torch as real

import mindtorch.torch as ours
from mindtorch.torch.fx.passes import shape_prop, split_module
from mindtorch.torch.fx.passes.infra import pass_base, pass_manager
from mindtorch.torch.fx.passes.utils import matcher_utils

BOTH = (real, ours)


def network(t: Any) -> Any:
    t.manual_seed(0)
    return t.nn.Sequential(
        t.nn.Linear(3, 4), t.nn.ReLU(), t.nn.Linear(4, 4), t.nn.Sigmoid(), t.nn.Linear(4, 2)
    )


def same_code(make: Any) -> None:
    """Both libraries give the same code and text of matches."""
    codes = [make(t) for t in BOTH]
    assert codes[0] == codes[1]


def functions(t: Any) -> dict[str, tuple[Any, Any, Any]]:
    """name -> (the function, the pattern, what takes its place)."""
    return {
        "two of one": (
            lambda x, w: t.relu(x @ w) + t.relu(w @ w), lambda a, b: t.relu(a @ b),
            lambda a, b: t.sigmoid(b) * a,
        ),
        "a chain that overlaps": (
            lambda x: t.relu(t.relu(t.relu(t.relu(x)))), lambda a: t.relu(t.relu(a)),
            lambda a: a.neg(),
        ),
        "used outside": (
            lambda x: t.cos(t.sin(x)) + t.sin(x + 1) * (lambda y: t.cos(y) + y)(t.sin(x)),
            lambda a: t.cos(t.sin(a)), lambda a: t.tan(a),
        ),
        "two results": (
            lambda x: t.sin(x) + t.cos(x) * 2, lambda a: (t.sin(a), t.cos(a)),
            lambda a: (t.exp(a), t.log(a)),
        ),
        "keywords and numbers": (
            lambda x: t.sum(x, dim=1) + t.sum(x, dim=0) + x.add(3), lambda a: t.sum(a, dim=0),
            lambda a: t.mean(a, dim=0),
        ),
        "nothing": (lambda x: t.sin(x), lambda a: t.cos(a), lambda a: a),
        "methods": (
            lambda x: x.sigmoid().tanh() * x.sigmoid(), lambda a: a.sigmoid(), lambda a: a.relu(),
        ),
        "the input is a result": (
            lambda x, y: t.add(t.mul(t.add(x, y), y), x), lambda a, b: t.add(a, b),
            lambda a, b: t.sub(b, a),
        ),
    }  # fmt: skip


@pytest.mark.parametrize("case", functions(ours))
def test_patterns_are_replaced_as_in_torch(case: str) -> None:
    """The code afterwards, the places that were found, and what is computed."""

    def replaced(t: Any) -> Any:
        body, pattern, new = functions(t)[case]
        graph_module = t.fx.symbolic_trace(body)
        found = t.fx.replace_pattern(graph_module, pattern, new)
        graph_module.graph.lint()
        return graph_module.code, [match.anchor.name for match in found]

    same_code(replaced)


def test_modules_of_a_pattern_are_told_by_their_path_and_brought_along() -> None:
    """A pattern may have layers; the replacement's own layers become the module's."""

    def replaced(t: Any) -> Any:
        class New(t.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                t.manual_seed(1)
                self.wide = t.nn.Linear(3, 4)

            def forward(self, x: Any) -> Any:
                return t.tanh(self.wide(x))

        made = t.fx.symbolic_trace(network(t))
        found = t.fx.replace_pattern(
            made,
            t.fx.symbolic_trace(t.nn.Sequential(t.nn.Linear(1, 1), t.nn.ReLU())),
            t.fx.symbolic_trace(New()),
        )
        result = made(t.ones(2, 3)).tolist()
        names = sorted(name for name, _ in made.named_modules())
        return made.code, len(found), names, np.round(result, 5).tolist()

    same_code(replaced)


def test_the_matcher_tells_inputs_and_results() -> None:
    """What quantization and fusions build on."""
    theirs = __import__("torch.fx.passes.utils.matcher_utils", fromlist=["SubgraphMatcher"])

    def found(t: Any) -> Any:
        matcher = (theirs if t is real else matcher_utils).SubgraphMatcher
        body = t.fx.symbolic_trace(lambda x, y: t.relu(x + y) * t.relu(y + 2) - x)
        pattern = t.fx.symbolic_trace(lambda a, b: t.relu(a + b)).graph
        shown = []
        for literal in (False, True):
            for match in matcher(pattern, ignore_literals=literal).match(body.graph):
                inputs = [str(node) for node in match.placeholder_nodes]
                shown.append((inputs, [str(n) for n in match.returning_nodes], str(match.anchors)))
        return shown

    same_code(found)


def test_filters_and_callbacks_choose_what_is_replaced() -> None:
    """`replace_pattern_with_filters`, which makes the replacement of each match."""
    theirs = __import__("torch.fx.subgraph_rewriter", fromlist=["x"])

    def replaced(t: Any) -> Any:
        rewriter = theirs if t is real else t.fx.subgraph_rewriter
        made = t.fx.symbolic_trace(lambda x: t.add(x, 1) * t.add(x, 2))

        def make(match: Any, graph: Any, pattern: Any) -> Any:
            return t.fx.symbolic_trace(lambda a, b: t.sub(a, b)).graph

        found = rewriter.replace_pattern_with_filters(
            made, lambda a, b: t.add(a, b), replacement_callback=make,
            match_filters=[lambda match, graph, pattern: match.placeholder_nodes[1] == 2],
        )  # fmt: skip
        return made.code, [str(each.replacements) for each in found]

    same_code(replaced)


@pytest.mark.parametrize("parts", ["halves", "each", "crossed"])
def test_a_module_is_divided_as_in_torch(parts: str) -> None:
    """The code of the whole and of the parts, and the same result."""
    theirs = __import__("torch.fx.passes.split_module", fromlist=["x"])

    def divided(t: Any) -> Any:
        root = network(t)
        made = t.fx.symbolic_trace(root)
        place = {node.name: i for i, node in enumerate(made.graph.nodes)}
        callback = {
            "halves": lambda node: int(place[node.name] > 3),
            "each": lambda node: place[node.name],
            "crossed": lambda node: place[node.name] // 2 + 1,
        }[parts]
        names: dict[str, str] = {}
        split = (theirs if t is real else split_module).split_module(made, root, callback, names)
        result = split(t.ones(2, 3))
        assert result.tolist() == made(t.ones(2, 3)).tolist()
        codes = [part.code for name, part in split.named_children()]
        return split.code, codes

    same_code(divided)


def test_parts_that_need_one_another_are_refused() -> None:
    """Neither could be called first."""
    made = ours.fx.symbolic_trace(lambda x: ours.sin(ours.cos(ours.sin(x))))
    sides = {"sin": 0, "cos": 1, "sin_1": 0}
    with pytest.raises(RuntimeError, match="cycle exists between partitions"):
        split_module.split_module(made, ours.nn.Module(), lambda node: sides[node.name])


def test_shapes_are_left_at_the_nodes() -> None:
    """`ShapeProp` describes every tensor."""
    theirs = __import__("torch.fx.passes.shape_prop", fromlist=["x"])

    def described(t: Any) -> Any:
        made = t.fx.symbolic_trace(lambda x: t.split(t.relu(x).t().double(), 2))
        (theirs if t is real else shape_prop).ShapeProp(made).propagate(t.ones(2, 4))
        return [str(node.meta.get("tensor_meta")) for node in made.graph.nodes]

    same_code(described)


def test_passes_run_in_their_order() -> None:
    """A pass says whether it changed something; rules for the order are checked."""

    class Double(pass_base.PassBase):
        def call(self, graph_module: Any) -> pass_base.PassResult:
            for node in graph_module.graph.nodes:
                if node.target is operator.add:
                    node.target = operator.mul
                    graph_module.recompile()
                    return pass_base.PassResult(graph_module, True)
            return pass_base.PassResult(graph_module, False)

    made = ours.fx.symbolic_trace(lambda x: (x + 2) + 3)
    result = pass_manager.PassManager([Double()], steps=5)(made)
    assert result.modified and result.graph_module(ours.ones(1)).item() == 6
    forbidden = pass_manager.PassManager([Double(), Double()], [lambda a, b: False])
    with pytest.raises(RuntimeError, match="schedule constraint violated"):
        forbidden(made)


def test_a_graph_module_is_pickled() -> None:
    """With its parameters and graph; functions are kept by name."""
    made = ours.fx.symbolic_trace(network(ours))
    with made.graph.inserting_before(made.graph.output_node()):
        last = made.graph.output_node().args[0]
        doubled = made.graph.call_function(operator.getitem, (last, (slice(None), [0, 1])))
    made.graph.output_node().args = ((doubled, {"a": last}),)
    made.recompile()
    again = pickle.loads(pickle.dumps(made))
    assert again.code == made.code and isinstance(again, ours.fx.GraphModule)
    x = ours.ones(2, 3)
    assert again(x)[0].tolist() == made(x)[0].tolist() and again(x)[1]["a"].shape == (2, 2)
    assert list(again.state_dict()) == list(made.state_dict())
