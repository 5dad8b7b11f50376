"""FullyShardedDataParallel: a wrapper whose module's parameters are one vector, in parts."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from mindtorch.engine.tensor import Tensor, from_array

from ...nn.modules.batchnorm import _BatchNorm
from ...nn.modules.module import Module
from .._device import broadcast_together
from ..device_mesh import DeviceMesh
from ..distributed_c10d import ReduceOp, all_reduce, group_of, is_outside
from . import _flat_states
from ._flat_group import FlatGroup, Piece
from ._module_state import ModuleState, state_of
from ._placing import Placing, cut
from ._policies import MixedPrecisionPolicy
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    OptimStateKeyType,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import wrap_inside

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
    "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig",
    "MixedPrecision", "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings",
    "StateDictType",
]  # fmt: skip

_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
_KEPT = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2)


class _WrapperState(ModuleState):
    """The state of a wrapper: the root casts its inputs, others only where they were told to."""

    casts_root = True

    def before_forward(self, module: Any, args: Any, kwargs: Any) -> Any:
        """As for parameters of their own; views of one vector are no part of captures."""
        return super().before_forward(module, args, kwargs)

    def _cast_inputs(self, args: Any, kwargs: Any) -> Any:
        if self.is_root and self.casts_root and self.policy.param_dtype is not None:
            policy, self.policy = self.policy, MixedPrecisionPolicy(self.policy.param_dtype)
            try:
                return super()._cast_inputs(args, kwargs)
            finally:
                self.policy = policy
        return super()._cast_inputs(args, kwargs)


class FullyShardedDataParallel(Module):
    """``module`` with its parameters in one vector, divided over processes; those of modules that
    are wrapped themselves are left to them.

    Args:
        module: the same in all processes.
        process_group: all processes when None; for hybrid strategies (within, between).
        sharding_strategy: ``FULL_SHARD`` when None.
        cpu_offload: on CPUs everything lies in the host's memory in any case.
        auto_wrap_policy: modules inside that are wrapped, too.
        backward_prefetch: gather the next parameters before or after backward computes with these.
        mixed_precision: types of computation and reduction.
        ignored_modules, ignored_states: left as they are.
        param_init_fn: called with modules whose parameters are on the meta device, to give them
            values; when None they get ``to_empty`` and ``reset_parameters()``.
        device_id: of CUDA modules; a CPU's changes nothing.
        sync_module_states: take parameters and buffers of the group's first process.
        forward_prefetch: gather the next module's parameters while one computes forward.
        limit_all_gathers: wait for one gathering before the next: what is done on CPUs.
        use_orig_params: modules keep their parameters, as views of this process's part.
        device_mesh: in place of ``process_group``.

    Raises:
        NotImplementedError: modules on CUDA; ``keep_low_precision_grads``; batch norms under
            ``mixed_precision``.
    """

    def __init__(
        self, module: Module, process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None, cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None, device_id: Any = None,
        sync_module_states: bool = False, forward_prefetch: bool = False,
        limit_all_gathers: bool = True, use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None, device_mesh: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        precision = MixedPrecision() if mixed_precision is None else mixed_precision
        skipped_modules, skipped = _ignored(ignored_modules, ignored_states)
        _refuse(module, precision, skipped)
        self._settings = StateDictSettings()
        self.sharding_strategy = strategy
        self.mixed_precision = precision
        self._use_orig_params = use_orig_params
        self._device_mesh = device_mesh
        self._placing = _placing(strategy, process_group, device_mesh)
        self.process_group = self._placing.group
        if auto_wrap_policy is not None:
            shared = {
                "process_group": process_group, "sharding_strategy": strategy,
                "cpu_offload": cpu_offload, "backward_prefetch": backward_prefetch,
                "mixed_precision": mixed_precision, "param_init_fn": param_init_fn,
                "device_id": device_id, "sync_module_states": sync_module_states,
                "forward_prefetch": forward_prefetch, "limit_all_gathers": limit_all_gathers,
                "use_orig_params": use_orig_params, "ignored_modules": ignored_modules,
                "ignored_states": ignored_states, "device_mesh": device_mesh,
            }  # fmt: skip
            wrap_inside(
                module, auto_wrap_policy,
                lambda inner, **own: FullyShardedDataParallel(inner, **{**shared, **own}),
                skipped_modules,
            )  # fmt: skip
        _materialise(module, param_init_fn, skipped)
        if sync_module_states:
            self._take_from_first(module, skipped)
        self._fsdp_wrapped_module = module
        self._shard(_pieces(module, skipped_modules, skipped), use_orig_params)
        state = state_of(self)
        assert state is not None
        state.prefetches = backward_prefetch is not None
        state.prefetches_forward = forward_prefetch

    def _shard(self, pieces: list[Piece], original: bool) -> None:
        """Put the parameters into one vector, and watch forward and states."""
        precision, module = self.mixed_precision, self._fsdp_wrapped_module
        policy = MixedPrecisionPolicy(
            precision.param_dtype, precision.reduce_dtype,
            cast_forward_inputs=precision.cast_forward_inputs,
        )  # fmt: skip
        frees = self.sharding_strategy not in _KEPT
        self._group = None
        if pieces:
            self._group = FlatGroup(pieces, self._placing, policy, frees, original, module)
        if precision.buffer_dtype is not None:
            _cast_buffers(module, precision.buffer_dtype)
        state = _WrapperState((self,), self._group, policy, frees)
        state.casts_root = precision.cast_root_forward_inputs
        _flat_states.watch(self)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._fsdp_wrapped_module(*args, **kwargs)

    @property
    def module(self) -> Any:
        """The wrapped module."""
        return self._fsdp_wrapped_module

    @property
    def _flat_param(self) -> Any:
        return None if self._group is None else self._group.shard.sharded

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_fsdp_wrapped_module":
                raise
            return getattr(self._fsdp_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self._fsdp_wrapped_module[key]  # type: ignore[index]

    def _state(self) -> ModuleState:
        state = state_of(self)
        assert state is not None
        return state

    def check_is_root(self) -> bool:
        """Whether this wrapper is in no other one."""
        self._state().begin()
        return bool(self._state().is_root)

    @staticmethod
    def fsdp_modules(module: Any, root_only: bool = False) -> list[Any]:
        """The wrappers in ``module``, itself included; ``root_only``: those in no other one."""
        found = [m for m in module.modules() if isinstance(m, FullyShardedDataParallel)]
        if not root_only:
            return found
        inner = {id(m) for f in found for m in f.modules() if m is not f}
        return [f for f in found if id(f) not in inner]

    def _take_from_first(self, module: Any, skipped: set[int]) -> None:
        """Parameters and buffers of the first process of the group, and of what it repeats."""
        tensors = [p for p in module.parameters() if id(p) not in skipped]
        kinds: dict[Any, list[Any]] = {}
        for tensor in [*tensors, *module.buffers()]:
            if id(tensor) not in _flat_states.vectors(module):
                kinds.setdefault(tensor.aval.dtype, []).append(tensor)
        placing = self._placing
        for group in {id(g): g for g in (placing.group, placing.repeated) if g}.values():
            for members in kinds.values():
                if group.size() > 1:
                    broadcast_together(group, members, 0)

    def _part_of_state(self, whole: Any) -> Any:
        """A state of this process alone, as part of the whole that all processes have."""
        mesh = self._device_mesh
        if mesh is None:
            mesh = self._device_mesh = DeviceMesh.from_group(self.process_group, "cpu")
        return cut(whole, mesh, self._placing)

    # --- names -------------------------------------------------------------------------------

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Names hold the wrappers' own parts but in :meth:`summon_full_params`."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield (_flat_states.clean(name) if self._summoned else name), parameter

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Names hold the wrappers' own parts but in :meth:`summon_full_params`."""
        for name, value in super().named_buffers(*args, **kwargs):
            yield (_flat_states.clean(name) if self._summoned else name), value

    _summoned = False

    # --- whole parameters --------------------------------------------------------------------

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Any, recurse: bool = True, writeback: bool = True, rank0_only: bool = False,
        offload_to_cpu: bool = False, with_grads: bool = False,
    ) -> Iterator[None]:  # fmt: skip
        """A block in which modules have whole parameters.

        Args:
            recurse: those of inner wrappers, too.
            writeback: what is written to them stays.
            rank0_only: in the first process alone; then nothing may be written back.
            offload_to_cpu: they lie there in any case.
            with_grads: with whole gradients.
        """
        if rank0_only and writeback:
            raise NotImplementedError(
                "writeback=True and rank0_only=True is not supported, as model parameter shapes "
                "will be different across ranks, and writing to them can lead to inconsistencies "
                "across ranks when the context is exited."
            )
        if with_grads and offload_to_cpu:
            raise NotImplementedError(f"with_grads={with_grads} offload_to_cpu={offload_to_cpu}")
        chosen = FullyShardedDataParallel.fsdp_modules(module)
        if not recurse:
            chosen = [m for m in chosen if m is module]
        with contextlib.ExitStack() as blocks:
            for each in chosen:
                if each._group is not None:
                    hidden = rank0_only and each._placing.group.rank() != 0
                    blocks.enter_context(
                        each._group.whole_parameters(writeback, with_grads, hidden)
                    )
                each._summoned = True
                blocks.callback(setattr, each, "_summoned", False)
            yield

    def apply(self, fn: Callable[[Module], None]) -> Any:
        """``fn`` of every module, with whole parameters."""
        with FullyShardedDataParallel.summon_full_params(self, recurse=True):
            return super().apply(fn)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block whose backward passes only add up gradients in this process, whole."""
        groups = [m._group for m in FullyShardedDataParallel.fsdp_modules(self) if m._group]
        before = [g.reduces for g in groups]
        for group in groups:
            group.reduces = False
        try:
            yield
        finally:
            for group, was in zip(groups, before, strict=True):
                group.reduces = was

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale all gradients so that their norm over all processes is ``max_norm`` at most.

        Returns:
            the norm before.

        Raises:
            RuntimeError: the wrapper is inside another one.
        """
        if not self.check_is_root():
            raise RuntimeError(
                "`clip_grad_norm_()` should only be called on the root FSDP instance"
            )
        kind = float(norm_type)
        managed = {id(p) for m in self.fsdp_modules(self) for p in m._own_parameters()}
        split = [p.grad for p in self.parameters() if id(p) in managed and p.grad is not None]
        others = [p.grad for p in self.parameters() if id(p) not in managed and p.grad is not None]
        if not split and not others:
            warnings.warn(
                f"Called FSDP.clip_grad_norm_() on rank {self._placing.group.rank()} with no "
                "gradients -- returning the total norm in the default dtype torch.float32",
                stacklevel=2,
            )
        shared = _power_sum(split, kind)
        if self._placing.shards > 1:
            operation = ReduceOp.MAX if np.isinf(kind) else ReduceOp.SUM
            all_reduce(shared, operation, group=self._placing.group)
        own = _power_sum(others, kind)
        total = shared.maximum(own) if np.isinf(kind) else (shared + own) ** (1.0 / kind)
        factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for gradient in [*split, *others]:
            gradient.detach().mul_(factor.to(gradient.dtype))
        return total.to(split[0].dtype if split else total.dtype)

    def _own_parameters(self) -> list[Any]:
        """The parameters that an optimizer has of this wrapper alone."""
        if self._group is None:
            return []
        if self._use_orig_params:
            return [p.parameter for p in self._group.pieces]
        return [self._group.shard.sharded]

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Not available: gradients are reduced by their sum.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "FullyShardedDataParallel.register_comm_hook is not available in mindtorch"
        )

    # --- states ------------------------------------------------------------------------------

    @staticmethod
    def set_state_dict_type(
        module: Any, state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:  # fmt: skip
        """Tell all wrappers in ``module`` the form of their states; what it was before."""
        made = _flat_states.settings(state_dict_type, state_dict_config, optim_state_dict_config)
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for each in FullyShardedDataParallel.fsdp_modules(module):
            each._settings = made
        return before

    @staticmethod
    def get_state_dict_type(module: Any) -> StateDictSettings:
        """The form of the states of the wrappers in ``module``."""
        found = FullyShardedDataParallel.fsdp_modules(module)
        result: StateDictSettings = found[0]._settings if found else StateDictSettings()
        return result

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Any, state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:  # fmt: skip
        """A block in which the states of the wrappers in ``module`` have a form."""
        before = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            for each in FullyShardedDataParallel.fsdp_modules(module):
                each._settings = before

    @staticmethod
    def optim_state_dict(
        model: Any, optim: Any, optim_state_dict: dict[str, Any] | None = None, group: Any = None
    ) -> dict[str, Any]:
        """The optimizer's state by names of the original parameters, in the form that
        :meth:`state_dict_type` says.

        Args:
            model: with wrappers.
            optim: of its parameters.
            optim_state_dict: in place of ``optim.state_dict()``.
            group: must be None or that of the wrappers.
        """
        given = optim.state_dict() if optim_state_dict is None else optim_state_dict
        return _flat_states.optimizer_state(model, optim, given)

    @staticmethod
    def optim_state_dict_to_load(
        model: Any, optim: Any, optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False, load_directly: bool = False, group: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """What ``optim.load_state_dict`` takes, of what :meth:`optim_state_dict` gave.

        Args:
            model: with wrappers.
            optim: of its parameters.
            optim_state_dict: by names.
            is_named_optimizer: must be False.
            load_directly: load it as well.
            group: must be None or that of the wrappers.
        """
        if is_named_optimizer:
            raise NotImplementedError("is_named_optimizer is not available in mindtorch")
        made = _flat_states.optimizer_state_to_load(model, optim, optim_state_dict)
        if load_directly:
            optim.load_state_dict(made)
        return made

    @staticmethod
    def full_optim_state_dict(
        model: Any, optim: Any, optim_input: Any = None, rank0_only: bool = True, group: Any = None
    ) -> dict[str, Any]:
        """:meth:`optim_state_dict` with whole states; empty but in the first process where
        ``rank0_only``."""
        with FullyShardedDataParallel.state_dict_type(
            model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=rank0_only),
            FullOptimStateDictConfig(rank0_only=rank0_only),
        ):  # fmt: skip
            return FullyShardedDataParallel.optim_state_dict(model, optim)


# --- making one ----------------------------------------------------------------------------------


def _placing(strategy: ShardingStrategy, group: Any, mesh: Any) -> Placing:
    if group is not None and mesh is not None:
        raise ValueError(
            "Cannot pass both process_group and device_mesh at the same time. Please just pass "
            "only one of them."
        )
    if strategy in _HYBRID:
        if mesh is not None:
            return Placing(mesh.get_group(1), mesh.get_group(0))
        if isinstance(group, tuple) and len(group) == 2:
            return Placing(*group)
        raise ValueError(
            f"Manual wrapping with {strategy} requires explicit specification of process group or "
            "device_mesh: (the processes that divide, those that repeat)"
        )
    found = group_of(mesh.get_group(0) if mesh is not None else group)
    if is_outside(found):
        raise ValueError("this process is not in process_group")
    if strategy is ShardingStrategy.NO_SHARD:
        return Placing(None, found)
    return Placing(found, None)


def _ignored(modules: Any, states: Any) -> tuple[set[int], set[int]]:
    """Ids of the modules and of the parameters that are left alone."""
    given = list(states or ())
    parameters = {id(p) for p in given if isinstance(p, Tensor)}
    chosen = [*(modules or ()), *(m for m in given if isinstance(m, Module))]
    inside = {id(m): m for each in chosen for m in each.modules()}
    for module in inside.values():
        parameters |= {id(p) for p in module._parameters.values() if p is not None}
    return set(inside), parameters


def _refuse(module: Any, precision: MixedPrecision, skipped: set[int]) -> None:
    if precision.keep_low_precision_grads:
        raise NotImplementedError("keep_low_precision_grads is not available in mindtorch")
    for name, parameter in module.named_parameters():
        if id(parameter) not in skipped and parameter.aval.device.type == "cuda":
            raise NotImplementedError(
                f"FullyShardedDataParallel: the parameter {name} is on {parameter.device}; "
                "parameters are gathered in the memory of the host"
            )
    if precision.param_dtype is not None:
        for inner in module.modules():
            if isinstance(inner, _BatchNorm):
                raise NotImplementedError(
                    "MixedPrecision over modules with batch norm is not available in mindtorch; "
                    "fully_shard takes a policy for each module"
                )


def _materialise(module: Any, function: Any, skipped: set[int]) -> None:
    """Give values to modules whose parameters are on the meta device."""
    for inner in module.modules():
        own = [p for p in inner._parameters.values() if p is not None and id(p) not in skipped]
        if not any(p.is_meta for p in own):
            continue
        if function is not None:
            function(inner)
            continue
        inner.to_empty(device="cpu", recurse=False)
        if not hasattr(inner, "reset_parameters"):
            raise AttributeError(f"'{type(inner).__name__}' has no method reset_parameters, by "
                                 "which its parameters would get values; give param_init_fn")
        inner.reset_parameters()


def _pieces(module: Any, skipped_modules: set[int], skipped: set[int]) -> list[Piece]:
    """The parameters of ``module``, those of wrapped modules inside left out, in their order."""
    found: dict[int, Piece] = {}
    seen: set[int] = set()
    end = 0

    def visit(inner: Any) -> None:
        nonlocal end
        if id(inner) in seen or id(inner) in skipped_modules:
            return
        seen.add(id(inner))
        if isinstance(inner, FullyShardedDataParallel):
            return
        for name, p in inner._parameters.items():
            if p is None or id(p) in skipped:
                continue
            if id(p) not in found:
                found[id(p)] = Piece([], p, end, tuple(p.shape))
                end += p.numel()
            found[id(p)].owners.append((inner, name))
        for child in inner.children():
            visit(child)

    visit(module)
    dtypes = {p.parameter.aval.dtype for p in found.values()}
    if len(dtypes) > 1:
        raise ValueError(f"Must flatten tensors with uniform dtype but got {dtypes}")
    return list(found.values())


def _cast_buffers(module: Any, dtype: Any) -> None:
    for inner in module.modules():
        for name, value in inner._buffers.items():
            if value is not None and value.aval.dtype.is_floating_point:
                inner._buffers[name] = value.to(dtype)


def _power_sum(gradients: list[Any], kind: float) -> Any:
    """The sum of ``|x| ** kind`` over tensors, or the largest ``|x|`` where it is infinite."""
    arrays = [np.abs(g.detach().array().astype(np.float64)) for g in gradients]
    if np.isinf(kind):
        total = max((a.max(initial=0) for a in arrays), default=0)
    else:
        total = sum((a**kind).sum() for a in arrays)
    return from_array(np.array(total, np.float32))
