"""Trainings over two processes, killed at random moments and begun again from their checkpoints.

    python training_kills_program.py FOLDER COUNT SEED [KIND ...]

KIND is ddp, fsdp2 or pp, all by default, in turns. For each kill a line of JSON: the statuses of
the processes, the seconds from the kill until all had ended, the steps that had been made, and
whether the training that went on has the losses, parameters and optimizer's states of one that was
never interrupted, bit for bit. At the end a line with the longest time and how many were wrong.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import distributed as dist
from mindtorch.torch.distributed import checkpoint, pipelining
from mindtorch.torch.distributed.checkpoint import state_dict
from mindtorch.torch.distributed.device_mesh import init_device_mesh
from mindtorch.torch.distributed.fsdp import fully_shard
from tests.programs.distributed.forked import ended, forked, wait_for

SIZE = 2
STEPS = 12
EVERY = 3  # steps from one checkpoint to the next
LIMIT = 120.0
KINDS = ("ddp", "fsdp2", "pp")
_BY_NAME = state_dict.StateDictOptions(flatten_optimizer_state_dict=True)


def whole_model() -> Any:
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(6, 32), nn.LayerNorm(32), nn.Dropout(0.2), nn.Tanh(),
        nn.Linear(32, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3),
    )  # fmt: skip


def part_of(model: Any, rank: int) -> Any:
    """Half of the layers, under the names that they have in the whole."""
    part = torch.nn.Sequential()
    for name, layer in list(model.named_children())[rank * 4 : rank * 4 + 4]:
        part.add_module(name, layer)
    return part


def batch(step: int) -> tuple[Any, Any]:
    draw = torch.Generator().manual_seed(1000 + step)
    return torch.randn(8, 6, generator=draw), torch.randint(0, 3, (8,), generator=draw)


class Training:
    """A model of one kind with its optimizer; :meth:`step` gives this process's loss."""

    def __init__(self, kind: str, rank: int) -> None:
        self.kind, self.rank = kind, rank
        self.loss = torch.nn.functional.cross_entropy
        self.model = whole_model()
        if kind == "ddp":
            self.model = torch.nn.parallel.DistributedDataParallel(self.model)
        elif kind == "fsdp2":
            mesh = init_device_mesh("cpu", (SIZE,))
            for layer in (self.model[0], self.model[4]):
                fully_shard(layer, mesh=mesh)
            fully_shard(self.model, mesh=mesh)
        else:
            self.model = part_of(self.model, rank)
            stage = pipelining.PipelineStage(self.model, rank, SIZE, torch.device("cpu"))
            self.schedule = pipelining.Schedule1F1B(stage, 4, loss_fn=self.loss)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.02)
        self.schedules = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, STEPS)
        torch.manual_seed(100 + rank)  # of dropout: each process its own

    def step(self, number: int) -> float:
        x, y = batch(number)
        self.optimizer.zero_grad()
        if self.kind == "pp":
            losses: list[Any] = []
            if self.rank == 0:
                self.schedule.step(x)
            else:
                self.schedule.step(target=y, losses=losses)
            loss = sum(each.item() for each in losses)
        else:
            made = self.loss(self.model(x[self.rank :: SIZE]), y[self.rank :: SIZE])
            made.backward()
            loss = made.item()
        self.optimizer.step()
        self.schedules.step()
        return float(loss)

    def state(self, step: int) -> dict[str, Any]:
        model, optimizer = state_dict.get_state_dict(self.model, self.optimizer, options=_BY_NAME)
        return {"model": model, "optimizer": optimizer, "rate": self.schedules.state_dict(),
                "step": step, f"generator of {self.rank}": torch.get_rng_state()}  # fmt: skip

    def load(self, folder: Path) -> int:
        """Take the checkpoint's state; the number of steps that it has."""
        state = self.state(0)
        checkpoint.load(state, checkpoint_id=folder)
        state_dict.set_state_dict(
            self.model, self.optimizer, model_state_dict=state["model"],
            optim_state_dict=state["optimizer"], options=_BY_NAME,
        )  # fmt: skip
        self.schedules.load_state_dict(state["rate"])
        torch.set_rng_state(state[f"generator of {self.rank}"])
        return int(state["step"])

    def digest(self) -> str:
        """Of all bits of this process's parameters and optimizer's states."""
        found = hashlib.sha256()
        for name, value in sorted(_tensors(self.state(0)).items()):
            found.update(name.encode() + value.detach().numpy().tobytes())
        return found.hexdigest()


def _tensors(state: Any, path: str = "") -> dict[str, Any]:
    if isinstance(state, dict):
        parts = [_tensors(each, f"{path}{key}/") for key, each in state.items()]
        return {name: value for part in parts for name, value in part.items()}
    local = state.to_local() if hasattr(state, "to_local") else state
    return {path: local} if isinstance(local, torch.Tensor) else {}


def train(kind: str, rank: int, folder: Path, store: Path) -> None:
    """Go on from the checkpoint of ``folder``, or begin; a line for each step in the rank's log."""
    warnings.simplefilter("ignore")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=SIZE)
    (folder / f"ready.{rank}").touch()
    training = Training(kind, rank)
    saved = folder / "saved"
    number = training.load(saved) if (saved / ".metadata").exists() else 0
    log = os.open(folder / f"log.{rank}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while number < STEPS:
        loss = training.step(number)
        number += 1
        os.write(log, f"{number} {loss.hex()}\n".encode())
        if number % EVERY == 0:
            checkpoint.save(training.state(number), checkpoint_id=saved)
    os.write(log, f"end {training.digest()}\n".encode())
    dist.destroy_process_group()


def started(kind: str, folder: Path, number: int) -> list[int]:
    store, errors = folder / f"store.{number}", folder / f"errors.{number}"
    return [forked(lambda rank=rank: train(kind, rank, folder, store), errors)  # type: ignore[misc]
            for rank in range(SIZE)]  # fmt: skip


def logs(folder: Path) -> list[list[str]]:
    paths = [folder / f"log.{rank}" for rank in range(SIZE)]
    return [path.read_text().splitlines() if path.exists() else [] for path in paths]


def uninterrupted(kind: str, folder: Path) -> tuple[list[list[str]], float]:
    """What each process tells of a whole training, and its seconds."""
    folder.mkdir()
    codes, seconds = ended(started(kind, folder, 0), LIMIT)
    if any(codes):
        raise RuntimeError(f"{kind} ended with {codes}:\n{(folder / 'errors.0').read_text()}")
    return logs(folder), seconds


def agrees(found: list[list[str]], whole: list[list[str]]) -> bool:
    """Whether all steps, also those that were made twice, and the end are the whole training's."""
    for mine, lines in zip(found, whole, strict=True):
        known = {line.split()[0]: line for line in lines}
        if {line.split()[0] for line in mine} != set(known):
            return False
        if any(line != known[line.split()[0]] for line in mine):
            return False
    return True


def wait_for_a_moment(folder: Path, victim: int, usual: float, draw: random.Random) -> None:
    """A quarter of the moments are anywhere in a whole training, once the processes have found each
    other (whoever is killed before is the launcher's to see); the others within or after any of
    the steps, or in the save behind it."""
    wait_for(lambda: len(list(folder.glob("ready.*"))) == SIZE, LIMIT)
    if draw.random() < 0.25:
        time.sleep(draw.random() * usual)
        return
    wanted = draw.randint(1, STEPS)
    wait_for(lambda: len(logs(folder)[victim]) >= wanted, LIMIT)
    time.sleep(draw.random() * 0.03)


def killed_once(kind: str, folder: Path, whole: Any, draw: random.Random) -> dict[str, Any]:
    """Kill one of the processes, see how the others end, and go on."""
    lines, usual = whole
    for _ in range(100):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        children, victim = started(kind, folder, 0), draw.randrange(SIZE)
        wait_for_a_moment(folder, victim, usual, draw)
        os.kill(children[victim], signal.SIGKILL)
        codes, seconds = ended(children, LIMIT)
        if codes[victim] == -signal.SIGKILL:
            break  # else it had ended before
    made = [len(each) for each in logs(folder)]
    again, _ = ended(started(kind, folder, 1), LIMIT)
    return {"kind": kind, "victim": victim, "codes": codes, "seconds": round(seconds, 2),
            "steps": made, "again": again, "equal": agrees(logs(folder), lines)}  # fmt: skip


def is_right(told: dict[str, Any]) -> bool:
    """The killed one has its signal, the others an error or, at the very end, nothing; what went on
    is equal."""
    others = [code for rank, code in enumerate(told["codes"]) if rank != told["victim"]]
    orderly = all(code in (0, 1) for code in others)
    return orderly and told["again"] == [0] * SIZE and told["equal"]


def main() -> None:
    folder, count, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    kinds = sys.argv[4:] or list(KINDS)
    draw = random.Random(seed)
    whole = {kind: uninterrupted(kind, folder / f"{kind}.whole") for kind in kinds}
    wrong, slowest = 0, 0.0
    for trial in range(count):
        kind = kinds[trial % len(kinds)]
        told = killed_once(kind, folder / f"{kind}.{trial}", whole[kind], draw)
        wrong += not is_right(told)
        slowest = max(slowest, told["seconds"])
        print(json.dumps(told), flush=True)
        if is_right(told):
            shutil.rmtree(folder / f"{kind}.{trial}")
    print(json.dumps({"kills": count, "wrong": wrong, "slowest": slowest}), flush=True)


if __name__ == "__main__":
    main()
