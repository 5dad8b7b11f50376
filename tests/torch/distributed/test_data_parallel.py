"""Data parallel training in real processes, started in the three ways, and how jobs end."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.torch.distributed import _launch, run
from mindtorch.torch.distributed._process_manager import host_mapping
from tests.programs import failing_rank_program
from tests.support.paths import GOLDEN_FILES, PROGRAMS
from tests.torch.distributed.jobs import assert_near, ranks_of, start, torchrun

PROGRAM = PROGRAMS / "data_parallel_program.py"
FAILING = PROGRAMS / "failing_rank_program.py"
MPIEXEC = [str(Path(sys.executable).with_name("mpiexec")), "-n", "2", sys.executable]
TORCHRUN = torchrun(2)
GOLDEN = json.loads((GOLDEN_FILES / "data_parallel.json").read_text())


@pytest.fixture(scope="module")
def found(tmp_path_factory: Any) -> list[Any]:
    """What two processes of mpiexec found."""
    folder = tmp_path_factory.mktemp("parallel")
    return ranks_of([*MPIEXEC, str(PROGRAM), "mindtorch.torch", str(folder)], 2, folder)


@pytest.mark.parametrize("case", list(GOLDEN[0]))
def test_training_is_pytorchs(found: list[Any], case: str) -> None:
    """Doubled batches, buckets, join and ZeRO-1 give what PyTorch's gloo gave, in both ranks."""
    for mine, theirs in zip(found, GOLDEN, strict=True):
        assert_near(mine[case], theirs[case], 1e-6)


def test_compiled_steps_average_gradients(found: list[Any]) -> None:
    """torch.compile of a whole step, backward and averages included, is bit-equal to eager."""
    for each in found:
        assert each["compiled"] == [True, ""]


def test_buckets_of_compiled_steps_go_before_backward_has_ended() -> None:
    """A bucket is given to its hook when the gradients of the layers below are not there yet."""
    dist = torch.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        torch.manual_seed(0)
        nets = [torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(4)]) for _ in range(2)]
        nets[1].load_state_dict(nets[0].state_dict())
        model = torch.nn.parallel.DistributedDataParallel(nets[0], bucket_cap_mb=1e-4)
        weight = nets[0][0].weight
        seen: list[Any] = []  # the lowest layer's gradient when a bucket goes

        def hook(_: Any, bucket: Any) -> Any:
            seen.append(None if weight.grad is None else weight.grad.clone())
            future: Any = torch.futures.Future()
            future.set_result(bucket.buffer())
            return future

        model.register_comm_hook(None, hook)
        optimizers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]

        def step(net: Any, optimizer: Any, x: Any) -> Any:
            optimizer.zero_grad()
            loss = net(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        compiled = torch.compile(lambda x: step(model, optimizers[0], x))
        for _ in range(4):
            x = torch.randn(4, 8)
            seen.clear()
            assert compiled(x).item() == step(nets[1], optimizers[1], x).item()
            there = [g is not None and torch.equal(g, nets[1][0].weight.grad) for g in seen]
            assert there == [False, False, False, True]
        for own, other in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
            assert torch.equal(own, other)
    finally:
        dist.destroy_process_group()


def test_compiled_accumulation_in_a_join_block(found: list[Any]) -> None:
    """The process that has ended hears which forwards are averaged."""
    for each in found:
        assert each["joined_accumulation"]


def test_collectives_are_part_of_compiled_steps(found: list[Any]) -> None:
    """Gradients reduced by hand, and batch norm over all processes' batches."""
    for each in found:
        assert each["reduced_by_hand"] == [True, ""] and each["statistics_of_all"]


def test_mpi_carries_arrays(found: list[Any]) -> None:
    """Under mpiexec the group is MPI's, also for views, 16-bit types and smaller groups."""
    sums = [[1.0, 7.0], [3.0, 9.0], [5.0, 11.0]]
    assert found[0]["engine"] == ["MpiGroup", "mpi", sums, [1.5] * 3, [1.0]]
    assert found[1]["engine"] == ["MpiGroup", "mpi", sums, [1.5] * 3, [2.0 / 2]]


def check_end(told: str, how: str) -> None:
    """The job was over within a minute of the timeout; rank and place of the failure are named."""
    last = max(float(line.split()[-1]) for line in told.splitlines() if "summed at" in line)
    assert time.time() - last < failing_rank_program.TIMEOUT + 60, told
    assert "rank 1" in told or "rank1" in told or how == "early"
    where = {
        "raise": "KeyError: 'no such thing'", "early": "KeyError: 'no such thing'",
        "hang": "time.sleep(0.1)", "stop": "rank 1 does not answer", "leave": "left in order",
    }  # fmt: skip
    assert where.get(how, "") in told, told


def test_a_hanging_rank_ends_the_job() -> None:
    """Under torchrun: the waiting rank says where rank 1 hangs, and the job ends."""
    code, told = start([*TORCHRUN, str(FAILING), "hang"])
    assert code == 1
    check_end(told, "hang")
    assert "rank 1 has begun 2 operations of group 0, this rank 3" in told


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["raise", "kill", "exit", "hang", "stop", "leave", "early"])
@pytest.mark.parametrize("way", ["torchrun", "mpiexec"])
def test_a_failing_rank_ends_the_job(way: str, how: str) -> None:
    """However it fails and whoever started it; torchrun names the cause before what followed."""
    command = TORCHRUN if way == "torchrun" else MPIEXEC
    code, told = start([*command, str(FAILING), how])
    assert code != 0
    check_end(told, how)
    if way == "torchrun" and how not in ("hang", "stop", "leave"):
        assert "first failure: rank 1" in told
        assert {"kill": "signal SIGKILL", "exit": "exit code 3"}.get(how, "exit code 1") in told


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["raise", "kill", "hang", "stop"])
def test_spawn_names_the_cause(how: str, tmp_path: Path) -> None:
    """torch.multiprocessing.spawn raises for the process that failed first."""
    begun = time.time()
    kind: Any = torch.multiprocessing.ProcessRaisedException
    if how == "kill":
        kind = torch.multiprocessing.ProcessExitedException
    with pytest.raises(kind) as caught:
        torch.multiprocessing.spawn(
            failing_rank_program.spawned, args=(how, str(tmp_path / "store")), nprocs=2
        )
    assert time.time() - begun < 60
    text = {"raise": "KeyError", "kill": "SIGKILL", "hang": "time.sleep(0.1)",
            "stop": "rank 1 does not answer"}[how]  # fmt: skip
    assert text in str(caught.value)


# --- the launcher, with processes that import nothing ----------------------------------------


def launch(*arguments: str) -> int:
    return run.main(["--no-python", *arguments])


def test_torchrun_tells_processes_who_they_are(tmp_path: Path) -> None:
    """Rank, size, meeting place; output goes to files by rank when asked."""
    code = launch(
        "--nproc_per_node", "2", "--log_dir", str(tmp_path), "--redirects=3", "--rdzv_id", "job",
        "--master-port", "1234", "/bin/sh", "-c",
        "echo $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $MASTER_PORT $OMP_NUM_THREADS; echo e >&2",
    )  # fmt: skip
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    assert code == 0
    for rank in range(2):
        folder = tmp_path / "job" / "attempt_0" / str(rank)
        expected = f"{rank} {rank} 2 127.0.0.1 1234 {threads}\n"
        assert (folder / "stdout.log").read_text() == expected
        assert (folder / "stderr.log").read_text() == "e\n"


def test_torchrun_starts_again_as_often_as_allowed(capfd: Any) -> None:
    """All processes, with the count of restarts in the environment; then it gives up."""
    again = 'echo try $TORCHELASTIC_RESTART_COUNT; test "$TORCHELASTIC_RESTART_COUNT" = '
    assert launch("--max-restarts=2", "/bin/sh", "-c", again + "1") == 0
    told = capfd.readouterr()
    assert told.out.split("\n")[:2] == ["try 0", "try 1"]
    assert "started again" in told.err and "exit code 1" in told.err
    assert launch("--max-restarts=1", "/bin/sh", "-c", again + "7") == 1
    assert capfd.readouterr().err.count("first failure: rank 0") == 2


@pytest.mark.parametrize(
    ("options", "text"),
    [(["--nproc-per-node=gpu"], "Cuda is not available"), (["--nnodes=1:4"], "--rdzv-backend"),
     (["--nproc_per_node=some"], "Unsupported"), (["--nproc-per-node=0"], "positive"),
     (["--redirects=7"], "kinds"), (["--nnodes=2", "--node-rank=2"], "node-rank")],
)  # fmt: skip
def test_torchrun_refuses_what_it_cannot_do(options: list[str], text: str, capfd: Any) -> None:
    """With exit status 2 and a reason."""
    assert launch(*options, "true") == 2
    assert text in capfd.readouterr().err


def test_options_are_torchruns() -> None:
    """Either spelling before the script; what follows it is the script's own."""
    given = run.parse_args(
        ["--nproc_per_node", "4", "--nnodes=2", "--node_rank", "1", "-m", "train", "--my_flag", "2"]
    )
    assert (given.nproc_per_node, given.nnodes, given.node_rank) == ("4", "2", 1)
    assert given.module and given.training_script == "train"
    assert given.training_script_args == ["--my_flag", "2"]


def test_places_of_several_machines() -> None:
    """The second machine's ranks follow the first one's, whose number of processes may differ."""
    told = _launch.Place(1, [3, 2], "host", 29500).environment(1, 29500)
    assert (told["RANK"], told["LOCAL_RANK"], told["WORLD_SIZE"]) == ("4", "1", "5")
    assert (told["GROUP_RANK"], told["LOCAL_WORLD_SIZE"]) == ("1", "2")
    assert host_mapping(["a", "a", "b", "a"]) == "(vector,(0,1,2),(1,1,1),(0,1,1))"
