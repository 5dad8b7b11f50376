"""The older name of :mod:`torch.ao.nn.intrinsic.qat`."""

from __future__ import annotations

from mindtorch.torch.ao.nn.intrinsic.qat import *  # noqa: F403
