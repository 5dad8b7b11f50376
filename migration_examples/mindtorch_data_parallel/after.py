"""Two processes, each with its own workers and half of the data, in MindTorch's style."""

from mindtorch.tools import mstorch_enable

import os
import socket

import mindspore as ms
import numpy as np
import torch
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def train(rank, size, port):
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(size)
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    ms.communication.init("mccl")
    ms.set_auto_parallel_context(
        parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True
    )
    torch.manual_seed(1)
    images, labels = load_digits(return_X_y=True)
    dataset = TensorDataset(torch.tensor((images[:512] / 16).astype(np.float32)),
                            torch.tensor(labels[:512].astype(np.int64)))
    rank, size = ms.communication.get_rank(), ms.communication.get_group_size()
    sampler = DistributedSampler(dataset, num_replicas=size, rank=rank, shuffle=False)
    loader = DataLoader(dataset, batch_size=32, num_workers=2, drop_last=True, sampler=sampler)
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.Adam(model.trainable_params(), lr=0.01)
    loss_fn = nn.CrossEntropyLoss()

    def forward_fn(data, label):
        logits = model(data)
        return loss_fn(logits, label), logits

    grad_fn = ms.ops.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)
    grad_reducer = ms.nn.DistributedGradReducer(optimizer.parameters)
    for epoch in range(3):
        total = 0.0
        for data, label in loader:
            (loss, _), grads = grad_fn(data, label)
            grads = grad_reducer(grads)
            optimizer(grads)
            total += float(loss.asnumpy())
        if rank == 0:
            print(f"epoch {epoch + 1}: loss of the first half {total / len(loader):.5f}")
    ms.communication.release()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, args=(2, port), nprocs=2)
