"""Stages of two processes saved into one checkpoint, which one process loads whole."""

import os
import socket
import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B

warnings.filterwarnings("ignore", "torch.distributed is disabled")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x


class Part(nn.Module):
    """One layer, under the name that it has in the whole network."""

    def __init__(self, net, index):
        super().__init__()
        self.layers = nn.ModuleDict({str(index): net.layers[index]})

    def forward(self, x):
        for layer in self.layers.values():
            x = torch.tanh(layer(x))
        return x


def batch(step):
    torch.manual_seed(step)
    return torch.randn(16, 8), torch.randn(16, 8)


def train(rank, size, port, folder):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    torch.set_num_threads(1)
    net = Net()
    parts = {index: Part(net, index) for index in (rank, rank + 2)}
    stages = [PipelineStage(part, index, 4, torch.device("cpu")) for index, part in parts.items()]
    schedule = ScheduleInterleaved1F1B(stages, n_microbatches=4, loss_fn=nn.functional.mse_loss)
    weights = [p for part in parts.values() for p in part.parameters()]
    optimizer = torch.optim.SGD(weights, lr=0.2)
    for step in range(8):
        x, y = batch(step)
        optimizer.zero_grad()
        losses = []
        if rank == 0:
            schedule.step(x)
        else:
            schedule.step(target=y, losses=losses)
            mean = sum(loss.item() for loss in losses) / len(losses)
            print(f"step {step + 1}: loss {mean:.5f}", flush=True)
        optimizer.step()
    state = {name: value for part in parts.values() for name, value in part.state_dict().items()}
    dcp.save({"net": state, "step": 8}, checkpoint_id=folder)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, args=(2, port, folder), nprocs=2)
        whole = Net()
        state = {"net": whole.state_dict(), "step": 0}
        dcp.load(state, checkpoint_id=folder)
    whole.load_state_dict(state["net"])
    optimizer = torch.optim.SGD(whole.parameters(), lr=0.2)
    for step in range(state["step"], state["step"] + 3):
        x, y = batch(step)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(whole(x), y)
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}, in one process: loss {loss.item():.5f}")
