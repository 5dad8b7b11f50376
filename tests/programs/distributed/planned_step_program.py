"""What a training step takes in several processes under a plan, beside what is predicted.

    python planned_step_program.py NAMESPACE RANK SIZE URL FOLDER MODEL SIZE_OF_MODEL PLAN ...

MODEL is mlp, gpt, wide (an MLP of other widths and batch), lstm or vit; SIZE_OF_MODEL small or
large; a PLAN is alone (no exchange), ddp, fsdp, tp, pp, or fsdp-tp; or "predicted" or "predicted on
a core": what the planner predicts of all plans from what all processes measure at once. Writes
FOLDER/NAMESPACE.RANK.json: for each plan seconds of the fastest step, on the clock ("seconds") and
on a core, and bytes of parameters, gradients and optimizer states ("states") and of what forward
keeps ("activations").
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.programs.distributed.tensor_parallel_program import build, plan_of_gpt

MICROBATCHES = 4
# samples of one process where the batch is cut
BATCH = {"mlp": 64, "gpt": 8, "wide": 24, "lstm": 16, "vit": 8}
SIZES = {"small": (64, 32), "large": (512, 256)}


def make(torch: Any, kind: str, size: str) -> tuple[Any, Any]:
    """A model, and the samples that one process is given where each has its own."""
    nn = torch.nn
    wide, width = SIZES[size]
    torch.manual_seed(0)
    if kind == "lstm":
        return _lstm(torch, width), torch.randn(BATCH[kind], 16, width)
    if kind == "vit":
        return _vit(torch, width), torch.randn(BATCH[kind], 3, 32, 32)
    if kind in ("mlp", "wide"):
        sizes = [wide, 4 * wide, wide, 4 * wide, wide]
        if kind == "wide":
            sizes = [2 * wide, 3 * wide, 2 * wide, 3 * wide, wide]
        layers = [nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
        model = nn.Sequential(*[m for layer in layers for m in (layer, nn.ReLU())])
        return model, torch.randn(BATCH[kind], sizes[0])
    model = build(torch, width=width, heads=4, depth=4, words=2 * width, places=64)[0]()
    return model, torch.randint(0, 2 * width, (BATCH[kind], 64))


def _lstm(torch: Any, width: int) -> Any:
    class Lstm(torch.nn.Module):
        """The last of some steps."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.LSTM(width, 2 * width, 2, batch_first=True)
            self.head = torch.nn.Linear(2 * width, width)

        def forward(self, x: Any) -> Any:
            return self.head(self.inner(x)[0][:, -1])

    return Lstm()


def _vit(torch: Any, width: int) -> Any:
    """Patches of 4 x 4, encoder layers, and a class for the mean of the patches."""
    nn = torch.nn

    class Vit(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, width, 4, 4)
            self.places = nn.Parameter(torch.zeros(1, 64, width))
            self.blocks = nn.ModuleList(
                nn.TransformerEncoderLayer(width, 4, 4 * width, 0.0, batch_first=True)
                for _ in range(4)
            )
            self.head = nn.Linear(width, 10)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2) + self.places
            for block in self.blocks:
                x = block(x)
            return self.head(x.mean(1))

    return Vit()


LAYERS = {
    "mlp": lambda model: list(model), "wide": lambda model: list(model),
    "gpt": lambda model: list(model.blocks), "vit": lambda model: list(model.blocks),
    "lstm": lambda model: [model.inner],
}  # fmt: skip


def _in_blocks(plan: dict[str, Any]) -> dict[str, Any]:
    """Without the embedding and the head, which are whole in plans of `mindtorch parallel`."""
    return {path: style for path, style in plan.items() if path.startswith("blocks.")}


class Kept:
    """Bytes of tensors that are saved for backward, while they are; parameters do not count."""

    def __init__(self, torch: Any) -> None:
        self.holders: Counter[int] = Counter()
        self.now = self.most = 0
        self.block = torch.autograd.graph.saved_tensors_hooks(self.pack, lambda held: held.tensor)

    def pack(self, tensor: Any) -> Any:
        return _Held(self, tensor)


class _Held:
    def __init__(self, kept: Kept, tensor: Any) -> None:
        base = tensor if tensor._base is None else tensor._base
        self.counts = not (base.is_leaf and base.requires_grad)
        local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        storage = local.untyped_storage()
        self.tensor, self.kept, self.size = tensor, kept, storage.nbytes()
        self.place = storage.data_ptr()
        if self.counts:
            if not kept.holders[self.place]:
                kept.now += self.size
                kept.most = max(kept.most, kept.now)
            kept.holders[self.place] += 1

    def __del__(self) -> None:
        if self.counts:
            self.kept.holders[self.place] -= 1
            if not self.kept.holders[self.place]:
                self.kept.now -= self.size


class Run:
    """A model under a plan."""

    def __init__(self, torch: Any, namespace: str, plan: str, kind: str, size: str) -> None:
        load = importlib.import_module
        self.torch, self.dist = torch, load(f"{namespace}.distributed")
        T: Any = load(f"{namespace}.distributed.tensor")  # noqa: N806
        parallel: Any = load(f"{namespace}.distributed.tensor.parallel")
        shard: Any = load(f"{namespace}.distributed.fsdp").fully_shard
        self.rank, count = self.dist.get_rank(), self.dist.get_world_size()
        self.model, x = make(torch, kind, size)
        cut = count if plan == "tp" else 2 if plan == "fsdp-tp" else 1
        data = count // cut if plan != "pp" else 1
        self.x = torch.cat([x] * (count // data))  # the batch of all grows with their number
        self.step: Any = self.whole_step
        if cut > 1:
            shape, names = ((data, cut), ("dp", "tp")) if data > 1 else ((cut,), ("tp",))
            mesh = T.init_device_mesh("cpu", shape, mesh_dim_names=names)
            columns, rows = parallel.ColwiseParallel, parallel.RowwiseParallel
            layers = {"0": columns(), "2": rows(), "4": columns(), "6": rows()}
            if kind == "vit":
                layers = {"blocks.*.linear1": columns(), "blocks.*.linear2": rows()}
            elif kind == "gpt":
                layers = _in_blocks(plan_of_gpt(parallel, T, False))
            parallel.parallelize_module(self.model, mesh["tp"], layers)
        if plan.startswith("fsdp"):
            mesh = mesh["dp"] if cut > 1 else T.init_device_mesh("cpu", (count,))
            for layer in LAYERS[kind](self.model):
                if any(True for _ in layer.parameters()):
                    shard(layer, mesh=mesh)
            shard(self.model, mesh=mesh)
        trained = self.model
        if plan == "ddp":
            trained = self.model = torch.nn.parallel.DistributedDataParallel(self.model)
        if plan == "pp":
            trained = self.stage(namespace, kind, count)
        self.trained = list(trained.parameters())
        self.optimizer = torch.optim.AdamW(self.trained, lr=1e-3)

    def stage(self, namespace: str, kind: str, count: int) -> Any:
        pipelining: Any = importlib.import_module(f"{namespace}.distributed.pipelining")
        names = {module: name for name, module in self.model.named_modules()}
        layers = [names[layer] for layer in LAYERS[kind](self.model)]
        each = len(layers) // count
        starts = layers[each::each]
        splits = dict.fromkeys(starts, pipelining.SplitPoint.BEGINNING)
        piece = self.x[: len(self.x) // MICROBATCHES]
        pipe = pipelining.pipeline(self.model, (piece,), split_spec=splits)
        stage = pipe.build_stage(self.rank, self.torch.device("cpu"))
        self.last = self.rank == count - 1
        self.schedule = pipelining.Schedule1F1B(
            stage, MICROBATCHES, loss_fn=lambda made, target: made.sum()
        )
        self.step = self.pipeline_step
        return stage.submod

    def whole_step(self) -> None:
        self.model(self.x).sum().backward()

    def pipeline_step(self) -> None:
        given = () if self.rank else (self.x,)
        words = {"target": self.x} if self.last else {}
        self.schedule.step(*given, **words)

    def bytes_of(self, tensors: Any) -> int:
        local = [t.to_local() if hasattr(t, "to_local") else t for t in tensors if t is not None]
        return sum(t.numel() * t.element_size() for t in local)

    def measured(self, steps: int) -> dict[str, Any]:
        best = core = float("inf")
        for _ in range(steps):
            self.dist.barrier()
            begun, worked = time.perf_counter(), time.process_time()
            self.step()
            self.optimizer.step()
            best = min(best, time.perf_counter() - begun)
            core = min(core, time.process_time() - worked)
            gradients = self.bytes_of([p.grad for p in self.trained])
            self.optimizer.zero_grad()
        kept = Kept(self.torch)
        with kept.block:
            self.step()
        states = [x for each in self.optimizer.state.values() for x in each.values()]
        parts = [self.bytes_of(self.trained), gradients, self.bytes_of(states)]
        return {"seconds": best, "core": core, "states": sum(parts), "activations": kept.most}


def predicted(kind: str, wide: str, clock: Any) -> dict[str, Any]:
    """Seconds and bytes of each plan, as this process predicts them."""
    import mindtorch.torch as torch
    import mindtorch.torch.distributed as dist
    from mindtorch.planning.costs import Planner
    from mindtorch.planning.facts import measure
    from mindtorch.planning.link import link_of_job

    model, x = make(torch, kind, wide)
    optimizer = torch.optim.AdamW(model.parameters())
    dist.barrier()
    facts = measure(model, (x,), {}, optimizer, clock=clock)
    dist.barrier()
    link = link_of_job(clock)
    count = dist.get_world_size()
    plans = Planner(facts, model, link, count, count * facts.samples).plans()
    return {
        plan.name: {"seconds": plan.seconds, "memory": plan.memory, "times": plan.times,
                    "waiting": plan.times.get("waiting for other stages", 0.0)}
        for plan in plans if not plan.reason
    }  # fmt: skip


def main(namespace: str, rank: str, size: str, url: str, folder: str, *asked: str) -> None:
    torch: Any = importlib.import_module(namespace)
    torch.set_num_threads(1)
    dist: Any = importlib.import_module(f"{namespace}.distributed")
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=int(size))
    kind, wide, *plans = asked
    steps = 4 if wide == "small" else 12
    found = {
        p: predicted(kind, wide, time.process_time if "core" in p else time.perf_counter)
        if p.startswith("predicted")
        else Run(torch, namespace, p, kind, wide).measured(steps)
        for p in plans
    }  # fmt: skip
    Path(folder, f"{namespace}.{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
