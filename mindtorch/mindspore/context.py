"""Modes: how code runs, and how processes share the work."""

from __future__ import annotations

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
    "parallel_optimizer_config": {"parallel_optimizer_threshold": 64},
}  # fmt: skip
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
        else:
            _warn_once(f"set_context({name}=...) has no effect")
        _settings[name] = value


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
        parallel_mode: STAND_ALONE, DATA_PARALLEL, or SEMI_AUTO_PARALLEL and AUTO_PARALLEL with
            the strategy that divides the batch: training cells (``Model``, ``TrainOneStepCell``)
            then take the mean of the gradients, as of one whole batch.
        dataset_strategy: "data_parallel": every process reads its own part; "full_batch": all of
            it, for networks that are sharded (:func:`mindspore.shard`).
        search_mode: of AUTO_PARALLEL: "sharding_propagation", "recursive_programming" or
            "dynamic_programming"; what they find here is to divide the batch.
        enable_parallel_optimizer: whether training cells that are made from then on keep the states
            of optimizers in slices over the processes.
        parallel_optimizer_config: {"parallel_optimizer_threshold": the size in KB from which
            parameters are sliced, 64 by default}.
        gradients_mean: whether reduced gradients are divided by the number of processes.
        device_num, global_rank: as the communication says.

    Raises:
        NotImplementedError: a strategy in which single tensors are split over processes.
        ValueError: no such setting or mode.
    """
    for name, value in kwargs.items():
        if name == "parallel_mode":
            if value not in ParallelMode.MODE_LIST:
                raise ValueError(
                    f"parallel_mode must be one of {list(ParallelMode.MODE_LIST)}, got {value!r}"
                )
            if value == ParallelMode.HYBRID_PARALLEL:
                raise NotImplementedError(
                    "parallel_mode='hybrid_parallel': single layers are not split over processes. "
                    "Use ParallelMode.DATA_PARALLEL."
                )
        elif name == "dataset_strategy":
            if value not in ("data_parallel", "full_batch"):
                raise NotImplementedError(
                    f"dataset_strategy={value!r}: only 'data_parallel', every process reads its "
                    "own part of the data, and 'full_batch', every process reads all of it"
                )
        elif name == "search_mode":
            if value not in _SEARCHES:
                raise ValueError(f"search_mode must be one of {list(_SEARCHES)}, got {value!r}")
        elif name in ("gradients_mean", "enable_parallel_optimizer"):
            if not isinstance(value, bool):
                raise TypeError(f"{name} must be bool, got {value!r}")
        elif name == "parallel_optimizer_config":
            _check_optimizer_settings(value)
        elif name not in _PARALLEL:
            raise ValueError(f"set_auto_parallel_context() does not know {name!r}")
    _parallel.update(kwargs)


def _check_optimizer_settings(value: Any) -> None:
    if not isinstance(value, dict):
        raise TypeError(f"parallel_optimizer_config must be dict, got {type(value)}")
    for name, number in value.items():
        if name != "parallel_optimizer_threshold":
            raise NotImplementedError(
                f"parallel_optimizer_config[{name!r}]: only 'parallel_optimizer_threshold'"
            )
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise ValueError(f"{name} must be a number of KB, not below 0, got {number!r}")


def get_auto_parallel_context(attr_key: str) -> Any:
    """A setting of :func:`set_auto_parallel_context`.

    Args:
        attr_key: the setting's name.
    """
    if attr_key not in _parallel:
        raise ValueError(f"get_auto_parallel_context() does not know {attr_key!r}")
    return _parallel[attr_key]


def reset_auto_parallel_context() -> None:
    """All settings as they were at first."""
    _parallel.clear()
    _parallel.update(_PARALLEL)
