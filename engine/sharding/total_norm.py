"""The norm of many tensors as one vector, where tensors lie over several processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tensor import Tensor, from_array
from .placements import Replicate, Shard
from .redistribute import redistribute_local
from .sharded import Sharding, is_sharded, local_part

__all__ = ["local_parts", "total_norm"]


def local_parts(tensors: Sequence[Tensor]) -> list[Tensor]:
    """This process's parts; plain tensors as they are."""
    return [local_part(t) if is_sharded(t.aval) else t for t in tensors]


def total_norm(tensors: Sequence[Tensor], order: float) -> float:
    """``(sum of |x| ** order) ** (1 / order)`` over all elements, each counted once; the largest
    ``|x|`` for infinity. Tensors that lie alike are summed by one message for each axis that cuts
    them. Powers are summed in float64.

    Args:
        tensors: in the same order in all processes.
        order: of the norm, positive or infinite.
    """
    groups: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        key = tensor.aval.sharding if is_sharded(tensor.aval) else None  # type: ignore[attr-defined]
        groups.setdefault(key, []).append(tensor)
    operation = "MAX" if np.isinf(order) else "SUM"
    found = []
    for sharding, members in groups.items():
        parts = [_without_terms(t, sharding) for t in members]
        power = _powers([p.array() for p in parts], order)
        for axis, placement in enumerate(() if sharding is None else sharding.placements):
            if isinstance(placement, Shard):
                sent = from_array(np.array([power]))
                power = float(sharding.mesh.reduce_along(axis, sent, operation).array()[0])
        found.append(power)
    if np.isinf(order):
        return max(found)
    return float(np.sum(found) ** (1.0 / order))


def _without_terms(tensor: Tensor, sharding: Sharding | None) -> Tensor:
    """The local part of a tensor whose terms, if it has such, are summed."""
    if sharding is None:
        return tensor
    if not sharding.partial():
        return local_part(tensor)
    summed = tuple([p if isinstance(p, Shard) else Replicate() for p in sharding.placements])
    wanted = Sharding(sharding.mesh, summed)
    return redistribute_local(local_part(tensor), tensor.aval.shape, sharding, wanted)


def _powers(arrays: list[Any], order: float) -> float:
    wide = [a.astype(np.float64).reshape(-1) for a in arrays]
    if np.isinf(order):
        return float(max((np.abs(a).max(initial=0.0) for a in wide), default=0.0))
    if order == 2:
        return float(sum(a @ a for a in wide))
    return float(sum((np.abs(a) ** order).sum() for a in wide))
