"""Two processes: DistributedSampler and DistributedDataParallel."""

from mindtorch.tools import mstorch_enable

import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train(rank, size, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    images, labels = load_digits(return_X_y=True)
    dataset = TensorDataset(torch.tensor((images[:512] / 16).astype(np.float32)),
                            torch.tensor(labels[:512].astype(np.int64)))
    sampler = DistributedSampler(dataset, num_replicas=size, rank=rank, shuffle=True, seed=3)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)
    torch.manual_seed(rank)  # the first process's parameters are sent to all
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        total = torch.zeros(1)
        for data, label in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(data), label)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {total.item() / size / len(loader):.5f}", flush=True)
    sums = [torch.zeros(1) for _ in range(size)]
    own = sum(p.detach().double().sum() for p in model.parameters())
    dist.all_gather(sums, own.float().view(1))
    if rank == 0:
        equal = sums[0].item() == sums[1].item()
        print(f"equal parameters {equal}, their sum {sums[0].item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, args=(2, port), nprocs=2)
