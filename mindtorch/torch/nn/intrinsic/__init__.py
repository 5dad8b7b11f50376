"""The older name of :mod:`torch.ao.nn.intrinsic`."""

from __future__ import annotations

from mindtorch.torch.ao.nn.intrinsic import *  # noqa: F403

from . import qat as qat
from . import quantized as quantized
