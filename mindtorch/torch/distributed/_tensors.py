"""Tensors as arguments of collectives: checks, and filling them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.engine.autograd import inplace
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import Tensor as EngineTensor

from ._device import array_of, write
from ._group import ProcessGroup, from_bytes
from ._world import DeviceWork, Work, get_group_rank


def check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, EngineTensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def check_tensors(values: Any, name: str) -> None:
    if not isinstance(values, list) or any(not isinstance(v, EngineTensor) for v in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type "
            f"List[torch.Tensor]\n             but got {type(values)} instead."
        )


def place_in(world: ProcessGroup, rank: int | None, own: int | None, name: str) -> int:
    """A process's number within the group, from its global one or its own there."""
    if rank is not None and own is not None:
        raise ValueError(f"Can't specify both group_{name} and {name}")
    if own is not None:
        return own
    if rank is None:
        raise ValueError(f"Must specify either {name} or group_{name}")
    return get_group_rank(world, rank)


def fill_from(tensor: Any, data: Any) -> None:
    """Overwrite a tensor with received bytes."""
    inplace.check_writable(tensor)
    array = array_of(tensor)
    array[...] = from_bytes(data, array)
    write(tensor, array)
    tensor._shared.version += 1


def check_types(*tensors: Any) -> None:
    """Tensors of one collective have one type."""
    first = tensors[0].dtype
    other = next((each.dtype for each in tensors if each.dtype is not first), None)
    if other is not None:
        raise ValueError(
            f"Invalid usage of tensors with different dtypesFound {first} and  {other}"
        )


def start_work(
    world: ProcessGroup, function: Callable[[], Any], written: list[Any], async_op: bool
) -> Work | None:
    """Run now, or behind what is under way; a Work when the caller does not wait.

    Args:
        written: the tensors that ``function`` overwrites, which the Work's future has.
    """
    if async_op:
        return Work(world.run(_in_modes_of_this_thread(function, written)))
    if world.pending():
        world.run(_in_modes_of_this_thread(function, written)).result()
    else:
        function()
    return None


def _in_modes_of_this_thread(function: Callable[[], Any], written: list[Any]) -> Any:
    """``function``, for another thread: whether a tensor may be written to is asked there."""
    grad, inference = state.grad_enabled, state.inference

    def run() -> list[Any]:
        before = state.grad_enabled, state.inference
        state.update(grad=grad, inference=inference)
        try:
            function()
        finally:
            state.update(grad=before[0], inference=before[1])
        return list(written)

    return run


def combine_op(tensor: Any, world: ProcessGroup, combine: Callable[[Any], None]) -> None:
    """Let ``combine`` change the elements of ``tensor``, as a flat array."""
    inplace.check_writable(tensor)
    array = array_of(tensor, world)
    flat = array.reshape(-1)
    combine(flat)
    if not np.shares_memory(flat, array):
        array[...] = flat.reshape(array.shape)
    write(tensor, array)
    tensor._shared.version += 1


def on_device_of(world: ProcessGroup, tensor: Any) -> Any:
    """The collectives that a tensor's own device makes; None where the host's are to be used."""
    return world.device if tensor.aval.device.type == "cuda" else None


def issued_work(pending: Any, async_op: bool) -> Work | None:
    """A Work of what was put on the device; without ``async_op`` later work waits for it."""
    if async_op:
        return DeviceWork(pending)
    pending.wait()
    return None
