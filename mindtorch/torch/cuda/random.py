"""The state of the devices' random numbers, under the name that packages import it by."""

from mindtorch.engine.random import philox

from .._tensor.generator import default_generator
from . import get_rng_state as get_rng_state
from . import get_rng_state_all as get_rng_state_all
from . import initial_seed as initial_seed
from . import manual_seed as manual_seed
from . import manual_seed_all as manual_seed_all
from . import seed as seed
from . import seed_all as seed_all
from . import set_rng_state as set_rng_state
from . import set_rng_state_all as set_rng_state_all


def use_philox(on: bool = True) -> None:
    """Draw on CUDA devices by a stream of their own, Philox4x32-10, made there: faster than the
    CPU's numbers, which are copied, and of the same distributions. rand, randn, randint, randperm,
    dropout, and the samplers in place of even, normal, exponential and whole numbers and of fixed
    probabilities are drawn by it; what is left is drawn on the host. Each device has a stream,
    whose state is a seed and an offset of 8 bytes each: ``torch.manual_seed`` and
    ``manual_seed_all`` seed all of them, ``manual_seed`` that of the current device.

    Args:
        on: False for the CPU's numbers again, which are the default.
    """
    if on and not philox.chosen:
        philox.streams.manual_seed(default_generator.initial_seed())
    philox.chosen = bool(on)
