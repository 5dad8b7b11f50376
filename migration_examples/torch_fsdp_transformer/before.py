"""A small GPT over two processes: fully_shard, gradient accumulation, clipping, a checkpoint."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

TEXT = "it was the best of times, it was the worst of times, it was the age of wisdom, " * 4


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        hidden = 4 * width
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))

    def forward(self, x):
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (t.view(shape).transpose(1, 2)
                   for t in self.qkv(self.before_attention(x)).split(width, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.before_mlp(x))


class GPT(nn.Module):
    def __init__(self, words, length, width=32, heads=4, layers=3):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def batch(data, length, generator):
    starts = torch.randint(0, len(data) - length - 1, (4,), generator=generator)
    rows = torch.stack([data[i : i + length + 1] for i in starts])
    return rows[:, :-1], rows[:, 1:]


def train(rank, size, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    words = sorted(set(TEXT))
    data = torch.tensor([words.index(c) for c in TEXT])
    torch.manual_seed(0)
    model = GPT(len(words), 16)
    mesh = init_device_mesh("cpu", (size,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if rank == 0:
        weight = model.layers[0].qkv.weight
        print(f"{tuple(weight.shape)} is {tuple(weight.to_local().shape)} here", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(10 + rank)
    for step in range(12):
        for part in range(2):  # two batches, one exchange of gradients
            model.set_requires_gradient_sync(part == 1)
            x, y = batch(data, 16, generator)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten()) / 2
            loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0).full_tensor()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach() * 2
        dist.all_reduce(total)
        if rank == 0 and step % 3 == 2:
            print(f"step {step + 1}: loss {total.item() / size:.4f}, norm {norm.item():.4f}",
                  flush=True)
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    states = get_model_state_dict(model, options=options)
    if rank == 0:
        alone = GPT(len(words), 16)
        alone.load_state_dict(states)
        x, y = batch(data, 16, torch.Generator().manual_seed(99))
        with torch.no_grad():
            loss = F.cross_entropy(alone(x).flatten(0, 1), y.flatten())
        print(f"one process with the checkpoint: loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, args=(2, port), nprocs=2)
