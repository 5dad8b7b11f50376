"""Reductions between devices of one process, which NCCL makes in torch."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

__all__ = ["all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter"]

SUM = 0


def is_available(tensors: Any) -> bool:
    """Whether NCCL can work on these tensors: not here, for there is one device to a process."""
    if importlib.util.find_spec("cupy") is None:
        warnings.warn("PyTorch is not compiled with NCCL support", stacklevel=2)
    return False


def _missing(name: str) -> Any:
    def entry(inputs: Any, outputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"torch.cuda.nccl.{name} works on several devices of one process; mindtorch uses one"
        )

    entry.__name__ = name
    entry.__doc__ = "Raises NotImplementedError: there is one device to a process."
    return entry


all_gather = _missing("all_gather")
all_reduce = _missing("all_reduce")
broadcast = _missing("broadcast")
reduce = _missing("reduce")
reduce_scatter = _missing("reduce_scatter")
version = _missing("version")
unique_id = _missing("unique_id")
init_rank = _missing("init_rank")
