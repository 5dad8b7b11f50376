"""Digits over two processes with FullyShardedDataParallel: a policy, a whole checkpoint."""

import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, StateDictType
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU())
        self.fc = nn.Linear(256, 10)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def train(rank, size, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    images, labels = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    dataset = TensorDataset(torch.tensor(images[:512]), torch.tensor(labels[:512]))
    sampler = DistributedSampler(dataset, num_replicas=size, rank=rank, shuffle=True, seed=1)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)
    torch.manual_seed(0)  # the same parameters in both processes
    model = FullyShardedDataParallel(
        Net(), auto_wrap_policy=ModuleWrapPolicy({nn.Sequential}),
        sharding_strategy=ShardingStrategy.FULL_SHARD, device_id=torch.device("cpu"),
        use_orig_params=True,
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        total = torch.zeros(1)
        for data, label in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data), label)
            loss.backward()
            model.clip_grad_norm_(1.0)
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {total.item() / size / len(loader):.4f}", flush=True)
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        states = model.state_dict()
    if rank == 0:
        alone = Net()
        alone.load_state_dict(states)
        with torch.no_grad():
            found = alone(torch.tensor(images[512:1024])).argmax(1)
        right = (found == torch.tensor(labels[512:1024])).sum().item()
        print(f"one process with the checkpoint: {right} of 512 right", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, args=(2, port), nprocs=2)
