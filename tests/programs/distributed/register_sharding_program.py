"""Operators whose sharding a program registers, in both libraries.

    python register_sharding_program.py NAMESPACE RANK SIZE URL FOLDER
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def run(torch: Any, namespace: str) -> dict[str, Any]:
    load = importlib.import_module
    T: Any = load(f"{namespace}.distributed.tensor")  # noqa: N806
    register = load(f"{namespace}.distributed.tensor.experimental").register_sharding
    shard, whole = T.Shard, T.Replicate()

    def scaled(x: Any, factors: Any, times: int) -> Any:
        return (x - x.mean(-1, keepdim=True)) * factors * times

    scaled.__annotations__ = {
        "x": torch.Tensor, "factors": torch.Tensor, "times": int, "return": torch.Tensor
    }
    scale = torch.library.custom_op("sharding_program::scale", scaled, mutates_args=())

    def kept(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factors, ctx.times = inputs[1], inputs[2]

    def backward(ctx: Any, gradient: Any) -> Any:
        g = gradient * ctx.factors * ctx.times
        return g - g.mean(-1, keepdim=True), None, None

    scale.register_fake(lambda x, factors, times: torch.empty_like(x))
    scale.register_autograd(backward, setup_context=kept)
    seen: list[Any] = []

    @register(torch.ops.sharding_program.scale.default)
    def _(x: Any, factors: Any, times: int) -> Any:
        seen.append([list(x.shape), x.ndim, times])
        return [([whole], [whole, whole, None]), ([shard(0)], [shard(0), whole, None])]

    @register([torch.ops.aten.cumsum.default])
    def _(x: Any, dim: int) -> Any:
        own = [([shard(d)], [shard(d), None]) for d in range(x.ndim) if d != dim % x.ndim]
        return [([whole], [whole, None]), *own]

    mesh = T.init_device_mesh("cpu", (2,))
    torch.manual_seed(0)
    x, factors = torch.randn(4, 6, requires_grad=True), torch.randn(6)
    found = {}
    for name, placement in (("rows", shard(0)), ("columns", shard(1)), ("whole", whole)):
        d = T.distribute_tensor(x.detach(), mesh, [placement]).requires_grad_()
        f = T.distribute_tensor(factors, mesh, [whole])
        y = scale(d, f, 3)
        (y * y).sum().backward()
        z = torch.cumsum(d.detach(), 1)
        found[name] = {
            "placements": [str(y.placements), str(z.placements)],
            "values": y.full_tensor().tolist(), "gradient": d.grad.full_tensor().tolist(),
            "sums": z.full_tensor().tolist(),
        }  # fmt: skip
    found["seen"] = {"first": seen[0]}
    return found


def main(namespace: str, rank: str, size: str, url: str, folder: str) -> None:
    torch: Any = importlib.import_module(namespace)
    torch.set_num_threads(1)
    dist: Any = importlib.import_module(f"{namespace}.distributed")
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=int(size))
    Path(folder, f"{namespace}.{rank}.json").write_text(json.dumps(run(torch, namespace)))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
