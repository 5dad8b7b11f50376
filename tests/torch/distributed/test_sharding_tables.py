"""How a DTensor lies, as a table; one process stands for a mesh of several."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist
from mindtorch.torch.distributed import _functional_collectives as collectives
from mindtorch.torch.distributed.device_mesh import init_device_mesh
from mindtorch.torch.distributed.tensor import Replicate, Shard, debug, distribute_tensor


@pytest.fixture
def group() -> Iterator[None]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_a_tensor_is_shown_by_boxes(group: None, capsys: pytest.CaptureFixture[str]) -> None:
    mesh = init_device_mesh("cpu", (1, 1))
    x = distribute_tensor(torch.randn(4, 6), mesh, [Shard(0), Replicate()])
    debug.visualize_sharding(x, use_rich=True)
    shown = capsys.readouterr().out
    assert "Row 0-3" in shown and "Col 0-5" in shown and "cpu:0" in shown
    debug.visualize_sharding(distribute_tensor(torch.randn(5), mesh, [Shard(0), Replicate()]))
    shown = capsys.readouterr().out
    assert "Row 0-4" in shown and "Col 0-0" in shown
    debug.visualize_sharding(distribute_tensor(torch.randn(0, 3), mesh, [Shard(0), Replicate()]))
    assert capsys.readouterr().out == ""
    with pytest.raises(RuntimeError, match="supports only 1D or 2D DTensor"):
        debug.visualize_sharding(
            distribute_tensor(torch.randn(2, 2, 2), mesh, [Shard(0), Replicate()])
        )


def test_pieces_of_a_combination(group: None) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(collectives.reduce_scatter_tensor(x, "sum", 1, dist.group.WORLD), x)
