"""Two processes: a network in two stages, cut by hand, and GPipe's schedule."""

import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe


def layers():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10),
    )


def train(rank, size, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    torch.set_num_threads(1)
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor((images / 16).astype(np.float32)).view(-1, 1, 8, 8)
    labels = torch.tensor(labels.astype(np.int64))
    whole = layers()
    part = whole[:3] if rank == 0 else whole[3:]
    stage = PipelineStage(part, rank, size, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=4, loss_fn=nn.functional.cross_entropy)
    optimizer = torch.optim.SGD(part.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(2):
        total = 0.0
        for start in range(0, 1536, 64):
            optimizer.zero_grad()
            if rank == 0:
                schedule.step(images[start : start + 64])
            else:
                losses = []
                schedule.step(target=labels[start : start + 64], losses=losses)
                total += sum(loss.item() for loss in losses) / len(losses)
            optimizer.step()
        if rank == 1:
            print(f"epoch {epoch + 1}: loss {total / 24:.4f}", flush=True)
    with torch.no_grad():
        if rank == 0:
            schedule.eval(images[1536:1792])
        else:
            scores = schedule.eval(target=labels[1536:1792])
            right = (scores.argmax(1) == labels[1536:1792]).sum().item()
            print(f"right: {right} of 256", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, args=(2, port), nprocs=2)
