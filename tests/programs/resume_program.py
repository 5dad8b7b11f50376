"""Trains a small network and saves after each step, in tests/mindtorch/test_resume.py.

``python resume_program.py <file> <log>`` starts, or goes on where the file says, and adds a line
"step loss" (of bits) to the log for each step made; at the end "done". Under torchrun the processes
train together, and each has a log of its own, <log>.<rank>.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.resume import ResumableSampler, TrainingState

STEPS = 30


def train(path: str, tell: Any) -> None:
    nn = torch.nn
    rank, together = int(os.environ.get("RANK", 0)), "RANK" in os.environ
    torch.manual_seed(0)
    np.random.seed(7)  # noqa: NPY002  what a user's transforms draw from
    draw = np.random.default_rng(0)
    data = torch.tensor(draw.standard_normal((50, 6)).astype(np.float32))
    dataset = torch.utils.data.TensorDataset(data, data[:, :3].argmax(1))
    model: Any = nn.Sequential(
        nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 3)
    )
    if together:
        torch.distributed.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
        torch.manual_seed(rank)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**4, growth_interval=7)
    sampler = ResumableSampler(dataset, seed=5 + rank)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=8, sampler=sampler, generator=torch.Generator()
    )
    state = TrainingState(path, model=model, optimizer=optimizer, scheduler=scheduler,
                          scaler=scaler, sampler=sampler)  # fmt: skip
    step = state.load(default={"step": 0})["step"]
    while step < STEPS:
        for x, y in loader:
            noise = float(np.random.standard_normal())  # noqa: NPY002
            loss = nn.functional.cross_entropy(model(x + 0.01 * noise), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            sampler.advance(len(x))
            step += 1
            tell(f"{step} {loss.item().hex()} {scaler.get_scale()}")
            if len(sampler) == 0:
                sampler.next_epoch()
                state.save({"step": step})
                break
            state.save({"step": step})
            if step == STEPS:
                break


if __name__ == "__main__":
    path = f"{sys.argv[2]}.{os.environ['RANK']}" if "RANK" in os.environ else sys.argv[2]
    with open(path + ".pid", "w") as own:
        print(os.getpid(), file=own)
    with open(path, "a", buffering=1) as log:
        train(sys.argv[1], lambda text: print(text, file=log, flush=True))
        print("done", file=log)
