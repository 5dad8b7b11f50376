"""What each of four processes does in torch/distributed/test_sharded.py, in either library.

``torchrun --nproc-per-node=4 sharded_program.py mindtorch.torch <folder>``; with ``torch`` and
GOLDEN in the environment it made tests/golden/sharded.json.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

torch: Any = None
dist: Any = None
fsdp: Any = None
mesh_of: Any = None
tensors: Any = None
OURS = "mindtorch.torch" in sys.argv

CASES: dict[str, Callable[[int, int], Any]] = {}


def case(function: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
    CASES[function.__name__] = function
    return function


def _net(seed: int = 0) -> Any:
    """Lengths that four processes divide, and some that they do not: 5 leaves one with nothing."""
    torch.manual_seed(seed)
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 9), nn.LayerNorm(9), nn.Linear(9, 5)
    )


def _sharded(net: Any, chosen: Any = (0, 2), **options: Any) -> Any:
    for i in chosen:
        fsdp.fully_shard(net[i], **options)
    return fsdp.fully_shard(net, **options)


def _batch(step: int, count: int = 8) -> Any:
    torch.manual_seed(100 + step)
    return torch.randn(count, 6), torch.randn(count, 5)


def _own(rows: Any, rank: int, size: int) -> Any:
    count = rows.shape[0] // size
    return rows[rank * count : (rank + 1) * count]


def _loss(model: Any, step: int, rank: int, size: int) -> Any:
    x, y = _batch(step)
    made = model(_own(x, rank, size))
    return torch.nn.functional.mse_loss(made.float(), _own(y, rank, size))


def _mean(value: Any, size: int) -> float:
    total = value.detach().clone()
    dist.all_reduce(total)
    return float(total) / size


def _train(model: Any, rank: int, size: int, steps: int = 3) -> list[float]:
    """The losses, averaged over the processes."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, weight_decay=0.1)
    losses = []
    for i in range(steps):
        loss = _loss(model, i, rank, size)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(_mean(loss, size))
    return losses


def _norms(model: Any) -> list[Any]:
    """Of the whole gradients."""
    return [
        None if p.grad is None else float(_whole(p.grad).double().norm())
        for p in model.parameters()
    ]


def _whole(value: Any) -> Any:
    return value.full_tensor() if hasattr(value, "full_tensor") else value


# --- the networks of the table ----------------------------------------------------------------


def _follows_one_process(
    build: Callable[[], Any], parts: Callable[[Any], list[Any]], loss_of: Callable[..., Any],
    inputs: Any, rank: int, size: int, make: Any = None, apart: float = 2e-5,
) -> Any:  # fmt: skip
    """20 steps of a sharded network, and of one that has the parts of the batch in turn: the
    losses, whether all began with the same bits, and how far the losses are apart."""
    net, alone = build(), build()
    for inner in parts(net):
        fsdp.fully_shard(inner)
    fsdp.fully_shard(net)
    begun = all(
        torch.equal(_whole(p), q)
        for p, q in zip(net.parameters(), alone.parameters(), strict=True)
    )
    make = make or (lambda p: torch.optim.AdamW(p, lr=1e-3))
    optimizers = [make(m.parameters()) for m in (net, alone)]
    losses, distances = [], []
    for _ in range(20):
        loss = loss_of(net, *[_own(x, rank, size) for x in inputs])
        loss.backward()
        one = [loss_of(alone, *[_own(x, r, size) for x in inputs]) for r in range(size)]
        (sum(one) / size).backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(_mean(loss, size))
        distances.append(abs(losses[-1] - float(sum(one) / size)))
    return [begun, losses, max(distances) < apart * max(losses)]


@case
def mlp(rank: int, size: int) -> Any:
    def build() -> Any:
        torch.manual_seed(1)
        nn = torch.nn
        sizes = nn.Linear(20, 65), nn.ReLU(), nn.Linear(65, 33), nn.ReLU(), nn.Linear(33, 4)
        return nn.Sequential(*sizes)

    torch.manual_seed(2)
    inputs = torch.randn(16, 20), torch.randint(0, 4, (16,))
    criterion = torch.nn.functional.cross_entropy
    return _follows_one_process(
        build, lambda net: [net[0], net[2]], lambda net, x, y: criterion(net(x), y), inputs,
        rank, size,
    )  # fmt: skip


@case
def gpt(rank: int, size: int) -> Any:
    from tests.support.models import gpt as make

    def build() -> Any:
        torch.manual_seed(3)
        return make(torch, length=12, layers=2, width=16, heads=2, words=30, dropout=0.0)[0][0]

    def loss_of(net: Any, tokens: Any, following: Any) -> Any:
        return torch.nn.functional.cross_entropy(net(tokens).flatten(0, 1), following.flatten())

    torch.manual_seed(4)
    tokens = torch.randint(0, 30, (8, 13))
    return _follows_one_process(
        build, lambda net: list(net.layers), loss_of, (tokens[:, :-1], tokens[:, 1:]), rank, size
    )


@case
def resnet18(rank: int, size: int) -> Any:
    """A rounding that makes one activation of 0 another becomes some thousandths in 20 steps, in
    PyTorch alone too: it did so for two of three seeds."""
    from tests.support.models import resnet18 as make

    def build() -> Any:
        torch.manual_seed(5)
        return make(torch, batch=1, width=8, side=16)[0][0]

    def blocks(net: Any) -> list[Any]:
        return [m for m in net.modules() if type(m).__name__ == "Block"]

    torch.manual_seed(7)
    inputs = torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,))
    criterion = torch.nn.functional.cross_entropy
    return _follows_one_process(
        build, blocks, lambda net, x, y: criterion(net(x), y), inputs, rank, size,
        lambda p: torch.optim.SGD(p, lr=0.001, momentum=0.9), 5e-3,
    )  # fmt: skip


@case
def memory(rank: int, size: int) -> Any:
    """Bytes of parameters, gradients and AdamW's states in this process, and of the whole."""
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(*[nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))
                          for _ in range(3)])  # fmt: skip
    for layer in net:
        fsdp.fully_shard(layer)
    fsdp.fully_shard(net)
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.ones(2, 64)).sum().backward()
    optimizer.step()
    own = whole = 0
    for p in net.parameters():
        for t in (p, p.grad, *optimizer.state[p].values()):
            whole += t.numel() * t.element_size()
            local = t.to_local() if hasattr(t, "to_local") else t
            own += local.numel() * local.element_size()
    return [own, whole, own / whole < 0.35]


# --- what fully_shard can be told ---------------------------------------------------------------


@case
def training(rank: int, size: int) -> Any:
    """Parts, gradients and losses; norms are those of the whole; states come and go."""
    model = _sharded(_net())
    shapes = [[list(p.shape), list(p.to_local().shape)] for p in model.parameters()]
    _loss(model, 0, rank, size).backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    norms = _norms(model)
    infinite = torch.nn.utils.get_total_norm([model[0].weight.grad], float("inf"))
    model.zero_grad()
    losses = _train(model, rank, size)
    saved = {k: v.clone() for k, v in model.state_dict().items()}
    after = _train(model, rank, size, 2)
    model.load_state_dict(saved)
    again = _train(model, rank, size, 2)
    names = [type(model).__name__, isinstance(model, fsdp.FSDPModule), list(saved)]
    return [names, shapes, float(_whole(norm)), float(_whole(infinite)), norms, losses, after,
            after == again]  # fmt: skip


@case
def placements(rank: int, size: int) -> Any:
    """A mesh that repeats, other axes, parts of two processes between forward and backward."""
    dim = tensors.Shard
    grid = mesh_of("cpu", (2, size // 2), mesh_dim_names=("repeats", "parts"))
    line = mesh_of("cpu", (size,))
    found = {}
    for name, options in {
        "repeated": {"mesh": grid},
        "second_axis": {
            "mesh": line,
            "shard_placement_fn": lambda p: dim(1) if p.shape == (9, 32) else None,
        },
        "kept": {"mesh": line, "reshard_after_forward": False},
        "pairs": {"mesh": line, "reshard_after_forward": 2},
        "offloaded": {"mesh": line, "offload_policy": fsdp.CPUOffloadPolicy(pin_memory=False)},
    }.items():
        model = _sharded(_net(), **options)
        shown = [str(p.placements) for p in model.parameters()]
        found[name] = [shown, _train(model, rank, size)]
    return found


@case
def types(rank: int, size: int) -> Any:
    """Computation in 16 bits, sums in 16 or 32, outputs of another type."""
    found: list[Any] = []
    for policy in (
        fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16),
        fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32),
    ):
        model = _sharded(_net(), mp_policy=policy)
        loss = _loss(model, 0, rank, size)
        loss.backward()
        dtypes = [str(p.grad.dtype).rpartition(".")[2] for p in model.parameters()]
        norms = _norms(model)
        made = str(model(_batch(1)[0]).dtype).rpartition(".")[2]
        found.append([made, float(loss), dtypes, norms])
    wide = fsdp.fully_shard(_net(), mp_policy=fsdp.MixedPrecisionPolicy(output_dtype=torch.float64))
    found.append(str(wide(_batch(1)[0]).dtype).rpartition(".")[2])
    return found


@case
def accumulation(rank: int, size: int) -> Any:
    """Gradients of several passes, with and without messages between."""
    found = []
    for way in ("summed", "whole", "kept whole", "without the sum that repeats"):
        grid = mesh_of("cpu", (2, size // 2), mesh_dim_names=("repeats", "parts"))
        model = _sharded(_net(), mesh=grid)
        if way == "without the sum that repeats":
            model.set_requires_all_reduce(False)
        elif way != "summed":
            model.set_requires_gradient_sync(False)
        if way == "kept whole":
            model.set_reshard_after_backward(False)
        _loss(model, 0, rank, size).backward()
        between = [p.grad is None for p in model.parameters()]
        model.set_requires_gradient_sync(True)
        model.set_reshard_after_backward(True)
        _loss(model, 1, rank, size).backward()
        found.append([between, _norms(model)])
    return found


@case
def parts_of_networks(rank: int, size: int) -> Any:
    """Frozen and ignored parameters, unused ones, one parameter in two places, a group of two."""
    found: dict[str, Any] = {}
    net = _net()
    net[2].requires_grad_(False)
    frozen = _sharded(net)
    _loss(frozen, 0, rank, size).backward()
    found["frozen"] = _norms(frozen)

    net = _net()
    ignored = _sharded(net, (0,), ignored_params={net[4].weight})
    found["ignored"] = [[hasattr(p, "placements") for p in ignored.parameters()],
                        _train(ignored, rank, size)]  # fmt: skip

    class Either(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = _net(1), _net(2)

        def forward(self, x: Any) -> Any:
            return self.one(x)

    either = Either()
    for each in (either.one, either.other):
        fsdp.fully_shard(each)
    fsdp.fully_shard(either)
    _loss(either, 0, rank, size).backward()
    found["unused"] = _norms(either)

    net = _net()
    net[0], net[2] = torch.nn.Linear(6, 32), torch.nn.Linear(32, 32)
    net[3], net[4] = torch.nn.Linear(32, 32), torch.nn.Linear(32, 5)
    torch.manual_seed(9)
    with torch.no_grad():
        for p in net.parameters():
            p.normal_(0, 0.3)
    net[3].weight = net[2].weight
    fsdp.fully_shard([net[2], net[3]])
    fsdp.fully_shard(net)
    found["shared"] = [len(list(net.parameters())), _train(net, rank, size)]
    return found


@case
def order_of_gathering(rank: int, size: int) -> Any:
    """Modules told to be gathered before, by hand, in other methods and in checkpoints."""
    model = _sharded(_net(), (0, 2, 4))
    model[0].set_modules_to_forward_prefetch([model[2], model[4]])
    model[4].set_modules_to_backward_prefetch([model[2], model[0]])
    losses = [_train(model, rank, size)]
    model[0].unshard(async_op=True).wait()
    whole = [type(model[0].weight).__name__, list(model[0].weight.shape)]
    model[0].reshard()
    parted = hasattr(model[0].weight, "placements")

    class Encoder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = _net()

        def encode(self, x: Any) -> Any:
            return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=False)

    encoder = Encoder()
    for i in (0, 2):
        fsdp.fully_shard(encoder.inner[i])
    fsdp.fully_shard(encoder)
    fsdp.register_fsdp_forward_method(encoder, "encode")
    x, y = _batch(3)
    made = encoder.encode(_own(x, rank, size).requires_grad_())
    torch.nn.functional.mse_loss(made, _own(y, rank, size)).backward()
    return [losses, whole, parted, _norms(encoder)]


@case
def on_the_meta_device(rank: int, size: int) -> Any:
    """Nothing is whole in any process before it is given values."""
    with torch.device("meta"):
        net = _net()
    model = _sharded(net)
    places = {str(p.device) for p in model.parameters()}
    model.to_empty(device="cpu")
    with torch.no_grad():
        for p, q in zip(model.parameters(), _net().parameters(), strict=True):
            p.copy_(tensors.distribute_tensor(q.detach(), p.device_mesh, p.placements))
    return [sorted(places), _train(model, rank, size)]


@case
def refusals(rank: int, size: int) -> Any:
    """Bad calls, by the first line of what they raise."""
    nn = torch.nn
    scalar = nn.Linear(2, 2)
    scalar.scale = nn.Parameter(torch.tensor(1.0))
    tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    fsdp.fully_shard(tied[0])
    fsdp.fully_shard(tied)
    found = []
    for call in (
        lambda: fsdp.fully_shard(scalar),
        lambda: fsdp.fully_shard(nn.ModuleList([nn.Linear(2, 2)])),
        lambda: fsdp.fully_shard(nn.Linear(2, 2), reshard_after_forward=3),
        lambda: fsdp.fully_shard(
            nn.Linear(3, 3), shard_placement_fn=lambda p: tensors.Shard(p.ndim - 1)
        )(torch.ones(1, 3)),
        lambda: tied(torch.ones(1, 4)),
    ):
        try:
            call()
            found.append("nothing")
        except Exception as error:
            found.append(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
    return found


@case
def with_tensor_parallel(rank: int, size: int) -> Any:
    """Parameters that are DTensors along one axis of a mesh, cut further along the other."""
    tp = importlib.import_module(f"{tensors.__name__}.parallel")
    found = []
    for names in (("parts", "columns"), ("repeats", "parts", "columns")):
        shape = (2, size // 2) if len(names) == 2 else (1, 2, size // 2)
        grid = mesh_of("cpu", shape, mesh_dim_names=names)
        torch.manual_seed(0)
        nn = torch.nn
        net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 10), nn.Linear(10, 5))
        tp.parallelize_module(
            net, grid["columns"], {"0": tp.ColwiseParallel(), "2": tp.RowwiseParallel()}
        )
        data = grid[names[0]] if len(names) == 2 else grid[names[:2]]
        fsdp.fully_shard([net[0], net[2]], mesh=data)
        fsdp.fully_shard(net[3], mesh=data)
        fsdp.fully_shard(net, mesh=data)
        named = list(net.parameters())
        shown = [[[list(p.shape), list(p.to_local().shape)], p.device_mesh.ndim] for p in named]
        place, count, losses = grid[names[-2]].get_local_rank(), 2, []
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for i in range(3):
            loss = _loss(net, i, place, count)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(_mean(loss, size))
        whole = [float(_whole(p.detach()).double().norm()) for p in net.parameters()]
        found.append([shown, losses, whole])
    return found


@case
def states_by_name(rank: int, size: int) -> Any:
    """Of a model and its optimizer, whole and in parts; here also into others, which go on with the
    same bits: PyTorch takes those of the first process only together with others' names."""
    by_name = importlib.import_module(f"{dist.__name__}.checkpoint.state_dict")
    options = by_name.StateDictOptions
    found: dict[str, Any] = {}

    def made(kind: str) -> Any:
        net = _net()
        if kind == "fully_shard":
            net = _sharded(net)
        elif kind == "DistributedDataParallel":
            net = torch.nn.parallel.DistributedDataParallel(net)
        return net, torch.optim.AdamW(net.parameters(), lr=0.02)

    def steps(model: Any, optimizer: Any, first: int) -> list[float]:
        losses = []
        for i in range(first, first + 2):
            optimizer.zero_grad()
            loss = _loss(model, i, rank, size)
            loss.backward()
            optimizer.step()
            losses.append(_mean(loss, size))
        optimizer.zero_grad()
        return losses

    for kind in ("fully_shard", "DistributedDataParallel", "alone"):
        model, optimizer = made(kind)
        steps(model, optimizer, 0)
        parts = by_name.get_state_dict(model, optimizer)
        whole = by_name.get_state_dict(
            model, optimizer, options=options(full_state_dict=True, cpu_offload=True)
        )
        flat = by_name.get_optimizer_state_dict(
            model, optimizer, options=options(flatten_optimizer_state_dict=True)
        )
        some = by_name.get_model_state_dict(
            model, submodules={(model.module if kind[0] == "D" else model)[2]},
            options=options(keep_submodule_prefixes=False),
        )  # fmt: skip
        shown = [list(parts[0]), sorted(parts[1]["state"]), sorted(flat), sorted(some),
                 [[k, list(v.shape)] for k, v in whole[0].items()]]  # fmt: skip
        copied, flat, whole = _copied(parts), _copied(flat), _copied(whole)
        after = steps(model, optimizer, 2)
        again = [["<All keys matched successfully>", True]] * 3
        ways = ("parts", "flat", "whole") if kind != "alone" else ("parts", "flat")
        for place, way in enumerate(ways if OURS else ()):
            model, optimizer = made(kind)
            given = copied if way == "parts" else [copied[0], flat] if way == "flat" else whole
            first = way == "whole"
            taken = options(full_state_dict=first, broadcast_from_rank0=first)
            told = by_name.set_model_state_dict(model, given[0], options=taken)
            by_name.set_optimizer_state_dict(model, optimizer, given[1], options=taken)
            again[place] = [str(told), steps(model, optimizer, 2) == after]
        found[kind] = [shown, after, again]
    return found


def _copied(states: Any) -> Any:
    """The tensors among states, copied."""
    if isinstance(states, dict):
        return {k: _copied(v) for k, v in states.items()}
    if isinstance(states, (list, tuple)):
        return [_copied(v) for v in states]
    return states.detach().clone() if hasattr(states, "clone") else states


# --- FullyShardedDataParallel ---------------------------------------------------------------------


@case
def wrapped(rank: int, size: int) -> Any:
    """Each strategy, with original parameters and without, and one process that has the whole."""
    wrap = importlib.import_module(f"{fsdp.__name__}.wrap")
    strategies = fsdp.ShardingStrategy
    found = {}
    for name in ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD"):
        for original in (False, True):
            net = _net()
            net[2] = torch.nn.Sequential(torch.nn.Linear(32, 9), torch.nn.Tanh())
            grid = mesh_of("cpu", (2, size // 2), mesh_dim_names=("repeats", "parts"))
            model = fsdp.FullyShardedDataParallel(
                net, auto_wrap_policy=wrap.ModuleWrapPolicy({torch.nn.Sequential}),
                use_orig_params=original, sharding_strategy=getattr(strategies, name),
                device_id=torch.device("cpu"),
                device_mesh=grid if name == "HYBRID_SHARD" else None,
            )  # fmt: skip
            with model.no_sync():
                _loss(model, 9, rank, size).backward()
            _loss(model, 8, rank, size).backward()
            norm = float(model.clip_grad_norm_(0.5))
            model.zero_grad()
            losses = _train(model, rank, size)
            states = model.state_dict()
            kept = {k: [list(v.shape), float(v.double().norm())] for k, v in states.items()}
            with fsdp.FullyShardedDataParallel.summon_full_params(model):
                names = [[n, list(p.shape)] for n, p in model.named_parameters()]
                with torch.no_grad():
                    net[0].weight.zero_()
            zero = float(model.state_dict()["0.weight"].abs().sum())
            model.load_state_dict(states)
            after = _mean(_loss(model, 0, rank, size), size)
            found[f"{name} {original}"] = [norm, losses, kept, names, zero, after]
    return found


@case
def wrapping_policies(rank: int, size: int) -> Any:
    """Which modules each policy wraps."""
    wrap = importlib.import_module(f"{fsdp.__name__}.wrap")
    nn = torch.nn
    found = []
    for policy in (
        None,
        functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=150),
        functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={nn.LayerNorm}),
        wrap.ModuleWrapPolicy([nn.Linear]),
        wrap.CustomPolicy(lambda m: isinstance(m, nn.LayerNorm)),
        functools.partial(wrap.lambda_auto_wrap_policy, lambda_fn=lambda m: isinstance(m, nn.Tanh)),
    ):
        net = nn.Sequential(_net(), nn.Linear(5, 5), nn.ModuleList([nn.Linear(20, 20)]))
        model = fsdp.FullyShardedDataParallel(
            net, auto_wrap_policy=policy, device_id=torch.device("cpu")
        )
        found.append(
            [n for n, m in model.named_modules() if isinstance(m, fsdp.FullyShardedDataParallel)]
        )
    return found


def main(namespace: str, folder: str) -> None:
    global torch, dist, fsdp, mesh_of, tensors
    torch = importlib.import_module(namespace)
    dist = importlib.import_module(f"{namespace}.distributed")
    fsdp = importlib.import_module(f"{namespace}.distributed.fsdp")
    mesh_of = importlib.import_module(f"{namespace}.distributed.device_mesh").init_device_mesh
    tensors = importlib.import_module(f"{namespace}.distributed.tensor")
    importlib.import_module(f"{namespace}.utils.checkpoint")
    dist.init_process_group("gloo", timeout=timedelta(seconds=120))
    rank, size = dist.get_rank(), dist.get_world_size()
    chosen = os.environ.get("CASES", "").split() or list(CASES)
    found = {name: CASES[name](rank, size) for name in chosen}
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    if namespace == "torch" and "GOLDEN" in os.environ:
        every: list[Any] = [None] * size
        dist.all_gather_object(every, found)
        if rank == 0:
            Path(os.environ["GOLDEN"]).write_text(json.dumps(every, indent=1) + "\n")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
