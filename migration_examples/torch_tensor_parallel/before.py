"""Two processes share the layers of an MLP: DTensor and tensor parallel styles."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


class FeedForward(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, 10)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def train(rank, size, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
    torch.manual_seed(0)
    model = FeedForward(16)
    whole = model.up.weight.detach().clone()
    parallelize_module(model, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    part = model.up.weight
    if rank == 0:
        same = torch.equal(part.to_local(), whole[: whole.shape[0] // size])
        print(f"{tuple(part.shape)} over {mesh}, here {tuple(part.to_local().shape)}, same {same}")
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    torch.manual_seed(1)
    for step in range(8):
        x, y = torch.randn(32, 16), torch.randint(0, 10, (32,))
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(list(model.up.parameters()), 1.0).full_tensor()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step}: loss {loss.item():.4f}, norm {norm.item():.4f}")
    rows = distribute_tensor(torch.arange(12.0).reshape(4, 3), mesh, [Shard(0)])
    columns = rows.redistribute(placements=[Shard(1)])
    total = (rows * rows).sum()
    assert isinstance(total, DTensor)
    value = total.full_tensor().item()
    if rank == 0:
        print(rows.placements, columns.to_local().shape, total.placements, value)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, args=(2, port), nprocs=2)
