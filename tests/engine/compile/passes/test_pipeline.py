"""The passes as one list: each is verified, named, and counts what it has changed."""

from __future__ import annotations

from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.capture.tracer import trace
from mindtorch.engine.compile.ir.interpreter import interpret
from mindtorch.engine.compile.ir.ir import Graph
from mindtorch.engine.compile.passes import pipeline
from mindtorch.engine.compile.passes.pipeline import PASSES, Pass, run_passes
from mindtorch.engine.switches import DESCRIPTIONS, debug, off


def _graph() -> Graph:
    def function(x: Any) -> Any:
        y = x.clone().exp() * 2
        x.neg()
        return y + 1, y.view(-1)

    return trace(function, torch.ones(64, 128))


def test_passes_have_names_and_switches() -> None:
    """Each name is one pass's, and each switch is one that can be set."""
    names = [each.name for each in PASSES]
    assert len(set(names)) == len(names)
    assert {each.switch for each in PASSES} - {""} <= DESCRIPTIONS.keys()


def test_passes_count_and_keep_the_bits() -> None:
    """A clone and a node that nobody reads go, what is no memory of its own is copied, and what is
    left of the loops becomes one."""
    graph, x = _graph(), torch.randn(64, 128)
    before: Any = interpret(graph, x)
    counts = {each.name: each.run(graph) for each in PASSES if each.name != "fusion"}
    assert counts["identities"] >= 1 and counts["dead code"] >= 1
    assert counts["separate results"] == 1 and counts["kernel substitution"] == 0
    after: Any = interpret(graph, x)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    fusion = next(each for each in PASSES if each.name == "fusion")
    assert fusion.run(graph) > 0


def test_a_pass_that_breaks_the_graph_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests verify each graph after each pass, so that the pass at fault is the one that runs."""
    assert pipeline._verify

    def break_it(graph: Graph) -> int:
        del graph.nodes[0]
        return 1

    monkeypatch.setattr(pipeline, "PASSES", (*PASSES[:1], Pass("break it", break_it)))
    with pytest.raises(AssertionError, match="used before it is made"):
        run_passes(_graph())


def test_passes_are_left_out_by_their_switch() -> None:
    """And for graphs that cannot be bound to memory."""
    whole, plain, refused = _graph(), _graph(), _graph()
    run_passes(whole)
    with off("fusion"):
        run_passes(plain)
    refused.refused = "a test"
    run_passes(refused)
    assert len(whole.nodes) < len(plain.nodes) == len(refused.nodes)


def test_level_3_shows_graphs_and_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Graph before, each pass by name with its count, graph after."""
    monkeypatch.setattr(debug, "level", 3)
    run_passes(_graph())
    said = capsys.readouterr().err
    places = [said.index(f"pass {each.name}: ") for each in PASSES if not each.sized]
    assert places == sorted(places)
    assert said.index("before the passes") < places[0] < places[-1] < said.index("after the passes")
