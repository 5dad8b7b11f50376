"""What a process does in tests/mindspore/test_auto_parallel.py: strategies searched, pipelines.

``python mindspore_auto_parallel_program.py <folder> <case> ...``, with rank and size in the
environment; :func:`alone` is the same in one process.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import mindtorch.mindspore as ms
from mindtorch.mindspore import Tensor, nn
from mindtorch.mindspore.parallel.auto_parallel import AutoParallel
from mindtorch.mindspore.parallel.nn import GradAccumulation, Pipeline, PipelineGradReducer

STEPS, SAMPLES = 4, 8


class Block(nn.Cell):
    """Two layers, and a way around them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Dense(width, 2 * width, activation="relu")
        self.second = nn.Dense(2 * width, width)
        self.norm = nn.LayerNorm((width,))

    def construct(self, x: Any) -> Any:
        return x + self.second(self.first(self.norm(x)))


class Words(nn.Cell):
    """An embedding, blocks, and a head."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.table = nn.Embedding(11, width)
        self.blocks = nn.SequentialCell(*[Block(width) for _ in range(4)])
        self.head = nn.Dense(width, 11)

    def construct(self, ids: Any) -> Any:
        return self.head(self.blocks(self.table(ids)).mean(1))


def batches() -> list[tuple[np.ndarray, np.ndarray]]:
    draw = np.random.default_rng(0)
    made = []
    for _ in range(STEPS):
        x = draw.integers(0, 11, (SAMPLES, 5)).astype(np.int32)
        made.append((x, (x.sum(1) % 11).astype(np.int32)))
    return made


def parts(kind: str = "Adam") -> tuple[Any, Any, Any]:
    """A network, its loss, and an optimizer."""
    ms.set_seed(3)
    net = Words()
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    made = {"Adam": lambda p: nn.Adam(p, 0.02, weight_decay=0.01),
            "Lamb": lambda p: nn.Lamb(p, 0.02)}[kind]  # fmt: skip
    return net, loss, made(net.trainable_params())


def alone(kind: str = "Adam") -> dict[str, Any]:
    net, loss, optimizer = parts(kind)
    step = nn.TrainOneStepCell(loss, optimizer)
    losses = [float(step(Tensor(x), Tensor(y)).asnumpy()) for x, y in batches()]
    return {"losses": losses, "parameters": values(net)}


def values(net: Any) -> dict[str, Any]:
    return {p.name: p.asnumpy().ravel().tolist() for p in net.get_parameters()}


def whole_values(net: Any, folder: Path, name: str) -> dict[str, Any]:
    """Those that all processes have together."""
    file = folder / f"{name}{ms.communication.get_rank()}.ckpt"
    ms.save_checkpoint(net, str(file))
    return {key: p.asnumpy().ravel().tolist() for key, p in ms.load_checkpoint(str(file)).items()}


def own(array: np.ndarray, full: bool) -> Any:
    rank, size = ms.communication.get_rank(), ms.communication.get_group_size()
    each = len(array) // size
    return Tensor(array if full else array[rank * each : (rank + 1) * each])


def strategy_of(cut: int, size: int) -> dict[str, Any]:
    """A file's text that cuts all blocks."""
    data, items = size // cut, {}
    for i in range(4):
        items[f"_backbone.blocks.{i}.first"] = [[data, 1], [cut, 1]]
        items[f"_backbone.blocks.{i}.second"] = [[data, cut], [1, cut]]
    return {"current_stage": 0, "parallel_strategy_item": {
        path: {"stage": 0, "parallel_strategy": each} for path, each in items.items()}}


def divided(folder: Path, cut: int, full: bool, compiled: bool = False) -> dict[str, Any]:
    """A training whose layers are cut as a file says."""
    file = folder / f"cut{cut}.json"
    if ms.communication.get_rank() == 0:
        file.write_text(json.dumps(strategy_of(cut, ms.communication.get_group_size())))
    ms.ops.AllReduce()(Tensor([1.0]))
    saved = folder / f"saved{cut}.json"
    ms.set_auto_parallel_context(
        parallel_mode="auto_parallel", search_mode="sharding_propagation", full_batch=full,
        strategy_ckpt_load_file=str(file), strategy_ckpt_save_file=str(saved),
    )
    net, loss, optimizer = parts()
    step: Any = nn.TrainOneStepCell(loss, optimizer)
    run = ms.jit(lambda x, y: step(x, y)) if compiled else step
    losses = [float(run(own(x, full), own(y, full)).asnumpy()) for x, y in batches()]
    found = {
        "losses": losses, "parameters": whole_values(net, folder, f"cut{cut}-"),
        "bytes": sum(p.nbytes for p in net.get_parameters()),
        "states": sum(p.nbytes for p in optimizer.moment1),
    }  # fmt: skip
    ms.set_auto_parallel_context(strategy_ckpt_load_file=str(saved), strategy_ckpt_save_file="")
    net, loss, optimizer = parts()
    again = nn.TrainOneStepCell(loss, optimizer)
    found["again"] = [float(again(own(x, full), own(y, full)).asnumpy()) for x, y in batches()]
    ms.reset_auto_parallel_context()
    return found


def searched(folder: Path, kind: str, compiled: bool = False) -> dict[str, Any]:
    """A training that finds its strategy itself, by AutoParallel."""
    net, loss, optimizer = parts(kind)
    step = AutoParallel(nn.TrainOneStepCell(loss, optimizer), "recursive_programming")
    file = folder / f"found-{kind}.json"
    step.save_operator_strategy_file(str(file))
    run = ms.jit(lambda x, y: step(x, y)) if compiled else step
    losses = [float(run(own(x, False), own(y, False)).asnumpy()) for x, y in batches()]
    ms.ops.AllReduce()(Tensor([1.0]))
    found = {"losses": losses, "parameters": whole_values(net, folder, f"found-{kind}-"),
             "file": json.loads(file.read_text())}  # fmt: skip
    ms.reset_auto_parallel_context()
    return found


def staged(net: Any, stages: int) -> None:
    net.table.pipeline_stage = 0
    for number, block in enumerate(net.blocks):
        block.pipeline_stage = number * stages // 4
    net.head.pipeline_stage = stages - 1


def functional_step(cell: Any, optimizer: Any) -> Any:
    """A step by value_and_grad, whose gradients PipelineGradReducer sums."""
    gradients_of = ms.value_and_grad(lambda x, y: cell(x, y), None, optimizer.parameters)
    reducer = PipelineGradReducer(optimizer.parameters)

    def step(x: Any, y: Any) -> Any:
        loss, gradients = gradients_of(x, y)
        optimizer(reducer(gradients))
        return loss

    return step


def pipelined(folder: Path, stages: int, scheduler: str, functional: bool) -> dict[str, Any]:
    """A training in stages; with more processes than stages, on parts of the batch, too."""
    ms.set_auto_parallel_context(
        parallel_mode="semi_auto_parallel", pipeline_stages=stages,
        pipeline_config={"pipeline_scheduler": scheduler},
    )  # fmt: skip
    net, loss, optimizer = parts()
    staged(net, stages)
    rank, size = ms.communication.get_rank(), ms.communication.get_group_size()
    lines = size // stages
    given = [
        [Tensor(np.split(array, lines)[rank % lines]) for array in batch] for batch in batches()
    ]
    cell = Pipeline(loss, 4)
    step = functional_step(cell, optimizer) if functional else nn.TrainOneStepCell(cell, optimizer)
    losses = [float(step(x, y).asnumpy()) for x, y in given]
    found = {"losses": losses, "parameters": whole_values(net, folder, f"stage-{stages}-"),
             "bytes": sum(p.nbytes for p in net.get_parameters())}  # fmt: skip
    ms.reset_auto_parallel_context()
    return found


def accumulated(folder: Path, shard: bool) -> dict[str, Any]:
    """Micro batches whose gradients are added, in slices or whole."""
    ms.set_auto_parallel_context(
        parallel_mode="semi_auto_parallel", enable_parallel_optimizer=True,
        parallel_optimizer_config={
            "parallel_optimizer_threshold": 0, "gradient_accumulation_shard": shard
        },
    )
    net, loss, optimizer = parts()
    step = nn.TrainOneStepCell(GradAccumulation(loss, 2), optimizer)
    losses = [float(step(own(x, False), own(y, False)).asnumpy()) for x, y in batches()]
    ms.reset_auto_parallel_context()
    return {"losses": losses, "parameters": values(net)}


def main(folder: Path, cases: list[str]) -> None:
    ms.communication.init("mccl")
    size = ms.communication.get_group_size()
    made = {
        "cut": lambda: divided(folder, size, full=False),
        "cut whole batch": lambda: divided(folder, size, full=True),
        "cut compiled": lambda: divided(folder, size, full=False, compiled=True),
        "cut in two": lambda: divided(folder, 2, full=False),
        "searched": lambda: searched(folder, "Adam"),
        "searched compiled": lambda: searched(folder, "Adam", compiled=True),
        "searched for Lamb": lambda: searched(folder, "Lamb"),
        "pipeline": lambda: pipelined(folder, 2, "1f1b", functional=False),
        "pipeline by gpipe": lambda: pipelined(folder, 2, "gpipe", functional=True),
        "pipeline of all": lambda: pipelined(folder, size, "1f1b", functional=False),
        "accumulated": lambda: accumulated(folder, shard=False),
        "accumulated in slices": lambda: accumulated(folder, shard=True),
    }
    found = {case: made[case]() for case in cases or made}
    (folder / f"{ms.communication.get_rank()}.json").write_text(json.dumps(found))
    ms.communication.release()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
