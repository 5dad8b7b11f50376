"""Two processes: a language model cut by its trace, and a forward and a backward in turn."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.pipelining import Schedule1F1B, SplitPoint, pipeline

TEXT = "the quick brown fox jumps over the lazy dog and the dog sleeps on while the fox runs. " * 12
LETTERS = sorted(set(TEXT))
CODES = torch.tensor([LETTERS.index(letter) for letter in TEXT])
LENGTH, WIDTH = 16, 32


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attend, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))

    def forward(self, x):
        batch, length, width = x.size()
        parts = self.attend(self.norm1(x)).split(width, dim=2)
        q, k, v = (part.view(batch, length, 4, width // 4).transpose(1, 2) for part in parts)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).contiguous().view(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters, self.places = nn.Embedding(len(LETTERS), WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(4)])
        self.head = nn.Linear(WIDTH, len(LETTERS))

    def forward(self, codes):
        length = codes.size(1)
        assert length <= LENGTH, "too long"
        x = self.letters(codes) + self.places(torch.arange(length, device=codes.device))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def batch(step):
    generator = torch.Generator().manual_seed(step)
    starts = torch.randint(len(CODES) - LENGTH - 1, (16,), generator=generator)
    rows = torch.stack([CODES[start : start + LENGTH + 1] for start in starts.tolist()])
    return rows[:, :-1], rows[:, 1:]


def loss_fn(scores, target):
    return nn.functional.cross_entropy(scores.flatten(0, 1), target.flatten())


def train(rank, size, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    spec = {"blocks.2": SplitPoint.BEGINNING}
    pipe = pipeline(Model(), mb_args=(batch(0)[0][:4],), split_spec=spec)
    stage = pipe.build_stage(rank, torch.device("cpu"))
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=loss_fn)
    optimizer = torch.optim.AdamW(stage.submod.parameters(), lr=3e-3)
    for step in range(40):
        codes, target = batch(step)
        optimizer.zero_grad()
        losses = []
        if rank == 0:
            schedule.step(codes)
        else:
            schedule.step(target=target, losses=losses)
        optimizer.step()
        if rank == 1 and step % 8 == 7:
            mean = sum(loss.item() for loss in losses) / len(losses)
            print(f"step {step + 1}: loss {mean:.3f}", flush=True)
    names = [name for name, _ in stage.submod.named_parameters()]
    gathered = [None, None]
    dist.all_gather_object(gathered, len(names))
    if rank == 0:
        print(f"{pipe.num_stages} stages with {sum(gathered)} parameters", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mp.spawn(train, args=(2, port), nprocs=2)
