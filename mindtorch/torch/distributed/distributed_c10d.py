"""torch.distributed: groups of processes and what they do together, over sockets ("gloo")."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import numpy as np

from mindtorch.engine import inplace
from mindtorch.engine.tensor import Tensor as EngineTensor

from ._group import ProcessGroup, as_bytes, check_operation, from_bytes
from ._mesh import Mesh
from ._store import FileStore, Store, TCPStore
from .rendezvous import rendezvous

__all__ = [
    "Backend", "GroupMember", "P2POp", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor",
    "all_reduce", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
    "default_pg_timeout", "destroy_process_group", "gather", "get_backend",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "init_process_group",
    "irecv", "is_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available",
    "isend", "monitored_barrier", "new_group", "recv", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "send",
]  # fmt: skip

default_pg_timeout = timedelta(minutes=30)


class ReduceOp:
    """How arrays of several processes are combined."""

    class RedOpType:
        """One of the ways, by name."""

        def __init__(self, name: str, value: int) -> None:
            self.name = name
            self.value = value

        def __repr__(self) -> str:
            return f"<RedOpType.{self.name}: {self.value}>"

        def __reduce__(self) -> Any:
            return getattr, (ReduceOp, self.name)

    SUM = RedOpType("SUM", 0)
    AVG = RedOpType("AVG", 1)
    PRODUCT = RedOpType("PRODUCT", 2)
    MIN = RedOpType("MIN", 3)
    MAX = RedOpType("MAX", 4)
    BAND = RedOpType("BAND", 5)
    BOR = RedOpType("BOR", 6)
    BXOR = RedOpType("BXOR", 7)


class Backend(str):
    """The name of a backend: in lower case, and known."""

    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    UCC = "ucc"
    XCCL = "xccl"
    UNDEFINED = "undefined"

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return super().__new__(cls, name.lower())


class Work:
    """Something under way: ``wait()`` ends when it is done, and raises its error."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def wait(self, timeout: timedelta | None = None) -> bool:
        self._future.result(None if timeout is None else timeout.total_seconds())
        return True

    def is_completed(self) -> bool:
        return self._future.done()

    def is_success(self) -> bool:
        return self._future.done() and self._future.exception() is None

    def exception(self) -> BaseException | None:
        return self._future.exception() if self._future.done() else None

    def get_future(self) -> Any:
        """A torch.futures.Future that is set when this is done."""
        from ..futures import Future as TorchFuture

        later: Any = TorchFuture()

        def tell(done: Future[Any]) -> None:
            error = done.exception()
            if error is None:
                later.set_result(done.result())
            else:
                later.set_exception(error)

        self._future.add_done_callback(tell)
        return later


class GroupMember:
    """Stand for the default group, and for no group."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class _GroupNames(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:  # noqa: N802
        return GroupMember.WORLD


class group(metaclass=_GroupNames):  # noqa: N801
    """``group.WORLD`` is the group of all processes."""


class _World:
    """What this process belongs to."""

    store: Store | None = None
    mesh: Mesh | None = None
    groups: dict[int, ProcessGroup]
    numbers: Any

    def __init__(self) -> None:
        self.groups = {}
        self.numbers = itertools.count(1)


_world = _World()


def is_available() -> bool:
    """True: there are processes and sockets."""
    return True


def is_initialized() -> bool:
    """Whether :func:`init_process_group` was called."""
    return GroupMember.WORLD is not None


def is_gloo_available() -> bool:
    """True: "gloo" names our own collectives over sockets."""
    return True


def is_nccl_available() -> bool:
    return False


def is_mpi_available() -> bool:
    return False


def is_ucc_available() -> bool:
    return False


def is_xccl_available() -> bool:
    return False


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_default_backend_for_device(device: Any) -> str:
    """The backend for tensors of a device."""
    from mindtorch.engine.device import Device

    return {"cpu": "gloo", "cuda": "nccl"}[Device(device).type]


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
    world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "",
    pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Connect this process with the others; all of them must call it.

    Args:
        backend: "gloo", or None.
        init_method: "env://" (when None), "tcp://host:port" or "file:///path".
        timeout: how long operations wait for the others; 30 minutes when None.
        world_size, rank: how many processes there are, and the number of this one.
        store: where processes find each other, in place of ``init_method``.
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if pg_options is not None or device_id is not None:
        raise NotImplementedError("pg_options and device_id are not available in mindtorch")
    name = _check_backend("gloo" if backend is None else backend)
    limit = default_pg_timeout if timeout is None else timeout
    if store is None:
        method = "env://" if init_method is None else init_method
        store, rank, world_size = rendezvous(method, rank, world_size, limit)
    elif rank < 0 or world_size <= 0:
        raise AssertionError("rank and world_size must be given with a store")
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is not in [0, {world_size})")
    _world.store = store
    _world.mesh = Mesh(store, rank, world_size, limit)
    GroupMember.WORLD = ProcessGroup(
        _world.mesh, 0, list(range(world_size)), group_name or "default", name
    )
    _world.groups[0] = GroupMember.WORLD
    _world.numbers = itertools.count(1)
    # nobody needs the store from here on, so its keeper may leave when it likes
    GroupMember.WORLD.barrier()


def _check_backend(backend: str) -> str:
    """The name that stands for our collectives; torch's errors for libraries that are not here."""
    name = Backend(backend)
    parts = dict(p.split(":") for p in name.split(",")) if ":" in name else {"cpu": str(name)}
    chosen = parts.get("cpu", str(name))
    if chosen == "nccl":
        warnings.warn(
            "Attempted to get default timeout for nccl backend, but NCCL support is not compiled",
            stacklevel=3,
        )
    if chosen in ("nccl", "mpi", "ucc", "xccl"):
        raise RuntimeError(f"Distributed package doesn't have {chosen.upper()} built in")
    if chosen != "gloo":
        raise ValueError(f"Unknown backend {chosen!r}: mindtorch has 'gloo'")
    return chosen


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Leave a group; without one, or for the default group, all of them."""
    if group is None or group is GroupMember.WORLD:
        assert GroupMember.WORLD is not None, "Process group cannot be None"
        for each in _world.groups.values():
            each.close()
        _world.groups.clear()
        GroupMember.WORLD = None
        assert _world.mesh is not None
        _world.mesh.close()
        if isinstance(_world.store, FileStore):
            _world.store.leave()
        elif isinstance(_world.store, TCPStore):
            _world.store.close()
        _world.mesh = _world.store = None
        return
    found = _world.groups.pop(group.number, None)
    if found is None:
        raise ValueError("Invalid process group specified")
    found.close()


def _group(group: Any) -> ProcessGroup:
    if group is None:
        if GroupMember.WORLD is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call "
                "init_process_group."
            )
        return GroupMember.WORLD
    return group


def _outside(group: Any) -> bool:
    return group == GroupMember.NON_GROUP_MEMBER


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's number; -1 outside of the group."""
    return -1 if _outside(group) else _group(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes there are; -1 outside of the group."""
    return -1 if _outside(group) else _group(group).size()


def get_backend(group: ProcessGroup | None = None) -> str:
    return _group(group).backend


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The global numbers of a group's processes."""
    return list(_group(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The global number of a process of a group."""
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number within a group of a process."""
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its machine, from LOCAL_RANK."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work, assuming you are not running in a multi-device context "
        "and want the code to run locally instead."
    )


def new_group(
    ranks: list[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
    pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
    device_id: Any = None, sort_ranks: bool = True,
) -> Any:  # fmt: skip
    """A group of some processes; all processes must call it, in the same order.

    Args:
        ranks: global numbers; None for all.
        timeout: that of the default group is used, since groups share its connections.
    """
    world = _group(None)
    size = world.size()
    chosen = list(range(size)) if ranks is None else list(ranks)
    if sort_ranks:
        chosen.sort()
    for r in chosen:
        if not 0 <= r < size:
            raise ValueError(
                f"Rank {r} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})"
            )
    if len(set(chosen)) != len(chosen):
        raise RuntimeError("the group rank should be unique")
    if timeout is not None and timeout != world.mesh.timeout:
        raise NotImplementedError("new_group(timeout=...) other than the default group's")
    name = world.backend if backend is None else _check_backend(backend)
    number = next(_world.numbers)
    if world.mesh.rank not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    made = ProcessGroup(world.mesh, number, chosen, group_desc or f"group{number}", name)
    _world.groups[number] = made
    return made


# --- arguments -------------------------------------------------------------------------------


def _check_tensor(value: Any, name: str) -> None:
    if not isinstance(value, EngineTensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def _check_tensors(values: Any, name: str) -> None:
    if not isinstance(values, list) or any(not isinstance(v, EngineTensor) for v in values):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type "
            f"List[torch.Tensor]\n             but got {type(values)} instead."
        )


def _place(world: ProcessGroup, rank: int | None, own: int | None, name: str) -> int:
    """A process's number within the group, from its global one or its own there."""
    if rank is not None and own is not None:
        raise ValueError(f"Can't specify both group_{name} and {name}")
    if own is not None:
        return own
    if rank is None:
        raise ValueError(f"Must specify either {name} or group_{name}")
    return get_group_rank(world, rank)


def _fill(tensor: Any, data: Any) -> None:
    """Overwrite a tensor with received bytes."""
    inplace.check_writable(tensor)
    array = tensor.array()
    array[...] = from_bytes(data, array)
    tensor._shared.version += 1


def _start(world: ProcessGroup, function: Callable[[], Any], async_op: bool) -> Work | None:
    """Run now, or behind what is under way; a Work when the caller does not wait."""
    if async_op:
        return Work(world.run(function))
    if world.pending():
        world.run(function).result()
    else:
        function()
    return None


def _combined(tensor: Any, combine: Callable[[Any], None]) -> None:
    """Let ``combine`` change the elements of ``tensor``, as a flat array."""
    inplace.check_writable(tensor)
    array = tensor.array()
    flat = array.reshape(-1)
    combine(flat)
    if not np.shares_memory(flat, array):
        array[...] = flat.reshape(array.shape)
    tensor._shared.version += 1


# --- collectives -----------------------------------------------------------------------------


def barrier(
    group: Any = None, async_op: bool = False, device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:  # fmt: skip
    """Return when all processes of the group have come here."""
    if _outside(group):
        return None
    world = _group(group)
    return _start(world, world.barrier, async_op)


def monitored_barrier(
    group: Any = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """:func:`barrier`; the default group's timeout says who is missing."""
    barrier(group)


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Give all processes the tensor of ``src``."""
    _check_tensor(tensor, "tensor")
    if _outside(group):
        return None
    world = _group(group)
    root = _place(world, src, group_src, "src")

    def run() -> None:
        own = as_bytes(tensor.array()).tobytes() if world.rank() == root else None
        data = world.broadcast_bytes(own, root)
        if own is None:
            _fill(tensor, data)

    return _start(world, run, async_op)


def all_reduce(
    tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine the tensors of all processes into each of them; all get the same bits."""
    _check_tensor(tensor, "tensor")
    if _outside(group):
        return None
    world = _group(group)
    check_operation(op.name, tensor.aval.dtype)
    return _start(
        world, lambda: _combined(tensor, lambda flat: world.all_reduce(flat, op.name)), async_op
    )


def reduce(
    tensor: Any, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Combine the tensors of all processes into that of ``dst``."""
    _check_tensor(tensor, "tensor")
    if _outside(group):
        return None
    world = _group(group)
    root = _place(world, dst, group_dst, "dst")
    check_operation(op.name, tensor.aval.dtype)
    return _start(
        world,
        lambda: _combined(tensor, lambda flat: world.reduce_to(flat, op.name, root)),
        async_op,
    )


def all_gather(
    tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fill the list with the tensors of all processes, by rank."""
    _check_tensors(tensor_list, "tensor_list")
    _check_tensor(tensor, "tensor")
    if _outside(group):
        return None
    world = _group(group)
    if len(tensor_list) != world.size():
        raise ValueError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
            f"{world.size()}, got {len(tensor_list)})"
        )

    def run() -> None:
        found = world.all_gather_bytes(as_bytes(tensor.array()))
        for target, data in zip(tensor_list, found, strict=True):
            _fill(target, data)

    return _start(world, run, async_op)


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Work | None:
    """Fill a tensor with the tensors of all processes, one after another or stacked."""
    _check_tensor(input_tensor, "input_tensor")
    _check_tensor(output_tensor, "output_tensor")
    if _outside(group):
        return None
    world = _group(group)
    if output_tensor.aval.size != input_tensor.aval.size * world.size():
        raise ValueError(
            "output tensor size must be equal to world_size times input tensor size"
        )

    def run() -> None:
        found = world.all_gather_bytes(as_bytes(input_tensor.array()))
        _fill(output_tensor, b"".join([bytes(data) for data in found]))

    return _start(world, run, async_op)


def gather(
    tensor: Any, gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Fill the list of ``dst`` (0 when it is not given) with the tensors of all processes."""
    _check_tensor(tensor, "tensor")
    if _outside(group):
        return None
    world = _group(group)
    root = 0 if dst is None and group_dst is None else _place(world, dst, group_dst, "dst")
    if world.rank() == root:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        _check_tensors(gather_list, "gather_list")
    elif gather_list:
        raise ValueError(
            "Argument ``gather_list`` must NOT be specified on non-destination ranks."
        )

    def run() -> None:
        found = world.gather_bytes(as_bytes(tensor.array()), root)
        for target, data in zip(gather_list or [], found, strict=True):
            _fill(target, data)

    return _start(world, run, async_op)


def scatter(
    tensor: Any, scatter_list: list[Any] | None = None, src: int | None = None, group: Any = None,
    async_op: bool = False, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Fill the tensor with this process's tensor of the list of ``src`` (0 by default)."""
    _check_tensor(tensor, "tensor")
    if _outside(group):
        return None
    world = _group(group)
    root = 0 if src is None and group_src is None else _place(world, src, group_src, "src")
    if world.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        _check_tensors(scatter_list, "scatter_list")
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")

    def run() -> None:
        parts = None if scatter_list is None else [as_bytes(t.array()) for t in scatter_list]
        _fill(tensor, world.scatter_bytes(parts or None, root))

    return _start(world, run, async_op)


def reduce_scatter(
    output: Any, input_list: list[Any], op: Any = ReduceOp.SUM, group: Any = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Fill ``output`` with the combination of all processes' tensors for this one."""
    _check_tensor(output, "output")
    _check_tensors(input_list, "input_list")
    if _outside(group):
        return None
    world = _group(group)
    check_operation(op.name, output.aval.dtype)

    def run() -> None:
        total = world.reduce_scatter([t.array() for t in input_list], op.name)
        _fill(output, as_bytes(total))

    return _start(world, run, async_op)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None,  # noqa: A002
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """:func:`reduce_scatter` of a tensor's equal parts."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    if _outside(group):
        return None
    size = _group(group).size()
    if input.aval.size != output.aval.size * size:
        raise ValueError("input tensor must be the same size as output size times world size")
    parts = [p.reshape(output.shape) for p in input.detach().reshape(size, -1).unbind(0)]
    return reduce_scatter(output, parts, op, group, async_op)


def all_to_all(
    output_tensor_list: list[Any], input_tensor_list: list[Any], group: Any = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Give every process one tensor of the list, and take one from each."""
    _check_tensors(output_tensor_list, "output_tensor_list")
    _check_tensors(input_tensor_list, "input_tensor_list")
    if _outside(group):
        return None
    world = _group(group)

    def run() -> None:
        found = world.exchange_bytes([as_bytes(t.array()) for t in input_tensor_list])
        for target, data in zip(output_tensor_list, found, strict=True):
            _fill(target, data)

    return _start(world, run, async_op)


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Any = None, input_split_sizes: Any = None,  # noqa: A002
    group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """:func:`all_to_all` of parts of one tensor, along axis 0."""
    _check_tensor(output, "output")
    _check_tensor(input, "input")
    if _outside(group):
        return None
    size = _group(group).size()

    def parts(x: Any, sizes: Any) -> list[Any]:
        if sizes:
            return list(x.detach().split(list(sizes)))
        if x.shape[0] % size:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return list(x.detach().split(x.shape[0] // size))

    return all_to_all(
        parts(output, output_split_sizes), parts(input, input_split_sizes), group, async_op
    )


# --- one process to another ------------------------------------------------------------------


def _other(world: ProcessGroup, place: int, name: str) -> int:
    if place == world.rank():
        raise ValueError(
            f"Invalid {name} rank: {name} rank should not be the same as the rank of the current "
            "process."
        )
    return place


def send(
    tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0,
    group_dst: int | None = None,
) -> None:  # fmt: skip
    """Send a tensor to a process."""
    _check_tensor(tensor, "tensor")
    if not _outside(group):
        world = _group(group)
        place = _other(world, _place(world, dst, group_dst, "dst"), "destination")
        world.send(place, as_bytes(tensor.array()), tag)


def recv(
    tensor: Any, src: int | None = None, group: Any = None, tag: int = 0,
    group_src: int | None = None,
) -> int:  # fmt: skip
    """Overwrite a tensor with one that a process sends (any, without ``src``); whose it is."""
    _check_tensor(tensor, "tensor")
    if _outside(group):
        return -1
    world = _group(group)
    if src is None and group_src is None:
        others = [r for i, r in enumerate(world.ranks) if i != world.rank()]
        sender, data = world.mesh.receive_any(others, world.number, tag)
    else:
        place = _other(world, _place(world, src, group_src, "src"), "source")
        sender, data = world.ranks[place], world.receive(place, tag)
    _fill(tensor, data)
    return sender


def isend(
    tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """:func:`send` without waiting: what is sent is taken at once."""
    send(tensor, dst, group, tag, group_dst)
    done: Future[Any] = Future()
    done.set_result(None)
    return Work(done)


class _Receiving(Work):
    """A receive that happens when it is waited for."""

    def __init__(self, receive: Callable[[], Any], ready: Callable[[], bool]) -> None:
        super().__init__(Future())
        self._receive = receive
        self._ready = ready

    def wait(self, timeout: timedelta | None = None) -> bool:
        if not self._future.done():
            try:
                self._future.set_result(self._receive())
            except Exception as error:
                self._future.set_exception(error)
        return super().wait(timeout)

    def is_completed(self) -> bool:
        if not self._future.done() and self._ready():
            self.wait()
        return self._future.done()


def irecv(
    tensor: Any, src: int | None = None, group: Any = None, tag: int = 0,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """:func:`recv` that happens at ``wait()``."""
    _check_tensor(tensor, "tensor")
    if _outside(group):
        return None
    world = _group(group)

    def ready() -> bool:
        chosen = src is None and group_src is None
        ranks = world.ranks if chosen else [world.ranks[_place(world, src, group_src, "src")]]
        return any(world.mesh.has_arrived(r, world.number, tag) for r in ranks)

    return _Receiving(lambda: recv(tensor, src, group, tag, group_src), ready)


class P2POp:
    """An ``isend`` or ``irecv`` for :func:`batch_isend_irecv`."""

    def __init__(
        self, op: Callable[..., Any], tensor: Any, peer: int | None = None, group: Any = None,
        tag: int = 0, group_peer: int | None = None,
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        _check_tensor(tensor, "tensor")
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.peer = peer
        self.group_peer = group_peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Any]:
    """Start sends and receives together; their works."""
    return [
        each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer)
        for each in sorted(p2p_op_list, key=lambda each: each.op is not isend)
    ]
