"""Two processes that save again and again, killed at random moments; what is left is loaded.

``python checkpoint_kills_program.py <folder> <count> <seed>`` prints a line of JSON for each kill:
what was seen by whoever loads afterwards. Processes are forked from one that has imported all.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ["MINDTORCH_DISTRIBUTED"] = "sockets"

import mindtorch.torch as torch
from mindtorch.torch import distributed as dist
from mindtorch.torch.distributed import checkpoint
from mindtorch.torch.distributed.checkpoint import metadata as _metadata
from mindtorch.torch.distributed.checkpoint import planner as _planner
from tests.programs.distributed.forked import ended, forked, wait_for

LIMIT = 120.0


class Rows:
    """A tensor whose rows are spread over processes: what is no DTensor answers these questions."""

    def __init__(self, whole: Any, rank: int, size: int) -> None:
        step = whole.size(0) // size
        self.start, self.shape = rank * step, whole.size()
        self.local = whole[self.start : self.start + step].clone()

    def size(self) -> Any:
        return self.shape

    def __create_chunk_list__(self) -> Any:
        start = torch.Size([self.start, *[0] * (len(self.shape) - 1)])
        return [_metadata.ChunkStorageMetadata(start, self.local.size())]

    def __create_write_items__(self, name: str, value: Any) -> Any:
        (chunk,) = self.__create_chunk_list__()
        properties = _metadata.TensorProperties.create_from_tensor(self.local)
        data = _planner.TensorWriteData(chunk, properties, self.shape)
        index = _metadata.MetadataIndex(name, chunk.offsets)
        return [_planner.WriteItem(index, _planner.WriteItemType.SHARD, tensor_data=data)]

    def __get_tensor_shard__(self, index: Any) -> Any:
        return self.local


def state(version: int, rank: int, size: int) -> dict[str, Any]:
    rows = torch.full((8, 64), float(version))
    return {"rows": Rows(rows, rank, size),
            "whole": torch.full((100,), version), "version": version}  # fmt: skip


def saving(rank: int, folder: Path, store: Path, first: int) -> None:
    """Save version after version; the number of each that is done goes into a file."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    store.with_suffix(f".{rank}").touch()
    for version in range(first, first + 10000):
        checkpoint.save(state(version, rank, 2), checkpoint_id=folder)
        if rank == 0:
            beside = folder.with_suffix(".tmp")
            beside.write_text(str(version))
            beside.replace(folder.with_suffix(".done"))


def loaded(folder: Path) -> Any:
    """The versions that a load finds, each once; None where there is no checkpoint yet."""
    found = state(-1, 0, 1)
    try:
        checkpoint.load(found, checkpoint_id=folder, no_dist=True)
    except checkpoint.CheckpointException as error:
        text = str(error)
        return None if "no checkpoint here" in text else text
    values = [*found["rows"].local.reshape(-1).tolist(), *found["whole"].tolist()]
    return sorted({int(value) for value in [*values, found["version"]]})


def read(folder: Path) -> str:
    done = folder.with_suffix(".done")
    return done.read_text() if done.exists() else "-1"


def seen_by_another(folder: Path) -> Any:
    """What :func:`loaded` gives in a new process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(loaded(folder)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as told:
        text = told.read()
    os.waitpid(child, 0)
    return json.loads(text)


def killed_once(folder: Path, store: Path, in_first: bool) -> dict[str, Any]:
    """Kill one of two processes that save; what is seen then.

    Args:
        folder: of the checkpoint.
        store: where the processes meet.
        in_first: possibly in the first save.
    """
    before = read(folder)
    children = [
        forked(lambda rank=rank: saving(rank, folder, store, int(before) + 1))  # type: ignore[misc]
        for rank in range(2)
    ]
    wait_for(lambda: all(store.with_suffix(f".{rank}").exists() for rank in range(2)), LIMIT)
    if not in_first:
        wait_for(lambda: read(folder) != before, LIMIT)
    time.sleep(random.random() * 0.05)
    os.kill(random.choice(children), signal.SIGKILL)
    codes, _ = ended(children, LIMIT)
    done = int(read(folder))
    return {"in_time": -99 not in codes, "done": done, "seen": seen_by_another(folder)}


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    random.seed(seed)
    for trial in range(count):
        told = killed_once(folder / "saved", folder / f"store{trial}", trial % 4 == 0)
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
