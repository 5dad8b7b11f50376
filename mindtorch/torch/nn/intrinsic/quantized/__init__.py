"""The older name of :mod:`torch.ao.nn.intrinsic.quantized`."""

from __future__ import annotations

from mindtorch.torch.ao.nn.intrinsic.quantized import *  # noqa: F403
