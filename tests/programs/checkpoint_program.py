"""What each of four processes does in torch/distributed/test_checkpoint.py, in either library.

``torchrun --nproc_per_node=4 checkpoint_program.py <namespace> <folder>`` saves a state into
``<folder>/four`` and, in ours, loads it by one, two, three and four processes. ``torch`` made
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
own = True


class Rows:
    """A tensor whose rows are spread over processes, as evenly as torch.chunk does it."""

    def __init__(self, whole: Any, rank: int, size: int) -> None:
        step = -(-whole.size(0) // size)
        self.start = min(rank * step, whole.size(0))
        self.local = whole[self.start : self.start + step].clone()
        self.shape = whole.size()

    def size(self) -> Any:
        return self.shape

    def _chunk(self) -> Any:
        metadata = importlib.import_module(f"{dist.__name__}.checkpoint.metadata")
        start = torch.Size([self.start, *[0] * (len(self.shape) - 1)])
        return metadata.ChunkStorageMetadata(start, self.local.size())

    def __create_write_items__(self, name: str, value: Any) -> Any:
        metadata = importlib.import_module(f"{dist.__name__}.checkpoint.metadata")
        planner = importlib.import_module(f"{dist.__name__}.checkpoint.planner")
        if not self.local.numel():
            return []
        properties = metadata.TensorProperties.create_from_tensor(self.local)
        data = planner.TensorWriteData(self._chunk(), properties, self.shape)
        index = metadata.MetadataIndex(name, self._chunk().offsets)
        return [planner.WriteItem(index, planner.WriteItemType.SHARD, tensor_data=data)]

    def __create_chunk_list__(self) -> Any:
        return [self._chunk()] if self.local.numel() else []

    def __get_tensor_shard__(self, index: Any) -> Any:
        return self.local


def _spread(whole: Any, rank: int, size: int) -> Any:
    if own:
        return Rows(whole, rank, size)
    tensor = importlib.import_module("torch.distributed.tensor")
    mesh = importlib.import_module("torch.distributed.device_mesh").init_device_mesh("cpu", (size,))
    return tensor.distribute_tensor(whole, mesh, [tensor.Shard(0)])


def state(rank: int, size: int, filled: bool) -> dict[str, Any]:
    """A nested state: rows, whole tensors and objects."""
    factor = 1 if filled else 0
    rows = torch.arange(33.0).reshape(11, 3) * factor
    return {
        "model": {"weight": _spread(rows, rank, size),
                  "half": _spread((torch.arange(6) * factor).to(torch.bfloat16), rank, size),
                  "bias": torch.arange(5.0) * factor, "scalar": torch.tensor(2.5) * factor},
        "optimizer": {"state": [{"step": torch.tensor(7) * factor, "name": "x" * factor}],
                      "lr": 0.1 * factor},
        "epoch": 3 * factor,
    }  # fmt: skip


def plain(value: Any) -> Any:
    """A state as JSON has it; of rows those of this process."""
    if isinstance(value, Rows):
        return [value.start, value.local.tolist()]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def main() -> None:
    name, folder = sys.argv[1:3]
    global torch, dist, own
    own = name != "torch"
    warnings.simplefilter("ignore")
    torch = importlib.import_module(name)
    dist = importlib.import_module(f"{name}.distributed")
    checkpoint = importlib.import_module(f"{name}.distributed.checkpoint")
    dist.init_process_group("gloo", timeout=timedelta(seconds=120))
    rank, size = dist.get_rank(), dist.get_world_size()
    found: dict[str, Any] = {}
    where = str(Path(folder, "four"))
    checkpoint.save(state(rank, size, True), checkpoint_id=where)
    for count in (2, 3, 4) if own else ():
        group = dist.new_group(list(range(count)))
        if rank < count:
            loaded = state(rank, count, False)
            checkpoint.load(loaded, checkpoint_id=where, process_group=group)
            found[str(count)] = [plain(loaded), plain(state(rank, count, True))]
    if rank == 0 and own:
        loaded = state(0, 1, False)
        checkpoint.load(loaded, checkpoint_id=where, no_dist=True)
        found["1"] = [plain(loaded), plain(state(0, 1, True))]
    if own:
        found |= in_background(checkpoint, rank, size, folder)
        found["error"] = failing(checkpoint, rank, size, where)
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def in_background(checkpoint: Any, rank: int, size: int, folder: str) -> dict[str, Any]:
    """Two saves in a thread while the program's collectives go on, and one written over."""
    saved = state(rank, size, True)
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
    loaded = state(rank, size, False)
    checkpoint.load(loaded, checkpoint_id=where)
    return {"background": [plain(loaded)["model"]["bias"], total.item()]}


def failing(checkpoint: Any, rank: int, size: int, where: str) -> Any:
    """One process's state has a name that the checkpoint lacks: all of them raise."""
    loaded = state(rank, size, False)
    if rank == 1:
        loaded["more"] = torch.zeros(1)
    try:
        checkpoint.load(loaded, checkpoint_id=where)
    except checkpoint.CheckpointException as error:
        return {str(key): str(value[0]) for key, value in error.failures.items()}
    return "no error"


if __name__ == "__main__":
    main()
