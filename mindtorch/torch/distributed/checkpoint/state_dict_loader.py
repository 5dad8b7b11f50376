"""Load a state into several processes, as many as there are now."""

from __future__ import annotations

import os
import warnings
from typing import Any

from ._steps import Steps
from ._storages import is_alone, storage_for
from .default_planner import DefaultLoadPlanner, EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader
from .metadata import STATE_DICT_TYPE, Metadata
from .planner import LoadPlan, LoadPlanner
from .stateful import Stateful
from .storage import StorageReader

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: STATE_DICT_TYPE,
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Load a checkpoint into a state, together with all processes of a group.

    Tensors are written over: a process reads those boxes that it has, whatever boxes were written.
    Other objects are replaced; an object with ``load_state_dict`` is given its state.

    Args:
        state_dict: nested tensors and objects.
        checkpoint_id: the checkpoint's name: a folder.
        storage_reader: reads it; FileSystemReader when None.
        planner: decides who reads what; DefaultLoadPlanner when None.
        process_group: the processes; the default group when None.
        no_dist: this process by itself.

    Raises:
        CheckpointException: a process has failed, in all of them: no checkpoint is there or it is
            damaged, a name is missing, a size differs.
        RuntimeError: neither a name nor a reader.
    """
    alone = is_alone(no_dist, "load")
    reader = storage_for(storage_reader, checkpoint_id, FileSystemReader)
    names = sorted(state_dict)
    states = {
        name: each.state_dict() if isinstance(each, Stateful) else each
        for name, each in ((name, state_dict[name]) for name in names)
    }
    _load(states, reader, planner, Steps(process_group, alone))
    for name in names:
        each = state_dict[name]
        if isinstance(each, Stateful):
            each.load_state_dict(states[name])
        else:
            state_dict[name] = states[name]


def _read_description(reader: StorageReader, rank: int) -> tuple[Metadata, bool]:
    """The checkpoint's description, and whether all processes saved together."""
    try:
        return reader.read_metadata(), True
    except FileNotFoundError:
        try:
            return reader.read_metadata(rank=rank), False
        except (FileNotFoundError, TypeError):
            pass
        raise


def _load(
    state_dict: STATE_DICT_TYPE, reader: StorageReader, planner: LoadPlanner | None, steps: Steps
) -> None:
    chosen = DefaultLoadPlanner() if planner is None else planner

    def local() -> LoadPlan:
        metadata, together = _read_description(reader, steps.rank)
        chosen.set_up_planner(state_dict, metadata, steps.is_coordinator)
        reader.set_up_storage_reader(
            metadata, steps.is_coordinator, rank=steps.rank, use_collectives=together
        )
        return reader.prepare_local_plan(chosen.create_local_plan())

    def whole(plans: list[LoadPlan]) -> list[LoadPlan]:
        return reader.prepare_global_plan(chosen.create_global_plan(plans))

    plan = steps.scatter_reduced("plan", local, whole)

    def read() -> None:
        future: Any = reader.read_data(chosen.finish_plan(plan), chosen)
        future.wait()

    steps.all("read", read)


def load_from_keys(
    keys: set[str] | str | None = None,
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> dict[str, Any]:
    """A checkpoint, or some of it, as a nested state in this process.

    Args:
        keys: flat names, or beginnings of them up to a dot; None for all.
        checkpoint_id, storage_reader, process_group, no_dist: as for :func:`load`.
    """
    alone = is_alone(no_dist, "load")
    reader = storage_for(storage_reader, checkpoint_id, FileSystemReader)
    state: dict[str, Any] = {}
    wanted = {keys} if isinstance(keys, str) else keys or None
    _load(state, reader, EmptyStateDictLoadPlanner(wanted), Steps(process_group, alone))
    return state


_load_state_dict_from_keys = load_from_keys  # torch's name


def load_state_dict(
    state_dict: dict[str, Any], storage_reader: StorageReader, process_group: Any = None,
    coordinator_rank: int = 0, no_dist: bool = False, planner: LoadPlanner | None = None,
) -> None:  # fmt: skip
    """:func:`load` under its older name, without states of objects.

    Args:
        state_dict, storage_reader, process_group, no_dist, planner: as for :func:`load`.
        coordinator_rank: the process that makes the global plan.
    """
    warnings.warn(
        "'load_state_dict' is deprecated and will be removed in future versions. Please use 'load' "
        "instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_reader.reset()
    _load(state_dict, storage_reader, planner, Steps(process_group, no_dist, coordinator_rank))
