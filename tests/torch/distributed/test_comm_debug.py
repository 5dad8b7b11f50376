"""Counts of collectives and replicated modules in two processes, against PyTorch's under gloo."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist
from mindtorch.torch.distributed._composable import fully_shard, replicate
from mindtorch.torch.distributed._observed import observers
from mindtorch.torch.distributed.tensor.debug import CommDebugMode
from tests.support.paths import GOLDEN_FILES, PROGRAMS
from tests.torch.distributed.jobs import started_ranks

GOLDEN = json.loads((GOLDEN_FILES / "comm_counts.json").read_text())


@pytest.fixture(scope="module")
def found(tmp_path_factory: Any) -> list[Any]:
    program = PROGRAMS / "distributed" / "comm_counts_program.py"
    return started_ranks(program, 2, tmp_path_factory.mktemp("counts"))


@pytest.mark.parametrize("case", list(GOLDEN))
def test_it_is_pytorchs(found: list[Any], case: str) -> None:
    """Kinds, numbers, modules and directions; gradients of a replicated module."""
    assert found[0][case] == GOLDEN[case]


def test_replicas_agree(found: list[Any]) -> None:
    """They began with other parameters, and have the first one's and the same gradients."""
    assert found[0]["replicated gradients"] == found[1]["replicated gradients"]


@pytest.fixture
def alone() -> Any:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_replicate_refuses(alone: None) -> None:
    module = replicate(torch.nn.Linear(2, 2), device_id=torch.device("cpu"))
    with pytest.raises(AssertionError, match="only be applied to a module once"):
        replicate(module)
    with pytest.raises(AssertionError, match="DDP does not support deepcopy"):
        copy.deepcopy(module)
    with pytest.raises(RuntimeError, match="Expected device_id to be int"):
        replicate(torch.nn.Linear(2, 2), device_id="cpu")
    with pytest.raises(RuntimeError, match="already managed by `fully_shard`"):
        replicate(fully_shard(torch.nn.Linear(2, 2)))


def test_ignored_and_sharded_parameters_are_left_out(alone: None) -> None:
    """A hook sees what is averaged."""
    module = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(3)])
    fully_shard(module[1])
    replicate(module, ignored_modules=[module[0]])
    seen: list[Any] = []

    def hook(state: Any, bucket: Any) -> Any:
        seen.extend(bucket.parameters())
        done: Any = torch.futures.Future()
        done.set_result(bucket.buffer())
        return done

    module.register_comm_hook(None, hook)
    module(torch.ones(1, 2)).sum().backward()
    assert {id(p) for p in seen} == {id(p) for p in module[2].parameters()}


def test_nobody_is_told_after_the_block(alone: None) -> None:
    """Also after an error in a module, whose hooks are taken away."""
    layer = torch.nn.Linear(2, 2)
    with pytest.raises(RuntimeError), CommDebugMode() as mode:
        layer(torch.ones(3, 5))
    assert observers == [] and not layer._forward_hooks
    dist.all_reduce(torch.ones(2))
    assert mode.get_total_counts() == 0
