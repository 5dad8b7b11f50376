"""torch.mtia: Meta's accelerators, which are not here."""

from __future__ import annotations

from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

from ._compat.unavailable_device import fill

fill(globals(), "Torch not compiled with MTIA enabled.", "MTIAGraph", "graph")


class DeferredMtiaCallError(Exception):
    """Of a call that waits for the device's initialisation; never raised here."""


_give_reasons(globals())
