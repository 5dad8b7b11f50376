"""Two processes share a transformer block: heads, hidden units, and in between the sequence."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.size = width // heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (
            layer(x).view(batch, length, -1, self.size).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, -1))


class Model(nn.Module):
    def __init__(self, words=32, width=16, heads=4):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2, self.up = nn.LayerNorm(width), nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.norm3, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, tokens):
        x = self.words(tokens)
        x = x + self.attention(self.norm1(x))
        x = x + self.down(nn.functional.gelu(self.up(self.norm2(x))))
        return self.head(self.norm3(x))


PLAN = {
    "words": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm?": SequenceParallel(),
    "attention": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
    "attention.[qkv]": ColwiseParallel(),
    "attention.out": RowwiseParallel(output_layouts=Shard(1)),
    "up": ColwiseParallel(input_layouts=Shard(1)),
    "down": RowwiseParallel(output_layouts=Shard(1)),
    "head": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
}


def train(rank, size, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    mesh = init_device_mesh("cpu", (size,))
    torch.manual_seed(0)
    model = Model()
    parallelize_module(model, mesh, PLAN)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(1)
    for step in range(6):
        tokens = torch.randint(0, 32, (4, 9))
        with loss_parallel():
            scores = model(tokens[:, :-1])
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        value = loss.full_tensor().item()
        if rank == 0:
            print(f"step {step}: logits {tuple(scores.to_local().shape)}, loss {value:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, args=(2, port), nprocs=2)
