"""torch.mtia: Meta's accelerators, which are not here."""

from __future__ import annotations

from ._compat.unavailable_device import fill

fill(globals(), "Torch not compiled with MTIA enabled.", "MTIAGraph", "graph")


class DeferredMtiaCallError(Exception):
    """Of a call that waits for the device's initialisation; never raised here."""
