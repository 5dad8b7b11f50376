"""The default generator's seed and state."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names

from ._tensor.generator import default_generator as default_generator
from ._tensor.generator import fork_rng as fork_rng
from ._tensor.generator import get_rng_state as get_rng_state
from ._tensor.generator import initial_seed as initial_seed
from ._tensor.generator import manual_seed as manual_seed
from ._tensor.generator import seed as seed
from ._tensor.generator import set_rng_state as set_rng_state

__all__ = [
    "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state",
    "thread_safe_generator",
]  # fmt: skip


def thread_safe_generator() -> Any:
    """The generator of a data loader's worker that is a thread; None, as workers are processes."""
    return None


_own_names(globals())
