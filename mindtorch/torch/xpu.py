"""torch.xpu: Intel's GPUs, which are not here."""

from __future__ import annotations

from mindtorch.torch._api.public_names import own_names as _own_names

from ._compat.unavailable_device import fill

fill(globals(), "Torch not compiled with XPU enabled", "XPUGraph", "XPUPluggableAllocator", "graph")

default_generators: tuple[()] = ()

_own_names(globals())
