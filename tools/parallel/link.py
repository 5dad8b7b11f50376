"""How fast processes exchange: given, or measured with two of them on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Any

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist

__all__ = ["KINDS", "Link", "given_link", "measured_link"]

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "send")
_SMALL, _LARGE, _REPEATS = 64, 1 << 21, 12  # elements of float32
_PATIENCE = 120
_MODULE = "mindtorch.tools.parallel.link"


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
        rounds = 2 if kind == "all_reduce" else 1
        steps = rounds * (count - 1)
        return steps * self.latency[kind] + steps / count * size / self.bandwidth[kind]


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
    times = json.loads(told[0][0])
    latency, bandwidth = {}, {}
    for kind, (small, large) in times.items():
        size = _LARGE * 4 * (1 if kind in ("all_reduce", "send") else 0.5)  # of two processes
        latency[kind] = small / (2 if kind == "all_reduce" else 1)
        bandwidth[kind] = size / max(large - small, 1e-9)
    return Link(latency, bandwidth, "measured with two processes here")


def _exchanges(rank: int) -> dict[str, Any]:
    def send(x: Any) -> None:
        dist.send(x, 1) if rank == 0 else dist.recv(x, 0)

    return {
        "all_reduce": dist.all_reduce,
        "all_gather": lambda x: dist.all_gather_into_tensor(x, x[: x.numel() // 2].clone()),
        "reduce_scatter": lambda x: dist.reduce_scatter_tensor(x[: x.numel() // 2].clone(), x),
        "send": send,
    }


def main(url: str, rank: str) -> None:
    """One of the two processes: the first prints least seconds, of few and of many elements."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=2)
    found = {}
    for kind, exchange in _exchanges(int(rank)).items():
        found[kind] = [
            min(_timed(exchange, torch.zeros(size)) for _ in range(_REPEATS))
            for size in (_SMALL, _LARGE)
        ]
    if rank == "0":
        print(json.dumps(found))
    dist.destroy_process_group()


def _timed(exchange: Any, x: Any) -> float:
    dist.barrier()
    begun = time.perf_counter()
    exchange(x)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main(*sys.argv[1:])
