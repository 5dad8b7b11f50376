"""Groups of processes: how they begin, who is in them, and how they end."""

from __future__ import annotations

import atexit
import functools
import itertools
import multiprocessing.util
import os
import warnings
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

from mindtorch.engine.devices.device import Device

from ..futures import Future as TorchFuture
from . import _failure, _mpi
from ._device import NcclCollectives, nccl_available
from ._group import ProcessGroup
from ._mesh import Mesh
from ._mpi_group import MpiGroup
from ._store import FileStore, Store, TCPStore
from .rendezvous import rendezvous

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

        def __str__(self) -> str:
            return f"RedOpType.{self.name}"

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
    """The name of a backend, in lower case: a plain string."""

    GLOO = "gloo"
    NCCL = "nccl"
    MPI = "mpi"
    UCC = "ucc"
    XCCL = "xccl"
    UNDEFINED = "undefined"

    def __new__(cls, name: str) -> str:  # type: ignore[misc]
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return name.lower()


class Work:
    """Something under way: ``wait()`` ends when it is done, and raises its error.

    Args:
        future: what is under way.
    """

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
        later: Any = TorchFuture()

        def tell(done: Future[Any]) -> None:
            error = done.exception()
            if error is None:
                later.set_result(done.result())
            else:
                later.set_exception(error)

        self._future.add_done_callback(tell)
        return later


class DeviceWork(Work):
    """Something that was put on a device's stream: ``wait()`` lets later work there wait for it.

    Args:
        pending: what says whether it has ended.
    """

    def __init__(self, pending: Any) -> None:
        done: Future[Any] = Future()
        done.set_result(None)
        super().__init__(done)
        self._pending = pending

    def wait(self, timeout: timedelta | None = None) -> bool:
        return bool(self._pending.wait())

    def is_completed(self) -> bool:
        return bool(self._pending.done())

    def is_success(self) -> bool:
        return self.is_completed()


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
    last_mesh: Mesh | None = None
    communicator: Any = None
    hook: _failure.ExceptHook | None = None
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
    """Whether NCCL can be used: there is a CUDA device, and cupy has it built in."""
    return nccl_available()


def is_mpi_available() -> bool:
    """Whether mpi4py is installed; collectives of arrays then go through MPI."""
    return _mpi.available()


def is_ucc_available() -> bool:
    """Whether UCC can be used: no."""
    return False


def is_xccl_available() -> bool:
    """Whether XCCL can be used: no."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether processes can exchange in this way: its name, or ``"cpu:gloo,cuda:nccl"``."""
    names = [part.rpartition(":")[2] for part in backend.lower().split(",")]
    known = {"gloo": is_gloo_available, "mpi": is_mpi_available, "nccl": is_nccl_available}
    return all(name in known and known[name]() for name in names)


def supports_complex(reduceOp: Any) -> bool:  # noqa: N803
    """Whether complex tensors can be combined so.

    Args:
        reduceOp: a member of :class:`ReduceOp`.
    """
    names = ("MAX", "MIN", "PRODUCT", "BAND", "BOR", "BXOR")
    return reduceOp not in [getattr(ReduceOp, name) for name in names]


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_default_backend_for_device(device: Any) -> str:
    """The backend for tensors of a device."""
    return {"cpu": "gloo", "cuda": "nccl"}[Device(device).type]


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None,
    world_size: int = -1, rank: int = -1, store: Any = None, group_name: str = "",
    pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Connect this process with the others; all of them must call it.

    Args:
        backend: "gloo" or None: MPI carries arrays where all processes have it, else sockets;
            "mpi": MPI, or an error; "nccl": NCCL (of cupy) for tensors on CUDA; both by
            "cpu:gloo,cuda:nccl". Without NCCL tensors on CUDA go through copies on the host.
        init_method: "env://" (when None), "tcp://host:port" or "file:///path".
        timeout: how long operations wait for the others; 30 minutes when None.
        world_size, rank: how many processes there are, and the number of this one.
        store: where processes find each other, in place of ``init_method``.
        group_name: a name for the group of all.
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if timeout is not None and not isinstance(timeout, timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    _refuse(pg_options=pg_options, device_id=device_id)
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
    _world.communicator = _mpi.communicator(store, rank, world_size, limit)
    if name == "mpi" and _world.communicator is None and world_size > 1:
        raise RuntimeError("backend 'mpi': not all processes of the group can use MPI together")
    _world.numbers = itertools.count(1)
    ranks = list(range(world_size))
    GroupMember.WORLD = _make_group(0, ranks, group_name or "default", name, limit)
    _world.hook = _failure.ExceptHook(_world.mesh)
    if _mpi.launched() is not None:
        _failure.watch_own_end(rank)
    _leave_at_exit()
    # nobody needs the store from here on, so its keeper may leave when it likes
    GroupMember.WORLD.barrier()


def _refuse(**given: Any) -> None:
    """Arguments that have no meaning here are refused, not passed over."""
    for name, value in given.items():
        if value is not None:
            raise NotImplementedError(f"{name} is not available in mindtorch: all processes of "
                                      "the job make a group, and it has one device")


def _make_group(
    number: int, ranks: list[int], name: str, backend: str, timeout: timedelta
) -> ProcessGroup:
    assert _world.mesh is not None
    parts = (_world.mesh, number, ranks, name, backend, timeout)
    if _world.communicator is None:
        made = ProcessGroup(*parts)
    else:
        made = MpiGroup(*parts, _world.communicator)
    if "nccl" in backend:
        made.device = NcclCollectives(made)
    _world.groups[number] = made
    return made


def side_of(group: ProcessGroup, lane: int) -> ProcessGroup:
    """A group of the same processes whose messages are not mixed with theirs, for byte operations
    in another thread; nobody has to agree on it.

    Args:
        group: whose side it is.
        lane: which side, from 1 on.
    """
    number = (lane << 24) + group.number
    name = f"{group.group_name}/{lane}"
    return ProcessGroup(group.mesh, number, group.ranks, name, group.backend, group.timeout)


def _check_backend(backend: str) -> str:
    """The name of the backend for CPU tensors, "nccl" where there is none, both where NCCL serves
    those on CUDA beside it; torch's errors for libraries that are not here."""
    name = Backend(backend)
    parts = dict(p.split(":") for p in name.split(",")) if ":" in name else {"cpu": str(name)}
    chosen = parts.get("cpu", str(name))
    if chosen == "nccl" or parts.get("cuda") == "nccl":
        if nccl_available():
            if chosen != "nccl":
                _check_backend(chosen)
            return "nccl" if chosen == "nccl" or "cpu" not in parts else f"cpu:{chosen},cuda:nccl"
        chosen = "nccl"
        warnings.warn(
            "Attempted to get default timeout for nccl backend, but NCCL support is not compiled",
            stacklevel=3,
        )
    if chosen in ("nccl", "ucc", "xccl") or (chosen == "mpi" and not _mpi.available()):
        raise RuntimeError(f"Distributed package doesn't have {chosen.upper()} built in")
    if chosen not in ("gloo", "mpi", "mccl"):
        raise ValueError(f"Unknown backend {chosen!r}: mindtorch has 'gloo' and 'mpi'")
    return chosen


@functools.cache
def _leave_at_exit() -> None:
    """Tell the others when this process ends in order, here or in a multiprocessing child."""
    atexit.register(_leave)
    multiprocessing.util.Finalize(None, _leave, exitpriority=1)


def _leave() -> None:
    mesh = _world.mesh or _world.last_mesh
    if mesh is None or mesh.process != os.getpid():
        return
    _failure.end_in_order()
    mesh.close()
    if _mpi.must_finish() and mesh.wait_until_left():
        _mpi.finish()


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
        if _world.hook is not None:
            _world.hook.remove()
        if isinstance(_world.store, FileStore):
            _world.store.leave()
        elif isinstance(_world.store, TCPStore):
            _world.store.close()
        _world.last_mesh = _world.mesh
        _world.mesh = _world.store = _world.communicator = _world.hook = None
        return
    found = _world.groups.pop(group.number, None)
    if found is None:
        raise ValueError("Invalid process group specified")
    found.close()


def group_of(group: Any) -> ProcessGroup:
    if group is None:
        if GroupMember.WORLD is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call "
                "init_process_group."
            )
        return GroupMember.WORLD
    return group


def is_outside(group: Any) -> bool:
    return group == GroupMember.NON_GROUP_MEMBER


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's number; -1 outside of the group."""
    return -1 if is_outside(group) else group_of(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes there are; -1 outside of the group."""
    return -1 if is_outside(group) else group_of(group).size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name of the group's backend."""
    return group_of(group).backend


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The global numbers of a group's processes."""
    return list(group_of(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The global number of a process of a group.

    Args:
        group_rank: its number in ``group``.
    """
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group.ranks[group_rank]


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number within a group of a process.

    Args:
        global_rank: its number among all.
    """
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its machine, from LOCAL_RANK.

    Args:
        fallback_rank: what to return where the variable is not set; None for an error.
    """
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
        timeout: how long its operations wait; as long as the default group's when None.
        group_desc: a name for error messages.
        sort_ranks: number the group's processes by their rank among all.

    Raises:
        NotImplementedError: ``pg_options``, ``device_id`` or ``use_local_synchronization`` given.
        ValueError: a rank that there is not.
    """
    _refuse(pg_options=pg_options, device_id=device_id)
    _refuse(use_local_synchronization=use_local_synchronization or None)
    world = group_of(None)
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
    name = world.backend if backend is None else _check_backend(backend)
    number = next(_world.numbers)
    if world.mesh.rank not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    limit = world.timeout if timeout is None else timeout
    return _make_group(number, chosen, group_desc or f"group{number}", name, limit)


def new_subgroups(
    group_size: int | None = None, group: Any = None, timeout: timedelta | None = None,
    backend: str | None = None, pg_options: Any = None, group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Groups of ``group_size`` neighbours each: this process's own, and all of them."""
    world = group_of(group)
    if group_size is None:
        raise ValueError("Default group size only takes effect when CUDA is available.")
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if world.size() < group_size:
        raise ValueError(
            f"The arg 'group_size' ({group_size}) must not exceed the world size ({world.size()})"
        )
    if world.size() % group_size:
        raise ValueError(
            f"The world size ({world.size()}) must be divisible by 'group_size={group_size}'"
        )
    ranks = [world.ranks[i : i + group_size] for i in range(0, world.size(), group_size)]
    return new_subgroups_by_enumeration(ranks, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: list[list[int]], timeout: timedelta | None = None,
    backend: str | None = None, pg_options: Any = None, group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """A group for each list of ranks: this process's own (None outside), and all of them.

    Args:
        ranks_per_subgroup_list: numbers among all, each at most once.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    seen = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    for rank in seen:
        if seen.count(rank) > 1:
            raise ValueError(f"Rank {rank} has appeared in two subgroups")
    made = [
        new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        for ranks in ranks_per_subgroup_list
    ]
    own = [g for g in made if g != GroupMember.NON_GROUP_MEMBER]
    return (own[0] if own else None), made
