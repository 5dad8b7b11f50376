"""Layers whose input has 16 bits and whose weights have 32: they compute in 16, as MindSpore's
accelerators do."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes

__all__ = ["in_type_of"]

_HALF = (dtypes.float16, dtypes.bfloat16)


def in_type_of(x: Any, *weights: Any) -> tuple[Any, ...]:
    """The weights, in the type of ``x`` where that has 16 bits; None stays None."""
    kind = x.aval.dtype
    if kind not in _HALF:
        return weights
    return tuple(
        w.to(kind) if w is not None and w.aval.dtype is dtypes.float32 else w for w in weights
    )
