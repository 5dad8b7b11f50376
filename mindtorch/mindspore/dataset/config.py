"""Settings of data sets: ``ds.config.set_seed(1)``.

Rows are made in turn in this process: numbers of workers and of rows made in advance are kept for
whoever asks, and change nothing.
"""

from __future__ import annotations

import random

import numpy as np

from ..common.seed import get_seed as common_seed

__all__ = [
    "get_enable_shared_mem", "get_num_parallel_workers", "get_numa_enable", "get_prefetch_size",
    "get_seed", "set_enable_shared_mem", "set_num_parallel_workers", "set_numa_enable",
    "set_prefetch_size", "set_seed",
]  # fmt: skip

_LARGEST = 2**31 - 1
_settings = {"workers": 2, "prefetch": 16, "shared": True, "numa": False}
_seed: list[int | None] = [None]


def _number(value: int, name: str, words: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} isn't of type int.")
    if not 0 < value <= _LARGEST:
        raise ValueError(f"{words} is not within the required range (0, INT32_MAX({_LARGEST})].")
    return value


def set_seed(seed: int) -> None:
    """Start the random numbers of data sets (shuffles, random transforms) anew from ``seed``.

    Raises:
        TypeError: not an int.
        ValueError: negative, or more than 32 bits.
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError("seed isn't of type int.")
    if not 0 <= seed < 2**32:
        raise ValueError("seed given is not within the required range [0, UINT32_MAX(4294967295)].")
    _seed[0] = seed
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  - the generator that shuffles and transforms draw from


def get_seed() -> int:
    """The last seed, or 5489."""
    return 5489 if _seed[0] is None else _seed[0]


def seed_now() -> int:
    """The seed of this pipeline: of here, of ``mindspore.set_seed``, or another in each process."""
    seed = common_seed() if _seed[0] is None else _seed[0]
    return int(np.random.default_rng().integers(2**63)) if seed is None else seed


def set_num_parallel_workers(num: int) -> None:
    """Keep the number of workers."""
    _settings["workers"] = _number(num, "num", "Number of parallel workers given")


def get_num_parallel_workers() -> int:
    """The number that :func:`set_num_parallel_workers` kept, or 2."""
    return _settings["workers"]


def set_prefetch_size(size: int) -> None:
    """Keep the number of rows made in advance."""
    _settings["prefetch"] = _number(size, "size", "size")


def get_prefetch_size() -> int:
    """The number that :func:`set_prefetch_size` kept, or 16."""
    return _settings["prefetch"]


def set_enable_shared_mem(enable: bool) -> None:
    """Keep whether workers would share memory."""
    if not isinstance(enable, bool):
        raise TypeError("enable must be of type bool.")
    _settings["shared"] = enable


def get_enable_shared_mem() -> bool:
    """What :func:`set_enable_shared_mem` kept, or True."""
    return bool(_settings["shared"])


def set_numa_enable(numa_enable: bool) -> None:
    """Keep whether workers would be bound to a part of the memory."""
    if not isinstance(numa_enable, bool):
        raise TypeError("numa_enable must be a boolean dtype.")
    _settings["numa"] = numa_enable


def get_numa_enable() -> bool:
    """What :func:`set_numa_enable` kept, or False."""
    return bool(_settings["numa"])
