"""DistributedDataParallel: every process has the module, gradients are averaged over them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mindtorch.engine.autograd import tape
from mindtorch.engine.compile.capture.host_calls import host_call
from mindtorch.engine.dispatch import graph_under_way, state
from mindtorch.engine.tensor import Tensor as EngineTensor

from ... import distributed as dist
from ..._compat.unsupported_names import refuse
from ...distributed._device import broadcast_together
from ...distributed.algorithms import Join, Joinable, JoinHook
from ...utils._pytree import tree_leaves
from ..modules.module import Module
from ._reducer import FIRST_BUCKET, Reducer

__all__ = ["DistributedDataParallel"]

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This "
    "error indicates that your module has parameters that were not used in producing loss. You can "
    "enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \nmaking "
    "sure all `forward` function outputs participate in calculating loss. "
)


_BROADCAST_BUFFERS = (
    "`broadcast_buffers` is deprecated. Use `forward_sync_buffers` instead. IMPORTANT: unlike "
    "`broadcast_buffers=False`, `forward_sync_buffers=False` still syncs buffers at init. If you "
    "rely on buffers NOT being synced at init (e.g. rank-local buffers), keep using "
    "`broadcast_buffers=False` until `init_sync_buffers` is available."
)
_BOTH_BUFFERS = (
    "Both `broadcast_buffers` and `forward_sync_buffers` were specified. `broadcast_buffers` is "
    "deprecated and its value is ignored when `forward_sync_buffers` is provided."
)


def _group_of(process_group: Any, mesh: Any) -> Any:
    """The group that was given, or a mesh's, or all processes."""
    if mesh is None:
        return dist.distributed_c10d.group_of(process_group)
    if process_group is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if mesh.ndim != 1:
        raise RuntimeError(f"Only 1D device mesh is supported, but got {mesh}.")
    return mesh.get_group(0)


def _shares_buffers(older: bool | None, newer: bool | None) -> tuple[bool, bool]:
    """Whether buffers are sent before each forward, and when the module is wrapped."""
    if older is not None:
        text = _BROADCAST_BUFFERS if newer is None else _BOTH_BUFFERS
        warnings.warn(text, FutureWarning, stacklevel=3)
    if newer is not None:
        return newer, True
    return older is not False, older is not False


class DistributedDataParallel(Module, Joinable):
    """``module`` in every process of a group, with gradients averaged over them by backward.

    When it is made, parameters and buffers are those of the first process. Gradients go into
    buckets, last parameters first; a full bucket is averaged in the background while backward
    goes on, and backward ends when all are.

    Args:
        device_ids, output_device: for CUDA modules; None on the CPU.
        broadcast_buffers: give all processes the first one's buffers before each forward.
        init_sync: check shapes and take over parameters and buffers when made.
        process_group: the default group when None.
        find_unused_parameters: look for parameters that the outputs do not depend on; without
            it, such a parameter makes the next forward an error.
        check_reduction: deprecated in torch, and of no effect there.
        static_graph: the same parameters are used in every iteration.
        bucket_cap_mb: the size of a bucket, in MiB; 25 when None. The first is 1 at most.
        gradient_as_bucket_view: gradients stay in the buckets, as views: no second copy.
        device_mesh: of one axis, in place of ``process_group``.
        bucket_cap_mb_list: sizes of buckets one after another; those behind have the last's.
        forward_sync_buffers: ``broadcast_buffers`` by its newer name; where it is given, False
            still gives all processes the first one's buffers when made.
        batched_grad_copy, skip_all_reduce_unused_params: of no effect: copies into a bucket are no
            calls of kernels here, and of what nobody has used zeros are sent.
        delay_all_reduce_named_params, param_to_hook_all_reduce, mixed_precision: refused.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: Any = None,
        bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False,
        static_graph: bool = False, delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None, mixed_precision: Any = None, device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        Joinable.__init__(self)
        for name, value in (
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
            ("param_to_hook_all_reduce", param_to_hook_all_reduce),
            ("mixed_precision", mixed_precision),
        ):
            if value is not None:
                refuse(f"DistributedDataParallel({name})", "gradients are averaged in one way")
        self.process_group = _group_of(process_group, device_mesh)
        trained = [p for p in module.parameters() if p.requires_grad]
        if not trained:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        if device_ids or output_device is not None:
            devices = {p.device for p in module.parameters()}
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
                f"{device_ids}, output_device {output_device}, and module parameters {devices}."
            )
        self.module = module
        self.device = trained[0].device
        self.dim = dim
        shares_buffers = _shares_buffers(broadcast_buffers, forward_sync_buffers)
        self.forward_sync_buffers, sends_first = shares_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = dict(module.named_parameters())
        self._trained = [p for n, p in named.items() if p.requires_grad and n not in ignored]
        self._buffers_to_send = [b for n, b in module.named_buffers() if n not in ignored]
        self._kept = [p for n, p in named.items() if n not in ignored]
        self._divide_by_initial = True
        number = self.process_group.next_number("replica")
        self._name = f"DistributedDataParallel {number}"
        sizes: list[float] = [25 if bucket_cap_mb is None else bucket_cap_mb]
        capacities = [int(size * (1 << 20)) for size in bucket_cap_mb_list or sizes]
        if not bucket_cap_mb_list:
            capacities.insert(0, min(FIRST_BUCKET, capacities[0]))
        self._reducer = Reducer(
            self._trained, self.process_group, capacities, gradient_as_bucket_view,
            find_unused_parameters or static_graph, self._name,
        )  # fmt: skip
        if init_sync:
            self._check_shapes()
            self._send(self._kept + (self._buffers_to_send if sends_first else []))
        for parameter in self._trained:
            parameter.register_post_accumulate_grad_hook(self._one_ready)

    # --- what all processes share ------------------------------------------------------------

    def _check_shapes(self) -> None:
        """Every process has the same parameters."""
        shapes = [list(p.shape) for p in self._kept]
        found: list[Any] = [None] * self.process_group.size()
        dist.all_gather_object(found, shapes, self.process_group)
        for rank, other in enumerate(found):
            if other != shapes:
                raise RuntimeError(
                    "DDP expects same model across all ranks, but Rank "
                    f"{self.process_group.rank()} has {len(shapes)} params of shapes {shapes}, "
                    f"while rank {rank} has {other}."
                )

    def _send(self, tensors: list[Any], root: int = 0) -> None:
        """Overwrite tensors with those of process ``root``, all of one type in one message."""
        if self.process_group.size() == 1:
            return
        kinds: dict[Any, list[Any]] = {}
        for tensor in tensors:
            kinds.setdefault(tensor.aval.dtype, []).append(tensor)
        for members in kinds.values():
            broadcast_together(self.process_group, members, root)

    # --- an iteration ------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        self.before_forward()
        output = self.module(*inputs, **kwargs)
        self.after_forward(output)
        return output

    def before_forward(self) -> None:
        """Expect a backward pass, unless gradients are off or only added up in this process."""
        averages = self.require_backward_grad_sync
        self._begin(state.grad_enabled and averages, averages or not state.grad_enabled)

    def after_forward(self, output: Any) -> None:
        """Do not wait for what ``output`` does not depend on, where that was asked for."""
        syncing = state.grad_enabled and self.require_backward_grad_sync
        if syncing and (self.find_unused_parameters or self.static_graph):
            self._leave_out(tuple(self._unused(output)))

    @host_call
    def _begin(self, syncing: bool, sends_next: bool) -> None:
        """Before the module's forward: buffers, and what is expected of backward. Compiled calls
        keep the arguments: where they run again, nobody enters no_sync()."""
        if syncing and self._reducer.expecting:
            waiting = self._reducer.waiting
            missing = [i for i, p in enumerate(self._trained) if id(p) in waiting]
            if len(missing) < len(self._trained):
                raise RuntimeError(
                    f"{_UNFINISHED}\nParameter indices which did not receive grad for rank "
                    f"{self.process_group.rank()}: {' '.join(map(str, missing))}"
                )
        root = self._meet_others(syncing)
        if self._sends_buffers():
            self._send(self._buffers_to_send, root)
        self._reducer.sends_next = sends_next
        self._reducer.expecting = syncing
        if syncing:
            self._reducer.prepare(set())

    @host_call
    def _leave_out(self, unused: tuple[int, ...]) -> None:
        self._reducer.prepare(set(unused))

    @property
    def require_forward_param_sync(self) -> bool:
        """Whether the next forward sends buffers: gradients were averaged since the last one."""
        return self._reducer.sends_next

    def _sends_buffers(self) -> bool:
        sends = self.forward_sync_buffers and self.require_forward_param_sync
        return sends and bool(self._buffers_to_send)

    def _unused(self, output: Any) -> set[int]:
        """Parameters that the tensors of ``output`` do not depend on."""
        seen: set[int] = set()
        todo = [tape.node_of(x) for x in tree_leaves(output) if isinstance(x, EngineTensor)]
        used: set[int] = set()
        while todo:
            node = todo.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, tape.AccumulateGrad):
                used.add(id(node.variable))
            todo += [edge[0] for edge in node.edges if edge is not None]
        return {id(p) for p in self._trained} - used

    def _one_ready(self, parameter: Any) -> None:
        """A parameter has its gradient; in a captured call gradients go bucket after bucket, and
        the graph goes on meanwhile."""
        if not (self._reducer.expecting and self.require_backward_grad_sync):
            return
        if graph_under_way() is None:
            self._reducer.take(parameter)
            return
        ready = self._reducer.filled_by(parameter)
        if ready:
            self._take(tuple([i for i, p in enumerate(self._trained) if id(p) in ready]))

    _one_ready.in_captures = True  # type: ignore[attr-defined]

    @host_call
    def _take(self, places: tuple[int, ...]) -> None:
        for place in places:
            self._reducer.take(self._trained[place])

    def _average_gradients(self) -> None:
        """Average the gradients as they are now, after backward passes of no_sync() blocks."""
        self._reducer.expecting = True
        self._reducer.prepare(set())
        waiting = self._reducer.waiting
        self._take(tuple([i for i, p in enumerate(self._trained) if id(p) in waiting]))
        self._reducer.sends_next = True

    # --- uneven inputs -----------------------------------------------------------------------

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:  # fmt: skip
        """A block in which processes may run out of data at different times.

        Args:
            divide_by_initial_world_size: averages divide by the number of processes; False: by
                the number of those that still have data.
        """
        return Join(
            [self], enable, throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )  # fmt: skip

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without data does in place of an iteration."""
        self._divide_by_initial = kwargs.get("divide_by_initial_world_size", True)
        return _Shadow(self)

    @property
    def join_device(self) -> Any:
        return self.device

    @property
    def join_process_group(self) -> Any:
        return self.process_group

    def _sum(self, *values: int) -> list[int]:
        """Sums of numbers over the processes."""
        total = np.array(values, np.int64)
        self.process_group.run(lambda: self.process_group.all_reduce(total, "SUM")).result()
        return [int(v) for v in total]

    def _largest(self, value: int) -> int:
        found = np.array([value], np.int64)
        self.process_group.run(lambda: self.process_group.all_reduce(found, "MAX")).result()
        return int(found[0])

    def _meet_others(self, syncing: bool) -> int:
        """In a join block: say what comes next; the process whose buffers are taken."""
        Join.notify_join_context(self)
        if not self._join_config.enable:
            return 0
        active, _, sends = self._sum(1, syncing, self._sends_buffers())
        self._reducer.divisor = self.process_group.size() if self._divide_by_initial else active
        return self._largest(self.process_group.rank()) if sends else 0

    # --- around it ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block whose backward passes only add up gradients in this process."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Any
    ) -> None:
        """Let a model that is not wrapped yet keep some of its parameters to each process."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Let ``hook(state, bucket)`` return a future of the averaged buffer."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._reducer.hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self._reducer.hook = (state, hook)

    def train(self, mode: bool = True) -> DistributedDataParallel:
        super().train(mode)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state_ = self.__dict__.copy()
        for name in ("process_group", "_reducer"):
            state_[name] = None
        return state_

    def __setstate__(self, state_: dict[str, Any]) -> None:
        super().__setstate__(state_)
        self.process_group = dist.distributed_c10d.group_of(None)
        self._reducer = Reducer(
            self._trained, self.process_group, [FIRST_BUCKET, 25 << 20],
            self.gradient_as_bucket_view,
            self.find_unused_parameters or self.static_graph, self._name,
        )  # fmt: skip
        for parameter in self._trained:
            parameter.register_post_accumulate_grad_hook(self._one_ready)


class _Shadow(JoinHook):
    """The iterations of a process that has no more data."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self.model = model

    def main_hook(self) -> bool:
        """False after a pass of no_sync(): no optimizer's step follows it."""
        model = self.model
        _, syncing, sends = model._sum(0, 0, 0)
        if sends:
            model._send(model._buffers_to_send, model._largest(-1))
        if syncing:
            model._reducer.send_zeros()
        return syncing > 0

    def post_hook(self, is_last_joiner: bool) -> None:
        """All take the parameters and buffers of a process that has worked to the end."""
        model = self.model
        root = model._largest(model.process_group.rank() if is_last_joiner else -1)
        model._send(model._kept + model._buffers_to_send, root)
