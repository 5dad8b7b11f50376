"""Four processes in a grid: layers cut by columns and rows, the parts cut again by fully_shard."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate, self.up = nn.Linear(width, hidden), nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return x + self.down(F.silu(self.gate(self.norm(x))) * self.up(self.norm(x)))


def train(rank, size, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    grid = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    model = nn.Sequential(*[FeedForward(16, 32) for _ in range(3)], nn.Linear(16, 4))
    for block in model[:3]:
        parallelize_module(block, grid["tp"], {
            "gate": ColwiseParallel(), "up": ColwiseParallel(), "down": RowwiseParallel(),
        })
        fully_shard(block, mesh=grid["dp"])
    fully_shard(model, mesh=grid["dp"])
    if rank == 0:
        weight = model[0].gate.weight
        print(f"{tuple(weight.shape)} is {tuple(weight.to_local().shape)} here", flush=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    generator = torch.Generator().manual_seed(grid["dp"].get_local_rank())
    teacher = torch.randn(16, 4, generator=torch.Generator().manual_seed(7))
    for step in range(20):
        x = torch.randn(16, 16, generator=generator)
        loss = F.mse_loss(model(x), torch.tanh(x @ teacher))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        if rank == 0 and step % 5 == 4:
            print(f"step {step + 1}: loss {total.item() / size:.4f}", flush=True)
    whole = sum(p.detach().full_tensor().double().abs().sum() for p in model.parameters())
    if rank == 0:
        print(f"sum of all parameters' magnitudes {whole.item():.2f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, args=(4, port), nprocs=4)
