"""What :class:`FullyShardedDataParallel` is told: strategies, types, and forms of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from ...nn.modules.batchnorm import _BatchNorm

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
    "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig",
    "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip


class ShardingStrategy(Enum):
    """What is divided over which processes.

    ``FULL_SHARD``: parameters, gradients and states; wholes are freed after forward.
    ``SHARD_GRAD_OP``: the same, with wholes kept until backward has used them. ``NO_SHARD``:
    nothing. ``HYBRID_SHARD`` and ``_HYBRID_SHARD_ZERO2``: the first two within groups of
    processes, which repeat each other.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """Whether the next parameters are gathered before backward computes with these, or after."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class MixedPrecision:
    """The types of a module's computation; the sharded parameters keep their own.

    Args:
        param_dtype: of the whole parameters; their own when None.
        reduce_dtype: of the sums of gradients; ``param_dtype`` when None.
        buffer_dtype: buffers are cast to it; their own when None.
        keep_low_precision_grads: must be False.
        cast_forward_inputs: cast inputs of each wrapped module to ``param_dtype``.
        cast_root_forward_inputs: cast those of the root.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Any]] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether parts lie in the host's memory; those of CPUs do so in any case."""

    offload_params: bool = False


class StateDictType(Enum):
    """Whether states are whole, this process's as it keeps them, or parts that know the whole."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


class OptimStateKeyType(Enum):
    """How an optimizer's state names parameters."""

    PARAM_NAME = auto()
    PARAM_ID = auto()


@dataclass
class StateDictConfig:
    """Where a module's states are put."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole states; with ``rank0_only`` in the first process alone."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """This process's states as it keeps them."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Parts that know the whole: DTensors."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Where an optimizer's states are put."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole states; with ``rank0_only`` in the first process alone."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """This process's states as it keeps them."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Parts that know the whole: DTensors."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The form of states that a module was told."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(
        default_factory=FullOptimStateDictConfig
    )
