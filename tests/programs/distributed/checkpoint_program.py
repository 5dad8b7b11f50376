"""What each of four processes does in torch/distributed/test_checkpoint.py, in either library.

``torchrun --nproc_per_node=4 checkpoint_program.py <namespace> <folder>`` saves a state into
``<folder>/four`` and loads it by one, two, three and four processes. ``torch`` made
tests/golden/checkpoint_of_four.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

torch: Any = None
dist: Any = None


def _spread(whole: Any, mesh: Any, columns: bool) -> Any:
    """The tensor's rows, or columns, over a mesh of one axis; both over one of two."""
    if mesh is None:
        return whole
    tensor = importlib.import_module(f"{dist.__name__}.tensor")
    rows, across = tensor.Shard(0), tensor.Shard(1)
    if mesh.ndim == 1:
        return tensor.distribute_tensor(whole, mesh, [across if columns else rows])
    second = across if whole.dim() > 1 else tensor.Replicate()
    return tensor.distribute_tensor(whole, mesh, [rows, second])


def mesh_of(count: int) -> Any:
    """The first processes as a mesh: of two axes where they are four; all processes call it."""
    module = importlib.import_module(f"{dist.__name__}.device_mesh")
    return module.DeviceMesh("cpu", torch.arange(count).reshape((2, 2) if count == 4 else count))


def state(mesh: Any, filled: bool) -> dict[str, Any]:
    """A nested state: tensors over a mesh, whole tensors and objects."""
    factor = 1 if filled else 0
    rows = torch.arange(33.0).reshape(11, 3) * factor
    half = (torch.arange(6) * factor).to(torch.bfloat16)
    return {
        "model": {"weight": _spread(rows, mesh, mesh is not None and mesh.size() == 2),
                  "half": _spread(half, mesh, False),
                  "bias": torch.arange(5.0) * factor, "scalar": torch.tensor(2.5) * factor},
        "optimizer": {"state": [{"step": torch.tensor(7) * factor, "name": "x" * factor}],
                      "lr": 0.1 * factor},
        "epoch": 3 * factor,
    }  # fmt: skip


def plain(value: Any) -> Any:
    """A state as JSON has it; of tensors over a mesh what is in this process."""
    if hasattr(value, "to_local"):
        return value.to_local().tolist()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def main() -> None:
    name, folder = sys.argv[1:3]
    global torch, dist
    warnings.simplefilter("ignore")
    torch = importlib.import_module(name)
    dist = importlib.import_module(f"{name}.distributed")
    checkpoint = importlib.import_module(f"{name}.distributed.checkpoint")
    dist.init_process_group("gloo", timeout=timedelta(seconds=120))
    rank, size = dist.get_rank(), dist.get_world_size()
    found: dict[str, Any] = {}
    where = str(Path(folder, "four"))
    mesh = mesh_of(4)
    checkpoint.save(state(mesh, True), checkpoint_id=where)
    for count in (2, 3):
        group, few = dist.new_group(list(range(count))), mesh_of(count)
        if rank < count:
            loaded = state(few, False)
            checkpoint.load(loaded, checkpoint_id=where, process_group=group)
            found[str(count)] = [plain(loaded), plain(state(few, True))]
    loaded = state(mesh, False)
    checkpoint.load(loaded, checkpoint_id=where)
    found["4"] = [plain(loaded), plain(state(mesh, True))]
    if rank == 0:
        loaded = state(None, False)
        checkpoint.load(loaded, checkpoint_id=where, no_dist=True)
        found["1"] = [plain(loaded), plain(state(None, True))]
    if name != "torch":
        found |= in_background(checkpoint, mesh, rank, size, folder)
        found["error"] = failing(checkpoint, mesh, rank, where)
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def in_background(checkpoint: Any, mesh: Any, rank: int, size: int, folder: str) -> dict[str, Any]:
    """Two saves in a thread while the program's collectives go on, and one written over."""
    saved = state(mesh, True)
    where = str(Path(folder, "background"))
    futures = [checkpoint.async_save(saved, checkpoint_id=where)]
    saved["model"]["bias"].add_(100)
    futures.append(checkpoint.async_save(saved, checkpoint_id=where))
    saved["model"]["bias"].add_(1000)
    total = torch.tensor(float(rank))
    for _ in range(20):
        dist.all_reduce(total, op=dist.ReduceOp.MAX)
        gathered: list[Any] = [None] * size
        dist.all_gather_object(gathered, rank)
        assert gathered == list(range(size))
    for future in futures:
        future.result()
    loaded = state(mesh, False)
    checkpoint.load(loaded, checkpoint_id=where)
    return {"background": [plain(loaded)["model"]["bias"], total.item()]}


def failing(checkpoint: Any, mesh: Any, rank: int, where: str) -> Any:
    """One process's state has a name that the checkpoint lacks: all of them raise. So do they where
    a tensor is a sum with terms in different processes."""
    tensor = importlib.import_module(f"{dist.__name__}.tensor")
    terms = tensor.DTensor.from_local(torch.ones(2), mesh, [tensor.Partial(), tensor.Replicate()])
    try:
        checkpoint.save({"terms": terms}, checkpoint_id=where + "terms")
    except checkpoint.CheckpointException as error:
        assert len(error.failures) == 4 and "redistribute it" in str(error)
    loaded = state(mesh, False)
    if rank == 1:
        loaded["more"] = torch.zeros(1)
    try:
        checkpoint.load(loaded, checkpoint_id=where)
    except checkpoint.CheckpointException as error:
        return {str(key): str(value[0]) for key, value in error.failures.items()}
    return "no error"


if __name__ == "__main__":
    main()
