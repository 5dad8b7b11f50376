"""DistributedDataParallel: every process has the module, gradients are averaged over them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mindtorch.engine import tape
from mindtorch.engine.core import state
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from ... import distributed as dist
from ...distributed import GradBucket
from ...utils._pytree import tree_leaves
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This "
    "error indicates that your module has parameters that were not used in producing loss. You can "
    "enable unused parameter detection by passing the keyword argument "
    "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by \nmaking "
    "sure all `forward` function outputs participate in calculating loss. "
)


class DistributedDataParallel(Module):
    """``module`` in every process of a group, with gradients averaged at the end of backward.

    When it is made, parameters and buffers are those of the first process. When all parameters
    have their gradients, these are averaged over the processes, all of one type together.

    Args:
        device_ids, output_device: for CUDA modules; None on the CPU.
        broadcast_buffers: give all processes the first one's buffers before each forward.
        init_sync: check shapes and take over parameters and buffers when made.
        process_group: the default group when None.
        find_unused_parameters: look for parameters that the outputs do not depend on; without
            it, such a parameter makes the next forward an error.
        static_graph: the same parameters are used in every iteration.
        bucket_cap_mb, gradient_as_bucket_view: how torch divides and keeps its buffers; here
            there is one buffer for each type, which changes no value.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0,
        broadcast_buffers: bool | None = None, init_sync: bool = True, process_group: Any = None,
        bucket_cap_mb: float | None = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.process_group = dist.distributed_c10d._group(process_group)
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
        self.broadcast_buffers = broadcast_buffers is None or broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = dict(module.named_parameters())
        self._trained = [p for n, p in named.items() if p.requires_grad and n not in ignored]
        self._buffers_to_send = [b for n, b in module.named_buffers() if n not in ignored]
        self._kept = [p for n, p in named.items() if n not in ignored]
        self._ready: set[int] = set()
        self._preparing = False
        self._hook: tuple[Any, Callable[..., Any]] | None = None
        if init_sync:
            self._check_shapes()
            self._send(self._kept + self._buffers_to_send)
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

    def _send(self, tensors: list[Any]) -> None:
        """Overwrite tensors with those of the first process, in one message."""
        arrays = [t.detach().array() for t in tensors]
        own = None
        if self.process_group.rank() == 0:
            own = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)
        if self.process_group.size() == 1:
            return
        data = self.process_group.broadcast_bytes(own, 0)
        if own is not None:
            return
        place = 0
        for tensor, array in zip(tensors, arrays, strict=True):
            part = np.frombuffer(data, array.dtype, array.size, place)
            array[...] = part.reshape(array.shape)
            tensor._shared.version += 1
            place += array.nbytes

    # --- an iteration ------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        syncing = state.grad_enabled and self.require_backward_grad_sync
        if syncing and self._preparing and self._ready and not self._all_ready():
            missing = [i for i, p in enumerate(self._trained) if id(p) not in self._ready]
            raise RuntimeError(
                f"{_UNFINISHED}\nParameter indices which did not receive grad for rank "
                f"{self.process_group.rank()}: {' '.join(map(str, missing))}"
            )
        if self.broadcast_buffers and self.require_forward_param_sync and self._buffers_to_send:
            self._send(self._buffers_to_send)
        output = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = self.require_backward_grad_sync or not (
            state.grad_enabled
        )
        if syncing:
            self._ready = set()
            self._preparing = True
            if self.find_unused_parameters or self.static_graph:
                self._ready = self._unused(output)
        else:
            self._preparing = False
        return output

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

    def _all_ready(self) -> bool:
        return len(self._ready) == len(self._trained)

    def _one_ready(self, parameter: Any) -> None:
        """A parameter has its gradient; after the last one they are averaged."""
        if not (self._preparing and self.require_backward_grad_sync):
            return
        self._ready.add(id(parameter))
        if self._all_ready():
            self._preparing = False
            self._ready = set()
            self._average()

    def _average(self) -> None:
        """Average gradients over the processes; one that no process has stays None."""
        used = np.array([p.grad is not None for p in self._trained], np.int32)
        if self.find_unused_parameters or self.static_graph:
            self.process_group.all_reduce(used, "MAX")
        kinds: dict[Any, list[Any]] = {}
        for parameter, anywhere in zip(self._trained, used, strict=True):
            if anywhere:
                kinds.setdefault(parameter.aval.dtype, []).append(parameter)
        for index, parameters in enumerate(kinds.values()):
            flat = np.concatenate([_gradient(p).reshape(-1) for p in parameters])
            bucket = GradBucket(
                from_array(flat), parameters, index, index == len(kinds) - 1
            )
            total = self._reduced(bucket, flat)
            place = 0
            for parameter in parameters:
                _put(parameter, total[place : place + parameter.aval.size])
                place += parameter.aval.size

    def _reduced(self, bucket: GradBucket, flat: Any) -> Any:
        if self._hook is not None:
            found = self._hook[1](self._hook[0], bucket).wait()
            return (found[0] if isinstance(found, (list, tuple)) else found).array().reshape(-1)
        size = self.process_group.size()
        flat /= flat.dtype.type(size)
        self.process_group.all_reduce(flat, "SUM")
        return flat

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

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Let ``hook(state, bucket)`` return a future of the averaged buffer."""
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        self._hook = (state, hook)

    def join(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("DistributedDataParallel.join is not available in mindtorch")

    def train(self, mode: bool = True) -> DistributedDataParallel:
        super().train(mode)
        return self

    def __getstate__(self) -> dict[str, Any]:
        state_ = self.__dict__.copy()
        state_["process_group"] = None
        return state_

    def __setstate__(self, state_: dict[str, Any]) -> None:
        super().__setstate__(state_)
        self.process_group = dist.distributed_c10d._group(None)
        for parameter in self._trained:
            parameter.register_post_accumulate_grad_hook(self._one_ready)


def _gradient(parameter: Any) -> Any:
    """A parameter's gradient as an array; zeros when this process did not use it."""
    if parameter.grad is None:
        return np.zeros(parameter.aval.shape, parameter.aval.dtype.np)
    return parameter.grad.detach().array()


def _put(parameter: Any, values: Any) -> None:
    """Overwrite a parameter's gradient, or make one."""
    if parameter.grad is None:
        parameter.grad = from_array(values.reshape(parameter.aval.shape).copy())
        return
    array = parameter.grad.detach().array()
    array[...] = values.reshape(array.shape)
    parameter.grad._shared.version += 1
