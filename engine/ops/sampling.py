"""Images and volumes ``[batch, channels, (depth,) height, width]`` sampled at a grid's places.

``order`` tells how often the weights of each axis are differentiated by the grid, so that
derivatives of every order are these three ops.
"""

from __future__ import annotations

import functools
from typing import Any

from ..aval import Aval, Shape, aval
from .convolution import Ints, NetworkOp
from .elementwise import add, multiply
from .movement import reshape, select


def _sample_aval(
    x: Aval, grid: Aval, *, mode: str, padding_mode: str, align: bool, order: Ints
) -> Aval:
    return aval((*x.shape[:2], *grid.shape[1:-1]), x.dtype, None, x.device)


def _spread_aval(
    y: Aval, grid: Aval, *, shape: Shape, mode: str, padding_mode: str, align: bool, order: Ints
) -> Aval:
    return aval(shape, y.dtype, None, y.device)


def _slopes_aval(
    y: Aval, x: Aval, grid: Aval, *, mode: str, padding_mode: str, align: bool, order: Ints
) -> Aval:
    return aval(grid.shape, grid.dtype, None, grid.device)


def _further(how: dict[str, Any], d: int) -> dict[str, Any]:
    """Weights differentiated once more by the grid's number ``d``: 0 is x, the last axis."""
    order = list(how["order"])
    order[-1 - d] += 1
    return {**how, "order": tuple(order)}


def _numbers(q: Any, *, channels: int) -> list[Any]:
    """The grid's numbers, each to be multiplied by images, or (channels 0) by a grid."""
    batch, *places, count = q.aval.shape
    shape = (batch, channels, *places) if channels else (batch, *places, 1)
    return [reshape(select(q, axis=q.aval.ndim - 1, index=d), shape) for d in range(count)]


def _slopes_by_g(q: Any, x: Any, grid: Any, **how: Any) -> Any:
    parts = [multiply(number, grid_sample(x, grid, **_further(how, d)))
             for d, number in enumerate(_numbers(q, channels=1))]  # fmt: skip
    return functools.reduce(add, parts)


def _slopes_by_x(q: Any, g: Any, grid: Any, shape: Shape, **how: Any) -> Any:
    parts = [grid_spread(multiply(number, g), grid, shape=shape, **_further(how, d))
             for d, number in enumerate(_numbers(q, channels=1))]  # fmt: skip
    return functools.reduce(add, parts)


def _slopes_by_grid(q: Any, g: Any, x: Any, grid: Any, **how: Any) -> Any:
    parts = [multiply(number, grid_slopes(g, x, grid, **_further(how, d)))
             for d, number in enumerate(_numbers(q, channels=0))]  # fmt: skip
    return functools.reduce(add, parts)


def _how(mode: str, padding_mode: str, align: bool, order: Ints) -> dict[str, Any]:
    return {"mode": mode, "padding_mode": padding_mode, "align": align, "order": order}


def _node_name(avals: Any, params: Any) -> str:
    return f"GridSampler{len(avals[0].shape) - 2}DBackward0"


# [N, C, *places]: the weighed sums of pixels at the places of grid [N, *places, x y (z)]
grid_sample = NetworkOp(
    "grid_sample",
    _sample_aval,
    "grid_sample.grid_sample",
    vjp=(
        lambda g, grid, avals, mode, padding_mode, align, order: grid_spread(
            g, grid, shape=avals[0].shape, **_how(mode, padding_mode, align, order)
        ),
        lambda g, x, grid, mode, padding_mode, align, order: grid_slopes(
            g, x, grid, **_how(mode, padding_mode, align, order)
        ),
    ),
    grad_name=_node_name,
)

# the transpose in the image: each element of ``y`` added to the pixels that it would be made of
grid_spread = NetworkOp(
    "grid_spread",
    _spread_aval,
    "grid_sample.grid_spread",
    vjp=(
        lambda g, grid, mode, padding_mode, align, order: grid_sample(
            g, grid, **_how(mode, padding_mode, align, order)
        ),
        lambda g, y, grid, mode, padding_mode, align, order: grid_slopes(
            y, g, grid, **_how(mode, padding_mode, align, order)
        ),
    ),
)

# the derivatives of sum(y * grid_sample(x, grid)) by the grid
grid_slopes = NetworkOp(
    "grid_slopes",
    _slopes_aval,
    "grid_sample.grid_slopes",
    vjp=(
        lambda g, x, grid, mode, padding_mode, align, order: _slopes_by_g(
            g, x, grid, **_how(mode, padding_mode, align, order)
        ),
        lambda g, y, grid, avals, mode, padding_mode, align, order: _slopes_by_x(
            g, y, grid, avals[1].shape, **_how(mode, padding_mode, align, order)
        ),
        lambda g, y, x, grid, mode, padding_mode, align, order: _slopes_by_grid(
            g, y, x, grid, **_how(mode, padding_mode, align, order)
        ),
    ),
)
