"""CUDA's own stream of random numbers, which a program may choose instead of the CPU's.

The state is torch's: a seed and an offset, which each draw moves on by 4. Samplers are those of
:class:`Generator`: they are called with a target that stands for memory of the device, and what
they would have filled on the host is drawn there.
"""

from __future__ import annotations

import os
import struct
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.support.fork_safe_lock import reentrant_lock

from ..aval import Aval
from ..devices.device import backend
from .generator import DEFAULT_SEED

_SIZE = 16
# what Generator calls its loops, and the sampler of that meaning here
_NAMES = {
    "uniform_single": "uniform", "uniform_double": "uniform", "normal_single": "normal",
    "normal_double": "normal", "normal_serial": "normal", "choose": "choose",
    "exponential": "exponential", "integers_small": "integers", "integers_large": "integers",
    "permutation": "permutation",
}  # fmt: skip


class Refused(Exception):
    """A distribution that is drawn on the host."""


class Stream:
    """A seed and an offset."""

    def __init__(self) -> None:
        self._lock = reentrant_lock()
        self.seed, self.offset = DEFAULT_SEED, 0

    def manual_seed(self, seed: int) -> None:
        """Start the stream of ``seed``, from -2**63 to 2**64 - 1."""
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        with self._lock:
            self.seed, self.offset = seed % 2**64, 0

    def get_state(self) -> Any:
        """Seed and offset as torch lays them out: uint8[16]."""
        with self._lock:
            return np.frombuffer(struct.pack("<QQ", self.seed, self.offset), np.uint8).copy()

    def set_state(self, state: Any) -> None:
        """Continue from a state of :meth:`get_state`.

        Raises:
            TypeError, RuntimeError: it is none.
        """
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size not in (8, _SIZE):
            raise RuntimeError("RNG state is wrong size")
        seed, offset = struct.unpack("<QQ", state.tobytes().ljust(_SIZE, b"\0"))
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        with self._lock:
            self.seed, self.offset = seed, offset

    def take(self) -> tuple[int, int]:
        """(seed, offset) of the next draw."""
        with self._lock:
            now = self.offset
            self.offset += 4
            return self.seed, now


class Streams:
    """A stream for each device; one that nobody has used yet starts from what all were given."""

    def __init__(self) -> None:
        self._lock = reentrant_lock()
        self._of: dict[int, Stream] = {}
        self._seed = DEFAULT_SEED

    def of(self, index: int) -> Stream:
        """The stream of a device."""
        with self._lock:
            if index not in self._of:
                self._of[index] = Stream()
                self._of[index].manual_seed(self._seed)
            return self._of[index]

    def manual_seed(self, seed: int) -> None:
        """Start the stream of ``seed`` on each device."""
        with self._lock:
            Stream().manual_seed(seed)  # which refuses what is no seed
            self._seed = seed
            for each in self._of.values():
                each.manual_seed(seed)

    def get_states(self) -> dict[int, Any]:
        """The state of each device's stream that was used."""
        with self._lock:
            return {index: each.get_state() for index, each in self._of.items()}

    def set_states(self, states: dict[int, Any]) -> None:
        """Continue from :meth:`get_states`; streams that were first used since then start anew."""
        with self._lock:
            for index in [*self._of]:
                if index in states:
                    self._of[index].set_state(states[index])
                else:
                    del self._of[index]


streams = Streams()
# whether draws on CUDA are of this stream; the CPU's numbers otherwise
chosen = os.environ.get("MINDTORCH_CUDA_RANDOM", "cpu") == "philox"


class _Target:
    """What a sampler takes for the array to fill: an ``Array`` of the device."""

    flags = types.SimpleNamespace(c_contiguous=True)

    def __init__(self, array: Any, index: int) -> None:
        self.own, self.index = array, index
        self.dtype, self.shape, self.size = array.dtype, array.shape, array.size

    def __getattr__(self, name: str) -> Any:
        raise Refused(name)

    def view(self, dtype: Any) -> _Target:
        kind = np.dtype(dtype)
        arrays = backend("cuda").kernels("arrays")
        seen = arrays.Array(self.own.flat.view(kind), self.shape, self.own.strides)
        return _Target(seen, self.index)

    def draw(self, generator: Any, name: str, arguments: tuple[Any, ...]) -> None:
        """Draw what the loop ``name`` of ``Generator`` would."""
        sampler, last = _NAMES.get(name), arguments[2:]
        if not generator.is_default or not sampler or (name, last) == (
            "normal_serial", (True,)
        ):  # fmt: skip
            raise Refused(name)
        given = arguments[:2]

        def drawn() -> None:
            backend("cuda").kernels("philox").fill(
                self.own, sampler, given, *streams.of(self.index).take()
            )

        backend("cuda").kernels("graphs").on_host(drawn)


def draw(described: Aval, flat: Any, fill: Callable[..., Any]) -> bool:
    """Let ``fill`` draw on the device; False where it draws something that is not written there."""
    try:
        fill(_Target(backend("cuda").array_of(flat, described), described.device.index or 0))
    except Refused:
        return False
    return True
