"""Modes: how code runs, and how processes share the work."""

from __future__ import annotations

import re
import warnings
from typing import Any

from mindtorch.engine.compile.lazy import script_mode

__all__ = [
    "GRAPH_MODE", "PYNATIVE_MODE", "ParallelMode", "get_auto_parallel_context", "get_context",
    "reset_auto_parallel_context", "set_auto_parallel_context", "set_context", "set_device",
]  # fmt: skip

GRAPH_MODE = 0
PYNATIVE_MODE = 1


class ParallelMode:
    """Names of the ways in which processes share the work."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = (
        STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL
    )  # fmt: skip


_settings: dict[str, Any] = {"mode": PYNATIVE_MODE, "device_target": "CPU", "device_id": 0}
_PARALLEL = {
    "parallel_mode": ParallelMode.STAND_ALONE, "gradients_mean": False, "device_num": 1,
    "global_rank": 0, "dataset_strategy": "data_parallel",
    "search_mode": "recursive_programming", "enable_parallel_optimizer": False,
    "parallel_optimizer_config": {
        "parallel_optimizer_threshold": 64, "gradient_accumulation_shard": False,
    },
    "strategy_ckpt_config": {"load_file": "", "save_file": "", "only_trainable_params": True},
    "pipeline_stages": 1,
    "pipeline_config": {"pipeline_interleave": False, "pipeline_scheduler": "1f1b"},
}  # fmt: skip
# older names of one setting: whose it is, and the place within it
_WITHIN = {
    "strategy_ckpt_load_file": ("strategy_ckpt_config", "load_file"),
    "strategy_ckpt_save_file": ("strategy_ckpt_config", "save_file"),
}
_SCHEDULERS = ("1f1b", "gpipe")
_SEARCHES = ("sharding_propagation", "recursive_programming", "dynamic_programming")
_parallel: dict[str, Any] = dict(_PARALLEL)
_told: set[str] = set()


def _warn_once(text: str) -> None:
    if text not in _told:
        _told.add(text)
        warnings.warn(text, stacklevel=3)


def _check_target(target: str) -> None:
    if target not in ("CPU", "GPU", "Ascend"):
        raise ValueError(
            "For 'context.set_context', the argument 'device_target' must be one of ['CPU', 'GPU', "
            f"'Ascend'], but got {target}."
        )
    if target != "CPU":
        raise ValueError(
            f"For 'context.set_context', device_target={target!r} is not supported in this "
            "build: tensors are on the CPU. Use device_target='CPU'."
        )


def set_context(**kwargs: Any) -> None:
    """Set how code runs.

    Args:
        mode: GRAPH_MODE or PYNATIVE_MODE. In graph mode what repeats in the code of this thread
            is compiled, with the results of running op after op (see ``mindtorch run --graph``).
        device_target: "CPU".
        device_id: 0.
        max_device_memory: "4GB": what a process may take where AUTO_PARALLEL searches.

    Others are named in a warning and have no effect.
    """
    for name, value in kwargs.items():
        if name == "mode":
            if value not in (GRAPH_MODE, PYNATIVE_MODE):
                raise ValueError(
                    "For 'context.set_context', the argument 'mode' should be "
                    f"context.GRAPH_MODE (0) or context.PYNATIVE_MODE (1), but got {value}."
                )
            if value == GRAPH_MODE:
                script_mode.begin()
            else:
                script_mode.end()
        elif name == "device_target":
            _check_target(value)
        elif name == "device_id":
            if not isinstance(value, int) or value < 0:
                raise ValueError(f"For 'context.set_context', 'device_id' must be >= 0: {value}")
        elif name == "max_device_memory":
            _check_memory(value)
        else:
            _warn_once(f"set_context({name}=...) has no effect")
        _settings[name] = value


def _check_memory(value: Any) -> None:
    if not isinstance(value, str) or re.fullmatch(r"[0-9]+(\.[0-9]+)?GB", value) is None:
        raise ValueError(
            "For 'context.set_context', 'max_device_memory' should be a text as '4GB', got "
            f"{value!r}"
        )


def device_memory() -> float | None:
    """Bytes that a process may take; None where nobody has set ``max_device_memory``."""
    value = _settings.get("max_device_memory")
    return None if value is None else float(value.removesuffix("GB")) * 2**30


def get_context(attr_key: str) -> Any:
    """A setting of :func:`set_context`.

    Args:
        attr_key: the setting's name.

    Raises:
        ValueError: nothing by that name was set.
    """
    if attr_key not in _settings:
        raise ValueError(
            f"For 'context.get_context', the argument {attr_key} is not found in context."
        )
    return _settings[attr_key]


def set_device(device_target: str, device_id: int | None = None) -> None:
    """The device that tensors are on: "CPU".

    Args:
        device_target: "CPU".
        device_id: 0.
    """
    set_context(device_target=device_target, device_id=device_id or 0)


def set_auto_parallel_context(**kwargs: Any) -> None:
    """Set how processes share the work.

    Args:
        parallel_mode: STAND_ALONE; DATA_PARALLEL; SEMI_AUTO_PARALLEL: training cells (``Model``,
            ``TrainOneStepCell``) take the mean of loss and gradients, as of one whole batch;
            AUTO_PARALLEL: they find at their first step how samples and Dense layers are divided.
        search_mode, auto_parallel_search_mode: of AUTO_PARALLEL: "sharding_propagation",
            "recursive_programming" or "dynamic_programming", which are one search here.
        strategy_ckpt_config: {"save_file": where what was found is written, as JSON, "load_file":
            what is taken in place of a search, "only_trainable_params": write no others}.
        strategy_ckpt_save_file, strategy_ckpt_load_file: two of these.
        dataset_strategy: "data_parallel": every process reads its own part; "full_batch": all of
            it, for networks that are sharded (:func:`mindspore.shard`) or divided.
        full_batch: True for the latter.
        pipeline_stages: into how many stages cells lie (``cell.pipeline_stage``).
        pipeline_config: {"pipeline_scheduler": "1f1b" or "gpipe"}.
        enable_parallel_optimizer: whether training cells that are made from then on keep the states
            of optimizers in slices over the processes.
        parallel_optimizer_config: {"parallel_optimizer_threshold": the size in KB from which
            parameters are sliced, 64 by default, "gradient_accumulation_shard": whether gradients
            are sliced before those of micro batches are added}.
        gradients_mean: whether reduced gradients are divided by the number of processes.
        device_num, global_rank: as the communication says.

    Raises:
        NotImplementedError: an arrangement that is not there.
        ValueError, TypeError: no such setting or value.
    """
    changed: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name == "full_batch":
            _check_flag(name, value)
            changed["dataset_strategy"] = "full_batch" if value else "data_parallel"
        elif name == "auto_parallel_search_mode":
            changed["search_mode"] = value
        elif name in _WITHIN:
            owner, key = _WITHIN[name]
            changed[owner] = {**_parallel[owner], **changed.get(owner, {}), key: value}
        elif name not in _PARALLEL:
            raise ValueError(f"set_auto_parallel_context() does not know {name!r}")
        elif isinstance(_PARALLEL[name], dict):
            if not isinstance(value, dict):
                raise TypeError(f"{name} must be dict, got {type(value)}")
            changed[name] = {**_parallel[name], **value}
        else:
            changed[name] = value
    for name, value in changed.items():
        _CHECKS.get(name, lambda name, value: None)(name, value)
    _parallel.update(changed)


def _check_mode(name: str, value: Any) -> None:
    if value not in ParallelMode.MODE_LIST:
        raise ValueError(
            f"parallel_mode must be one of {list(ParallelMode.MODE_LIST)}, got {value!r}"
        )
    if value == ParallelMode.HYBRID_PARALLEL:
        raise NotImplementedError(
            "parallel_mode='hybrid_parallel': single layers are not split over processes. "
            "Use ParallelMode.DATA_PARALLEL."
        )


def _check_dataset(name: str, value: Any) -> None:
    if value not in ("data_parallel", "full_batch"):
        raise NotImplementedError(
            f"dataset_strategy={value!r}: only 'data_parallel', every process reads its "
            "own part of the data, and 'full_batch', every process reads all of it"
        )


def _check_search(name: str, value: Any) -> None:
    if value not in _SEARCHES:
        raise ValueError(f"search_mode must be one of {list(_SEARCHES)}, got {value!r}")


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be bool, got {value!r}")


def _check_known(name: str, value: dict[str, Any]) -> None:
    unknown = sorted(set(value) - set(_PARALLEL[name]))  # type: ignore[call-overload]
    if unknown:
        known = ", ".join(repr(each) for each in _PARALLEL[name])  # type: ignore[attr-defined]
        raise NotImplementedError(f"{name}[{unknown[0]!r}]: only {known}")


def _check_optimizer_settings(name: str, value: dict[str, Any]) -> None:
    _check_known(name, value)
    _check_flag("gradient_accumulation_shard", value["gradient_accumulation_shard"])
    least = value["parallel_optimizer_threshold"]
    if not isinstance(least, int) or isinstance(least, bool) or least < 0:
        raise ValueError(
            f"parallel_optimizer_threshold must be a number of KB, not below 0, got {least!r}"
        )


def _check_files(name: str, value: dict[str, Any]) -> None:
    _check_known(name, value)
    _check_flag("only_trainable_params", value["only_trainable_params"])
    for key in ("load_file", "save_file"):
        if not isinstance(value[key], str):
            raise TypeError(f"{name}[{key!r}] must be str, got {type(value[key])}")
        if value[key] and not value[key].endswith(".json"):
            raise NotImplementedError(
                f"{name}[{key!r}]: {value[key]!r}: strategy files are JSON, their names end with "
                "'.json'"
            )


def _check_stages(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"pipeline_stages must be int, got {value!r}")
    if value < 1:
        raise ValueError(f"pipeline_stages must be above 0, got {value}")


def _check_pipeline(name: str, value: dict[str, Any]) -> None:
    _check_known(name, value)
    if value["pipeline_interleave"] is not False or value["pipeline_scheduler"] not in _SCHEDULERS:
        raise NotImplementedError(
            f"pipeline_config={value}: one stage in each process, scheduled as one of "
            f"{list(_SCHEDULERS)}; torch.distributed.pipelining has the others"
        )


_CHECKS = {
    "parallel_mode": _check_mode, "dataset_strategy": _check_dataset, "search_mode": _check_search,
    "gradients_mean": _check_flag, "enable_parallel_optimizer": _check_flag,
    "parallel_optimizer_config": _check_optimizer_settings, "strategy_ckpt_config": _check_files,
    "pipeline_stages": _check_stages, "pipeline_config": _check_pipeline,
}  # fmt: skip


def get_auto_parallel_context(attr_key: str) -> Any:
    """A setting of :func:`set_auto_parallel_context`.

    Args:
        attr_key: the setting's name.
    """
    if attr_key == "full_batch":
        return _parallel["dataset_strategy"] == "full_batch"
    if attr_key in _WITHIN:
        owner, key = _WITHIN[attr_key]
        return _parallel[owner][key]
    name = "search_mode" if attr_key == "auto_parallel_search_mode" else attr_key
    if name not in _parallel:
        raise ValueError(f"get_auto_parallel_context() does not know {attr_key!r}")
    return _parallel[name]


def reset_auto_parallel_context() -> None:
    """All settings as they were at first."""
    _parallel.clear()
    _parallel.update(_PARALLEL)
