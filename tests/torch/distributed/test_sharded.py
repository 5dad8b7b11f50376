"""Modules whose parameters are divided over four processes, against PyTorch's under gloo."""

from __future__ import annotations

import json
from typing import Any

import pytest

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist
from mindtorch.engine.allocator import address_of
from mindtorch.engine.switches import off
from mindtorch.torch.distributed.fsdp import FullyShardedDataParallel, _memory, fully_shard
from mindtorch.torch.distributed.fsdp._memory import ReleasableMemory
from tests.support.paths import GOLDEN_FILES, PROGRAMS
from tests.torch.distributed.jobs import assert_near, forked, ranks_of

GOLDEN = json.loads((GOLDEN_FILES / "sharded.json").read_text())
# 16 bits, which tanh and the sums round otherwise; and what resnet18 makes of roundings
ROUNDING = {"types": 2e-2, "resnet18": 5e-3}


@pytest.fixture(scope="module")
def found(tmp_path_factory: Any) -> list[Any]:
    """What four processes found."""
    folder = tmp_path_factory.mktemp("sharded")
    program = str(PROGRAMS / "sharded_program.py")
    return ranks_of([*forked(4), program, "mindtorch.torch", str(folder)], 4, folder, limit=600)


@pytest.mark.parametrize("case", list(GOLDEN[0]))
def test_it_is_pytorchs(found: list[Any], case: str) -> None:
    """In all processes: shapes, placements, losses, gradients, states, texts of errors."""
    for mine, theirs in zip(found, GOLDEN, strict=True):
        assert_near(mine[case], theirs[case], ROUNDING.get(case, 2e-5))


@pytest.mark.parametrize("case", ["mlp", "gpt", "resnet18"])
def test_training_follows_one_process(found: list[Any], case: str) -> None:
    """20 steps: the same initial bits, and the losses of one process but for roundings."""
    for each in found:
        begun, _, followed = each[case]
        assert begun and followed


def test_memory_is_a_part(found: list[Any]) -> None:
    """Parameters, gradients and AdamW's states: at most 0.35 of what a whole copy takes."""
    for each in found:
        own, whole, small = each["memory"]
        assert small and own / whole < 0.35


@pytest.mark.parametrize("size", [0, 5, (1 << 21) - 1, 1 << 21, (1 << 21) + 5])
def test_memory_that_is_given_back_keeps_its_place(size: int) -> None:
    """All of its bytes can be written, are zeros once they were given back, and written again."""
    memory = ReleasableMemory(size)
    place = address_of(memory.bytes) if size else 0
    for _ in range(2):
        memory.bytes[...] = 7
        assert memory.bytes.size == size and (memory.bytes == 7).all()
        memory.release()
        assert not memory.bytes.any()
    assert not size or address_of(memory.bytes) == place


def test_released_pages_go_to_who_needs_as_many_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what they hold, and never more than there were in use at one time; with the mechanism
    off none stay."""
    monkeypatch.setattr(_memory, "pages", _memory._Pages())
    if _memory.pages.move is None:
        pytest.skip("this system moves no pages")
    for size in (3 << 12, 3 << 20):
        first, second, small = (ReleasableMemory(n) for n in (size, size, size // 3))
        first.take()
        first.bytes[...] = 7
        first.release()
        assert not first.bytes.any() and len(_memory.pages.full) == 1
        second.take()
        assert (second.bytes == 7).all() and not _memory.pages.full
        second.release()
        small.take()
        assert not _memory.pages.full and _memory.pages.used < _memory.pages.most
        small.release()
        with off("grad_buffer_reuse"):
            first.take()
            kept = len(_memory.pages.full)
            first.release()
            assert not first.bytes.any() and len(_memory.pages.full) == kept
        _memory.pages.full.clear()


def test_a_freed_parameter_is_not_read_as_zeros() -> None:
    """Its pages are given back; a backward pass that would read them says whose they were."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        layer = fully_shard(torch.nn.Linear(3, 2))
        layer(torch.ones(1, 3)).sum().backward()  # which names the parameters
        layer.unshard()
        x = torch.ones(1, 3, requires_grad=True)
        made = torch.nn.functional.linear(x, layer.weight).sum()
        whole = layer.weight.detach().numpy()
        layer.reshard()
        assert not whole.any() and layer.weight.to_local().detach().numpy().any()
        with pytest.raises(RuntimeError, match="weight was read after its memory had been freed"):
            made.backward()
        layer.unshard()
        made.backward()
        assert torch.equal(x.grad, layer.weight.detach().sum(0, keepdim=True))
    finally:
        dist.destroy_process_group()


def test_a_wrapped_model_can_be_shown() -> None:
    """While the vector is in parts modules have their parameters' shapes, as in PyTorch."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        model = FullyShardedDataParallel(torch.nn.Linear(3, 2), device_id=torch.device("cpu"))
        shown = "(_fsdp_wrapped_module): Linear(in_features=3, out_features=2, bias=True)"
        for _ in range(2):
            assert shown in repr(model) and model.module.bias.shape == (2,)
            assert [tuple(p.shape) for p in model.parameters()] == [(8,)]
            model(torch.ones(1, 3)).sum().backward()
    finally:
        dist.destroy_process_group()
