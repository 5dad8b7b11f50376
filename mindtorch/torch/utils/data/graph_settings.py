"""Settings of all the pipes that a pipe is made of: who reads what, order, seeds."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._tensor.generator import Generator

from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph import traverse_dps
from .sampler import draw_seed

__all__ = [
    "apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings",
    "get_all_graph_pipes",
]  # fmt: skip


def get_all_graph_pipes(graph: dict[int, Any]) -> list[Any]:
    """The pipes of a graph, each once.

    Args:
        graph: of ``torch.utils.data.graph.traverse_dps``.
    """
    found: dict[int, Any] = {}

    def gather(graph: dict[int, Any]) -> None:
        for identity, (pipe, below) in graph.items():
            if identity not in found:
                found[identity] = pipe
                gather(below)

    gather(graph)
    return list(found.values())


def _has(pipe: Any, *methods: str) -> bool:
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in methods)


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: Any = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Let a pipe's sharding filters give one of several readers its samples.

    Args:
        datapipe: the pipe.
        num_of_instances: how many readers there are.
        instance_id: which one this is, from 0 on.
        sharding_group: what kind of readers they are.

    Returns:
        The pipe.

    Raises:
        RuntimeError: a filter reads from another one.
    """

    def shard(graph: dict[int, Any], before: Any) -> None:
        for pipe, below in graph.values():
            here = before
            if _has(pipe, "apply_sharding"):
                if before is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause "
                        f"data loss. Sharding already applied to {before} while trying to apply "
                        f"to {pipe}"
                    )
                takes_group = len(inspect.signature(pipe.apply_sharding).parameters) >= 3
                more = {"sharding_group": sharding_group} if takes_group else {}
                pipe.apply_sharding(num_of_instances, instance_id, **more)
                here = pipe
            shard(below, here)

    shard(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Let a pipe's shufflers shuffle, or not.

    Args:
        datapipe: the pipe.
        shuffle: whether; None leaves them as they are, True adds one where there is none.

    Returns:
        The pipe, or the added one.
    """
    if shuffle is None:
        return datapipe
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    shufflers = [pipe for pipe in pipes if _has(pipe, "set_shuffle", "set_seed")]
    if not shufflers and shuffle:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at "
            "the end. Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give each pipe that draws random numbers a seed.

    Args:
        datapipe: the pipe.
        rng: the generator that seeds are drawn from.

    Returns:
        The pipe.
    """
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has(pipe, "set_seed"):
            pipe.set_seed(draw_seed(rng))
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """``apply_random_seed`` of ``datapipe`` and ``rng``, under its name of before."""
    warnings.warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. "
        "Please use `apply_random_seed` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return apply_random_seed(datapipe, rng)


class Reading:
    """How processes and workers divide a loader's pipe and agree on its seeds.

    Args:
        dataset: the loader's; nothing is done for one that is no pipe.
        generator: where the seed that all share is drawn from.
    """

    def __init__(self, dataset: Any, generator: Any) -> None:
        self.streams = isinstance(dataset, IterDataPipe)
        self.pipe = dataset if isinstance(dataset, (IterDataPipe, MapDataPipe)) else None
        self.processes, self.rank, self.seed = 1, 0, 0
        if self.pipe is None:
            return
        distributed = torch.distributed
        joined = distributed.is_available() and distributed.is_initialized()
        if joined:
            self.processes = distributed.get_world_size()
            self.rank = distributed.get_rank()
        if self.streams:
            self.seed = draw_seed(generator)
            if joined:
                shared = torch.tensor(self.seed)
                distributed.broadcast(shared, src=0, group=distributed.new_group(backend="gloo"))
                self.seed = int(shared)

    def begin(self, workers: int = 1, worker: int = 0) -> None:
        """Seed and divide the pipe for one of several workers."""
        self.begin_order()
        if self.pipe is not None:
            apply_sharding(self.pipe, workers * self.processes, worker * self.processes + self.rank)

    def begin_order(self) -> None:
        """Seed the pipe for another epoch."""
        if self.streams:
            apply_random_seed(self.pipe, Generator().manual_seed(self.seed))


_own_names(globals())
