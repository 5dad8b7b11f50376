"""A training that goes on with however many processes there are, under torchrun.

    torchrun ... elastic_training_program.py FOLDER

Each step takes the same batch, cut over the processes, and waits for a file "step.<number>", so
that a test says how far it goes. Rank 0 adds a line "<processes>" to FOLDER/started when it begins,
and a line "<step> <processes> <loss>" to FOLDER/told.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from mindtorch import torch
from mindtorch.torch import distributed as dist
from mindtorch.torch.distributed import checkpoint
from mindtorch.torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from mindtorch.torch.distributed.elastic.multiprocessing.errors import record
from mindtorch.torch.distributed.fsdp import fully_shard

STEPS = 6


def state_of(model: Any, optimizer: Any, step: int) -> dict[str, Any]:
    weights, states = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": states, "step": step}


@record
def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    saved = folder / "saved"
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    draw = torch.Generator().manual_seed(1)
    x, y = torch.randn(12, 6, generator=draw), torch.randint(0, 3, (12,), generator=draw)
    step = 0
    if (saved / ".metadata").exists():
        state = state_of(model, optimizer, 0)
        checkpoint.load(state, checkpoint_id=saved)
        set_state_dict(
            model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
        )
        step = state["step"]
    if rank == 0:
        with open(folder / "started", "a") as told:
            told.write(f"{size}\n")
    while step < STEPS:
        while not (folder / f"step.{step}").exists():
            time.sleep(0.02)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x[rank::size]), y[rank::size])
        loss.backward()
        optimizer.step()
        step += 1
        dist.all_reduce(whole := loss.detach() / size)
        checkpoint.save(state_of(model, optimizer, step), checkpoint_id=saved)
        if rank == 0:
            with open(folder / "told", "a") as told:
                told.write(f"{step} {size} {whole.item()}\n")
    assert int(os.environ["TORCHELASTIC_RESTART_COUNT"]) <= 2
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
