"""AUTO_PARALLEL, pipelines and micro batches: several processes train what one does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.mindspore as ms
from mindtorch import torch
from mindtorch.mindspore import Tensor, nn
from mindtorch.mindspore.nn.basic import Dense
from mindtorch.mindspore.parallel._strategy import (
    COLUMNS,
    ROWS,
    Strategy,
    read_strategy,
    write_strategy,
)
from mindtorch.planning.costs import Planner
from mindtorch.planning.facts import measure
from mindtorch.planning.link import given_link
from tests.programs.mindspore_auto_parallel_program import Words, alone, parts
from tests.support.paths import PROGRAMS
from tests.torch.distributed.jobs import forked, ranks_of

PROGRAM = PROGRAMS / "mindspore_auto_parallel_program.py"


def found_by(count: int, folder: Path, cases: list[str]) -> list[Any]:
    """What each of ``count`` processes wrote."""
    return ranks_of([*forked(count), str(PROGRAM), str(folder), *cases], count, folder)


def assert_as_alone(found: dict[str, Any], whole: dict[str, Any], title: str) -> None:
    np.testing.assert_allclose(found["losses"], whole["losses"], rtol=1e-6, err_msg=title)
    for name, values in found["parameters"].items():
        np.testing.assert_allclose(
            values, whole["parameters"][name], rtol=1e-5, atol=3e-6, err_msg=f"{title} {name}"
        )


def check(count: int, folder: Path, cases: list[str]) -> list[Any]:
    ranks = found_by(count, folder, cases)
    whole = {kind: alone(kind) for kind in ("Adam", "Lamb")}
    for case in cases:
        own = whole["Lamb" if "Lamb" in case else "Adam"]
        names: list[str] = []
        for found in ranks:
            assert_as_alone(found[case], own, case)
            names += found[case]["parameters"]
        if case.startswith("pipeline"):  # each parameter is in one stage
            assert set(names) == set(own["parameters"])
            assert len(ranks[0][case]["parameters"]) < len(own["parameters"])
    return ranks


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    """Layers cut as a file says, strategies searched, stages, micro batches; compiled as well."""
    cases = ["cut", "cut whole batch", "cut compiled", "searched", "searched for Lamb",
             "pipeline", "pipeline by gpipe", "accumulated", "accumulated in slices"]  # fmt: skip
    ranks = check(2, tmp_path, cases)
    net = Words()
    bytes_whole = sum(p.nbytes for p in net.get_parameters())
    cut = sum(p.nbytes for block in net.blocks
              for p in (block.first.weight, block.first.bias, block.second.weight))  # fmt: skip
    for found in ranks:
        for case in ("cut", "cut whole batch", "cut compiled"):
            assert found[case]["bytes"] == bytes_whole - cut // 2
            assert found[case]["states"] == found[case]["bytes"]
            np.testing.assert_allclose(found[case]["again"], found[case]["losses"], rtol=1e-6)
    assert sum(found["pipeline"]["bytes"] for found in ranks) == bytes_whole
    file = ranks[0]["searched"]["file"]
    assert file["current_stage"] == 0
    dev_matrix = [each["dev_matrix"] for each in file["parallel_layout_item"].values()]
    assert {np.prod(each) for each in dev_matrix} == {2}
    assert set(file["parallel_layout_item"]) == {p.name for p in net.get_parameters()}
    strategy = file["parallel_strategy_item"]["_backbone.blocks.0.first"]
    assert strategy["stage"] == 0 and len(strategy["parallel_strategy"]) == 2


@pytest.mark.exhaustive
def test_four_processes_train_as_one(tmp_path: Path) -> None:
    """Samples and layers divided at once; four stages; two stages of two processes."""
    ranks = check(4, tmp_path, ["cut", "cut in two", "searched", "pipeline", "pipeline of all"])
    assert ranks[0]["cut"]["bytes"] < ranks[0]["cut in two"]["bytes"]


def test_the_search_weighs_exchanges_against_computation() -> None:
    """Many samples are divided; few, of which results are smaller than gradients, are not; and what
    does not fit otherwise is cut, or told."""
    net, loss, _ = parts()
    x, y = Tensor(np.zeros((8, 5), np.int32)), Tensor(np.zeros(8, np.int32))
    facts = measure(loss, (x, y))
    facts.fixed, facts.each = 0.0, 1e-9
    link = given_link(1e6, 0.0)

    def found(samples: int, limit: float | None = None) -> Any:
        return Planner(facts, loss, link, 2, samples, limit, linear=Dense).searched()

    few, many = found(2), found(64)
    assert (few.data, few.cut, len(few.pairs)) == (1, 2, 4)
    assert (many.data, many.cut, many.pairs) == (2, 1, [])
    assert few.seconds < many.seconds
    facts.states = 100.0  # so that an optimizer's states decide what fits
    assert found(64).cut == 1 and found(64, limit=found(64).bytes - 1).cut == 2
    with pytest.raises(ValueError, match=r"no plan fits: DDP 2: needs .* times the memory"):
        found(64, limit=10)
    assert all(p.grad is None for p in net.get_parameters())


def test_files_of_strategies(tmp_path: Path) -> None:
    """What is written is read; what does not fit the network is named."""
    net = Words()
    layers = {"blocks.0.first": COLUMNS, "blocks.0.second": ROWS}
    file = str(tmp_path / "deep" / "strategy.json")
    write_strategy(file, Strategy(2, 4, layers), net)
    assert read_strategy(file, net, 8) == Strategy(2, 4, layers)
    text = json.loads(Path(file).read_text())
    assert text["parallel_layout_item"]["blocks.0.second.weight"] == {
        "dev_matrix": [2, 4], "tensor_map": [-1, 0], "tensor_shape": [8, 16], "field": 0,
        "opt_weight_shard_step": 0, "opt_weight_shard_size": 0,
    }  # fmt: skip
    assert text["parallel_strategy_item"]["blocks.0.second"]["parallel_strategy"] == [
        [2, 4], [1, 4]
    ]
    by_operators = {"parallel_strategy_item": text["parallel_strategy_item"]}
    Path(file).write_text(json.dumps(by_operators))
    assert read_strategy(file, net, 8) == Strategy(2, 4, layers)
    wrong: list[tuple[Any, int, str]] = [
        (text, 6, "6 processes do not"),
        ({"parallel_strategy_item": {"other": text["parallel_strategy_item"]["head"]}}, 8,
         "no linear layer 'other'"),
        ({"parallel_layout_item": {"other": {}}}, 8, "no parameter 'other'"),
        ({"parallel_layout_item": {"head.weight": {
            "dev_matrix": [1, 4], "tensor_map": [0, -1], "tensor_shape": [11, 8]}}}, 4,
         "4 does not divide the 11"),
        ({"parallel_layout_item": {"head.weight": {
            "dev_matrix": [1, 4], "tensor_map": [0, -1], "tensor_shape": [12, 8]}}}, 4,
         "has shape"),
    ]  # fmt: skip
    for told, count, why in wrong:
        Path(file).write_text(json.dumps(told))
        with pytest.raises(ValueError, match=why):
            read_strategy(file, net, count)
    embedding = text["parallel_layout_item"]["table.embedding_table"]
    Path(file).write_text(json.dumps({"parallel_layout_item": {
        "table.embedding_table": {**embedding, "tensor_map": [0, -1]}}}))  # fmt: skip
    with pytest.raises(NotImplementedError, match="not of a Dense layer"):
        read_strategy(file, net, 8)
    with pytest.raises(ValueError, match="cannot be read"):
        read_strategy(str(tmp_path / "none.json"), net, 8)


def test_settings() -> None:
    """Older names of one setting are the setting; wrong values raise and change nothing."""
    put, get = ms.set_auto_parallel_context, ms.get_auto_parallel_context
    try:
        put(strategy_ckpt_save_file="a.json", strategy_ckpt_load_file="b.json", full_batch=True)
        assert get("strategy_ckpt_config") == {
            "load_file": "b.json", "save_file": "a.json", "only_trainable_params": True
        }  # fmt: skip
        assert get("strategy_ckpt_load_file") == "b.json" and get("full_batch") is True
        put(auto_parallel_search_mode="sharding_propagation", pipeline_stages=2)
        assert get("search_mode") == "sharding_propagation"
        put(parallel_optimizer_config={"gradient_accumulation_shard": True})
        assert get("parallel_optimizer_config")["parallel_optimizer_threshold"] == 64
        wrong: list[tuple[dict[str, Any], type[Exception], str]] = [
            ({"strategy_ckpt_save_file": "a.ckpt"}, NotImplementedError, "JSON"),
            ({"strategy_ckpt_config": {"file": ""}}, NotImplementedError, "only 'load_file'"),
            ({"full_batch": 1}, TypeError, "must be bool"),
            ({"pipeline_stages": 0}, ValueError, "above 0"),
            ({"pipeline_stages": 1.0}, TypeError, "must be int"),
            ({"pipeline_config": {"pipeline_interleave": True}}, NotImplementedError, "one stage"),
            ({"pipeline_config": {"pipeline_scheduler": "vpp"}}, NotImplementedError, "1f1b"),
            ({"search_mode": "other"}, ValueError, "search_mode must be"),
        ]  # fmt: skip
        ms.parallel.set_op_strategy_config("LOAD", "/c.json")
        assert get("strategy_ckpt_load_file") == "/c.json"
        for mode, path in (("KEEP", "/c.json"), ("SAVE", "c.json"), ("SAVE", "/c.ckpt")):
            with pytest.raises(KeyError):
                ms.parallel.set_op_strategy_config(mode, path)
        before = dict(get("strategy_ckpt_config"))
        for words, kind, text in wrong:
            with pytest.raises(kind, match=text):
                put(**words)
        assert get("strategy_ckpt_config") == before and get("pipeline_stages") == 2
    finally:
        ms.reset_auto_parallel_context()
    with pytest.raises(ValueError, match="as '4GB'"):
        ms.set_context(max_device_memory="many")


def test_cells_of_micro_batches_in_one_process() -> None:
    """The mean of the parts' losses, and its gradients, by each of the three cells."""
    x = Tensor(np.arange(24, dtype=np.float32).reshape(8, 3))
    net = nn.SequentialCell(nn.Dense(3, 2), nn.Tanh())
    loss = nn.WithLossCell(net, nn.MSELoss())
    y = Tensor(np.ones((8, 2), np.float32))
    weights = net.trainable_params()
    value, gradients = ms.value_and_grad(loss, None, weights)(x, y)
    cells = [nn.PipelineCell(loss, 4), nn.GradAccumulationCell(loss, 2),
             nn.MicroBatchInterleaved(loss, 4), ms.parallel.nn.Pipeline(loss, 1),
             ms.parallel.nn.GradAccumulation(loss, 8)]  # fmt: skip
    for cell in cells:
        found, own = ms.value_and_grad(cell, None, weights)(x, y)
        np.testing.assert_allclose(found.asnumpy(), value.asnumpy(), rtol=1e-6)
        for mine, other in zip(own, gradients, strict=True):
            np.testing.assert_allclose(mine.asnumpy(), other.asnumpy(), rtol=2e-5, atol=1e-7)
        with torch.no_grad():
            np.testing.assert_allclose(cell(x, y).asnumpy(), value.asnumpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="batch of 8 is not divided by micro_size 3"):
        nn.GradAccumulationCell(loss, 3)(x, y)
    with pytest.raises(NotImplementedError, match="not by inputs"):
        ms.grad(nn.GradAccumulationCell(loss, 2), 0)(x, y)


def test_wrong_cells_and_stages() -> None:
    """Each in words."""
    net = nn.SequentialCell(nn.Dense(3, 2), nn.Dense(2, 2))
    half: Any = 2.5
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: nn.PipelineCell(len, 2), TypeError, "must be a Cell"),
        (lambda: nn.PipelineCell(net, half), TypeError, "must be an int"),
        (lambda: nn.GradAccumulationCell(net, 0), ValueError, "must be above 0"),
        (lambda: nn.PipelineCell(net, 2, {"2": 1}), KeyError, r"no cells \['2'\]"),
        (lambda: setattr(net, "pipeline_stage", 1.5), TypeError, "must be an int"),
        (lambda: setattr(net, "pipeline_stage", -1), ValueError, "must not be below 0"),
        (lambda: nn.PipelineGradReducer([], opt_shard=True), NotImplementedError, "whole states"),
    ]
    for call, kind, text in wrong:
        with pytest.raises(kind, match=text):
            call()
    assert net.pipeline_stage is None
    nn.PipelineCell(net, 2, {"0": 0, "1": 1})
    assert [cell.pipeline_stage for cell in net] == [0, 1]
    ms.set_auto_parallel_context(pipeline_stages=4)
    try:
        with pytest.raises(ValueError, match="micro_size 2 is below the 4"):
            nn.PipelineCell(net, 2)
    finally:
        ms.reset_auto_parallel_context()
