"""How fast processes exchange: given, or measured with two of them on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist

from .mechanisms import (
    MECHANISMS,
    call_of_cut_layer,
    calls_of_sharded_modules,
    times_of_mechanisms,
)

__all__ = ["KINDS", "Link", "given_link", "link_of_job", "measured_link"]

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "send")
_SIZES, _REPEATS = (64, 1 << 18, 1 << 20, 1 << 22), 12  # elements of float32
_PATIENCE = 120
_MODULE = "mindtorch.planning.link"


@dataclass(frozen=True)
class Link:
    """Seconds before an exchange, and bytes in a second, for each kind.

    Attributes:
        latency, bandwidth: by kind.
        origin: where the numbers are from.
        groups: links of groups of other sizes, where they were measured.
        curves: (bytes, seconds) by kind, where some sizes were measured: a large exchange leaves
            the caches and has less bandwidth than a small one.
        count: of how many processes the curves are.
        works: (bytes, seconds) that replicas and sharded modules take beside their exchanges, by
            the names of mechanisms.
        call: seconds of the calls around a cut layer, forward and backward.
        sharded: seconds of the calls around a sharded module, and around each parameter of it.
    """

    latency: dict[str, float]
    bandwidth: dict[str, float]
    origin: str
    groups: dict[int, Link] = field(default_factory=dict)
    curves: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    count: int = 0
    works: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    call: float = 0.0
    sharded: tuple[float, float] = (0.0, 0.0)

    def work(self, mechanism: str, size: float) -> float:
        """Seconds that a mechanism takes for ``size`` bytes beside its exchange."""
        if not self.works:
            return 0.0
        sizes, seconds = ([point[i] for point in self.works[mechanism]] for i in (0, 1))
        return float(np.interp(size, sizes, seconds)) * max(size / sizes[-1], 1.0)

    def hastened(self, factor: float) -> Link:
        """The same exchanges between processors that are ``factor`` times as fast."""
        works = {
            name: [(size, seconds / factor) for size, seconds in points]
            for name, points in self.works.items()
        }
        module, parameter = self.sharded
        calls = module / factor, parameter / factor
        return replace(self, works=works, call=self.call / factor, sharded=calls)

    def seconds(self, kind: str, size: float, count: int) -> float:
        """The time of an exchange between ``count`` processes, as a ring.

        Args:
            size: bytes of the whole that each has in the end, or gives.
        """
        if count == 1:
            return 0.0
        if count in self.groups:
            return self.groups[count].seconds(kind, size, count)
        curve = self.curves.get(kind, [])
        if curve and size <= curve[-1][0] and (kind == "send" or count == self.count):
            sizes, seconds = ([point[i] for point in curve] for i in (0, 1))
            return float(np.interp(size, sizes, seconds))
        if kind == "send":
            return self.latency[kind] + size / self.bandwidth[kind]
        steps = _messages(kind, count)
        return steps * self.latency[kind] + steps / count * size / self.bandwidth[kind]


def _messages(kind: str, count: int) -> int:
    """How many messages one of ``count`` processes sends after another, in a ring."""
    return (2 if kind == "all_reduce" else 1) * (count - 1)


def _fitted(times: dict[str, Any], count: int, origin: str) -> Link:
    """The link of ``count`` processes that need so long for each of the sizes."""
    times = dict(times)
    call, sharded = times.pop("call"), times.pop("sharded")
    latency, bandwidth, curves = {}, {}, {}
    sizes = [4.0 * n for n in _SIZES]
    works = {name: list(zip(sizes, times.pop(name), strict=True)) for name in MECHANISMS}
    for kind, found in times.items():
        steps = 1 if kind == "send" else _messages(kind, count)
        part = 1.0 if kind == "send" else steps / count
        latency[kind] = found[0] / steps
        bandwidth[kind] = part * sizes[-1] / max(found[-1] - found[0], 1e-9)
        curves[kind] = list(zip(sizes, found, strict=True))
    return Link(latency, bandwidth, origin, {}, curves, count, works, call, tuple(sharded))


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
    """Of all processes of this job, and of groups of neighbours that they divide into, all of one
    size at once, as plans use them. Each process calls it, and has its own times.

    Args:
        clock: what exchanges are timed by.

    Raises:
        ValueError: the job has one process.
    """
    count = dist.get_world_size()
    if count < 2:
        raise ValueError("a job of one process exchanges nothing")
    found: dict[int, Link] = {}
    alone = _works(clock)
    for size in (k for k in range(2, count) if count % k == 0):
        own, groups = dist.new_subgroups(size)
        times = _times(own, clock) | alone
        found[size] = _fitted(times, size, f"measured with groups of {size} processes")
        for group in groups:
            if group is own:
                dist.destroy_process_group(group)
    times = _times(dist.group.WORLD, clock) | alone
    whole = _fitted(times, count, f"measured with {count} processes")
    return replace(whole, groups=found)


def _exchanges(group: Any) -> dict[str, Any]:
    rank, count = dist.get_rank(group), dist.get_world_size(group)

    def send(x: Any) -> None:
        """There and back: the times are halved, since one end alone has half of the work."""
        if rank == 0:
            dist.send(x, group=group, group_dst=1)
            dist.recv(x, group=group, group_src=1)
        elif rank == 1:
            dist.recv(x, group=group, group_src=0)
            dist.send(x, group=group, group_dst=0)

    def parts(x: Any) -> tuple[Any, Any]:
        whole = x.numpy()
        return whole, whole[: x.numel() // count].copy()

    def gather(x: Any) -> None:
        group.all_gather_into(*parts(x))

    def scatter(x: Any) -> None:
        whole, part = parts(x)
        group.reduce_scatter_into(part, whole, "SUM")

    return {
        "all_reduce": lambda x: dist.all_reduce(x, group=group), "all_gather": gather,
        "reduce_scatter": scatter, "send": send,
    }  # fmt: skip


def _times(group: Any, clock: Callable[[], float] = time.perf_counter) -> dict[str, Any]:
    """Least seconds of each kind and size, as nearly as the group's size divides it."""
    found: dict[str, Any] = {}
    count = dist.get_world_size(group)
    for kind, exchange in _exchanges(group).items():
        found[kind] = [
            min(_timed(exchange, torch.zeros(size // count * count), clock)
                for _ in range(_REPEATS))
            for size in _SIZES
        ]
    found["send"] = [seconds / 2 for seconds in found["send"]]
    return found


def _works(clock: Callable[[], float] = time.perf_counter) -> dict[str, Any]:
    """Least seconds of mechanisms by size, and of the calls of cut and of sharded modules."""
    alone, _ = dist.new_subgroups(1)
    found: dict[str, Any] = times_of_mechanisms(alone, _SIZES, clock)
    found["call"] = call_of_cut_layer(alone, clock)
    found["sharded"] = calls_of_sharded_modules(alone, clock)
    dist.destroy_process_group(alone)
    return found


def main(url: str, rank: str) -> None:
    """One of the two processes: the first prints least seconds, by kind and size."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=2)
    found = _times(dist.group.WORLD) | _works()
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
