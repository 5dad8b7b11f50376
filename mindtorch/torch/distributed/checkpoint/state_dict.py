"""States of models and optimizers by the names of the original parameters, however these are
divided over processes."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mindtorch.engine.aval import aval
from mindtorch.engine.sharding.placements import Replicate
from mindtorch.engine.sharding.redistribute import redistribute_local
from mindtorch.engine.sharding.sharded import Sharding, is_sharded, local_part, sharded_tensor
from mindtorch.engine.tensor import Tensor

from ..._api.publish import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...functions.creation import new_empty
from .._objects import broadcast_object_list
from ..distributed_c10d import broadcast, get_rank, is_initialized
from ..fsdp import FullyShardedDataParallel as FSDP
from ..fsdp.api import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    StateDictType,
)

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

# what wrappers add to names; that of DistributedDataParallel only where it is the model
_WRAPPERS = ("_fsdp_wrapped_module.", "_orig_mod.", "_checkpoint_wrapped_module.")


@dataclass
class StateDictOptions:
    """How states are returned and taken.

    Args:
        full_state_dict: whole tensors in place of DTensors.
        cpu_offload: tensors of the host; together with whole ones in the first process alone, the
            others get empty dictionaries.
        ignore_frozen_params: leave out parameters that need no gradient.
        keep_submodule_prefixes: names under ``submodules`` keep the names of these in front.
        strict: of ``load_state_dict``.
        broadcast_from_rank0: whole states are the first process's, the others give empty ones;
            ``full_state_dict`` must be given as well.
        flatten_optimizer_state_dict: one dictionary, with names like ``state.weight.exp_avg``.
        dsd_fqn_modifiers: must be as it is.
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    if options.dsd_fqn_modifiers != "_fqn_modifiers":
        raise NotImplementedError("dsd_fqn_modifiers is not available in mindtorch")
    return options


# --- names ---------------------------------------------------------------------------------------


def _clean(model: Any, name: str) -> str:
    """A name without what wrappers add."""
    if hasattr(model, "require_backward_grad_sync"):  # a DistributedDataParallel
        name = name.removeprefix("module.")
    for part in _WRAPPERS:
        name = name.replace(part, "")
    return name


def _prefixes(model: Any, submodules: Any) -> list[str]:
    if not submodules:
        return []
    chosen = {id(m) for m in submodules}
    return [_clean(model, n) + "." for n, m in model.named_modules() if id(m) in chosen]


def _frozen(model: Any) -> set[str]:
    return {_clean(model, n) for n, p in model.named_parameters() if not p.requires_grad}


@contextlib.contextmanager
def _in_form(model: Any, options: StateDictOptions) -> Iterator[None]:
    """A block in which FullyShardedDataParallel gives states as the options want them."""
    if not FSDP.fsdp_modules(model):
        yield
        return
    if options.full_state_dict:
        configs: Any = (
            StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig()
        )  # fmt: skip
    else:
        configs = (
            StateDictType.SHARDED_STATE_DICT, ShardedStateDictConfig(),
            ShardedOptimStateDictConfig(),
        )  # fmt: skip
    with FSDP.state_dict_type(model, *configs):
        yield


# --- values --------------------------------------------------------------------------------------


def _given(value: Any, options: StateDictOptions) -> Any:
    """A state as it is returned."""
    if not isinstance(value, Tensor):
        return value
    if options.full_state_dict and is_sharded(value.aval):
        value = value.full_tensor()
    if options.cpu_offload and value.aval.device.type != "cpu":
        value = value.cpu()
    return value


def _hidden(options: StateDictOptions) -> bool:
    """Whether this process gets nothing."""
    alone = options.full_state_dict and options.cpu_offload
    return alone and is_initialized() and get_rank() != 0


def _like(value: Any, model: Any) -> Any:
    """A whole state that lies as ``model``, a tensor over several processes, does."""
    if not isinstance(value, Tensor) or not is_sharded(model.aval) or is_sharded(value.aval):
        return value
    if value.aval.shape != model.aval.shape:
        return value
    wanted = model.aval.sharding
    everywhere = Sharding(wanted.mesh, (Replicate(),) * len(wanted.placements))
    value = value.detach().to(local_part(model).dtype)
    part = redistribute_local(value, value.aval.shape, everywhere, wanted)
    return sharded_tensor(part.clone(), model.aval)


def _from_first(states: dict[str, Any]) -> dict[str, Any]:
    """The whole states of the first process, in all."""
    first = get_rank() == 0
    described = [
        [(k, (tuple(v.shape), v.aval.dtype) if isinstance(v, Tensor) else None,
          None if isinstance(v, Tensor) else v) for k, v in states.items()] if first else None
    ]  # fmt: skip
    broadcast_object_list(described, src=0)
    found: dict[str, Any] = {}
    for key, shape, value in described[0] or ():
        if shape is None:
            found[key] = value
            continue
        tensor = states[key].detach() if first else new_empty(aval(*shape))
        tensor = tensor.contiguous()
        broadcast(tensor, 0)
        found[key] = tensor
    return found


# --- models --------------------------------------------------------------------------------------


def get_model_state_dict(
    model: Any, *, submodules: Any = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The model's states by their original names.

    Args:
        model: also one under DistributedDataParallel, ``fully_shard``, FullyShardedDataParallel or
            ``torch.compile``.
        submodules: the states of these alone.
        options: whole tensors, where, and which.
    """
    options = _checked(options)
    with _in_form(model, options):
        states = {_clean(model, k): v for k, v in model.state_dict().items()}
    states = {k: v for k, v in states.items() if not (isinstance(v, Tensor) and v.is_meta)}
    if options.ignore_frozen_params:
        frozen = _frozen(model)
        states = {k: v for k, v in states.items() if k not in frozen}
    prefixes = _prefixes(model, submodules)
    if submodules:
        chosen: dict[str, Any] = {}
        for key, prefix in itertools.product(states, prefixes):
            if key.startswith(prefix):
                short = key if options.keep_submodule_prefixes else key[len(prefix) :]
                chosen[short] = states[key]
        states = chosen
    with no_grad():
        states = {k: _given(v, options) for k, v in states.items()}
    return {} if _hidden(options) else states


def set_model_state_dict(
    model: Any, model_state_dict: dict[Any, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load states by their original names.

    Args:
        model: as of :func:`get_model_state_dict`.
        model_state_dict: whole tensors or DTensors; or by submodule the states of each.
        options: whether they are whole, or the first process's.

    Returns:
        ``missing_keys`` and ``unexpected_keys``.
    """
    options = _checked(options)
    states = _by_name(model, model_state_dict)
    if options.broadcast_from_rank0:
        states = _from_first(states)
    with _in_form(model, options):
        own = model.state_dict()
        names = {_clean(model, key): key for key in own}
        taken = {names.get(k, k): _like(v, own[names[k]]) if k in names else v
                 for k, v in states.items()}  # fmt: skip
        with no_grad():
            return model.load_state_dict(taken, strict=options.strict)


def _by_name(model: Any, states: dict[Any, Any]) -> dict[str, Any]:
    """States by name, of those by submodule."""
    if not states or isinstance(next(iter(states)), str):
        return dict(states)
    places = {id(m): _clean(model, n) for n, m in model.named_modules()}
    found = {}
    for module, inner in states.items():
        prefix = places[id(module)]
        for key, value in inner.items():
            found[f"{prefix}.{key}" if prefix else key] = value
    return found


# --- optimizers ----------------------------------------------------------------------------------


def _listed(optimizers: Any) -> list[Any]:
    return list(optimizers) if isinstance(optimizers, Iterable) else [optimizers]


def _give_states(optimizer: Any) -> None:
    """Make an optimizer's states, by a step that changes nothing, where it has not made any."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in parameters):
        return
    rates = []
    for p in parameters:
        if p.requires_grad:
            p.grad = FUNCTIONS["zeros_like"](p.detach())
    for group in optimizer.param_groups:
        rates.append(group.get("lr"))
        if "lr" in group:
            group["lr"] = group["lr"] * 0
    optimizer.step()
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if "lr" in group:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _parameter_names(model: Any) -> dict[int, str]:
    found: dict[int, str] = {}
    for name, parameter in model.named_parameters():
        found.setdefault(id(parameter), _clean(model, name))
    return found


def _named(model: Any, optimizer: Any) -> dict[str, Any]:
    """An optimizer's state by names of parameters."""
    if FSDP.fsdp_modules(model):
        return FSDP.optim_state_dict(model, optimizer)
    names = _parameter_names(model)
    listed = [p for group in optimizer.param_groups for p in group["params"]]
    state = optimizer.state_dict()
    by_number = [names[id(p)] for p in listed]
    return {
        "state": {by_number[k]: v for k, v in state["state"].items()},
        "param_groups": [
            {**group, "params": [by_number[k] for k in group["params"]]}
            for group in state["param_groups"]
        ],
    }


def get_optimizer_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None,
    options: StateDictOptions | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The states of optimizers by the original names of parameters.

    Args:
        model: as of :func:`get_model_state_dict`.
        optimizers: one or several of its parameters.
        submodules: the states of these alone.
        options: whole tensors, where, and which.
    """
    options = _checked(options)
    merged: dict[str, Any] = {"state": {}, "param_groups": []}
    prefixes = _prefixes(model, submodules)
    frozen = _frozen(model) if options.ignore_frozen_params else set()

    def wanted(name: str) -> bool:
        inside = not submodules or any(name.startswith(p) for p in prefixes)
        return inside and name not in frozen

    with _in_form(model, options):
        for optimizer in _listed(optimizers):
            _give_states(optimizer)
            state = _named(model, optimizer)
            for name, values in state["state"].items():
                if wanted(name):
                    with no_grad():
                        merged["state"][name] = {k: _given(v, options) for k, v in values.items()}
            for group in state["param_groups"]:
                merged["param_groups"].append(
                    {**group, "params": [n for n in group["params"] if wanted(n)]}
                )
    if _hidden(options):
        return {}
    return _flattened(merged) if options.flatten_optimizer_state_dict else merged


def _flattened(state: dict[str, Any]) -> dict[str, Any]:
    """``state.weight.exp_avg`` and ``param_groups.weight.lr`` for what lies deeper."""
    found = {f"state.{n}.{k}": v for n, own in state["state"].items() for k, v in own.items()}
    for group in state["param_groups"]:
        for name in group["params"]:
            found.update({f"param_groups.{name}.{k}": v for k, v in group.items() if k != "params"})
    return found


def _deep(flat: dict[str, Any], model: Any, optimizer: Any) -> dict[str, Any]:
    """What :func:`_flattened` was made of, for the parameters of one optimizer."""
    current = _named(model, optimizer)
    names = [n for group in current["param_groups"] for n in group["params"]]
    state: dict[str, Any] = {}
    for name in names:
        prefix = f"state.{name}."
        own = {k[len(prefix) :]: v for k, v in flat.items() if k.startswith(prefix)}
        if own:
            state[name] = own
    groups = []
    for group in current["param_groups"]:
        taken = {"params": group["params"]}
        for key in group:
            places = [f"param_groups.{n}.{key}" for n in group["params"]]
            if key != "params":
                taken[key] = next((flat[p] for p in places if p in flat), group[key])
        groups.append(taken)
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(
    model: Any, optimizers: Any, optim_state_dict: dict[str, Any], *,
    options: StateDictOptions | None = None,
) -> None:  # fmt: skip
    """Load states by the original names of parameters.

    Args:
        model: as of :func:`get_model_state_dict`.
        optimizers: one or several of its parameters.
        optim_state_dict: what :func:`get_optimizer_state_dict` gave.
        options: whether values are whole, or the first process's.
    """
    options = _checked(options)
    with _in_form(model, options), no_grad():
        for optimizer in _listed(optimizers):
            _give_states(optimizer)
            given = optim_state_dict
            if options.broadcast_from_rank0:
                flat = given if not given or "state" not in given else _flattened(given)
                given = _from_first(flat)
            if "state" not in given:
                given = _deep(given, model, optimizer)
            optimizer.load_state_dict(_numbered(model, optimizer, given))


def _numbered(model: Any, optimizer: Any, given: dict[str, Any]) -> dict[str, Any]:
    """A state by names as the optimizer takes it."""
    if FSDP.fsdp_modules(model):
        return FSDP.optim_state_dict_to_load(model, optimizer, given)
    names = _parameter_names(model)
    listed = [p for group in optimizer.param_groups for p in group["params"]]
    state = {
        i: {k: _like(v, p) for k, v in given["state"][names[id(p)]].items()}
        for i, p in enumerate(listed) if names[id(p)] in given["state"]
    }  # fmt: skip
    by_name = {n: group for group in given["param_groups"] for n in group["params"]}
    groups = []
    for group in optimizer.state_dict()["param_groups"]:
        own = [names[id(listed[k])] for k in group["params"]]
        source: dict[str, Any] = next((by_name[n] for n in own if n in by_name), {})
        groups.append({**group, **{k: v for k, v in source.items() if k != "params"}})
    return {"state": state, "param_groups": groups}


# --- both ----------------------------------------------------------------------------------------


def get_state_dict(
    model: Any, optimizers: Any, *, submodules: Any = None,
    options: StateDictOptions | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:  # fmt: skip
    """:func:`get_model_state_dict` and :func:`get_optimizer_state_dict`."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(
    model: Any, optimizers: Any, *, model_state_dict: dict[Any, Any],
    optim_state_dict: dict[str, Any], options: StateDictOptions | None = None,
) -> Any:  # fmt: skip
    """:func:`set_optimizer_state_dict`, and :func:`set_model_state_dict` with its result."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
