"""torch._C._nn: functions of networks under the names that torch.fx prints for them."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._tensor.conversion import parse_to as _parse_options
from mindtorch.torch.nn.functional import avg_pool2d as avg_pool2d
from mindtorch.torch.nn.functional import avg_pool3d as avg_pool3d
from mindtorch.torch.nn.functional import elu_ as elu_
from mindtorch.torch.nn.functional import gelu as gelu
from mindtorch.torch.nn.functional import hardtanh_ as hardtanh_
from mindtorch.torch.nn.functional import leaky_relu_ as leaky_relu_
from mindtorch.torch.nn.functional import linear as linear
from mindtorch.torch.nn.functional import one_hot as one_hot
from mindtorch.torch.nn.functional import (
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from mindtorch.torch.nn.functional import softplus as softplus
from mindtorch.torch.nn.functional import softshrink as softshrink


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) out of what `Tensor.to` takes."""
    dtype, device, _, memory_format = _parse_options(args, kwargs)
    last = args[-1] if args and isinstance(args[-1], bool) else False
    return device, dtype, kwargs.get("non_blocking", last), memory_format
