"""Which collectives models make, in PyTorch or mindtorch.

    python comm_counts_program.py NAMESPACE RANK SIZE URL FOLDER

writes FOLDER/NAMESPACE.RANK.json; ``tests/golden/comm_counts.json`` is what rank 0 of two wrote
under PyTorch 2.13.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def main(namespace: str, rank: str, size: str, url: str, folder: str) -> None:
    torch: Any = importlib.import_module(namespace)
    dist: Any = importlib.import_module(f"{namespace}.distributed")
    tensors: Any = importlib.import_module(f"{namespace}.distributed.tensor")
    parallel: Any = importlib.import_module(f"{namespace}.distributed.tensor.parallel")
    functional: Any = importlib.import_module(f"{namespace}.distributed._functional_collectives")
    debug: Any = importlib.import_module(f"{namespace}.distributed.tensor.debug")
    shard: Any = importlib.import_module(f"{namespace}.distributed.fsdp").fully_shard
    replicate: Any = importlib.import_module(f"{namespace}.distributed._composable").replicate
    nn = torch.nn
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=int(size))
    mesh = tensors.init_device_mesh("cpu", (int(size),))
    mode = debug.CommDebugMode()
    found: dict[str, Any] = {}

    def net() -> Any:
        torch.manual_seed(int(rank))
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))

    def counted(name: str, function: Any) -> None:
        with mode:
            function()
        counts = {str(kind): count for kind, count in mode.get_comm_counts().items()}
        table = mode.generate_comm_debug_tracing_table(noise_level=0)
        lines = [line for line in table.splitlines() if not line.endswith(" PASS")]
        found[name] = [counts, mode.get_total_counts(), lines]

    def backward(module: Any) -> Any:
        return lambda: module(torch.ones(2, 4)).sum().backward()

    replicated = replicate(net())
    for _ in range(2):  # PyTorch sends parameters before the first, and makes buckets after it
        backward(replicated)()
    replicated.zero_grad()
    counted("replicate", backward(replicated))
    own = [p.grad.tolist() for p in replicated.parameters()]
    replicated.set_requires_gradient_sync(False)
    counted("replicate without averages", backward(replicated))
    found["replicated gradients"] = own
    found["replicated class"] = type(replicated).__name__
    counted("DistributedDataParallel", backward(nn.parallel.DistributedDataParallel(net())))
    parts = net()
    shard(parts[0])
    shard(parts[2])
    counted("fully_shard", backward(shard(parts)))
    cut = net()
    parallel.parallelize_module(
        cut, mesh, {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()}
    )
    counted("tensor parallel", backward(cut))
    found["placements"] = {k: str(v) for k, v in mode.get_sharding_info().items()}
    found["parameters"] = {k: list(v) for k, v in mode.get_parameter_info().items()}
    mode.log_comm_debug_tracing_table_to_file(f"{folder}/{namespace}.{rank}.txt", noise_level=1)
    text = Path(f"{folder}/{namespace}.{rank}.txt").read_text()
    found["file"] = [each in text for each in ("*weight: (Shard(dim=0),)", "FORWARD", "\033")]
    mode.generate_json_dump(f"{folder}/dump.{rank}.json", noise_level=1)
    dumped = json.loads(Path(f"{folder}/dump.{rank}.json").read_text())["children"][0]
    found["json"] = [[each["fqn"], each["parameters"]] for each in dumped["children"]]

    x = tensors.distribute_tensor(torch.ones(4, 4), mesh, [tensors.Shard(0)])
    counted("to terms", lambda: (x.sum() + 0).full_tensor())
    counted("to the whole", lambda: x.full_tensor())
    plain = torch.ones(4)
    counted("called", lambda: [dist.all_reduce(plain), dist.broadcast(plain, 0)])
    counted("functional", lambda: functional.all_gather_tensor(plain, 0, mesh.get_group()) + 0)
    Path(folder, f"{namespace}.{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
