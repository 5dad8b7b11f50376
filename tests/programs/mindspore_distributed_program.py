"""What one of two processes does in tests/mindspore/test_distributed.py: data-parallel training.

``python mindspore_distributed_program.py <folder>``, with rank and size in the environment.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import mindtorch.mindspore as ms
from mindtorch.mindspore import Tensor, nn, ops
from mindtorch.mindspore.parallel.auto_parallel import AutoParallel


def rows() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    x = draw.standard_normal((16, 6)).astype(np.float32)
    return x, x[:, :3].argmax(1).astype(np.int32)


def trained(x: np.ndarray, y: np.ndarray, reduce: bool) -> list[list[float]]:
    """The parameters after five steps."""
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.Tanh(), nn.Dense(8, 3))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    loss_fn = nn.CrossEntropyLoss()
    grad_fn = ms.value_and_grad(lambda a, b: loss_fn(net(a), b), None, optimizer.parameters)
    reducer = nn.DistributedGradReducer(optimizer.parameters) if reduce else None
    for _ in range(5):
        _, grads = grad_fn(Tensor(x), Tensor(y))
        optimizer(reducer(grads) if reducer is not None else grads)
    return [p.asnumpy().ravel().tolist() for p in net.trainable_params()]


def trained_by_cell(x: np.ndarray, y: np.ndarray, mode: str, compiled: bool) -> list[list[float]]:
    """The parameters after five steps of a training cell in a mode."""
    before = {k: ms.get_auto_parallel_context(k) for k in ("parallel_mode", "gradients_mean")}
    ms.set_auto_parallel_context(parallel_mode=mode)
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.Tanh(), nn.Dense(8, 3))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    run = ms.jit(lambda a, b: step(a, b)) if compiled else step
    for _ in range(5):
        run(Tensor(x), Tensor(y))
    ms.set_auto_parallel_context(**before)
    return [p.asnumpy().ravel().tolist() for p in net.trainable_params()]


def refused() -> str:
    """What value_and_grad says where only cells reduce gradients."""
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.SEMI_AUTO_PARALLEL)
    try:
        ms.value_and_grad(lambda x: x, None, [ms.Parameter(Tensor([1.0]))])
    except NotImplementedError as error:
        return str(error)
    finally:
        ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL)
    return ""


def largest_difference(one: Any, other: Any) -> float:
    """Of results, or of values with their gradients."""
    if isinstance(one, (tuple, list)):
        return max(largest_difference(a, b) for a, b in zip(one, other, strict=True))
    return float(np.abs(one.asnumpy() - other.asnumpy()).max())


def sharded() -> dict[str, float]:
    """How far what two processes compute together is from what each computes alone."""
    draw = np.random.default_rng(1)
    x, w = (
        Tensor(draw.standard_normal((4, 6)).astype(np.float32)),
        ms.Parameter(Tensor(draw.standard_normal((6, 2)).astype(np.float32)), name="w"),
    )
    found = {}
    for strategy in (((2, 1), (1, 1)), ((1, 1), (1, 2)), ((1, 2), (2, 1))):
        product, relu = ops.MatMul().shard(strategy), ops.ReLU().shard(((2, 1),))
        mine = ms.value_and_grad(lambda a, f=product, g=relu: g(f(a, w)).sum(), None, [w])(x)
        alone = ms.value_and_grad(lambda a: ops.ReLU()(ops.MatMul()(a, w)).sum(), None, [w])(x)
        found[str(strategy)] = largest_difference(mine, alone)
    turned = ops.MatMul(transpose_b=True)
    found["turned"] = largest_difference(
        ops.MatMul(transpose_b=True).shard(((2, 1), (1, 1)))(x, x), turned(x, x)
    )
    layout = ms.Layout((2,), ("dp",))
    rows, whole = layout("dp", "None"), layout("None", "None")
    function = ms.shard(lambda a: ms.reshard(ops.Exp()(a), whole) + 1, (rows,), (rows,))
    found["layouts"] = largest_difference(function(x), ops.Exp()(x) + 1)
    return found


def sharded_training(cut: bool) -> list[float]:
    """Losses of a network on whole batches, its first axis cut or not."""
    ms.set_seed(2)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.Tanh(), nn.Dense(8, 3))
    forward = net.shard(((2, 1),)) if cut else net
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    loss_fn = nn.CrossEntropyLoss()
    step = ms.value_and_grad(lambda a, b: loss_fn(forward(a), b), None, optimizer.parameters)
    x, y = rows()
    losses = []
    for _ in range(4):
        loss, gradients = step(Tensor(x), Tensor(y))
        optimizer(gradients)
        losses.append(float(loss.asnumpy()))
    return losses


def wrong_strategies() -> list[str]:
    x = Tensor(np.ones((2, 2), np.float32))
    found = []
    for strategy in (((3, 1), (1, 1)), ((2, 1),)):
        try:
            ops.MatMul().shard(strategy)(x, x)
        except ValueError as error:
            found.append(f"ValueError: {error}")
    return found


def sliced(kind: str, by_auto_parallel: bool) -> dict[str, Any]:
    """A training whose optimizer's states lie in slices: its parameters, and bytes of states."""
    rank, size = ms.communication.get_rank(), ms.communication.get_group_size()
    names = ("parallel_mode", "enable_parallel_optimizer", "parallel_optimizer_config")
    before = {k: ms.get_auto_parallel_context(k) for k in names}
    if not by_auto_parallel:
        ms.set_auto_parallel_context(
            enable_parallel_optimizer=True,
            parallel_optimizer_config={"parallel_optimizer_threshold": 0},
        )
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.Tanh(), nn.Dense(8, 3))
    optimizer = optimizers()[kind](net.trainable_params())
    step: Any = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    if by_auto_parallel:
        step = AutoParallel(step)
        step.hsdp(threshold=0)
    x, y = rows()
    for _ in range(3):
        step(Tensor(x[rank::size]), Tensor(y[rank::size]))
    ms.set_auto_parallel_context(**before)
    return trained_state(net, optimizer)


def trained_state(net: Any, optimizer: Any) -> dict[str, Any]:
    """Parameters, and the bytes of the optimizer's states of them."""
    own = {id(p) for p in net.get_parameters()}
    named = [p for p in optimizer.get_parameters() if id(p) not in own]
    return {"parameters": [p.asnumpy().ravel().tolist() for p in net.trainable_params()],
            "bytes": sum(p.nbytes for p in named if p.nbytes > 4)}  # fmt: skip


def alone(kind: str) -> dict[str, Any]:
    """What one process finds that trains on the whole batch."""
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(6, 8), nn.Tanh(), nn.Dense(8, 3))
    optimizer = optimizers()[kind](net.trainable_params())
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    x, y = rows()
    for _ in range(3):
        step(Tensor(x), Tensor(y))
    return trained_state(net, optimizer)


def optimizers() -> dict[str, Any]:
    return {"Adam": lambda p: nn.Adam(p, 0.05, weight_decay=0.1),
            "Momentum": lambda p: nn.Momentum(p, 0.1, 0.9),
            "AdamWeightDecay": lambda p: nn.AdamWeightDecay(p, 0.05, weight_decay=0.1)}  # fmt: skip


class OwnUpdate(nn.Adam):
    """An optimizer of a user's, which may look at anything."""


def unsliceable() -> list[str]:
    """What is said of updates that need more than slices."""
    ms.set_auto_parallel_context(enable_parallel_optimizer=True)
    net = nn.Dense(2, 2)
    scaled = nn.FixedLossScaleUpdateCell(2.0)
    calls = [
        lambda: nn.TrainOneStepCell(net, nn.Lamb(net.trainable_params(), 0.1)),
        lambda: nn.TrainOneStepWithLossScaleCell(
            net, nn.Momentum(net.trainable_params(), 0.1, 0.9), scaled
        ),
        lambda: nn.TrainOneStepCell(
            net, nn.Momentum(net.trainable_params(), 0.1, 0.9), return_grad=True
        ),
        lambda: nn.TrainOneStepCell(net, OwnUpdate(net.trainable_params())),
        lambda: AutoParallel(net).hsdp(optimizer_level="level3"),
        lambda: AutoParallel(net).pipeline(2, interleave=True),
        lambda: AutoParallel(net, "dynamic"),
    ]
    found = []
    for call in calls:
        try:
            call()
        except (NotImplementedError, ValueError) as error:
            found.append(f"{type(error).__name__}: {error}")
    ms.set_auto_parallel_context(
        enable_parallel_optimizer=False, parallel_mode=ms.ParallelMode.DATA_PARALLEL
    )
    return found


def main(folder: Path) -> None:
    ms.communication.init("mccl")
    rank, size = ms.communication.get_rank(), ms.communication.get_group_size()
    ms.set_auto_parallel_context(
        parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=size
    )
    x, y = rows()
    mine = Tensor([float(rank), 1.0])
    found = {
        "size": size,
        "parameters": trained(x[rank::size], y[rank::size], reduce=True),
        "by_cell": [
            trained_by_cell(x[rank::size], y[rank::size], mode, compiled)
            for mode in (
                ms.ParallelMode.DATA_PARALLEL,
                ms.ParallelMode.SEMI_AUTO_PARALLEL,
                ms.ParallelMode.AUTO_PARALLEL,
            )
            for compiled in (False, True)
        ],
        "refused": refused(),
        "sliced": {f"{kind} {auto}": sliced(kind, auto) for kind in optimizers()
                   for auto in (False, True)},
        "unsliceable": unsliceable(),
        "sharded": sharded(),
        "training": [sharded_training(cut) for cut in (True, False)],
        "errors": wrong_strategies(),
        "sum": ops.AllReduce()(mine).asnumpy().tolist(),
        "largest": ops.AllReduce(ops.ReduceOp.MAX)(mine).asnumpy().tolist(),
        "all": ops.AllGather()(mine).asnumpy().tolist(),
        "part": ops.ReduceScatter()(mine).asnumpy().tolist(),
        "root": ops.Broadcast(1)((mine,))[0].asnumpy().tolist(),
        "summed": [
            g.asnumpy().tolist()
            for g in nn.DistributedGradReducer([mine], mean=False)((mine.astype(ms.float16),))
        ],
    }
    (folder / f"{rank}.json").write_text(json.dumps(found))
    ms.communication.release()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
