"""Sobol sequences: points that fill the unit cube more evenly than random ones."""

from __future__ import annotations

import importlib.resources
from typing import Any

import numpy as np

import mindtorch.torch as torch
from mindtorch.engine.dtypes import scalar_type_name

__all__ = ["SobolEngine"]


def _direction_numbers(dimension: int, bits: int) -> np.ndarray:
    """Joe and Kuo's direction numbers, scipy's table continued by its recurrences: (dim, bits)."""
    table = importlib.resources.files("scipy") / "stats" / "_sobol_direction_numbers.npz"
    with importlib.resources.as_file(table) as path, np.load(path) as content:
        polynomials, initial = content["poly"][:dimension], content["vinit"][:dimension]
    numbers = np.ones((dimension, bits), np.int64)
    for row, polynomial, first in zip(numbers[1:], polynomials[1:], initial[1:], strict=True):
        degree = int(polynomial).bit_length() - 1
        row[:degree] = first[:degree]
        for j in range(degree, bits):
            value = row[j - degree]
            for k in range(1, degree + 1):
                if (polynomial >> (degree - k)) & 1:
                    value ^= row[j - k] << k
            row[j] = value
    return numbers << np.arange(bits - 1, -1, -1)


def _scrambled(numbers: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Each direction number, as a column of bits, times its dimension's matrix modulo 2."""
    bits = numbers.shape[1]
    weights = 1 << np.arange(bits - 1, -1, -1, dtype=np.int64)
    columns = (numbers[:, None, :] & weights[:, None]) != 0
    products = matrices.astype(np.int64) @ columns.astype(np.int64) % 2
    return (products * weights[:, None]).sum(axis=1)


class SobolEngine:
    """A Sobol sequence in ``[0, 1)**dimension``; its points are multiples of ``2**-30``.

    Args:
        dimension: from 1 to 21201.
        scramble: mix the direction numbers by random lower triangular matrices and shift the
            points, from a generator with ``seed`` or from the default one.
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        numbers = _direction_numbers(dimension, self.MAXBIT)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            numbers, shift = self._random(numbers)
        self.sobolstate, self.shift = torch.from_numpy(numbers), torch.from_numpy(shift)
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _random(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scrambled direction numbers and a shift."""
        generator = None
        if self.seed is not None:
            generator = torch.Generator()
            generator.manual_seed(self.seed)
        size = (self.dimension, self.MAXBIT)
        shift = torch.randint(2, size, generator=generator).numpy() << np.arange(self.MAXBIT)
        matrices = torch.randint(2, (*size, self.MAXBIT), generator=generator).tril().numpy()
        matrices[:, np.arange(self.MAXBIT), np.arange(self.MAXBIT)] = 1
        return _scrambled(numbers, matrices), shift.sum(axis=1)

    def _advance(self, count: int) -> np.ndarray:
        """The next ``count`` points as integers, (count, dimension); the last becomes current."""
        begin = max(self.num_generated - 1, 0)
        places = np.arange(begin, begin + count, dtype=np.int64)
        lowest_zero = ~places & (places + 1)
        bits = np.log2(lowest_zero).astype(np.int64)
        steps = self.sobolstate.numpy().T[bits]
        points = np.bitwise_xor.accumulate(
            np.concatenate([self.quasi.numpy()[None], steps]), axis=0
        )
        self.quasi = torch.from_numpy(points[-1].copy())
        return points[1:]

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Any:
        """The next ``n`` points, of shape (n, dimension), in the default dtype or ``dtype``."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        fresh = self.num_generated == 0
        if not (fresh and n == 1) and dtype not in (torch.float32, torch.float64):
            raise NotImplementedError(
                f"\"_sobol_engine_draw\" not implemented for '{scalar_type_name(dtype)}'"
            )
        points = torch.from_numpy(self._advance(n - 1 if fresh else n))
        result = points.to(dtype) * 2.0**-self.MAXBIT
        if fresh:
            result = torch.cat((self._first_point.to(dtype), result), dim=-2)
        self.num_generated += n
        if out is not None:
            out.resize_as_(result).copy_(result)
            return out
        return result

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Any:
        """The next ``2**m`` points, where this makes the number of points a power of 2."""
        n = 2**m
        total_n = self.num_generated + n
        if total_n & (total_n - 1) != 0:
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total_n}. If you still want to do this, please "
                "use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """As ``draw(n)``, without the points."""
        self._advance(n - 1 if self.num_generated == 0 else n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        text = f"dimension={self.dimension}"
        if self.scramble:
            text += ", scramble=True"
        if self.seed is not None:
            text += f", seed={self.seed}"
        return f"{type(self).__name__}({text})"
