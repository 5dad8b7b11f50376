"""Dumps, and MindInsight's offline API over ours and over MindSpore's files."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.module_hooker import torch_as_mindtorch
from mindtorch.tools.debugger.attach import attach
from mindtorch.tools.debugger.dump import DumpingFront
from mindtorch.tools.mindinsight.debugger import (
    ConditionBase,
    DumpAnalyzer,
    OperatorOverflowCondition,
    TensorAllZeroCondition,
    TensorChangeAboveThresholdCondition,
    TensorChangeBelowThresholdCondition,
    TensorOverflowCondition,
    TensorRangeCondition,
    TensorTooLargeCondition,
    TensorTooSmallCondition,
    TensorUnchangedCondition,
    Watchpoint,
)
from mindtorch.tools.mindinsight.debugger.dump_folder import DumpError

from .nets import Net, train


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dump")
    front = DumpingFront(str(folder), range(1, 4))
    torch.manual_seed(0)
    with attach(front, stop_at_start=False) as session:
        session.go(steps=1)
        train(Net(), 6)
    assert len(front.written) == 3
    return folder


def test_what_there_is(dump: Path) -> None:
    analyzer = DumpAnalyzer(str(dump))
    assert analyzer.get_ranks() == [0]
    assert analyzer.get_iterations() == [0, 1, 2]
    assert [x.name for x in analyzer.select_nodes("middle")] == ["middle"]
    names = {x.name for x in analyzer.select_nodes(r"^(first|Gradients/first)", use_regex=True)}
    assert {"first", "first.weight", "Gradients/first.bias"} <= names
    assert analyzer.select_nodes("MIDDLE") == []
    assert len(analyzer.select_nodes("MIDDLE", case_sensitive=False)) == 1
    assert analyzer.select_nodes("self.middle(", select_by="code_stack")
    tensors = analyzer.select_tensors("middle", iterations=[1], slots=[0])
    assert [(x.node.name, x.slot, x.iteration, x.rank) for x in tensors] == [("middle", 0, 1, 0)]
    value = tensors[0].value()
    assert value is not None and value.shape == (16, 8)
    assert analyzer.select_tensors("middle", iterations=9)[0].value() is None
    found = analyzer.select_tensor_statistics(iterations=[0])[0][0]["middle"][0]
    assert found.size == 128 and found.least == 0


def test_the_graph(dump: Path) -> None:
    analyzer = DumpAnalyzer(dump)
    (middle,) = analyzer.select_nodes("middle")
    assert [x.name for x in analyzer.get_input_nodes(middle)] == ["first"]
    assert [x.name for x in analyzer.get_output_nodes(middle)] == ["last"]
    (tensor,) = analyzer.select_tensors("^first$", True, iterations=0)
    assert [x.name for x in analyzer.list_affected_nodes(tensor)] == ["middle"]
    given = middle.get_input_tensors(iterations=[0])
    assert given[0].node.name == "first" and given[0].has_value()


def folder_of(tmp_path: Path, *steps: dict[str, Any]) -> Path:
    """A dump as MindSpore names its files, without a description of nodes."""
    for number, arrays in enumerate(steps):
        folder = tmp_path / "rank_0" / "Net" / "0" / str(number)
        folder.mkdir(parents=True)
        for at, (name, array) in enumerate(arrays.items()):
            file = f"Conv2D.{name}.0.0.{1000 + at}.output.0.DefaultFormat.npy"
            np.save(folder / file, np.asarray(array))
    return tmp_path


STEPS: list[dict[str, Any]] = [
    {"Conv2D-op1": [1.0, -2.0], "Conv2D-op2": [0.0, 0.0], "net.bias": [1.0, 1.0]},
    {"Conv2D-op1": [9.0, -2.0], "Conv2D-op2": [math.inf, 0.0], "net.bias": [1.0, 1.0]},
]


@pytest.mark.parametrize(
    ("condition", "hits"),
    [
        (TensorTooLargeCondition(max_gt=5), [("Conv2D-op1", 1)]),
        (TensorTooSmallCondition(mean_lt=-0.1), [("Conv2D-op1", 0)]),
        (TensorRangeCondition(max_min_gt=10), [("Conv2D-op1", 1)]),
        (TensorRangeCondition(0, 2, range_percentage_lt=60), [("Conv2D-op1", 0),
                                                              ("Conv2D-op1", 1)]),
        (TensorOverflowCondition(), [("Conv2D-op2", 1)]),
        (OperatorOverflowCondition(), [("Conv2D-op2", 1)]),
        (TensorAllZeroCondition(100), [("Conv2D-op2", 0)]),
        (TensorUnchangedCondition(), [("net.bias", 1)]),
        (TensorChangeBelowThresholdCondition(0.1), [("net.bias", 1)]),
        (TensorChangeAboveThresholdCondition(0.1), [("Conv2D-op1", 1)]),
    ],
)  # fmt: skip
def test_conditions(condition: ConditionBase, hits: list[Any], tmp_path: Path) -> None:
    analyzer = DumpAnalyzer(folder_of(tmp_path, *STEPS))
    watchpoint = Watchpoint(analyzer.select_tensors(""), condition)
    found = [x for x in analyzer.check_watchpoints([watchpoint]) if not x.error_code]
    assert [(x.tensor.node.name, x.tensor.iteration) for x in found] == hits
    assert condition.name in str(found[0]) and "triggered on tensor" in str(found[0])


def test_a_hit_says_what_was_set_and_found(tmp_path: Path) -> None:
    analyzer = DumpAnalyzer(folder_of(tmp_path, *STEPS))
    condition = TensorTooLargeCondition(max_gt=5)
    (hit,) = analyzer.check_watchpoints(
        [Watchpoint(analyzer.select_tensors("op1", iterations=1), condition)]
    )
    assert hit.get_threshold() is condition
    detail = hit.get_hit_detail()
    assert detail is not None and detail.param_dict == {"max_gt": 9.0}
    assert str(hit).endswith(
        "Threshold: {'max_gt': 5}\nHit detail: The setting for watchpoint is max_gt = 5. "
        "The actual value of the tensor is max_gt = 9.0."
    )
    assert (condition.name, condition.condition_id) == ("TensorTooLarge", 15)
    assert condition.param_names == ["abs_mean_gt", "max_gt", "min_gt", "mean_gt"]


def test_what_cannot_be_looked_at_is_said(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *STEPS)
    analyzer = DumpAnalyzer(folder)
    first = analyzer.select_tensors("op1", iterations=[0])
    (hit,) = analyzer.check_watchpoints([Watchpoint(first, TensorUnchangedCondition())])
    assert hit.error_msg == ["The previous step value cannot be found."]
    assert hit.get_hit_detail() is None and "check failed" in str(hit)
    infinite = analyzer.select_tensors("op2", iterations=[1])
    (hit,) = analyzer.check_watchpoints([Watchpoint(infinite, TensorTooLargeCondition(max_gt=0))])
    assert hit.error_msg == ["A tensor contains +/-INF."]
    missing = Watchpoint(analyzer.select_tensors("op1", iterations=[7]), TensorOverflowCondition())
    assert analyzer.check_watchpoints([missing]) == []
    (hit,) = analyzer.check_watchpoints([missing], error_on_no_value=True)
    assert hit.error_msg == ["Tensor has no value."]
    with pytest.raises(DumpError, match=r"no nodes\.json"):
        analyzer.get_input_nodes(first[0].node)


def test_the_limit_of_memory(tmp_path: Path) -> None:
    analyzer = DumpAnalyzer(folder_of(tmp_path, {"big": np.ones(2**18)}), mem_limit=1)
    watchpoint = Watchpoint(analyzer.select_tensors("big"), TensorOverflowCondition())
    (hit,) = analyzer.check_watchpoints([watchpoint])
    assert hit.error_msg == ["The tensor size exceeds the memory limit."]


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(DumpError, match="it has no folder rank_0"):
        DumpAnalyzer(tmp_path / "nothing")
    folder = folder_of(tmp_path, {"half": [1.0], "pickled": [2.0]})
    inner = folder / "rank_0" / "Net" / "0" / "0"
    for file in inner.iterdir():
        if "half" in file.name:
            file.write_bytes(file.read_bytes()[:20])
        else:
            np.save(file, np.array([{}], object), allow_pickle=True)
    (inner / "nodes.json").write_text('{"nodes": [{"name": "half", "inputs": [3, [1]]}, 7]}')
    analyzer = DumpAnalyzer(folder)
    for name in ("half", "pickled"):
        with pytest.raises(DumpError, match="cannot read"):
            analyzer.select_tensors(name)[0].value()
    with pytest.raises(ValueError, match="no rank 5"):
        analyzer.get_iterations([5])
    with pytest.raises(ValueError, match="select_by"):
        analyzer.select_nodes("", select_by="colour")


def test_wrong_watchpoints() -> None:
    with pytest.raises(TypeError, match="list of DebuggerTensor"):
        Watchpoint([1], TensorOverflowCondition())  # type: ignore[list-item]
    with pytest.raises(TypeError, match="must be a ConditionBase"):
        Watchpoint([], "overflow")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs one of"):
        TensorTooLargeCondition()


def test_mindinsights_name() -> None:
    with torch_as_mindtorch():
        found = importlib.import_module("mindinsight.debugger")
    assert found.DumpAnalyzer is DumpAnalyzer
