"""torch.distributed in several processes: results are those of PyTorch's gloo."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import mindtorch.torch as ours
from mindtorch.torch import distributed as dist
from tests.programs.distributed_program import CASES
from tests.support.paths import GOLDEN_FILES, PROGRAMS, ROOT
from tests.support.surface import check
from tests.torch.distributed.jobs import assert_near, started_ranks

PROGRAM = PROGRAMS / "distributed_program.py"


# what PyTorch's find; python -m tests.torch.distributed.test_collectives writes it
GOLDEN = GOLDEN_FILES / "collectives.json"


def under_pytorch(folder: Path) -> list[Any]:
    return started_ranks(PROGRAM, 2, folder, namespace="torch")


@pytest.fixture(scope="module")
def found(tmp_path_factory: Any) -> list[Any]:
    """What two processes found."""
    return started_ranks(PROGRAM, 2, tmp_path_factory.mktemp("distributed"))


@pytest.mark.parametrize("title", CASES)
def test_two_processes_find_what_pytorchs_find(found: list[Any], title: str) -> None:
    """Collectives, messages, objects, groups, errors and data parallel training."""
    for mine, theirs in zip(found, json.loads(GOLDEN.read_text()), strict=True):
        # numbers were rounded to five places, and may differ in the last
        assert_near(mine[title], theirs[title], 1e-5, 2e-5)


@pytest.mark.exhaustive
def test_what_is_stored_is_pytorchs(tmp_path: Path) -> None:
    """Two more processes, which import PyTorch, find nothing else on another day."""
    assert_near(under_pytorch(tmp_path), json.loads(GOLDEN.read_text()), 1e-5, 2e-5)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_three_processes_agree(tmp_path: Path) -> None:
    """By TCP and sockets, three processes get the same sums and parameters, bit for bit."""
    url = f"tcp://127.0.0.1:{_free_port()}"
    results = started_ranks(PROGRAM, 3, tmp_path, url=url, MINDTORCH_DISTRIBUTED="sockets")
    assert list(results[0]) == list(CASES)
    for title in ("all_reduce", "data_parallel", "hooked"):
        assert results[0][title][:2] == results[1][title][:2] == results[2][title][:2]
    assert [r["about"][0] for r in results] == [0, 1, 2]
    taken = [index for r in results for index in r["sampled"][0]]
    assert set(taken) == set(range(11)) and len(taken) == 12


def test_one_process_is_a_world() -> None:
    """World size 1 by environment variables: every operation is the identity."""
    variables = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port()), "RANK": "0",
                 "WORLD_SIZE": "1"}  # fmt: skip
    os.environ.update(variables)
    try:
        dist.init_process_group("gloo")
        x = ours.ones(2)
        for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
            dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
        dist.broadcast(x, 0)
        out = [ours.zeros(2)]
        dist.all_gather(out, x)
        assert x.tolist() == out[0].tolist() == [1, 1]
        model = ours.nn.parallel.DistributedDataParallel(ours.nn.Linear(2, 1))
        model(x).sum().backward()
        assert model.module.weight.grad.tolist() == [[1, 1]]
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo")
    finally:
        dist.destroy_process_group()
        for name in variables:
            del os.environ[name]
    assert not dist.is_initialized()


def _summing(rank: int, size: int, path: str, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=size)
    x = ours.tensor([rank + 1.0])
    dist.all_reduce(x)
    Path(folder, str(rank)).write_text(str(x.item()))
    dist.destroy_process_group()


def test_asking_for_mpi_leaves_it_to_the_program() -> None:
    """lightning asks mpi4py itself, which starts MPI when it is imported; accelerate asks us."""
    code = (
        "import mindtorch.torch.distributed as d, sys; d.is_mpi_available(); "
        "print('mpi4py.MPI' in sys.modules, getattr(sys.modules.get('mpi4py'), 'rc').initialize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_processes_can_be_spawned(tmp_path: Path) -> None:
    """torch.multiprocessing.spawn starts the processes of a group."""
    ours.multiprocessing.spawn(
        _summing, args=(2, str(tmp_path / "store"), str(tmp_path)), nprocs=2
    )
    assert [(tmp_path / str(rank)).read_text() for rank in range(2)] == ["3.0", "3.0"]
    assert not (tmp_path / "store").exists()


def test_a_lost_process_is_told(tmp_path: Path) -> None:
    """Waiting for a process that has left raises, at once."""
    url = f"file://{tmp_path}/lost"
    program = (
        "import mindtorch.torch.distributed as dist\n"
        f"dist.init_process_group('gloo', init_method='{url}', rank=1, world_size=2)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as process:
        dist.init_process_group("gloo", init_method=url, rank=0, world_size=2)
        process.wait(120)
        try:
            with pytest.raises(RuntimeError, match="Connection closed by peer"):
                dist.all_reduce(ours.ones(1))
        finally:
            dist.destroy_process_group()


ALONE = [
    "dist.get_rank()", "dist.get_world_size()", "dist.barrier()", "dist.is_initialized()",
    "dist.all_reduce(x)", "dist.destroy_process_group()", "dist.init_process_group('gloo')",
    "dist.init_process_group('gloo', rank=0)", "dist.get_backend()",
    "dist.init_process_group('gloo', init_method='file:///nowhere')",
    "dist.init_process_group('nccl', init_method='file:///nowhere', rank=0, world_size=1)",
    "dist.init_process_group('gloo', init_method='foo://x', rank=0, world_size=1)",
    "dist.get_default_backend_for_device('cpu'), dist.get_default_backend_for_device('cuda')",
    "dist.ReduceOp.SUM", "dist.Backend.GLOO, dist.Backend('GLOO')", "dist.group.WORLD",
    "dist.is_available(), dist.is_nccl_available(), dist.is_gloo_available()",
    "dist.is_torchelastic_launched()", "torch.nn.parallel.DistributedDataParallel"
    "(torch.nn.Linear(1, 1))", "torch.nn.DataParallel(torch.nn.Linear(1, 1)).device_ids",
    "list(torch.nn.DataParallel(torch.nn.Linear(4, 1)).state_dict())",
    "torch.nn.DataParallel(torch.nn.Linear(4, 1))(x)",
]  # fmt: skip


@pytest.mark.parametrize("code", ALONE)
def test_without_a_group_answers_are_torchs(code: str) -> None:
    """Questions and errors before init_process_group; DataParallel without devices."""
    check(code, "import importlib\ndist = importlib.import_module(torch.__name__ + '.distributed')")


@pytest.mark.parametrize("kind", ["tcp", "file", "hash", "prefix"])
def test_stores_keep_what_is_written(kind: str, tmp_path: Path) -> None:
    """set, get, add, check, compare_set, delete_key, num_keys, and waiting for a key."""
    made: dict[str, Any] = {
        "tcp": lambda: dist.TCPStore("127.0.0.1", 0, 1, True),
        "file": lambda: dist.FileStore(str(tmp_path / "store"), 1),
        "hash": dist.HashStore,
        "prefix": lambda: dist.PrefixStore("p", dist.HashStore()),
    }
    store = made[kind]()
    keys = store.num_keys()
    store.set("a", "1")
    store.set("b", b"\x00\xff")
    assert (store.get("a"), store.get("b")) == (b"1", b"\x00\xff")
    assert [store.add("n", 2), store.add("n", 3)] == [2, 5] and store.get("n") == b"5"
    assert store.check(["a", "b"]) and not store.check(["a", "missing"])
    assert store.compare_set("a", "1", "2") == b"2" and store.compare_set("a", "1", "3") == b"2"
    assert store.num_keys() == keys + 3 and store.delete_key("a") and not store.delete_key("a")
    threading.Timer(0.05, store.set, args=("late", "here")).start()
    assert store.get("late") == b"here"
    store.set_timeout(timedelta(seconds=0.05))
    with pytest.raises(RuntimeError, match="wait timeout after 50ms, keys: never"):
        store.get("never")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text(json.dumps(under_pytorch(Path(place))) + "\n")
