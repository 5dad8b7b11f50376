"""Settings of data sets: ``ds.config.set_seed(1)``.

Without ``num_parallel_workers`` at an operation, and without :func:`set_num_parallel_workers`,
rows that a user's function makes, and those that are made quickly, are made in turn in the calling
thread. Images that are decoded here are made by two threads, or as many as there are cores.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np

from ..common.seed import get_seed as common_seed

__all__ = [
    "get_autotune_interval", "get_enable_autotune", "get_enable_shared_mem",
    "get_multiprocessing_start_method", "get_num_parallel_workers", "get_numa_enable",
    "get_prefetch_size", "get_seed", "set_autotune_interval", "set_enable_autotune",
    "set_enable_shared_mem", "set_multiprocessing_start_method", "set_num_parallel_workers",
    "set_numa_enable", "set_prefetch_size", "set_seed",
]  # fmt: skip

_LARGEST = 2**31 - 1
_settings: dict[str, Any] = {
    "workers": None, "prefetch": 16, "shared": True, "numa": False, "tune": False,
    "tune_file": None, "interval": 0,
    "start": "spawn" if os.environ.get("ENABLE_FORK_UTILS") == "0" else "fork",
}  # fmt: skip
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


def seed_is_set() -> bool:
    """Whether :func:`set_seed` or ``mindspore.set_seed`` was called."""
    return (common_seed() if _seed[0] is None else _seed[0]) is not None


def set_num_parallel_workers(num: int) -> None:
    """How many workers make rows where an operation does not say it."""
    _settings["workers"] = _number(num, "num", "Number of parallel workers given")


def get_num_parallel_workers() -> int:
    """The number of workers, 2 unless :func:`set_num_parallel_workers` changed it."""
    return _settings["workers"] or 2


def chosen_workers() -> int | None:
    """What :func:`set_num_parallel_workers` was given; None where it was not called."""
    return _settings["workers"]


def set_prefetch_size(size: int) -> None:
    """How many rows (batches, where workers make whole ones) are made ahead of the reader.

    Together they never hold more than 256 MiB.
    """
    _settings["prefetch"] = _number(size, "size", "size")


def get_prefetch_size() -> int:
    """What :func:`set_prefetch_size` was given, or 16."""
    return int(_settings["prefetch"])


def set_enable_autotune(enable: bool, filepath_prefix: str | None = None) -> None:
    """Let the number of workers and of rows ahead follow what is measured.

    A reader that waits more than 5 % of the time gets another worker, up to the number of cores,
    then more rows ahead, up to 128; a change that does not give 3 % more rows per second is undone.
    A reader that never waits loses a worker. Rows and their order stay the same.

    Args:
        filepath_prefix: after each epoch the settings are written to ``<prefix>_<rank>.json``.

    Raises:
        TypeError: not a bool, or not a str.
        RuntimeError: an empty name, a folder, or a folder that there is not or that cannot be
            written to.
    """
    if not isinstance(enable, bool):
        raise TypeError("enable must be of type bool.")
    if filepath_prefix is not None and not isinstance(filepath_prefix, str):
        raise TypeError(f"json_filepath must be a str value but was: {filepath_prefix}.")
    if enable and filepath_prefix is not None:
        if not filepath_prefix:
            raise RuntimeError("The value of json_filepath cannot be the empty string.")
        folder = Path(filepath_prefix).absolute().parent
        if Path(filepath_prefix).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise RuntimeError(f"json_filepath: no file can be written at {filepath_prefix}")
    _settings["tune"], _settings["tune_file"] = enable, filepath_prefix if enable else None


def get_enable_autotune() -> bool:
    """Whether :func:`set_enable_autotune` is on."""
    return bool(_settings["tune"])


def autotune_file() -> str | None:
    """The beginning of the file's name, or None."""
    return _settings["tune_file"]


def set_autotune_interval(interval: int) -> None:
    """Adjust after so many steps; after each epoch for 0."""
    if not isinstance(interval, int) or isinstance(interval, bool):
        raise TypeError("interval must be of type int.")
    if not 0 <= interval <= _LARGEST:
        raise ValueError(
            f"Interval given is not within the required range [0, INT32_MAX({_LARGEST})]."
        )
    _settings["interval"] = interval


def get_autotune_interval() -> int:
    """What :func:`set_autotune_interval` was given, or 0."""
    return int(_settings["interval"])


def set_multiprocessing_start_method(start_method: str) -> None:
    """How worker processes begin: "fork" with all that this process holds, or "spawn", which needs
    a pipeline that can be pickled."""
    if start_method not in ("fork", "spawn"):
        raise ValueError(f"start_method should be 'fork' or 'spawn', but got {start_method!r}")
    _settings["start"] = start_method


def get_multiprocessing_start_method() -> str:
    """``fork`` unless :func:`set_multiprocessing_start_method` changed it."""
    return str(_settings["start"])


def set_enable_shared_mem(enable: bool) -> None:
    """Keep whether worker processes should share memory, which they always do."""
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
