"""What one of several processes does in torch/distributed/test_collectives.py, in either library.

``python distributed_program.py <namespace> <rank> <size> <url> <folder>`` runs every case and
writes what came out as JSON.
"""

from __future__ import annotations

import datetime
import importlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

CASES: dict[str, Callable[..., Any]] = {}


def case(function: Callable[..., Any]) -> Callable[..., Any]:
    CASES[function.__name__] = function
    return function


def _numbers(torch: Any, rank: int, dtype: str = "float32") -> Any:
    return (torch.arange(6).reshape(2, 3) + 1 + rank).to(getattr(torch, dtype))


@case
def about(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Who this is."""
    return [dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.is_initialized(),
            dist.get_process_group_ranks(None), dist.get_rank(dist.group.WORLD)]  # fmt: skip


@case
def all_reduce(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Every operation and several types, views among them."""
    found = []
    for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
        for dtype in ("float32", "float64", "bfloat16", "int64"):
            if op == "AVG" and dtype == "int64":
                continue
            x = _numbers(torch, rank, dtype)
            dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
            found.append([op, dtype, x.tolist()])
    for op in ("BAND", "BOR", "BXOR"):
        x = _numbers(torch, rank, "int32")
        dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
        found.append([op, x.tolist()])
    y = torch.zeros(2, 3)
    dist.all_reduce(y.copy_(_numbers(torch, rank)))
    scalar = torch.tensor(2.0 + rank)
    dist.all_reduce(scalar)
    large = torch.arange(50001.0) * (rank + 1)
    dist.all_reduce(large)
    return [*found, y.tolist(), scalar.item(), large.sum().item(), large[::7000].tolist()]


@case
def all_reduce_of_views(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Dense views are written through."""
    x = torch.ones(4, 3) * (rank + 1)
    dist.all_reduce(x[1:3])
    return x.tolist()


@case
def asynchronous(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Works are waited for; order is that of the calls."""
    xs = [torch.ones(3) * (rank + i) for i in range(4)]
    works = [dist.all_reduce(x, async_op=True) for x in xs]
    y = torch.ones(2) * rank
    dist.broadcast(y, 1)
    waited = [work.wait() for work in works]
    return [waited, [work.is_completed() for work in works], [x.tolist() for x in xs], y.tolist()]


@case
def spreading(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """broadcast, reduce, gather, all_gather, scatter, reduce_scatter, all_to_all."""
    b = _numbers(torch, rank)
    dist.broadcast(b, 1)
    r = _numbers(torch, rank)
    dist.reduce(r, 0, op=dist.ReduceOp.MAX)
    kept = r.tolist() if rank == 0 else None
    lists = [torch.zeros(2, 3) for _ in range(size)]
    dist.all_gather(lists, _numbers(torch, rank))
    gathered = [torch.zeros(2, 3) for _ in range(size)] if rank == 1 else None
    dist.gather(_numbers(torch, rank), gathered, dst=1)
    s = torch.zeros(2, 3)
    parts = [_numbers(torch, 10 * i) for i in range(size)] if rank == 0 else None
    dist.scatter(s, parts, src=0)
    flat = torch.zeros(2 * size, 3)
    dist.all_gather_into_tensor(flat, _numbers(torch, rank))
    single = torch.zeros(size)
    dist.all_to_all_single(single, torch.arange(float(size)) + 10 * rank)
    return [b.tolist(), kept, [x.tolist() for x in lists],
            None if gathered is None else [x.tolist() for x in gathered], s.tolist(),
            flat.tolist(), single.tolist()]  # fmt: skip


@case
def scattered_sums(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """reduce_scatter and its form on one tensor."""
    out = torch.zeros(2, 3)
    dist.reduce_scatter(out, [_numbers(torch, rank + i) for i in range(size)])
    whole = torch.zeros(2)
    dist.reduce_scatter_tensor(whole, torch.arange(2.0 * size) * (rank + 1))
    return [out.tolist(), whole.tolist()]


@case
def one_to_one(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """send, recv, their background forms, tags, and large messages both ways at once."""
    x = torch.zeros(2, 3)
    if rank == 0:
        dist.send(_numbers(torch, 3), 1)
        dist.send(_numbers(torch, 4), 1, tag=7)
    elif rank == 1:
        y = torch.zeros(2, 3)
        dist.recv(x, 0)
        dist.recv(y, 0, tag=7)
        x = torch.cat([x, y])
    got = []
    if rank < 2:
        large, back = torch.ones(300000) * (rank + 1), torch.zeros(300000)
        works = [dist.isend(large, 1 - rank), dist.irecv(back, 1 - rank)]
        for work in works:
            work.wait()
        got = [back.sum().item()]
    dist.barrier()
    if rank == 0:
        got.append(dist.recv(x))
    elif rank == 1:
        dist.send(_numbers(torch, 9), 0)
    return [x.tolist(), got]


@case
def objects(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Python objects of different sizes."""
    every: list[Any] = [None] * size
    dist.all_gather_object(every, {"rank": rank, "text": "x" * 10 * rank})
    shared = [rank, "mine"] if rank else [["of", 0], "zero"]
    dist.broadcast_object_list(shared, src=0)
    here: list[Any] = [None]
    dist.scatter_object_list(here, [f"for {i}" for i in range(size)] if rank == 0 else None, src=0)
    gathered: Any = [None] * size if rank == 0 else None
    dist.gather_object((rank, "told"), gathered, dst=0)
    return [every, shared, here, gathered]


@case
def groups(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """A group of one process, one of all, and what outsiders see."""
    alone = dist.new_group([1])
    everyone = dist.new_group(list(range(size)))
    x = torch.ones(2) * (rank + 1)
    if rank == 1:
        dist.all_reduce(x, group=alone)
    y = torch.ones(2) * (rank + 1)
    dist.all_reduce(y, group=everyone)
    dist.barrier(everyone)
    return [x.tolist(), y.tolist(), dist.get_rank(alone), dist.get_world_size(alone),
            dist.get_rank(everyone)]  # fmt: skip


@case
def refusals(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Errors that are raised before anything is sent."""
    x = torch.ones(2)
    told = []
    for action in (
        lambda: dist.init_process_group("gloo"),
        lambda: dist.all_reduce(3),
        lambda: dist.all_reduce(x, op=dist.ReduceOp.BAND),
        lambda: dist.send(x, rank),
        lambda: dist.new_group([size]),
        lambda: dist.gather(x, [x] if rank else None, dst=0),
        lambda: dist.scatter(x, [x] if rank else None, src=0),
        lambda: dist.all_gather([x.int()] * size, x),
        lambda: dist.all_to_all([x.int()] * size, [x] * size),
        lambda: torch.nn.parallel.DistributedDataParallel(torch.nn.ReLU()),
        lambda: torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1), device_ids=[0]),
    ):
        try:
            action()
            told.append("nothing")
        except (RuntimeError, ValueError, TypeError) as error:
            text = str(error).partition("\nException")[0].replace("mindtorch.", "")
            told.append(f"{type(error).__name__}: {text.partition(' but got <class')[0].strip()}")
    return told


class _Data:
    def __init__(self, torch: Any, rank: int) -> None:
        self.x = (torch.arange(24.0).reshape(8, 3) - 12 + 5 * rank) / 10
        self.y = self.x.sum(1, keepdim=True) * 0.5 + rank


def _model(torch: Any, rank: int, unused: bool = False) -> Any:
    nn = torch.nn
    torch.manual_seed(rank)

    class Net(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 4)
            self.norm = nn.BatchNorm1d(4)
            self.last = nn.Linear(4, 1)
            if unused:
                self.other = nn.Linear(3, 1)

        def forward(self, x: Any, both: bool = False) -> Any:
            out = self.last(torch.tanh(self.norm(self.first(x))))
            return out + self.other(x) if both else out

    return Net()


def _rounded(values: Any) -> Any:
    return [[round(v, 5) for v in p.detach().reshape(-1).tolist()] for p in values]


@case
def data_parallel(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Training: parameters, buffers and gradients after steps on different data."""
    model = torch.nn.parallel.DistributedDataParallel(_model(torch, rank))
    data = _Data(torch, rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(data.x), data.y).backward()
        optimizer.step()
    gradients = [p.grad for p in model.parameters()]
    return [_rounded(model.parameters()), _rounded(gradients), list(model.state_dict()),
            _rounded(b.double() for b in model.module.buffers())]  # fmt: skip


@case
def accumulating(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """no_sync adds up gradients in this process; the next backward averages the sum."""
    model = torch.nn.parallel.DistributedDataParallel(_model(torch, 0))
    data = _Data(torch, rank)
    with model.no_sync():
        model(data.x[:4]).pow(2).sum().backward()
    own = _rounded(p.grad for p in model.parameters())
    model(data.x[4:]).pow(2).sum().backward()
    return [own, _rounded(p.grad for p in model.parameters())]


@case
def unused_parameters(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Used in one process, in none, and the error without find_unused_parameters."""
    data = _Data(torch, rank)
    net = _model(torch, 0, unused=True)
    model = torch.nn.parallel.DistributedDataParallel(net, find_unused_parameters=True)
    model(data.x).sum().backward()
    first = [p.grad is None for p in model.parameters()]
    model(data.x, both=rank == 1).sum().backward()
    second = _rounded(p.grad for p in net.other.parameters())
    strict = torch.nn.parallel.DistributedDataParallel(_model(torch, 0, unused=True))
    strict(data.x).sum().backward()
    try:
        strict(data.x)
        told = "nothing"
    except RuntimeError as error:
        told = str(error).partition(" You can enable")[0]
    return [first, second, told]


@case
def hooked(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """A communication hook gets the flat gradients and returns a future."""
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))

    def hook(state, bucket):
        state.append(bucket.buffer().numel())
        total = bucket.buffer() * 3
        future = torch.futures.Future()
        dist.all_reduce(total)
        future.set_result(total)
        return future

    seen: list[int] = []
    model.register_comm_hook(seen, hook)
    model(torch.ones(1, 2) * (rank + 1)).sum().backward()
    return [seen, _rounded(p.grad for p in model.parameters())]


@case
def futures(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Of what is under way: they have the tensors that were written."""
    x, parts = torch.ones(2) * rank, [torch.empty(2) for _ in range(size)]
    works = [dist.all_reduce(x, async_op=True), dist.broadcast(x, 0, async_op=True),
             dist.all_gather(parts, x, async_op=True), dist.barrier(async_op=True)]  # fmt: skip
    found = [[each.tolist() for each in work.get_future().wait()] for work in works]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))

    def hook(state, bucket):
        later = dist.all_reduce(bucket.buffer().div_(size), async_op=True).get_future()
        return later.then(lambda done: done.value()[0] * 2)

    model.register_comm_hook(None, hook)
    model(torch.ones(1, 2) * (rank + 1)).sum().backward()
    try:
        model.register_comm_hook(None, hook)
        told = "nothing"
    except RuntimeError as error:
        told = str(error)
    return [found, _rounded(p.grad for p in model.parameters()), told]


@case
def in_modes(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Under no_grad leaves are written to, under inference_mode what was made there, also behind
    what is under way."""
    parameter = torch.nn.Parameter(torch.ones(2) * rank)
    with torch.no_grad():
        dist.all_reduce(parameter, async_op=True).wait()
    with torch.inference_mode():
        x = torch.ones(2)
        dist.all_reduce(x, async_op=True).wait()
        work = dist.all_reduce(torch.ones(2), async_op=True)
        dist.all_reduce(x)
        work.wait()
        return [parameter.tolist(), x.tolist()]


@case
def differentiable(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Values and gradients of torch.distributed.nn.functional."""
    F = importlib.import_module(f"{torch.__name__}.distributed.nn.functional")  # noqa: N806
    found = []

    def tell(given: list[Any], made: list[Any]) -> None:
        sum((each * (rank + 2 + i)).sum() for i, each in enumerate(made)).backward()
        found.append([[x.tolist() for x in made], [x.grad.tolist() for x in given]])

    def parts() -> list[Any]:
        return [(torch.ones(2) * (10 * rank + k)).requires_grad_() for k in range(size)]

    def room() -> list[Any]:
        return [torch.empty(2) for _ in range(size)]

    given = parts()
    tell(given, [F.reduce_scatter(torch.empty(2), [3 * x for x in given])])
    given = parts()
    tell(given, list(F.all_to_all(room(), given)))
    given = parts()
    tell(given, [F.scatter(given, 0)])
    given = parts()[:1]
    tell(given, list(F.gather(given[0], 0)))
    given = [(torch.arange(2.0 * size) + rank).requires_grad_()]
    tell(given, [F.all_to_all_single(torch.empty(2 * size), given[0])])
    return found


@case
def wrapped(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """Newer arguments of DistributedDataParallel."""
    ddp, data = torch.nn.parallel.DistributedDataParallel, _Data(torch, rank)
    mesh = dist.init_device_mesh("cpu", (size,))
    found: list[Any] = []
    for options in (
        {"device_mesh": mesh}, {"forward_sync_buffers": False}, {"broadcast_buffers": False},
        {"bucket_cap_mb_list": [1, 2]}, {"batched_grad_copy": True},
        {"find_unused_parameters": True, "skip_all_reduce_unused_params": True},
        {"device_mesh": mesh, "process_group": dist.group.WORLD},
        {"device_mesh": dist.init_device_mesh("cpu", (1, size))},
    ):  # fmt: skip
        net = _model(torch, rank, unused="find_unused_parameters" in options)
        net.norm.running_mean += rank
        try:
            model = ddp(net, **options)
        except RuntimeError as error:
            found.append(str(error).partition("(")[0])
            continue
        for _ in range(2):
            model(data.x).pow(2).sum().backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        found.append([_rounded(gradients), _rounded([net.norm.running_mean])])
    return found


@case
def sampled(torch: Any, dist: Any, rank: int, size: int) -> Any:
    """DistributedSampler takes its numbers from the default group."""
    sampler = torch.utils.data.distributed.DistributedSampler(list(range(11)), shuffle=True, seed=3)
    sampler.set_epoch(2)
    return [list(sampler), len(sampler)]


def main() -> None:
    name, rank, size, url, folder = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch = importlib.import_module(name)
    dist = importlib.import_module(f"{name}.distributed")
    importlib.import_module(f"{name}.nn.parallel")
    importlib.import_module(f"{name}.utils.data.distributed")
    importlib.import_module(f"{name}.futures")
    dist.init_process_group(
        "gloo", init_method=url, rank=int(rank), world_size=int(size),
        timeout=datetime.timedelta(seconds=60),
    )  # fmt: skip
    found: dict[str, Any] = {}
    for title, function in CASES.items():
        dist.barrier()
        try:
            found[title] = function(torch, dist, int(rank), int(size))
        except Exception as error:
            found[title] = f"{type(error).__name__}: {error}"
            break
    Path(folder, f"{name}.{rank}.json").write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
