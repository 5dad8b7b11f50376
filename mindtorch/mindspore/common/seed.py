"""The seed of everything random: torch's generator, Python's and numpy's."""

from __future__ import annotations

import random

import numpy as np

from mindtorch import torch

__all__ = ["get_seed", "set_seed"]

_seed: list[int | None] = [None]


def set_seed(seed: int) -> None:
    """Start all random numbers anew from ``seed``, in networks, data sets and numpy.

    Raises:
        TypeError: not an int.
        ValueError: negative.
    """
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise TypeError("The argument 'seed' must be type of int.")
    if seed < 0:
        raise ValueError("The argument 'seed' must be greater or equal to 0.")
    _seed[0] = seed
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  - the generator that users' transforms draw from


def get_seed() -> int | None:
    """The last seed, or None."""
    return _seed[0]
