"""Mean and variance of each channel over the batches of all processes."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.engine import dtypes


def world_of(group: Any) -> Any:
    """The group, or all processes; None where there is one process."""
    dist = torch.distributed
    if not dist.is_initialized():
        return None
    world = dist.group.WORLD if group is None else group
    return world if dist.get_world_size(world) > 1 else None


def normalised(module: Any, x: Any, factor: float, world: Any) -> Any:
    """(x - mean) / sqrt(var + eps) * weight + bias, with statistics of all processes' ``x``.

    Running statistics move by ``factor`` to the mean and to the variance of all n elements of a
    channel, times n / (n - 1). Gradients pass through what was sent, so all processes must run
    backward. 16-bit input is normalised in float32.
    """
    from ...distributed.nn.functional import all_reduce

    axes = [0, *range(2, x.dim())]
    shape = (1, -1) + (1,) * (x.dim() - 2)
    wide = x.to(dtypes.float32) if x.dtype in (dtypes.float16, dtypes.bfloat16) else x
    elements = wide.new_tensor([float(x.numel() // x.shape[1])])
    number = all_reduce(elements, group=world)
    mean = all_reduce(wide.sum(axes), group=world) / number
    centred = wide - mean.reshape(shape)
    variance = all_reduce((centred * centred).sum(axes), group=world) / number
    if module.training and module.track_running_stats:
        with torch.no_grad():
            module.running_mean.mul_(1 - factor).add_(mean, alpha=factor)
            unbiased = variance * (number / (number - 1))
            module.running_var.mul_(1 - factor).add_(unbiased, alpha=factor)
    result = centred * torch.rsqrt(variance + module.eps).reshape(shape)
    if module.weight is not None:
        result = result * module.weight.reshape(shape)
    if module.bias is not None:
        result = result + module.bias.reshape(shape)
    return result.to(x.dtype)
