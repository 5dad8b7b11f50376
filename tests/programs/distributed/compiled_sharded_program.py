"""What each of two processes does in tests/torch/distributed/test_compiled_sharded.py: the same
trainings of sharded modules, eager and under ``torch.compile``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist
from mindtorch.engine.compile.jit import every
from mindtorch.torch import nn
from mindtorch.torch.distributed.device_mesh import init_device_mesh
from mindtorch.torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from mindtorch.torch.nn import functional as F  # noqa: N812
from mindtorch.torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, again: bool) -> None:
        super().__init__()
        self.norm, self.first, self.second = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)
        self.again = again

    def inner(self, x: Any) -> Any:
        return self.second(F.gelu(self.first(self.norm(x))))

    def forward(self, x: Any) -> Any:
        return x + (checkpoint(self.inner, x, use_reentrant=False) if self.again else self.inner(x))


class Net(nn.Module):
    """A table that is the last layer, too, dropout, two blocks, and a layer that nobody calls."""

    def __init__(self, again: bool) -> None:
        super().__init__()
        self.table, self.unused = nn.Embedding(20, 16), nn.Linear(16, 16)
        self.blocks = nn.ModuleList([Block(again) for _ in range(2)])
        self.drop, self.head = nn.Dropout(0.2), nn.Linear(16, 20, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x: Any) -> Any:
        x = self.drop(self.table(x))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Training:
    """A sharded net; ``way`` says what of it is compiled, "" for nothing."""

    def __init__(self, way: str, again: bool = False, **options: Any) -> None:
        torch.manual_seed(0)
        self.net = Net(again)
        blocks: Any = self.net.blocks
        for i, block in enumerate(blocks if way.startswith("blocks") else ()):
            if way == "blocks, wrapped":
                blocks[i] = torch.compile(block)
            else:
                block.compile()
        for module in (*blocks, self.net.unused, self.net):
            fully_shard(module, **options)
        self.model: Any = torch.compile(self.net) if way == "model" else self.net
        if way == "model in place":
            self.net.compile()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=1e-2)
        kept = (lambda f: f) if way != "steps" else torch.compile
        self.step, self.add, self.look = map(kept, (self._step, self._add, self._look))
        self.loss: Any = torch.compile(self._loss) if way == "loss" else self._loss
        torch.manual_seed(5)

    def _loss(self, x: Any, y: Any) -> Any:
        return F.cross_entropy(self.model(x).flatten(0, 1).float(), y.flatten())

    def _add(self, x: Any, y: Any) -> Any:
        loss = self.loss(x, y)
        loss.backward()
        return loss

    def _step(self, x: Any, y: Any) -> Any:
        loss = self._add(x, y)
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss

    def _look(self, x: Any, y: Any) -> Any:
        with torch.no_grad():
            return self._loss(x, y)

    def run(self, plan: str, x: Any, y: Any) -> list[float]:
        """The losses of a plan: s(tep), l(ook), a(ccumulate and step), f(reeze), u(nfreeze)."""
        found = []
        for what in plan:
            if what in "fu":
                self.net.blocks[0].requires_grad_(what == "u")
            elif what == "a":
                self.net.set_requires_gradient_sync(False)
                found.append(self.add(x, y).item())
                self.net.set_requires_gradient_sync(True)
                found.append(self.step(x, y).item())
            else:
                found.append((self.step if what == "s" else self.look)(x, y).item())
        found += [float(p.full_tensor().double().sum()) for p in self.parts()]
        return found

    def parts(self) -> Any:
        for module in self.net.modules():
            if hasattr(module, "reshard"):
                module.reshard()
        return self.net.parameters()


def compared(way: str, plan: str, x: Any, y: Any, **options: Any) -> list[Any]:
    """Whether all numbers are those of eager calls, and how what is compiled ran at last."""
    wanted = Training("", **options).run(plan, x, y)
    before = set(every)
    training = Training(way, **options)
    same = training.run(plan, x, y) == wanted
    made = [each for each in set(every) - before if each.function.__name__ != "_add"]
    return [same, sorted({each.decision.kind for each in made if each.decision is not None})]


def failing_step(x: Any, y: Any) -> list[Any]:
    """A call that raises in forward, after ``reset_iter_state`` the next one is as ever."""
    wanted = Training("").run("sss", x, y)
    training = Training("steps")
    found = [training.step(x, y).item(), training.step(x, y).item()]
    message = ""
    try:
        training.step(x + 100, y)
    except IndexError as error:
        message = str(error)
    training.net.reset_iter_state()
    torch.manual_seed(5)
    return [found == wanted[:2], message, training.step(x, y).item() > 0]


def main(folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    x = torch.arange(12).reshape(3, 4)
    y = (x * 7 + rank) % 20
    twice = init_device_mesh("cpu", (2, 1), mesh_dim_names=("again", "cut"))
    half = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    kinds: dict[str, dict[str, Any]] = {
        "plain": {}, "kept": {"reshard_after_forward": False}, "repeated": {"mesh": twice},
        "of 16 bits": {"mp_policy": half}, "computed again": {"again": True},
    }  # fmt: skip
    cases: dict[str, Callable[[], Any]] = {
        f"steps, {kind}": partial(compared, "steps", "sslslsflsusals", x, y, **given)
        for kind, given in kinds.items()
    }
    for way in ("blocks, wrapped", "blocks, in place", "model", "model in place", "loss"):
        cases[way] = partial(compared, way, "ssalfsus", x, y)
        cases[f"{way}, freed"] = partial(compared, way, "sss", x, y, reshard_after_forward=True)
    found: dict[str, Any] = {name: case() for name, case in cases.items()}
    found["failing step"] = failing_step(x, y)
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
