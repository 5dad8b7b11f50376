"""Generators and their states as tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.devices import cuda
from mindtorch.engine.devices.device import Device, cpu
from mindtorch.engine.random import generator as engine
from mindtorch.engine.random import philox
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._api.cuda_devices import require_cuda


class Generator(engine.Generator):
    """A stream of random numbers with a state of its own.

    Args:
        device: "cpu".
    """

    # captured calls draw from it; one that reads or sets its state runs in lazy mode
    host_methods = frozenset({"device", *dir(engine.Generator)}) - {
        "get_state", "initial_seed", "manual_seed", "seed", "set_state",
    }  # fmt: skip

    def host_guard(self) -> None:
        """Nothing: draws continue the stream."""

    def __init__(self, device: Any = "cpu") -> None:
        kind = Device(device).type
        if kind == "cuda" and not cuda.device_count():
            raise cuda.unlinked("get CUDA generator")
        super().__init__(kind)
        self.device: Any = cpu

    def get_state(self) -> Any:
        """The state as 5,056 bytes, in PyTorch's layout."""
        return from_array(super().get_state())

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"

    def __reduce__(self) -> Any:
        return _restored, (self.initial_seed(), self.get_state())

    def set_state(self, new_state: Any) -> Any:
        if not isinstance(new_state, EngineTensor):
            kind = type(new_state).__name__
            raise TypeError(f"expected a torch.ByteTensor, but got {kind}")
        if new_state.aval.dtype is not dtypes.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        super().set_state(new_state.array())
        return self


def _restored(seed: int, state: Any) -> Generator:
    generator = Generator()
    generator.manual_seed(seed)
    generator.set_state(state)
    return generator


default_generator = Generator()
default_generator.is_default = True
default_generator.seed()


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator, and return it.

    Args:
        seed: a whole number of 64 bits.
    """
    if philox.chosen:
        philox.streams.manual_seed(int(seed))
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator from the system's entropy."""
    return default_generator.seed()


def initial_seed() -> int:
    """The last seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """The state of the default generator, as a ByteTensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Any) -> None:
    """Put the default generator into a state that ``get_rng_state`` gave: a uint8 tensor.

    Args:
        new_state: that state.
    """
    default_generator.set_state(new_state)


def states() -> tuple[Any, Any]:
    """The states of all streams in use: the CPU's, and those of CUDA devices (None where their own
    are not chosen)."""
    return get_rng_state(), philox.streams.get_states() if philox.chosen else None


def restore(before: tuple[Any, Any]) -> None:
    """Put the streams into the :func:`states` of an earlier time."""
    set_rng_state(before[0])
    if before[1] is not None:
        philox.streams.set_states(before[1])


@contextlib.contextmanager
def fork_rng(
    devices: Any = None, enabled: bool = True, device_type: str = "cuda", **options: Any
) -> Iterator[None]:
    """Restore the default generators' states at the end of the block.

    Args:
        devices, device_type, options: of no effect, but that there must be such devices; the CPU's
            generator is restored, and CUDA's own streams where they are chosen.
        enabled: otherwise nothing is done.
    """
    if not enabled:
        yield
        return
    if devices and device_type == "cuda":
        require_cuda()
    before = states()
    try:
        yield
    finally:
        restore(before)
