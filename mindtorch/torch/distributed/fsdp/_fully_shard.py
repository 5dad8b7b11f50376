"""``fully_shard``: a module whose parameters, gradients and optimizer states are divided."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ...nn.modules._changes import change_class
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from ..device_mesh import DeviceMesh, init_device_mesh
from ..distributed_c10d import get_world_size, init_process_group, is_initialized
from ..tensor import Shard
from ._module_state import ModuleState, state_of
from ._parameter_group import ParameterGroup
from ._placing import MeshPlacing
from ._policies import MixedPrecisionPolicy, OffloadPolicy

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]

_classes: dict[type, type] = {}


def fully_shard(
    module: Any, *, mesh: Any = None, reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Any] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None, offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Any] | None = None, dp_mesh_dims: Any = None,
) -> Any:  # fmt: skip
    """Divide the parameters of ``module``, those of inner sharded modules left out, over processes.

    Between steps every process has its part of each parameter, a :class:`DTensor` cut along axis
    0, and so of gradients and of what the optimizer keeps. Before forward the parts are gathered
    in one message and the whole parameters freed after it; backward gathers them again, averages
    gradients over the processes, each for its own part, and frees.

    Shard the inner modules first: each call makes one group that is gathered together.

    Args:
        module: a module, or a list of modules whose parameters are one group.
        mesh: of one axis, over which parameters are cut; or of two named ones, over the first of
            which they are repeated. All processes when None.
        reshard_after_forward: free the whole parameters after forward; False keeps them for
            backward; a number keeps parts over so many neighbouring processes. None: True, but
            False for the root.
        shard_placement_fn: the :class:`Shard` of a parameter; None for ``Shard(0)``.
        mp_policy: types of computation and of reduction.
        offload_policy: where parts lie; on CPUs in the host's memory in any case.
        ignored_params: parameters that are left as they are.
        dp_mesh_dims: must be None.

    Returns:
        ``module``, which is an :class:`FSDPModule` now.

    Raises:
        ValueError: a container without forward; a mesh of more axes; a scalar parameter.
        NotImplementedError: a device other than CPUs; ``dp_mesh_dims``.
    """
    if dp_mesh_dims is not None:
        raise NotImplementedError("fully_shard(dp_mesh_dims=...) is not available in mindtorch")
    modules = tuple(module) if isinstance(module, (list, tuple)) else (module,)
    for each in modules:
        _check_module(each)
    mesh = _whole_mesh() if mesh is None else mesh
    _check_mesh(mesh)
    placing = MeshPlacing(mesh)
    policy = MixedPrecisionPolicy() if mp_policy is None else mp_policy
    reshards, smaller = _after_forward(reshard_after_forward, placing)
    inner = _managed(modules, ignored_params)
    found = _parameters(inner, ignored_params or set(), shard_placement_fn)
    group = ParameterGroup(found, placing, policy, reshards, smaller) if found else None
    if group is not None:
        group.watch_state_dicts()
    ModuleState(modules, group, policy, reshard_after_forward is None)
    for each in modules:
        kind = type(each)
        if kind not in _classes:
            body = {"__deepcopy__": _no_copy, "__module__": kind.__module__}
            _classes[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), body)
        change_class(each, _classes[kind])
    return module


def _check_module(module: Any) -> None:
    if isinstance(module, (ModuleList, ModuleDict)) and type(module).forward is Module.forward:
        raise ValueError(
            f"fully_shard does not support containers that do not implement forward: {module}"
        )


def _check_mesh(mesh: Any) -> None:
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    if mesh.ndim == 2 and mesh.mesh_dim_names is None:
        raise AssertionError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    if mesh.device_type != "cpu":
        raise NotImplementedError(
            f"fully_shard over {mesh.device_type} is not available in mindtorch: parameters are "
            "gathered in the memory of the host"
        )


def _whole_mesh() -> Any:
    if not is_initialized():
        init_process_group()
    return init_device_mesh("cpu", (get_world_size(),))


def _after_forward(asked: bool | int | None, placing: MeshPlacing) -> tuple[bool, Any]:
    """Whether wholes are freed after forward, and over which processes they are kept then."""
    if asked is None or isinstance(asked, bool):
        return asked is not False, None
    if not isinstance(asked, int):
        raise ValueError(
            "reshard_after_forward should be a bool or an int representing the group size to "
            f"reshard to, not {asked}"
        )
    size = placing.shards
    if asked < 1 or asked > size or size % asked:
        raise ValueError(
            f"If passing reshard_after_forward as an int, it should be a factor of {size}, not "
            f"{asked}"
        )
    if asked in (1, size):
        return asked == size, None
    mesh = placing.mesh
    smaller = DeviceMesh(mesh.device_type, mesh.mesh.view(-1, asked))
    return True, smaller.get_group(1)


# --- whose parameters ----------------------------------------------------------------------------


def _managed(roots: tuple[Any, ...], ignored: set[Any] | None) -> list[Any]:
    """The modules in ``roots`` that are in no sharded module of their own."""
    found: list[Any] = []
    seen: set[int] = set()
    tops = {id(root) for root in roots}

    def visit(module: Any) -> None:
        if id(module) in seen or (id(module) not in tops and state_of(module) is not None):
            return
        seen.add(id(module))
        for child in module.children():
            visit(child)
        found.append(module)

    for root in roots:
        if state_of(root) is not None:
            raise AssertionError(
                "Each distinct composable distributed API can only be applied to a module once. "
                f"fully_shard has already been applied to the following module:\n{root}"
            )
        visit(root)
    return found


def _parameters(
    modules: list[Any], ignored: set[Any], placement: Callable[[Any], Any] | None
) -> list[tuple[Any, list[tuple[Any, str]], int, str]]:
    """(parameter, owners, axis, name) of each parameter of the modules."""
    skipped = {id(p) for p in ignored}
    owners: dict[int, list[tuple[Any, str]]] = {}
    order: list[Any] = []
    for module in reversed(modules):
        for name, parameter in module._parameters.items():
            if parameter is None or id(parameter) in skipped:
                continue
            if id(parameter) not in owners:
                _check_parameter(name, parameter)
                owners[id(parameter)] = []
                order.append(parameter)
            owners[id(parameter)].append((module, name))
    return [(p, owners[id(p)], _axis(p, placement), owners[id(p)][0][1]) for p in order]


def _check_parameter(name: str, parameter: Any) -> None:
    if not parameter.shape:
        raise ValueError(
            "fully_shard doesn't support scalar parameters. "
            f"Change {name} to a 1D tensor with numel equal to 1."
        )
    if parameter.aval.device.type not in ("cpu", "meta"):
        raise NotImplementedError(f"fully_shard: the parameter {name} is on {parameter.device}")


def _axis(parameter: Any, placement: Callable[[Any], Any] | None) -> int:
    chosen = None if placement is None else placement(parameter)
    if chosen is None:
        return 0
    if not isinstance(chosen, Shard):
        raise AssertionError(f"Expected Shard, got {type(chosen)}: {chosen}")
    return chosen.dim + parameter.ndim if chosen.dim < 0 else chosen.dim


# --- what a sharded module can do ----------------------------------------------------------------


class UnshardHandle:
    """A gathering of parameters that is under way."""

    def __init__(self, group: ParameterGroup | None) -> None:
        self._group = group

    def wait(self) -> None:
        """Return when the module has its whole parameters."""
        if self._group is not None:
            self._group.wait_for_unshard()
            self._group = None


class FSDPModule:
    """A module to which :func:`fully_shard` was applied; its class has this one as a base."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A module of the class as it was before, as when a container is indexed."""
        kind: Any = cls.__mro__[2]
        made = kind.__new__(kind, *args, **kwargs)
        made.__init__(*args, **kwargs)
        return made

    def _fsdp(self) -> ModuleState:
        state = state_of(self)
        if state is None:
            raise AssertionError(f"No FSDP state found on {self}")
        return state

    def _groups(self, recurse: bool) -> Iterable[ParameterGroup]:
        modules = self.modules() if recurse else [self]  # type: ignore[attr-defined]
        for module in modules:
            state = state_of(module)
            if state is not None and state.group is not None:
                yield state.group

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the whole parameters of this module alone.

        Args:
            async_op: go on at once; the handle's ``wait()`` gives the module its parameters.
        """
        group = self._fsdp().group
        if group is not None:
            group.unshard(later=async_op)
        handle = UnshardHandle(group)
        if async_op:
            return handle
        handle.wait()
        return None

    def reshard(self) -> None:
        """Free the whole parameters of this module alone, and register the parts."""
        group = self._fsdp().group
        if group is not None:
            group.show_parts()

    def reset_iter_state(self) -> None:
        """After an exception in forward or backward: make the next iteration possible. Called on
        the root; gradients on the way are lost."""
        self._fsdp().reset()

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Whether the next backward waits for the reductions of gradients at its end."""
        self._fsdp().context.is_last = is_last_backward

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Whether backward reduces gradients; else they add up, whole, in each process."""
        for group in self._groups(recurse):
            group.reduces = group.all_reduces = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether, on a mesh of two axes, backward also sums over the repeating one."""
        for group in self._groups(recurse):
            group.all_reduces = requires_all_reduce

    def set_reshard_after_forward(
        self, reshard_after_forward: bool, recurse: bool = True
    ) -> None:
        """Whether the whole parameters are freed after forward."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(
                f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}"
            )
        for module in self.modules() if recurse else [self]:  # type: ignore[attr-defined]
            state = state_of(module)
            if state is not None:
                state.automatic = False
                if state.group is not None:
                    state.group.reshards, state.group.smaller = reshard_after_forward, None

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Whether the whole parameters are freed after backward; False while gradients of several
        passes add up saves gathering them again."""
        for group in self._groups(recurse):
            group.reshards_after_backward = reshard_after_backward

    def _reduce_gradients(self) -> None:
        """Reduce what backward passes without ``set_requires_gradient_sync`` have added up."""
        self.set_is_last_backward(True)
        self.set_requires_gradient_sync(True)
        self.set_reshard_after_backward(True)
        groups = list(self._groups(True))
        for group in groups:
            group.end_backward()
        for group in groups:
            group.finish_backward()

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Modules whose parameters are gathered while this one's forward runs."""
        self._fsdp().forward_prefetch = _states(modules)

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Modules whose parameters are gathered while this one's backward runs, in place of the
        one whose forward came before."""
        self._fsdp().backward_prefetch = _states(modules)

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Divide sums of gradients by ``factor`` in place of the number of processes."""
        for group in self._groups(False):
            group.factor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_all_reduce_hook(self, hook: Callable[[Any], None], *, stream: Any = None) -> None:
        """Call ``hook(tensor)`` with the reduced gradients of this module, to change in place.

        Args:
            stream: must be None: there are no streams on CPUs.
        """
        if stream is not None:
            raise ValueError("stream cannot be set on CPUs")
        for group in self._groups(False):
            group.all_reduce_hook = hook

    def set_reduce_scatter_unused_params(
        self, reduce_scatter_unused_params: bool, *, recurse: bool = True
    ) -> None:
        """Whether parameters without a gradient are reduced as zeros, so that processes may use
        different ones."""
        for group in self._groups(recurse):
            group.sends_unused = reduce_scatter_unused_params

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Whether backward needs the whole parameters; an embedding's does not."""
        for group in self._groups(False):
            group.gathers_in_backward = unshard_in_backward

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Use sums alone, with divisions apart: what is done on CPUs in any case."""

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        """Conversions are of the parts."""
        self.reshard()
        result = super()._apply(*args, **kwargs)  # type: ignore[misc]
        for group in self._groups(False):
            group.refresh()
        return result


def _states(modules: list[Any]) -> list[ModuleState]:
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"Expects FSDPModule but got {type(module)}: {module}")
    return [module._fsdp() for module in modules]


def _no_copy(self: Any, memo: Any) -> NoReturn:
    raise AssertionError(
        "FSDP does not support deepcopy. Please use state dict for serialization."
    )


def register_fsdp_forward_method(module: Any, method_name: str) -> None:
    """Gather the parameters around another method than forward, too.

    Args:
        module: nothing happens for one that is not sharded.
        method_name: of the method; its first tensors are cast, and its output waited for.

    Raises:
        ValueError: ``module`` has no such method.
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)
    state = module._fsdp()

    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before_forward(module, args, kwargs)
        return state.after_forward(module, args, method(*args, **kwargs))

    object.__setattr__(module, method_name, call)
