"""What all processes of a group do together with tensors."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from mindtorch.engine.compile.capture.host_calls import host_call

from ._device import array_of
from ._group import as_bytes, check_operation
from ._observed import observed
from ._tensors import (
    check_tensor,
    check_tensors,
    check_types,
    combine_op,
    fill_from,
    issued_work,
    on_device_of,
    place_in,
    start_work,
)
from ._world import ReduceOp, Work, group_of, is_outside

# the tag of monitored_barrier's messages
_BARRIER = -2


@host_call
def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:  # fmt: skip
    """Return when all processes of the group have come here.

    ``device_ids`` is for groups of other devices, as in torch's gloo: there is one device here.

    Args:
        timeout: how long to wait for the others; None: as long as the group does.
    """
    if is_outside(group):
        return None
    world = group_of(group)
    return start_work(world, lambda: world.barrier(timeout), [], async_op)


@host_call
def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """:func:`barrier` after which the group's first process names those that did not come.

    Args:
        timeout: how long the first process waits; as long as the group does when None.
        wait_all_ranks: wait for all of them before raising, to name every one that is missing.
    """
    if is_outside(group):
        return
    world = group_of(group)
    limit = world.timeout if timeout is None else timeout
    world.begin(("monitored_barrier",))
    if world.rank() != 0:
        world.send(0, b"", _BARRIER)
        world.mesh.receive(world.ranks[0], world.number, _BARRIER, limit)
        return
    end = time.monotonic() + limit.total_seconds()
    missing = []
    for rank in world.ranks[1:]:
        left = timedelta(seconds=max(end - time.monotonic(), 0))
        if not world.mesh.comes(rank, world.number, _BARRIER, left):
            missing.append(rank)
            if not wait_all_ranks:
                break
    if missing:
        names = "Ranks " if len(missing) > 1 else "Rank "
        names += ", ".join(map(str, missing))
        milliseconds = int(limit.total_seconds() * 1000)
        raise RuntimeError(
            f"[Rank 0]: {names} failed to pass monitoredBarrier in {milliseconds} ms"
        )
    for place in range(1, world.size()):
        world.receive(place, _BARRIER)
        world.send(place, b"", _BARRIER)


@host_call
@observed("c10d.broadcast_")
def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Give all processes the tensor of ``src``."""
    check_tensor(tensor, "tensor")
    if is_outside(group):
        return None
    world = group_of(group)
    root = place_in(world, src, group_src, "src")
    device = on_device_of(world, tensor)
    if device is not None:
        return issued_work(device.broadcast(tensor, root), async_op)
    return start_work(
        world, lambda: combine_op(tensor, world, lambda flat: world.broadcast(flat, root)),
        [tensor], async_op,
    )  # fmt: skip


@host_call
@observed("c10d.allreduce_")
def all_reduce(
    tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine the tensors of all processes into each of them; all get the same bits."""
    check_tensor(tensor, "tensor")
    if is_outside(group):
        return None
    world = group_of(group)
    device = on_device_of(world, tensor)
    if device is not None:
        return issued_work(device.all_reduce(tensor, op.name), async_op)
    check_operation(op.name, tensor.aval.dtype)

    def run() -> None:
        combine_op(tensor, world, lambda flat: world.all_reduce(flat, op.name))

    return start_work(world, run, [tensor], async_op)


@host_call
@observed("c10d.reduce_")
def reduce(
    tensor: Any, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Combine the tensors of all processes into that of ``dst``."""
    check_tensor(tensor, "tensor")
    if is_outside(group):
        return None
    world = group_of(group)
    root = place_in(world, dst, group_dst, "dst")
    device = on_device_of(world, tensor)
    if device is not None:
        return issued_work(device.reduce(tensor, op.name, root), async_op)
    check_operation(op.name, tensor.aval.dtype)
    return start_work(
        world,
        lambda: combine_op(tensor, world, lambda flat: world.reduce_to(flat, op.name, root)),
        [tensor], async_op,
    )  # fmt: skip


@host_call
@observed("c10d.allgather_")
def all_gather(
    tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fill the list with the tensors of all processes, by rank."""
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_types(*tensor_list, tensor)
    if is_outside(group):
        return None
    world = group_of(group)
    if len(tensor_list) != world.size():
        raise ValueError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
            f"{world.size()}, got {len(tensor_list)})"
        )

    if on_device_of(world, tensor) is not None:
        whole = tensor.new_empty((world.size(), *tensor.shape))
        made = on_device_of(world, tensor).all_gather(whole, tensor)
        made.wait()  # the copies below come after it
        for target, part in zip(tensor_list, whole.unbind(0), strict=True):
            target.detach().copy_(part)
        return issued_work(made, async_op)

    def run() -> None:
        found = world.all_gather(array_of(tensor, world))
        for target, data in zip(tensor_list, found, strict=True):
            fill_from(target, data)

    return start_work(world, run, tensor_list, async_op)


@host_call
@observed("c10d._allgather_base_")
def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fill a tensor with the tensors of all processes, one after another or stacked."""
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    if is_outside(group):
        return None
    world = group_of(group)
    if output_tensor.aval.size != input_tensor.aval.size * world.size():
        raise ValueError(
            "output tensor size must be equal to world_size times input tensor size"
        )

    device = on_device_of(world, input_tensor)
    if device is not None:
        return issued_work(device.all_gather(output_tensor, input_tensor), async_op)

    def run() -> None:
        fill_from(output_tensor, world.all_gather(array_of(input_tensor, world)))

    return start_work(world, run, [output_tensor], async_op)


@host_call
@observed("c10d.gather_")
def gather(
    tensor: Any, gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Fill the list of ``dst`` (0 when it is not given) with the tensors of all processes."""
    check_tensor(tensor, "tensor")
    if is_outside(group):
        return None
    world = group_of(group)
    root = 0 if dst is None and group_dst is None else place_in(world, dst, group_dst, "dst")
    if world.rank() == root:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        check_tensors(gather_list, "gather_list")
        check_types(tensor, *gather_list)
    elif gather_list:
        raise ValueError(
            "Argument ``gather_list`` must NOT be specified on non-destination ranks."
        )

    def run() -> None:
        found = world.gather_bytes(as_bytes(array_of(tensor, world)), root)
        for target, data in zip(gather_list or [], found, strict=True):
            fill_from(target, data)

    return start_work(world, run, gather_list or [], async_op)


@host_call
@observed("c10d.scatter_")
def scatter(
    tensor: Any, scatter_list: list[Any] | None = None, src: int | None = None, group: Any = None,
    async_op: bool = False, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Fill the tensor with this process's tensor of the list of ``src`` (0 by default)."""
    check_tensor(tensor, "tensor")
    if is_outside(group):
        return None
    world = group_of(group)
    root = 0 if src is None and group_src is None else place_in(world, src, group_src, "src")
    if world.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        check_tensors(scatter_list, "scatter_list")
        check_types(tensor, *scatter_list)
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")

    def run() -> None:
        parts = [as_bytes(array_of(t, world)) for t in scatter_list or ()]
        fill_from(tensor, world.scatter_bytes(parts or None, root))

    return start_work(world, run, [tensor], async_op)


@host_call
@observed("c10d.reduce_scatter_")
def reduce_scatter(
    output: Any, input_list: list[Any], op: Any = ReduceOp.SUM, group: Any = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Fill ``output`` with the combination of all processes' tensors for this one."""
    check_tensor(output, "output")
    check_tensors(input_list, "input_list")
    check_types(output, *input_list)
    if is_outside(group):
        return None
    world = group_of(group)
    device = on_device_of(world, output)
    if device is not None:
        rows = [t.detach().reshape(-1) for t in input_list]
        whole = rows[0].new_empty(sum(r.numel() for r in rows))
        for part, row in zip(whole.split([r.numel() for r in rows]), rows, strict=True):
            part.copy_(row)
        return issued_work(device.reduce_scatter(output, whole, op.name), async_op)
    check_operation(op.name, output.aval.dtype)

    def run() -> None:
        total = world.reduce_scatter([array_of(t, world) for t in input_list], op.name)
        fill_from(output, as_bytes(total))

    return start_work(world, run, [output], async_op)


@host_call
@observed("c10d._reduce_scatter_base_")
def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None,  # noqa: A002
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """:func:`reduce_scatter` of a tensor's equal parts."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    if is_outside(group):
        return None
    size = group_of(group).size()
    if input.aval.size != output.aval.size * size:
        raise ValueError("input tensor must be the same size as output size times world size")
    parts = [p.reshape(output.shape) for p in input.detach().reshape(size, -1).unbind(0)]
    return reduce_scatter(output, parts, op, group, async_op)


@host_call
@observed("c10d.alltoall_")
def all_to_all(
    output_tensor_list: list[Any], input_tensor_list: list[Any], group: Any = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Give every process one tensor of the list, and take one from each."""
    check_tensors(output_tensor_list, "output_tensor_list")
    check_tensors(input_tensor_list, "input_tensor_list")
    check_types(*output_tensor_list, *input_tensor_list)
    if is_outside(group):
        return None
    world = group_of(group)
    device = on_device_of(world, input_tensor_list[0]) if input_tensor_list else None
    if device is not None:
        return issued_work(device.all_to_all(output_tensor_list, input_tensor_list), async_op)

    def run() -> None:
        found = world.exchange_bytes([as_bytes(array_of(t, world)) for t in input_tensor_list])
        for target, data in zip(output_tensor_list, found, strict=True):
            fill_from(target, data)

    return start_work(world, run, output_tensor_list, async_op)


@host_call
@observed("c10d.alltoall_base_")
def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None,  # noqa: A002
    group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """:func:`all_to_all` of parts of one tensor, along axis 0.

    Args:
        output_split_sizes, input_split_sizes: rows from and to each process; None for equal parts.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    if is_outside(group):
        return None
    size = group_of(group).size()

    def parts(x: Any, sizes: Any) -> list[Any]:
        if sizes:
            return list(x.detach().split(list(sizes)))
        if x.shape[0] % size:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return list(x.detach().split(x.shape[0] // size))

    return all_to_all(
        parts(output, output_split_sizes), parts(input, input_split_sizes), group, async_op
    )
