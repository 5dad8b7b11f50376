"""What each of two processes does in torch/distributed/test_data_parallel.py, in either library.

``mpiexec -n 2 python data_parallel_program.py mindtorch.torch <folder>``, or under torchrun with
``torch``, which made tests/golden/data_parallel.json.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

torch: Any = None
dist: Any = None


def _net(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    nn = torch.nn
    first = nn.Linear(6, 40, bias=False)
    return nn.Sequential(first, nn.BatchNorm1d(40), nn.Tanh(), nn.Linear(40, 3))


def _batch(step: int, count: int = 8) -> Any:
    torch.manual_seed(100 + step)
    return torch.randn(count, 6), torch.randn(count, 3)


def _step(model: Any, optimizer: Any, x: Any, y: Any) -> Any:
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def _sgd(model: Any) -> Any:
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)


def _sums(model: Any) -> list[float]:
    return [float(t.detach().double().sum()) for t in (*model.parameters(), *model.buffers())]


def _flat(model: Any) -> Any:
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()]).double()


def doubled(rank: int, size: int) -> Any:
    """50 steps on halves of the batch, against one process with the whole batch."""
    nets = [torch.nn.Sequential(*[m for m in _net() if not hasattr(m, "momentum")])
            for _ in range(2)]  # fmt: skip
    models = [torch.nn.parallel.DistributedDataParallel(nets[0]), nets[1]]
    optimizers = [_sgd(model) for model in models]
    for i in range(50):
        x, y = _batch(i, 16)
        _step(models[0], optimizers[0], x[rank::size], y[rank::size])
        _step(models[1], optimizers[1], x, y)
    return float((_flat(models[0]) - _flat(models[1])).abs().max()) < 1e-6


def small_buckets(rank: int, size: int) -> Any:
    """Size of buckets and views into them change nothing; a bucket for each parameter here."""
    found = []
    for options in ({}, {"bucket_cap_mb": 1e-5, "gradient_as_bucket_view": True}):
        model = torch.nn.parallel.DistributedDataParallel(_net(rank), **options)
        optimizer = _sgd(model)
        for i in range(3):
            _step(model, optimizer, *_batch(10 * rank + i))
        found.append(_flat(model))
    return [bool((found[0] == found[1]).all()), float(found[0].sum())]


def joined(rank: int, size: int) -> Any:
    """The second process has two batches more, divided either way."""
    found = []
    for initial in (True, False):
        model = torch.nn.parallel.DistributedDataParallel(_net(rank))
        optimizer = _sgd(model)
        with model.join(divide_by_initial_world_size=initial):
            for i in range(3 + 2 * rank):
                _step(model, optimizer, *_batch(10 * rank + i))
        found.append(_sums(model))
    return found


def ended_early(rank: int, size: int) -> Any:
    """Both processes raise when the first has no more data."""
    model = torch.nn.parallel.DistributedDataParallel(_net())
    try:
        with model.join(throw_on_early_termination=True):
            for i in range(1 + rank):
                model(_batch(i)[0]).sum().backward()
    except RuntimeError as error:
        return str(error)
    return "nothing"


def divided_optimizer(rank: int, size: int) -> Any:
    """ZeRO-1: parameters as with a whole Adam, its state in two places, saved and loaded."""
    zero = importlib.import_module(f"{dist.__name__}.optim").ZeroRedundancyOptimizer
    model = torch.nn.parallel.DistributedDataParallel(_net())
    optimizer = zero(model.parameters(), torch.optim.Adam, lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    for i in range(3):
        _step(model, optimizer, *_batch(10 * rank + i))
        schedule.step()
    optimizer.consolidate_state_dict(0)
    holder: list[Any] = [optimizer.state_dict() if rank == 0 else None]
    dist.broadcast_object_list(holder, src=0)
    state = holder[0]["state"]
    averages = [float(state[k]["exp_avg"].sum()) for k in sorted(state)]
    again = zero(model.parameters(), torch.optim.Adam, lr=0.5)
    again.load_state_dict(holder[0])
    _step(model, again, *_batch(10 * rank + 9))
    kept = [len(optimizer.optim.state), again.param_groups[0]["lr"]]
    return [_sums(model), averages, kept]


def compressed(rank: int, size: int) -> Any:
    """torch's hook that sends gradients as float16."""
    name = f"{dist.__name__}.algorithms.ddp_comm_hooks.default_hooks"
    model = torch.nn.parallel.DistributedDataParallel(_net(), bucket_cap_mb=1e-4)
    model.register_comm_hook(None, importlib.import_module(name).fp16_compress_hook)
    model(_batch(rank)[0]).pow(2).sum().backward()
    return [float(p.grad.double().sum()) for p in model.parameters()]


CASES = [doubled, small_buckets, joined, ended_early, divided_optimizer, compressed]


def compiled(rank: int, size: int) -> Any:
    """A compiled step is bit-equal to an eager one, and is compiled."""
    results, reasons = [], None
    for compiling in (False, True):
        model = torch.nn.parallel.DistributedDataParallel(_net(rank))
        optimizer = _sgd(model)
        function = torch.compile(_step) if compiling else _step
        for i in range(4):
            function(model, optimizer, *_batch(10 * rank + i))
        reasons = getattr(function, "eager", "")
        results.append(_sums(model))
    return [results[0] == results[1], reasons]


def joined_accumulation(rank: int, size: int) -> Any:
    """Two batches a step, the first under no_sync, and one process ends first: compiled and with
    a divided optimizer as in eager."""

    def step(model: Any, optimizer: Any, first: Any, second: Any) -> Any:
        optimizer.zero_grad()
        with model.no_sync():
            torch.nn.functional.mse_loss(model(first[0]), first[1]).backward()
        torch.nn.functional.mse_loss(model(second[0]), second[1]).backward()
        optimizer.step()

    results = []
    for function in (step, torch.compile(step)):
        model = torch.nn.parallel.DistributedDataParallel(_net(rank))
        optimizer = _sgd(model)
        with model.join():
            for i in range(3 - rank):
                function(model, optimizer, _batch(10 * rank + i), _batch(10 * rank + i + 5))
        results.append(_sums(model))
    shared = {"gradient_as_bucket_view": True}  # with it the ended process has the gradients
    model = torch.nn.parallel.DistributedDataParallel(_net(rank), **shared)
    names = [f"{dist.__name__}.{part}" for part in ("optim", "algorithms.join")]
    zero, join = map(importlib.import_module, names)
    settings = {"lr": 0.05, "momentum": 0.9, "weight_decay": 1e-3}
    divided = zero.ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, **settings)
    with join.Join([model, divided]):
        for i in range(3 - rank):
            step(model, divided, _batch(10 * rank + i), _batch(10 * rank + i + 5))
    results.append(_sums(model))
    return results[0] == results[1] == results[2]


def reduced_by_hand(rank: int, size: int) -> Any:
    """Collectives inside of a compiled step: it stays compiled, as one process with both halves."""

    def step(model: Any, optimizer: Any, x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad.div_(size)
        optimizer.step()

    nets = [torch.nn.Linear(6, 3) for _ in range(2)]
    nets[0].load_state_dict(nets[1].state_dict())
    for net in nets:
        for p in net.parameters():
            dist.broadcast(p.data, 0)
    optimizers = [_sgd(net) for net in nets]
    call = torch.compile(step)
    for i in range(4):
        x, y = _batch(i, 16)
        call(nets[0], optimizers[0], x[rank::size], y[rank::size])
        _step(nets[1], optimizers[1], x, y)
    return [float((_flat(nets[0]) - _flat(nets[1])).abs().max()) < 1e-6, call.eager]


def statistics_of_all(rank: int, size: int) -> Any:
    """SyncBatchNorm on unequal parts of a batch, as batch norm of one process with all of it."""
    results = []
    for shared in (True, False):
        net = _net()
        model: Any = net
        if shared:
            convert = torch.nn.SyncBatchNorm.convert_sync_batchnorm
            model = torch.nn.parallel.DistributedDataParallel(convert(net))
        optimizer = _sgd(model)
        call = torch.compile(_summed_step) if rank == 0 else _summed_step
        for i in range(4):
            x, y = _batch(i, 16)
            part = slice(5) if rank == 0 else slice(5, 16)
            call(model, optimizer, *((x[part], y[part], size) if shared else (x, y, 1)))
        results.append(torch.cat([_flat(model), *[b.double().reshape(-1) for b in net.buffers()]]))
    return float((results[0] - results[1]).abs().max()) < 2e-6


def _summed_step(model: Any, optimizer: Any, x: Any, y: Any, size: int) -> None:
    optimizer.zero_grad()
    (torch.nn.functional.mse_loss(model(x), y, reduction="sum") * (size / 48)).backward()
    optimizer.step()


def engine(rank: int, size: int) -> Any:
    """MPI carries arrays; what it has no type or memory layout for is combined here."""
    x = torch.arange(6.0).reshape(2, 3).t() + rank
    dist.all_reduce(x)
    half = torch.ones(3, dtype=torch.bfloat16) * (rank + 1)
    dist.all_reduce(half, op=dist.ReduceOp.AVG)
    last = dist.new_group([size - 1], timeout=timedelta(seconds=5))
    y = torch.ones(1)
    dist.all_reduce(y, group=last)
    dist.monitored_barrier()
    own, every = dist.new_subgroups(1)
    if dist.get_process_group_ranks(own) != [rank] or len(every) != size:
        return "subgroups"
    return [type(dist.group.WORLD).__name__, dist.get_backend(), x.tolist(), half.tolist(),
            y.tolist()]  # fmt: skip


def main(namespace: str, folder: str) -> None:
    global torch, dist
    torch = importlib.import_module(namespace)
    dist = importlib.import_module(f"{namespace}.distributed")
    importlib.import_module(f"{namespace}.nn.parallel")
    ours = namespace != "torch"
    dist.init_process_group("mpi" if ours else "gloo", timeout=timedelta(seconds=60))
    rank, size = dist.get_rank(), dist.get_world_size()
    cases = [
        *CASES, compiled, joined_accumulation, reduced_by_hand, statistics_of_all, engine
    ] if ours else CASES
    found = {case.__name__: case(rank, size) for case in cases}
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    if not ours and "GOLDEN" in os.environ:
        every: list[Any] = [None] * size
        dist.all_gather_object(every, found)
        Path(os.environ["GOLDEN"]).write_text(json.dumps(every, indent=1) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
