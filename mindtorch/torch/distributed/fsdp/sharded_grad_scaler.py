"""A GradScaler of processes that each have a part of the gradients."""

from __future__ import annotations

from typing import Any

from ...amp.grad_scaler import GradScaler
from ...functions.from_data import tensor
from ..distributed_c10d import ReduceOp, all_reduce

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A :class:`GradScaler` that leaves a step out in all processes, and makes the scale smaller in
    all, where one has a gradient that is not finite.

    Args:
        device: "cpu" or "cuda".
        init_scale, backoff_factor, growth_factor, growth_interval, enabled: as of
            :class:`GradScaler`.
        process_group: the processes; all when None.
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, backoff_factor: float = 0.5,
        growth_factor: float = 2.0, growth_interval: int = 2000, enabled: bool = True,
        process_group: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            device, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )
        self.process_group = process_group

    def _unscale(self, optimizer: Any, factor: Any, allow_fp16: bool) -> dict[Any, Any]:
        found = super()._unscale(optimizer, factor, allow_fp16)
        largest = max(found.values(), key=lambda v: v.item(), default=None)
        shared = tensor(0.0 if largest is None else largest.item())
        all_reduce(shared, ReduceOp.MAX, group=self.process_group)
        for value in found.values():
            value.fill_(shared)
        return found
