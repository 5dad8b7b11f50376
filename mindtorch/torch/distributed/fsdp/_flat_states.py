"""States of modules and optimizers under FullyShardedDataParallel, by original parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine.tensor import Tensor, from_array

from .._objects import all_gather_object
from ._flat_group import FlatGroup, Piece
from ._module_state import state_of
from .api import (
    FullOptimStateDictConfig,
    FullStateDictConfig,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)

__all__ = ["clean", "optimizer_state", "optimizer_state_to_load", "settings", "vectors", "watch"]

_PART = "_fsdp_wrapped_module."


def clean(name: str) -> str:
    """A name without the wrappers' own parts."""
    return name.replace(_PART, "")


def settings(
    kind: StateDictType, config: StateDictConfig | None, optimizer: OptimStateDictConfig | None
) -> StateDictSettings:
    """The form of states, with configurations that fit it.

    Raises:
        RuntimeError: a configuration of another form.
        NotImplementedError: states as this process keeps them.
    """
    kinds: Any = {
        StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
        StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
    }
    if kind not in kinds:
        raise NotImplementedError(
            "StateDictType.LOCAL_STATE_DICT is not available in mindtorch: FULL_STATE_DICT and "
            "SHARDED_STATE_DICT name the original parameters"
        )
    made: list[Any] = []
    for given, cls in zip((config, optimizer), kinds[kind], strict=True):
        if given is not None and type(given) is not cls:
            raise RuntimeError(f"Expected state_dict_config of type {cls} but got {type(given)}")
        made.append(cls() if given is None else given)
    return StateDictSettings(kind, *made)


def groups_of(model: Any) -> list[tuple[str, Any]]:
    """(prefix, wrapper) of each wrapper in ``model`` that has parameters."""
    found = []
    for name, module in model.named_modules():
        state = state_of(module)
        if state is not None and isinstance(state.group, FlatGroup):
            found.append((clean(f"{name}." if name else ""), module))
    return found


def vectors(model: Any) -> set[int]:
    """Ids of the parameters in ``model`` that are parts already."""
    return {id(p) for _, wrapper in groups_of(model) for p in wrapper._own_parameters()}


def names_of(wrapper: Any, prefix: str) -> dict[int, str]:
    """By the start of each piece: the original parameter's name."""
    places = {id(m): clean(n) for n, m in wrapper._fsdp_wrapped_module.named_modules()}
    found = {}
    for piece in wrapper._group.pieces:
        module, name = piece.owners[0]
        inside = places[id(module)]
        found[piece.start] = f"{prefix}{inside}.{name}" if inside else f"{prefix}{name}"
    return found


# --- modules -------------------------------------------------------------------------------------


def watch(wrapper: Any) -> None:
    """Give whole parameters to who reads or writes the states of a wrapper."""
    open_blocks: list[Any] = []

    def enter(writeback: bool) -> None:
        block = wrapper._group.whole_parameters(writeback, False)
        block.__enter__()
        open_blocks.append(block)

    def before_saving(module: Any, prefix: str, keep_vars: bool) -> None:
        if wrapper._group is not None:
            enter(False)

    def after_saving(module: Any, states: Any, prefix: str, metadata: Any) -> None:
        kind, config = wrapper._settings.state_dict_type, wrapper._settings.state_dict_config
        own = _owned_keys(wrapper, prefix)
        for key in [k for k in states if k.startswith(prefix + _PART)]:
            value = states.pop(key)
            if key in own:
                if kind is StateDictType.SHARDED_STATE_DICT:
                    value = wrapper._part_of_state(value)
                else:
                    value = value.detach().clone()
            states[prefix + key[len(prefix) + len(_PART) :]] = value
        if open_blocks:
            open_blocks.pop().__exit__(None, None, None)
        hides = getattr(config, "rank0_only", False) and wrapper._placing.group.rank() != 0
        if hides and not prefix:
            states.clear()

    def before_loading(
        module: Any, states: Any, prefix: str, *others: Any
    ) -> None:
        for key in [k for k in states if k.startswith(prefix)]:
            rest = key[len(prefix) :]
            if not rest.startswith(_PART):
                value = states.pop(key)
                if hasattr(value, "full_tensor"):
                    value = value.full_tensor()
                states[prefix + _PART + rest] = value
        if wrapper._group is not None:
            enter(True)

    def after_loading(module: Any, keys: Any) -> None:
        if open_blocks:
            open_blocks.pop().__exit__(None, None, None)

    wrapper.register_state_dict_pre_hook(before_saving)
    wrapper._register_state_dict_hook(after_saving)
    wrapper.register_load_state_dict_pre_hook(before_loading)
    wrapper.register_load_state_dict_post_hook(after_loading)


def _owned_keys(wrapper: Any, prefix: str) -> set[str]:
    if wrapper._group is None:
        return set()
    return {prefix + _PART + n for n in names_of(wrapper, "").values()}


# --- optimizers ----------------------------------------------------------------------------------


def _numbers(optimizer: Any) -> dict[int, int]:
    """By the id of a parameter: its number in the optimizer's state."""
    listed = [p for group in optimizer.param_groups for p in group["params"]]
    return {id(p): i for i, p in enumerate(listed)}


def _names(model: Any, optimizer: Any) -> list[tuple[Any, list[str]]]:
    """For each parameter of the optimizer: (wrapper or None, original names)."""
    known: dict[int, tuple[Any, list[str]]] = {}
    for prefix, wrapper in groups_of(model):
        names = names_of(wrapper, prefix)
        if wrapper._use_orig_params:
            for piece in wrapper._group.pieces:
                known[id(piece.parameter)] = (wrapper, [names[piece.start]])
        else:
            known[id(wrapper._group.shard.sharded)] = (wrapper, list(names.values()))
    for name, parameter in model.named_parameters():
        known.setdefault(id(parameter), (None, [clean(name)]))
    return [known[id(p)] for group in optimizer.param_groups for p in group["params"]]


def optimizer_state(model: Any, optimizer: Any, given: dict[str, Any]) -> dict[str, Any]:
    """A state by numbers of parameters as one by original names, with whole values or DTensors."""
    found = groups_of(model)
    form = found[0][1]._settings if found else StateDictSettings()
    numbers = _numbers(optimizer)
    states: dict[str, Any] = {}
    for prefix, wrapper in found:
        states.update(_states_of(wrapper, prefix, numbers, given["state"], form))
    listed = _names(model, optimizer)
    for number, (wrapper, names) in enumerate(listed):
        if wrapper is None and number in given["state"]:
            states[names[0]] = given["state"][number]
    param_groups = []
    for group in given["param_groups"]:
        names = [n for number in group["params"] for n in listed[number][1]]
        param_groups.append({**group, "params": names})
    first = found[0][1]._placing.group.rank() == 0 if found else True
    if getattr(form.optim_state_dict_config, "rank0_only", False) and not first:
        return {}
    return {"state": states, "param_groups": param_groups}


def _states_of(
    wrapper: Any, prefix: str, numbers: dict[int, int], states: Any, form: StateDictSettings
) -> dict[str, Any]:
    """The states of one wrapper's parameters by their names."""
    group, shard = wrapper._group, wrapper._group.shard
    names = names_of(wrapper, prefix)
    local = []  # for each piece: its part of the vector, and its states here
    for piece in group.pieces:
        part = piece.part(shard)
        parameter = piece.parameter if wrapper._use_orig_params else shard.sharded
        own = states.get(numbers.get(id(parameter), -1), {})
        local.append((piece, part, own))
    kinds = {k: _kind(v) for _, _, own in local for k, v in own.items() if _kind(v)}
    plain = {
        names[p.start]: {k: v for k, v in own.items() if not _kind(v)} for p, _, own in local
    }
    kinds, result = _agreed(kinds, plain, group)
    for key, dtype in kinds.items():
        vector = np.zeros(shard.length, dtype)
        for _, part, own in local:
            if key in own:
                value = own[key].detach().array().reshape(-1)
                vector[part] = value if wrapper._use_orig_params else value[part]
        whole = group.gather_vector(vector)
        for piece in group.pieces:
            value = from_array(whole[piece.start : piece.end].reshape(piece.shape).copy())
            if form.state_dict_type is StateDictType.SHARDED_STATE_DICT:
                value = wrapper._part_of_state(value)
            result[names[piece.start]][key] = value
    return {n: v for n, v in result.items() if v}


def _kind(value: Any) -> Any:
    """The type of a state with an element for each of the parameter's; None for others."""
    if isinstance(value, Tensor) and value.aval.ndim:
        return value.aval.dtype.np.name
    return None


def _agreed(
    kinds: dict[str, str], plain: dict[str, dict[str, Any]], group: FlatGroup
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The types of the states that any process has, in one order; and by parameter the states
    that are the same for all of its elements, from a process that has some of them."""
    found: list[Any] = [None] * group.placing.group.size()
    all_gather_object(found, (kinds, plain), group.placing.group)
    merged: dict[str, Any] = {}
    result: dict[str, dict[str, Any]] = {name: {} for name in plain}
    for other_kinds, others in reversed(found):
        merged.update(other_kinds)
        for name, states in others.items():
            result[name].update(states)
    return {k: np.dtype(merged[k]) for k in sorted(merged)}, result


def optimizer_state_to_load(model: Any, optimizer: Any, given: dict[str, Any]) -> dict[str, Any]:
    """A state by original names as one by numbers, with this process's part of the values."""
    states: dict[int, Any] = {}
    named = given["state"]
    numbers = _numbers(optimizer)
    for prefix, wrapper in groups_of(model):
        shard = wrapper._group.shard
        names = names_of(wrapper, prefix)
        if wrapper._use_orig_params:
            for piece in wrapper._group.pieces:
                own = named.get(names[piece.start])
                if own is not None and id(piece.parameter) in numbers:
                    states[numbers[id(piece.parameter)]] = {
                        k: _part(v, piece, shard) for k, v in own.items()
                    }
        elif id(shard.sharded) in numbers:
            pieces = wrapper._group.pieces
            own = _joined([(p, named.get(names[p.start], {})) for p in pieces], shard)
            if own:
                states[numbers[id(shard.sharded)]] = own
    listed = _names(model, optimizer)
    for number, (wrapper, names_here) in enumerate(listed):
        if wrapper is None and names_here[0] in named:
            states[number] = named[names_here[0]]
    current = optimizer.state_dict()["param_groups"]
    by_name = {n: g for g in given["param_groups"] for n in g["params"]}
    groups = []
    for group in current:
        source = by_name.get(listed[group["params"][0]][1][0], group) if group["params"] else group
        groups.append({**group, **{k: v for k, v in source.items() if k != "params"}})
    return {"state": states, "param_groups": groups}


def _whole(value: Any) -> Any:
    return value.full_tensor() if hasattr(value, "full_tensor") else value


def _part(value: Any, piece: Piece, shard: Any) -> Any:
    if not isinstance(value, Tensor) or not value.aval.ndim:
        return value
    part = piece.part(shard)
    start = part.start + shard.start - piece.start
    flat = _whole(value).detach().array().reshape(-1)
    return from_array(flat[start : start + part.stop - part.start].copy())


def _joined(parts: list[tuple[Piece, dict[str, Any]]], shard: Any) -> dict[str, Any]:
    """The states of the vector's part, of those of the parameters in it."""
    result: dict[str, Any] = {}
    for piece, own in parts:
        for key, value in own.items():
            if not isinstance(value, Tensor) or not value.aval.ndim:
                result[key] = value
                continue
            if key not in result:
                result[key] = from_array(np.zeros(shard.length, value.aval.dtype.np))
            result[key].array()[piece.part(shard)] = _part(value, piece, shard).array()
    return result
