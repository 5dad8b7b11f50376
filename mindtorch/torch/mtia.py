"""torch.mtia: Meta's accelerators, which are not here."""

from __future__ import annotations

from ._compat.unavailable_device import fill

fill(globals(), "Torch not compiled with MTIA enabled.")
