"""The older name of :mod:`torch.ao.nn.qat`."""

from __future__ import annotations

from mindtorch.torch.ao.nn.qat import *  # noqa: F403
