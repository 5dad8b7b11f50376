"""The older name of :mod:`torch.ao.nn.quantized.dynamic`."""

from __future__ import annotations

from mindtorch.torch.ao.nn.quantized.dynamic import *  # noqa: F403
