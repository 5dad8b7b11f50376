"""What wrappers of models do before training."""

from __future__ import annotations

from typing import Any

from . import distributed_c10d as c10d

__all__ = ["_sync_module_states"]


def _sync_module_states(
    module: Any,
    process_group: Any,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Any,
    broadcast_buffers: bool = True,
) -> None:
    """Give all processes the parameters, and the buffers, of process ``src``.

    ``broadcast_bucket_size`` is how much torch would send at once; each tensor goes by itself here.
    """
    named = list(module.named_parameters())
    if broadcast_buffers:
        named += list(module.named_buffers())
    for name, tensor in named:
        if name not in params_and_buffers_to_ignore:
            c10d.broadcast(tensor.detach(), src, group=process_group)
