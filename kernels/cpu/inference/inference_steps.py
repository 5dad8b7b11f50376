"""A list of steps of inference in one compiled call: no Python runs between them.

A step is a row of whole numbers (what is to be done, with what) and four floats: the least and the
greatest result, and how results become bytes (:mod:`.packed_tile`). An operand is two numbers: a
region, whose address is in ``bases``, and a distance in bytes; region -1 stands for none.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import carray

from mindtorch.kernels.codegen.jit import entry_point, from_source, kernel

from ..vectors.simd import tile_rows
from .inference_loops import (
    APART,
    combine,
    place_channels,
    pointer8,
    pointer_long,
    pool_mean,
    read_image,
    scale,
    turn_given,
    turn_made,
    write_image,
)
from .packed_tile import ARGUMENTS, NUMBERS, POOL, POOLED, panel_widths, tile_code

__all__ = ["CONVOLVE", "STEPS", "WIDTH", "pointing", "runner"]

WIDTH = 48  # whole numbers of a step
# what a step does; the second number of its row is in how many units it can be parted
(CONVOLVE, WINOGRAD2, WINOGRAD4, READ, WRITE, MEAN, SCALE, PLACE, COMBINE) = STEPS = range(9)
MAP = 9  # a kernel of its own, between two calls (:mod:`.inference_maps`)
# of tiles: a number of floats, and the one behind it of bytes
FLOAT, BYTES, DEPTHWISE, DEPTHWISE_BYTES, LARGEST, LARGEST_BYTES = range(6)
KINDS = ("float", "bytes", "depthwise", "depthwise bytes", "largest", "largest bytes")


# of a run of tiles: the first one and the one behind, where their rows begin and end at most
_RUN = ("first", "last", "begin", "most", "apart", *ARGUMENTS[:-1], *NUMBERS)


@functools.cache
def _tiles(kind: str) -> Any:
    """``tiles(panel kind, single, ...)``: some tiles of a kind, of all rows or of one."""
    names = ", ".join(_RUN)
    lines, scope = [f"def tiles(which, single, {names}):"], {}
    singles = kind in ("float", "bytes")
    for i, (vectors, width) in enumerate(panel_widths()):
        for rows in (1, tile_rows()) if singles else (tile_rows(),):
            name = f"run_{i}_{rows}"
            scope[name] = _run(kind, rows, vectors, width)
            one = f" and single == {int(rows == 1)}" if singles else ""
            lines.append(f"    if which == {i}{one}:\n        {name}({names})")
    return from_source("\n".join(lines), "tiles", scope)


@functools.cache
def _run(kind: str, rows: int, vectors: int, width: int) -> Any:
    """One tile after another."""
    names = ", ".join([*ARGUMENTS[1:-1], "min(begin + t * apart, most)", *NUMBERS])
    lines = [
        f"def run({', '.join(_RUN)}):", "    for t in range(first, last):",
        f"        code(places + t * taps * {4 * tile_rows()}, {names})",
    ]  # fmt: skip
    code = tile_code(kind, rows, vectors, width)
    return from_source("\n".join(lines), "run", {"code": code})


@kernel
def _at(bases: Any, row: Any, i: int) -> int:
    """The address of an operand, 0 where there is none."""
    return bases[row[i]] + row[i + 1] if row[i] >= 0 else 0


@functools.cache
def _convolve(kind: str) -> Any:
    tiles, rows = _tiles(kind), tile_rows()
    each = kind not in ("float", "bytes")
    channel_bytes = 1 if kind.endswith("bytes") else 4

    @kernel
    def convolve(row: Any, numbers: Any, bases: Any, first: int, last: int) -> None:
        """Units of a convolution, which are tiles of one panel after another."""
        x, add, out, as_bytes = (
            _at(bases, row, 2), _at(bases, row, 14), _at(bases, row, 17), _at(bases, row, 20)
        )  # fmt: skip
        whole, taps = row[6], row[8]
        apart = rows // POOLED if row[44] == POOL else rows
        if row[42]:
            outside = carray(pointer8(x - row[42]), row[42])
            given = carray(pointer8(row[4]), row[42])
            for i in range(outside.size):
                outside[i] = given[i]
        count = whole + row[26]
        panels = carray(pointer_long(row[23]), 3 * row[24])
        most = max(row[7] - apart, 0)
        unit = first
        while unit < last:
            panel = unit // count
            t, end = unit - panel * count, min(last - panel * count, count)
            unit += end - t
            which, channel = panels[3 * panel], panels[3 * panel + 1]
            distance = panels[3 * panel + 2]
            shift = channel * channel_bytes if each else 0
            more = add + 4 * channel if add else 0
            to, to_bytes = out + 4 * channel if out else 0, as_bytes + channel if as_bytes else 0
            if t < whole:
                tiles(
                    which, 0, t, min(end, whole), 0, most, apart, row[5], taps, row[9], x + shift,
                    row[10] + distance, row[11] + 4 * channel, row[12] + 4 * channel,
                    row[13] + 4 * channel, more, row[16], to, row[19], to_bytes, row[22],
                    row[44], numbers[0], numbers[1], numbers[2], numbers[3],
                )  # fmt: skip
            if end > whole:
                tiles(
                    which, 1, max(t - whole, 0), end - whole, row[7] - row[26], row[7], 1,
                    row[5] + whole * taps * rows * 4, taps, row[9], x + shift, row[10] + distance,
                    row[11] + 4 * channel, row[12] + 4 * channel, row[13] + 4 * channel, more,
                    row[16], to, row[19], to_bytes, row[22], row[44],
                    numbers[0], numbers[1], numbers[2], numbers[3],
                )  # fmt: skip

    return convolve


@functools.cache
def _winograd(made: int) -> Any:
    tiles, rows, places = _tiles("float"), tile_rows(), (made + 2) ** 2
    given, results = turn_given(made), turn_made(made)

    @kernel
    def winograd(row: Any, numbers: Any, bases: Any, part: int, first: int, last: int) -> None:
        """Blocks of tiles: pixels are turned, multiplied place by place, and turned back."""
        x, add, out, as_bytes = (
            _at(bases, row, 2), _at(bases, row, 14), _at(bases, row, 17), _at(bases, row, 20)
        )  # fmt: skip
        source, target = row[27:34], row[34:41]
        inner, outer, together = source[2], target[2], row[6]
        panels = carray(pointer_long(row[23]), 3 * row[24])
        given_step, made_step = together * inner + APART, together * outer + APART
        turned = _at(bases, row, 41) + part * row[43]
        sums = turned + places * given_step * 4
        patch = sums + places * made_step * 4
        for block in range(first, last):
            begin = block * together
            count = min(together, row[7] - begin)
            given(turned, patch, x, source, begin, begin + count, given_step)
            for place in range(places):
                for panel in range(row[24]):
                    which, channel = panels[3 * panel], panels[3 * panel + 1]
                    right = row[10] + place * row[9] + panels[3 * panel + 2]
                    tiles(
                        which, 0, 0, (count + rows - 1) // rows, 0, together, rows, row[5], 1,
                        inner, turned + place * given_step * 4, right, row[4], row[4], row[4], 0, 0,
                        sums + place * made_step * 4 + 4 * channel, outer * 4, 0, 0, 0,
                        -np.float32(np.inf), np.float32(np.inf), numbers[2], numbers[3],
                    )  # fmt: skip
            results(sums, patch, row[12], target, numbers, add, out, as_bytes, begin,
                    begin + count, made_step)  # fmt: skip

    return winograd


@functools.cache
def _runner() -> Any:
    lines, scope = ["def convolve(row, numbers, bases, first, last):"], {}
    for number, kind in enumerate(KINDS):
        name = f"convolve_{number}"
        scope[name] = _convolve(kind)
        lines.append(f"    if row[25] == {number}:")
        lines.append(f"        {name}(row, numbers, bases, first, last)")
    convolve = from_source("\n".join(lines), "convolve", scope)
    winograd2, winograd4 = _winograd(2), _winograd(4)

    @kernel
    def run_steps(
        steps: Any, numbers: Any, bases: Any, start: int, stop: int, part: int, parts: int
    ) -> None:
        """Steps ``start`` to ``stop``; of each the ``part``-th of ``parts`` equal parts."""
        for s in range(start, stop):
            row, floats = steps[s], numbers[s]
            kind, units = row[0], row[1]
            first, last = units * part // parts, units * (part + 1) // parts
            if kind == CONVOLVE:
                convolve(row, floats, bases, first, last)
            elif kind == WINOGRAD2:
                winograd2(row, floats, bases, part, first, last)
            elif kind == WINOGRAD4:
                winograd4(row, floats, bases, part, first, last)
            elif kind == READ:
                read_image(row[27:], floats, _at(bases, row, 2), _at(bases, row, 17), first, last)
            elif kind == WRITE:
                write_image(row[27:], _at(bases, row, 2), _at(bases, row, 17), first, last)
            elif kind == MEAN:
                pool_mean(row[27:], _at(bases, row, 2), _at(bases, row, 17), first, last)
            elif kind == SCALE:
                scale(row[27:], floats, _at(bases, row, 2), _at(bases, row, 14),
                      _at(bases, row, 17), _at(bases, row, 20), first, last)  # fmt: skip
            elif kind == PLACE:
                place_channels(row[27:], _at(bases, row, 2), _at(bases, row, 17), first, last)
            else:
                combine(floats, _at(bases, row, 2), _at(bases, row, 14), _at(bases, row, 17),
                        _at(bases, row, 20), first, last)  # fmt: skip

    return run_steps


_SIGNATURE = "void(int64[:, ::1], float32[:, ::1], int64[::1], int64, int64, int64, int64)"


@functools.cache
def runner() -> Any:
    """The compiled ``run_steps(steps, numbers, bases, start, stop, part, parts)``."""
    return entry_point(_runner(), _SIGNATURE)


@kernel
def _point(bases: Any, at: int, flat: Any) -> None:
    bases[at] = flat.ctypes.data


@functools.cache
def pointing() -> Any:
    """The compiled ``point(bases, at, flat)``: where an array of floats lies becomes a base."""
    return entry_point(_point, "void(int64[::1], int64, float32[::1])")
