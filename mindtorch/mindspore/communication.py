"""Groups of processes, over torch.distributed's collectives."""

from __future__ import annotations

import importlib
import os
from typing import Any

from mindtorch import torch

from . import context

__all__ = [
    "GlobalComm", "all_reduced", "create_group", "destroy_group", "gather_into", "get_group_size",
    "get_local_rank", "get_local_rank_size", "get_rank", "get_stage", "init", "is_initialized",
    "pipeline_group", "reduced_rows", "release", "stage_group",
]  # fmt: skip

HCCL_WORLD_COMM_GROUP = "hccl_world_group"
NCCL_WORLD_COMM_GROUP = "nccl_world_group"
MCCL_WORLD_GROUP = "mccl_world_group"

_groups: dict[str, Any] = {}
_by_stages: dict[tuple[Any, int], tuple[Any, Any]] = {}


class GlobalComm:
    """The names in use."""

    BACKEND = "mccl"
    WORLD_COMM_GROUP = MCCL_WORLD_GROUP
    INITED = False


def _distributed() -> Any:
    return torch.distributed


def sharding() -> Any:
    """The module of strategies and layouts, which is imported when something is sharded."""
    return importlib.import_module(f"{__package__}.parallel")


def init(backend_name: str | None = None) -> None:
    """Join the other processes of the job.

    Rank, number of processes and meeting place come from the launcher: mpiexec or torchrun
    (RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT), or msrun (MS_NODE_ID, MS_WORKER_NUM,
    MS_SCHED_HOST and MS_SCHED_PORT). Without a launcher the process is alone.

    Args:
        backend_name: "mccl", for the CPU.

    Raises:
        RuntimeError: a backend that is not in this build.
        TypeError: not text.
    """
    name = "mccl" if backend_name is None else backend_name
    if not isinstance(name, str):
        raise TypeError(f"Backend name must be a string, but got {type(name)}")
    if name == "hccl":
        raise RuntimeError(
            "backend 'hccl' is for Ascend processors, which are not supported: use 'mccl' on the "
            "CPU, or 'nccl' on a GPU"
        )
    if name == "nccl":
        raise RuntimeError("backend 'nccl' needs a GPU, and tensors are on the CPU: use 'mccl'")
    if name != "mccl":
        raise RuntimeError(
            f"For 'init', the argument 'backend_name' should be 'mccl' or 'nccl', but got {name!r}"
        )
    distributed = _distributed()
    if not distributed.is_initialized():
        _join(distributed)
    GlobalComm.INITED = True


def _join(distributed: Any) -> None:
    if "RANK" in os.environ or distributed._mpi.launched() is not None:
        distributed.init_process_group("gloo")
        return
    rank, size = int(os.environ.get("MS_NODE_ID", 0)), int(os.environ.get("MS_WORKER_NUM", 1))
    if size == 1:
        distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
        return
    host = os.environ.get("MS_SCHED_HOST", "127.0.0.1")
    url = f"tcp://{host}:{os.environ.get('MS_SCHED_PORT', 8118)}"
    distributed.init_process_group("gloo", init_method=url, rank=rank, world_size=size)


def is_initialized() -> bool:
    """Whether :func:`init` was called."""
    return GlobalComm.INITED and bool(_distributed().is_initialized())


def release() -> None:
    """Leave the other processes."""
    if is_initialized():
        _distributed().destroy_process_group()
    _groups.clear()
    _by_stages.clear()
    GlobalComm.INITED = False


def _group(name: Any) -> Any:
    if name is None or name in (GlobalComm.WORLD_COMM_GROUP, HCCL_WORLD_COMM_GROUP,
                                NCCL_WORLD_COMM_GROUP):  # fmt: skip
        if not is_initialized():
            raise RuntimeError("the communication is not initialized: call communication.init()")
        return None
    if name not in _groups:
        raise ValueError(f"no group {name!r}: create_group() makes one")
    return _groups[name]


def _alone(group: Any) -> bool:
    """Whether nothing has been started, so that a process is alone in the group of all."""
    whole = (None, GlobalComm.WORLD_COMM_GROUP, HCCL_WORLD_COMM_GROUP, NCCL_WORLD_COMM_GROUP)
    return group in whole and not is_initialized()


def get_rank(group: str | None = None) -> int:
    """This process's place in the group; 0 where there is only this one."""
    if _alone(group):
        return 0
    return int(_distributed().get_rank(_group(group)))


def get_group_size(group: str | None = None) -> int:
    """The number of processes in the group; 1 where there is only this one."""
    if _alone(group):
        return 1
    return int(_distributed().get_world_size(_group(group)))


def get_local_rank(group: str | None = None) -> int:
    """This process's place among those of its machine.

    Args:
        group: its name.
    """
    return int(os.environ.get("LOCAL_RANK", get_rank(group)))


def get_local_rank_size(group: str | None = None) -> int:
    """The number of processes on this machine.

    Args:
        group: its name.
    """
    return int(os.environ.get("LOCAL_WORLD_SIZE", get_group_size(group)))


def create_group(group: str, rank_ids: list[int]) -> None:
    """Name a group of processes; every process calls it.

    Args:
        rank_ids: numbers among all.

    Raises:
        ValueError: the name is taken.
    """
    if group in _groups:
        raise ValueError(f"the group {group!r} exists already")
    _group(None)
    _groups[group] = _distributed().new_group(list(rank_ids))


def destroy_group(group: str) -> None:
    """Forget a group."""
    _group(group)
    _groups.pop(group, None)


def _stages() -> int:
    return int(context.get_auto_parallel_context("pipeline_stages"))


def get_stage() -> int:
    """The pipeline stage of this process: neighbouring processes share one.

    Raises:
        ValueError: the stages do not divide the processes.
    """
    size, stages = get_group_size(), _stages()
    if size % stages:
        raise ValueError(f"{size} processes are not divided by {stages} pipeline_stages")
    return get_rank() // (size // stages)


def _groups_of_stages() -> tuple[Any, Any]:
    """The processes of this stage (their group's name), and of this pipeline (the group); all
    processes ask for them in the same order."""
    distributed, stages, stage = _distributed(), _stages(), get_stage()
    key = distributed.group.WORLD, stages
    if key not in _by_stages:
        size, rank = get_group_size(), get_rank()
        each = size // stages
        for number in range(stages):
            name = f"{size} processes in {stages} stages: stage {number}"
            create_group(name, list(range(number * each, (number + 1) * each)))
        lines = [distributed.new_group(list(range(i, size, each))) for i in range(each)]
        name = f"{size} processes in {stages} stages: stage {stage}"
        _by_stages[key] = name, lines[rank % each]
    return _by_stages[key]


def stage_group() -> Any:
    """The name of the group of this stage's processes; None where a process is alone."""
    return _groups_of_stages()[0] if is_initialized() else None


def pipeline_group() -> Any:
    """torch's group of the processes, one of each stage, that a batch goes through."""
    return _groups_of_stages()[1]


def all_reduced(tensor: Any, group: Any = None, op: str = "sum") -> Any:
    """A new tensor: the sum ("prod", "max", "min") over the processes of the group.

    Args:
        op: one of these names.
    """
    distributed = _distributed()
    result = tensor.detach().clone()
    distributed.all_reduce(result, getattr(distributed.ReduceOp, op.upper()), _group(group))
    return result


def reduced_rows(tensor: Any) -> Any:
    """Of the sum over all processes this one's part of the first axis, which they divide.

    Args:
        tensor: of one shape in all processes.
    """
    distributed = _distributed()
    shape = tensor.aval.shape
    result = torch.empty((shape[0] // get_group_size(), *shape[1:]), dtype=tensor.aval.dtype)
    distributed.reduce_scatter_tensor(result, tensor.detach().contiguous())
    return result


def gather_into(whole: Any, part: Any) -> None:
    """Overwrite ``whole`` with the parts of all processes, one after another.

    Args:
        whole: a tensor that lies in order.
        part: this process's.
    """
    _distributed().all_gather_into_tensor(whole, part)
