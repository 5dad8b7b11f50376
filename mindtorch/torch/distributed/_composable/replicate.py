"""``replicate``: a module whose gradients backward averages over processes, without a wrapper."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from mindtorch.engine.devices.device import Device

from ...nn.modules._changes import change_class
from ...nn.modules.container import ParameterList
from ...nn.parallel.distributed import DistributedDataParallel
from ..fsdp._module_state import state_of as shards_of
from ..tensor import DTensor

__all__ = ["replicate"]

_states: weakref.WeakKeyDictionary[Any, _ReplicateState] = weakref.WeakKeyDictionary()


class _ReplicateState:
    """What a module was replicated with; its averaging is made before the first forward."""

    def __init__(self, ignored: set[Any], options: dict[str, Any]) -> None:
        self._ignored = ignored
        self._options = options
        self._hooks: list[tuple[Any, Any]] = []
        self._averaging: Any = None
        self.is_averaging = True

    def hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """:meth:`DistributedDataParallel.register_comm_hook`."""
        if self._averaging is None:
            self._hooks.append((state, hook))
        else:
            self._averaging.register_comm_hook(state, hook)

    def before(self, module: Any, inputs: Any) -> None:
        if self._averaging is None:
            parameters: list[Any] = []
            self._collect(module, parameters)
            self._averaging = DistributedDataParallel(ParameterList(parameters), **self._options)
            for state, hook in self._hooks:
                self._averaging.register_comm_hook(state, hook)
        self._averaging.require_backward_grad_sync = self.is_averaging
        self._averaging.before_forward()

    def after(self, module: Any, inputs: Any, output: Any) -> None:
        self._averaging.after_forward(output)

    def _collect(self, module: Any, found: list[Any]) -> None:
        """Parameters of modules that are neither ignored nor sharded."""
        if module in self._ignored or shards_of(module) is not None:
            return
        for name, parameter in module.named_parameters(recurse=False):
            if isinstance(parameter, DTensor):
                raise NotImplementedError(
                    f"replicate: the parameter {name} is a DTensor; divide it over a mesh of two "
                    "axes by fully_shard instead"
                )
            if not any(parameter is p for p in found):
                found.append(parameter)
        for child in module.children():
            self._collect(child, found)


class DDP:
    """What a replicated module can do besides."""

    def set_requires_gradient_sync(self, requires_gradient_sync: bool) -> None:
        """Whether backward averages gradients; otherwise they add up in this process."""
        _states[self].is_averaging = requires_gradient_sync

    def register_comm_hook(self, state: Any, hook: Callable[..., Any]) -> None:
        """Let ``hook(state, bucket)`` return a future of the averaged buffer."""
        _states[self].hook(state, hook)


def _no_copy(module: Any, memo: Any) -> NoReturn:
    raise AssertionError(
        "DDP does not support deepcopy. Please use state dict for serialization."
    )


def replicate(module: Any, ignored_modules: Iterable[Any] | None = None, **kwargs: Any) -> Any:
    """Let backward average the gradients of ``module`` over processes.

    As :class:`~torch.nn.parallel.DistributedDataParallel`, but the module keeps its names, and
    parts of it may be sharded or replicated in another way. Before the first forward all processes
    take over the first one's parameters; buffers are each process's own.

    Args:
        module: which becomes a :class:`DDP`, too.
        ignored_modules: whose parameters are left as they are.
        kwargs: of DistributedDataParallel; and ``device_id``, a number or device, None on the CPU;
            ``device_mesh``, of one axis, in place of ``process_group``.

    Raises:
        RuntimeError: a sharded module; ``device_id`` of another type; a mesh of more axes.
        AssertionError: it was called with this module before.
        NotImplementedError: at the first forward: a parameter that is a DTensor.
    """
    options = dict(kwargs)
    device = options.pop("device_id", None)
    if "device_id" in kwargs and not isinstance(device, (int, Device)):
        raise RuntimeError(f"Expected device_id to be int or torch.device, but got {type(device)}")
    if device is not None and not (isinstance(device, Device) and device.type == "cpu"):
        options["device_ids"] = [device]
    if shards_of(module) is not None:
        raise RuntimeError(
            "Cannot apply `replicate()` on a Module already managed by `fully_shard`"
        )
    if module in _states:
        raise AssertionError(
            "Each distinct composable distributed API can only be applied to a module once. "
            f"replicate has already been applied to the following module:\n{module}"
        )
    mesh = options.pop("device_mesh", None)
    if mesh is not None:
        if mesh.ndim != 1:
            raise RuntimeError(f"Only 1D device mesh is supported, but got {mesh}.")
        options["process_group"] = mesh.get_group()
    state = _states[module] = _ReplicateState(set(ignored_modules or ()), options)
    module.register_forward_pre_hook(state.before)
    module.register_forward_hook(state.after)
    kind = type(module)
    body = {"__deepcopy__": _no_copy, "__module__": kind.__module__}
    change_class(module, type(f"DDP{kind.__name__}", (DDP, kind), body))
    return module
