"""Twenty steps of an MLP, a GPT and a ResNet-18, cut by tensor parallel plans along one axis of a
grid of processes and sharded (FSDP2) along the other, beside the same in one process.

    python two_axes_program.py NAMESPACE RANK 4 URL FOLDER

writes FOLDER/NAMESPACE.RANK.json: of each model whether all began with the same bits, the losses,
and those of one process that has the parts of each batch in turn.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.programs.distributed.tensor_parallel_program import build, plan_of_gpt
from tests.support.models import resnet18

STEPS, PARTS = 20, 2


def models(torch: Any, parallel: Any, T: Any) -> dict[str, Any]:  # noqa: N803
    """By name: what makes the model, its plan, the parts to be sharded, a batch, how it learns."""
    gpt, mlp = build(torch)
    columns, rows = parallel.ColwiseParallel, parallel.RowwiseParallel
    whole = columns(output_layouts=T.Replicate())
    words = torch.randint(0, 64, (4, 17), generator=torch.Generator().manual_seed(1))
    x, images = torch.randn(8, 6), torch.randn(16, 3, 16, 16)
    classes = torch.randint(0, 8, (16,))
    adam, sgd = torch.optim.AdamW, torch.optim.SGD
    return {
        "mlp": (mlp, {"0": columns(), "2": rows()}, lambda m: [m[0], m[2]], (x, classes[:8]),
                lambda p: adam(p, lr=1e-2)),
        "gpt": (lambda: gpt().eval(), plan_of_gpt(parallel, T, False), lambda m: list(m.blocks),
                (words[:, :-1], words[:, 1:]), lambda p: adam(p, lr=1e-2)),
        "resnet18": (lambda: resnet18(torch, batch=1, width=8, side=16)[0][0], {"fc": whole},
                     lambda m: [x for x in m.modules() if type(x).__name__ == "Block"],
                     (images, classes), lambda p: sgd(p, lr=0.001, momentum=0.9)),
    }  # fmt: skip


def trained(
    torch: Any, dist: Any, model: Any, alone: Any, learn: Any, batch: Any, place: int
) -> list[list[float]]:
    """The losses of both, the sharded model's as the mean over the parts of the batch."""
    F = torch.nn.functional  # noqa: N806
    optimizers = [learn(each.parameters()) for each in (model, alone)]
    losses: list[list[float]] = [[], []]
    halves = [[x.chunk(PARTS)[i] for x in batch] for i in range(PARTS)]

    def loss_of(net: Any, part: int) -> Any:
        x, y = halves[part]
        return F.cross_entropy(net(x).flatten(0, -2), y.flatten())

    for _ in range(STEPS):
        loss = loss_of(model, place)
        loss.backward()
        one = sum(loss_of(alone, i) for i in range(PARTS)) / PARTS
        one.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses[0].append(mean.item() / dist.get_world_size())
        losses[1].append(one.item())
    return losses


def main() -> None:
    namespace, rank, size, url, folder = sys.argv[1:]
    warnings.simplefilter("ignore")
    torch = importlib.import_module(namespace)
    dist: Any = importlib.import_module(f"{namespace}.distributed")
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=int(size))
    T: Any = importlib.import_module(f"{namespace}.distributed.tensor")  # noqa: N806
    parallel: Any = importlib.import_module(f"{namespace}.distributed.tensor.parallel")
    fully_shard = importlib.import_module(f"{namespace}.distributed.fsdp").fully_shard
    grid = T.init_device_mesh("cpu", (PARTS, int(size) // PARTS), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    found: dict[str, Any] = {}
    for name, (make, plan, parts, batch, learn) in models(torch, parallel, T).items():
        pair = []
        for _ in range(2):
            torch.manual_seed(3)
            pair.append(make())
        model, alone = pair
        parallel.parallelize_module(model, grid["tp"], plan)
        for part in parts(model):
            fully_shard(part, mesh=grid["dp"])
        fully_shard(model, mesh=grid["dp"])
        begun = all(
            torch.equal(p.full_tensor(), q)
            for p, q in zip(model.parameters(), alone.parameters(), strict=True)
        )
        place = grid["dp"].get_local_rank()
        found[name] = [begun, *trained(torch, dist, model, alone, learn, batch, place)]
    Path(folder, f"{namespace}.{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
