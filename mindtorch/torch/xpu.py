"""torch.xpu: Intel's GPUs, which are not here."""

from __future__ import annotations

from ._compat.unavailable_device import fill

fill(globals(), "Torch not compiled with XPU enabled")
