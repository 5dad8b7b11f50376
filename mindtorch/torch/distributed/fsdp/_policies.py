"""How parameters, gradients and their exchange are typed and placed under ``fully_shard``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The types of a module's computation; the sharded parameters keep their own.

    Args:
        param_dtype: of the unsharded parameters, and so of forward, backward and the all-gather;
            their own type when None.
        reduce_dtype: of the sums of gradients over processes; that of the gradients when None.
        output_dtype: what floating-point outputs are cast to; None leaves them.
        cast_forward_inputs: cast floating-point inputs to ``param_dtype``.
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Nothing is moved to the host."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Sharded parameters, gradients and the optimizer's state lie in the host's memory.

    On a mesh of CPUs they do so in any case.

    Args:
        pin_memory: for transfers to an accelerator; without one it changes nothing.
    """

    pin_memory: bool = True
