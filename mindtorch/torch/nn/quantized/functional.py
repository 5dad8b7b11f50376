"""The older name of :mod:`torch.ao.nn.quantized.functional`."""

from __future__ import annotations

from mindtorch.torch.ao.nn.quantized.functional import *  # noqa: F403
