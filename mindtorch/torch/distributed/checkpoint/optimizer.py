"""The state of an optimizer from a checkpoint, lying as the model's parameters do."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch

from ..tensor import DTensor, zeros
from ._nested_dict import set_element
from .metadata import STATE_DICT_TYPE, TensorStorageMetadata
from .planner import LoadPlanner
from .state_dict_loader import load
from .storage import StorageReader

__all__ = ["load_sharded_optimizer_state_dict"]


def load_sharded_optimizer_state_dict(
    model_state_dict: STATE_DICT_TYPE, optimizer_key: str, storage_reader: StorageReader,
    planner: LoadPlanner | None = None,
) -> STATE_DICT_TYPE:  # fmt: skip
    """Load what ``FSDP.optim_state_dict`` gave, together with all processes.

    A state of a parameter's size is cut as the parameter of that name; others are whole.

    Args:
        model_state_dict: parameters by name, which may be DTensors.
        optimizer_key: under which name the optimizer's state was saved.
        storage_reader: reads the checkpoint.
        planner: decides who reads what; DefaultLoadPlanner when None.

    Returns:
        the nested state ``{optimizer_key: {"state": ..., "param_groups": ...}}``, without entries
        where the checkpoint has none.
    """
    metadata = storage_reader.read_metadata()
    paths = metadata.planner_data or {}
    flat: dict[str, Any] = {}
    for name, entry in metadata.state_dict_metadata.items():
        path = paths.get(name, (name,))
        if path[0] == optimizer_key:
            parameter = model_state_dict.get(path[2]) if len(path) > 2 else None
            flat[name] = _place_for(entry, parameter)
    if flat:
        load(flat, storage_reader=storage_reader, planner=planner)
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        set_element(nested, paths.get(name, (name,)), value)
    return nested


def _place_for(entry: Any, parameter: Any) -> Any:
    """Memory that an entry is read into; None for what is no tensor."""
    if not isinstance(entry, TensorStorageMetadata):
        return None
    dtype = entry.properties.dtype
    if isinstance(parameter, DTensor) and tuple(parameter.shape) == tuple(entry.size):
        mesh, placements = parameter.device_mesh, parameter.placements
        return zeros(entry.size, dtype=dtype, device_mesh=mesh, placements=placements)
    return torch.zeros(entry.size, dtype=dtype)
