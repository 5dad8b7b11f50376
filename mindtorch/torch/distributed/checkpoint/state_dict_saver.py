"""Save a state of several processes."""

from __future__ import annotations

import concurrent.futures
import os
import warnings
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ._steps import Steps
from ._storages import is_alone, storage_for
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .metadata import STATE_DICT_TYPE, Metadata
from .planner import SavePlan, SavePlanner
from .staging import AsyncStager, DefaultStager
from .stateful import Stateful
from .storage import StorageWriter

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]

_PROGRAM, _THREAD = 1, 2


class AsyncCheckpointerType(Enum):
    """Where :func:`async_save` works."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """Futures of the copy, and of the checkpoint."""

    staging_completion: concurrent.futures.Future[None]
    upload_completion: concurrent.futures.Future[Any]


def save(
    state_dict: STATE_DICT_TYPE,
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Save a state, together with all processes of a group.

    A checkpoint is there when this returns. Until then an older one of the same name stays.

    Args:
        state_dict: nested tensors and objects. An object with ``state_dict`` is asked for it.
        checkpoint_id: the checkpoint's name: a folder.
        storage_writer: writes it; FileSystemWriter when None.
        planner: decides who writes what; DefaultSavePlanner when None.
        process_group: the processes; the default group when None.
        no_dist: this process by itself.
        use_collectives: False: each process writes a checkpoint of its own into the folder.

    Raises:
        CheckpointException: a process has failed, in all of them.
        RuntimeError: neither a name nor a writer.
    """
    alone = is_alone(no_dist, "save")
    writer = storage_for(storage_writer, checkpoint_id, FileSystemWriter)
    steps = Steps(process_group, alone, lane=_PROGRAM)
    return _save(_states(state_dict), writer, planner, steps, use_collectives)


def _states(state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
    return {
        name: each.state_dict() if isinstance(each, Stateful) else each
        for name, each in state_dict.items()
    }


def _save(
    state_dict: STATE_DICT_TYPE, writer: StorageWriter, planner: SavePlanner | None, steps: Steps,
    use_collectives: bool,
) -> Metadata:  # fmt: skip
    chosen = DefaultSavePlanner() if planner is None else planner
    described: list[Metadata] = []

    def local() -> SavePlan:
        chosen.set_up_planner(
            state_dict, storage_meta=writer.storage_meta(), is_coordinator=steps.is_coordinator
        )
        writer.set_up_storage_writer(
            steps.is_coordinator, rank=steps.rank, use_collectives=use_collectives
        )
        return writer.prepare_local_plan(chosen.create_local_plan())

    def whole(plans: list[SavePlan]) -> list[SavePlan]:
        made, metadata = chosen.create_global_plan(plans)
        described.append(metadata)
        return writer.prepare_global_plan(made)

    def written(plan: SavePlan) -> Any:
        future: Any = writer.write_data(chosen.finish_plan(plan), chosen)
        return future.wait()

    def finish(results: list[Any]) -> Metadata:
        writer.finish(metadata=described[0], results=results)
        return described[0]

    if use_collectives:
        plan = steps.scatter_reduced("plan", local, whole)
        metadata: Metadata = steps.reduced("write", lambda: written(plan), finish)
        return metadata
    metadata = finish([written(whole([local()])[0])])
    steps.wait_for_all()
    return metadata


_background = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="async_save")


def async_save(
    state_dict: STATE_DICT_TYPE,
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: AsyncStager | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Any:
    """:func:`save` in a thread, of a copy of the state: training may go on.

    Saves that are begun in one process follow one another. Their messages do not mix with those of
    the program.

    Args:
        state_dict, checkpoint_id, storage_writer: as for :func:`save`.
        planner, process_group, no_dist, use_collectives: as there.
        async_checkpointer_type: THREAD.
        async_stager: makes the copy; the writer, where it can, when None.

    Returns:
        A future of the checkpoint's description; with a DefaultStager an AsyncSaveResponse.

    Raises:
        NotImplementedError: PROCESS.
        RuntimeError: neither a name nor a writer.
    """
    if async_checkpointer_type is not AsyncCheckpointerType.THREAD:
        raise NotImplementedError(
            "async_save(async_checkpointer_type=PROCESS) is not available in mindtorch: a thread "
            "writes"
        )
    alone = is_alone(no_dist, "save")
    writer = storage_for(storage_writer, checkpoint_id, FileSystemWriter)
    stager: Any = async_stager
    if stager is None:
        stager = writer if isinstance(writer, AsyncStager) else DefaultStager()
    staged = stager.stage(_states(state_dict))
    steps = Steps(process_group, alone, lane=_THREAD)

    def write() -> Metadata:
        copy = staged.result() if isinstance(staged, concurrent.futures.Future) else staged
        return _save(copy, writer, planner, steps, use_collectives)

    upload = _background.submit(write)
    if isinstance(async_stager, DefaultStager):
        done: concurrent.futures.Future[None] = concurrent.futures.Future()
        done.set_result(None)
        return AsyncSaveResponse(done, upload)
    if stager.should_synchronize_after_execute:
        stager.synchronize_staging()
    return upload


def save_state_dict(
    state_dict: STATE_DICT_TYPE, storage_writer: StorageWriter, process_group: Any = None,
    coordinator_rank: int = 0, no_dist: bool = False, planner: SavePlanner | None = None,
) -> Metadata:  # fmt: skip
    """:func:`save` under its older name, without states of objects.

    Args:
        state_dict, storage_writer, process_group, no_dist, planner: as for :func:`save`.
        coordinator_rank: the process that makes the global plan.
    """
    warnings.warn(
        "'save_state_dict' is deprecated and will be removed in future versions.Please use 'save' "
        "instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_writer.reset()
    steps = Steps(process_group, no_dist, coordinator_rank, _PROGRAM)
    return _save(state_dict, storage_writer, planner, steps, True)
