"""The older name of :mod:`torch.ao.nn.quantized`."""

from __future__ import annotations

from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons
from mindtorch.torch.ao.nn.quantized import *  # noqa: F403
from mindtorch.torch.ao.nn.quantized import MaxPool2d as MaxPool2d

from . import dynamic as dynamic
from . import functional as functional

_give_reasons(globals())
