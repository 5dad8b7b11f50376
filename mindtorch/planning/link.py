"""How fast processes exchange: given, or measured with two of them on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist

__all__ = ["KINDS", "Link", "given_link", "link_of_job", "measured_link"]

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "send")
_SMALL, _LARGE, _REPEATS = 64, 1 << 21, 12  # elements of float32
_PATIENCE = 120
_MODULE = "mindtorch.planning.link"


@dataclass(frozen=True)
class Link:
    """Seconds before an exchange, and bytes in a second, for each kind.

    Attributes:
        latency, bandwidth: by kind.
        origin: where the numbers are from.
    """

    latency: dict[str, float]
    bandwidth: dict[str, float]
    origin: str

    def seconds(self, kind: str, size: float, count: int) -> float:
        """The time of an exchange between ``count`` processes, as a ring.

        Args:
            size: bytes of the whole that each has in the end, or gives.
        """
        if count == 1:
            return 0.0
        if kind == "send":
            return self.latency[kind] + size / self.bandwidth[kind]
        steps = _messages(kind, count)
        return steps * self.latency[kind] + steps / count * size / self.bandwidth[kind]


def _messages(kind: str, count: int) -> int:
    """How many messages one of ``count`` processes sends after another, in a ring."""
    return (2 if kind == "all_reduce" else 1) * (count - 1)


def _fitted(times: dict[str, list[float]], count: int, origin: str) -> Link:
    """The link of ``count`` processes that need so long for few and for many elements."""
    latency, bandwidth = {}, {}
    for kind, (small, large) in times.items():
        steps = 1 if kind == "send" else _messages(kind, count)
        part = 1.0 if kind == "send" else steps / count
        latency[kind] = small / steps
        bandwidth[kind] = part * _LARGE * 4 / max(large - small, 1e-9)
    return Link(latency, bandwidth, origin)


def given_link(bandwidth: float, latency: float) -> Link:
    """One bandwidth, in bytes a second, and one latency, in seconds, for all kinds."""
    return Link(dict.fromkeys(KINDS, latency), dict.fromkeys(KINDS, bandwidth), "given")


def measured_link() -> Link:
    """Of two processes of one thread each.

    Raises:
        RuntimeError: they could not be started, or failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", _MODULE, f"file://{folder}/store", str(rank)],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for rank in range(2)
        ]  # fmt: skip
        try:
            told = [process.communicate(timeout=_PATIENCE) for process in processes]
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"two processes did not exchange within {_PATIENCE} s") from error
        finally:
            for process in processes:
                process.kill()
                process.wait()
    if any(process.returncode for process in processes):
        raise RuntimeError(f"two processes could not exchange: {told[0][1] or told[1][1]}")
    return _fitted(json.loads(told[0][0]), 2, "measured with two processes here")


def link_of_job(clock: Callable[[], float] = time.perf_counter) -> Link:
    """Of all processes of this job; each of them calls it, and each has its own times.

    Args:
        clock: what exchanges are timed by.

    Raises:
        ValueError: the job has one process.
    """
    count = dist.get_world_size()
    if count < 2:
        raise ValueError("a job of one process exchanges nothing")
    return _fitted(_times(dist.get_rank(), count, clock), count, f"measured with {count} processes")


def _exchanges(rank: int, count: int) -> dict[str, Any]:
    def send(x: Any) -> None:
        if rank < 2:
            dist.send(x, 1) if rank == 0 else dist.recv(x, 0)

    return {
        "all_reduce": dist.all_reduce,
        "all_gather": lambda x: dist.all_gather_into_tensor(x, x[: x.numel() // count].clone()),
        "reduce_scatter": lambda x: dist.reduce_scatter_tensor(x[: x.numel() // count].clone(), x),
        "send": send,
    }


def _times(
    rank: int, count: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Least seconds of each kind, of few and of many elements, as nearly as ``count`` divides."""
    found = {}
    for kind, exchange in _exchanges(rank, count).items():
        found[kind] = [
            min(_timed(exchange, torch.zeros(size // count * count), clock)
                for _ in range(_REPEATS))
            for size in (_SMALL, _LARGE)
        ]
    return found


def main(url: str, rank: str) -> None:
    """One of the two processes: the first prints least seconds, of few and of many elements."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=2)
    found = _times(int(rank), 2)
    if rank == "0":
        print(json.dumps(found))
    dist.destroy_process_group()


def _timed(exchange: Any, x: Any, clock: Callable[[], float]) -> float:
    dist.barrier()
    begun = clock()
    exchange(x)
    return clock() - begun


if __name__ == "__main__":
    main(*sys.argv[1:])
