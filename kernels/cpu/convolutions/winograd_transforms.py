"""The transforms of Winograd's convolutions F(m x m, 3 x 3), on vectors of channels.

A tile of ``m`` by ``m`` results is read from ``m + 2`` by ``m + 2`` pixels. With ``d`` the pixels,
``w`` the weights, and ``*`` number by number (A. Lavin, S. Gray, Fast algorithms for convolutional
neural networks, 2016)::

    y = OUT (sum over channels of (GIVEN d GIVEN^T) * (WEIGHT w WEIGHT^T)) OUT^T

Rows of ``WEIGHT`` are a polynomial's values at some points, and infinity: the points decide how
much is lost by rounding. For tiles of 4 those here lose as little as any, a quarter of what 1 and 2
do, and their powers are exact.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

from numba import types
from numba.extending import intrinsic

from ..vectors.simd import Vectors, data_of, long_of

Matrix = tuple[tuple[float, ...], ...]

_POINTS = {
    2: (Fraction(0), Fraction(1), Fraction(-1)),
    4: (Fraction(0), Fraction(11, 16), Fraction(-11, 16), Fraction(3, 2), Fraction(-3, 2)),
}


def _monic(roots: list[Fraction]) -> list[Fraction]:
    """The factors, from the lowest on, of the polynomial with these roots."""
    zero, made = Fraction(0), [Fraction(1)]
    for root in roots:
        made = [a - root * b for a, b in zip([zero, *made], [*made, zero], strict=True)]
    return made


def _given(points: tuple[Fraction, ...]) -> Matrix:
    rows = [[*_monic([q for q in points if q != p]), Fraction(0)] for p in points]
    return _numbers([*rows, _monic([*points])])


def _weight(points: tuple[Fraction, ...]) -> Matrix:
    rows = []
    for p in points:
        apart = Fraction(1)
        for q in points:
            apart *= p - q if q != p else 1
        rows.append([p**k / apart for k in range(3)])
    return _numbers([*rows, [Fraction(int(k == 2)) for k in range(3)]])


def _out(points: tuple[Fraction, ...]) -> Matrix:
    last = len(points) - 2
    return _numbers([[*(p**k for p in points), Fraction(int(k == last))] for k in range(last + 1)])


def _numbers(rows: list[list[Fraction]]) -> Matrix:
    return tuple(tuple(map(float, row)) for row in rows)


# by results of a tile, along one axis
GIVEN = {made: _given(points) for made, points in _POINTS.items()}
WEIGHT = {made: _weight(points) for made, points in _POINTS.items()}
OUT = {made: _out(points) for made, points in _POINTS.items()}


def turned(matrix: Matrix) -> Matrix:
    """The transposed matrix."""
    return tuple(zip(*matrix, strict=True))


@functools.cache
def transform_of(matrix: Matrix, width: int, has_offset: bool = False) -> Any:
    """The kernel of ``matrix x matrix^T`` for vectors of ``width`` numbers of each element of x.

    ``transform(out, to, down, right, x, at, x_down, x_right, offset, offset_at)`` reads element
    ``[i, j]`` at ``at + i * x_down + j * x_right`` and writes alike. ``offset`` is added to all
    results if ``has_offset``.
    """

    @intrinsic
    def transform(
        context: Any, out: Any, to: Any, down: Any, right: Any, x: Any, at: Any, x_down: Any,
        x_right: Any, offset: Any, offset_at: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = Vectors(builder, signature.args[0].dtype, width)

            def places(array: int, begin: int, pitches: Any, rows: int, columns: int) -> Any:
                data = data_of(
                    context, builder, signature.args[array], arguments[array], arguments[begin]
                )
                return [
                    [
                        builder.gep(data, [builder.add(
                            builder.mul(pitches[0], long_of(i)), builder.mul(pitches[1], long_of(j))
                        )])
                        for j in range(columns)
                    ]
                    for i in range(rows)
                ]  # fmt: skip

            size = len(matrix[0])
            given = places(4, 5, arguments[6:8], size, size)
            columns = [
                _product(form, matrix, [form.load(given[i][j]) for i in range(size)])
                for j in range(size)
            ]
            results = [_product(form, matrix, [*line]) for line in zip(*columns, strict=True)]
            if has_offset:
                place = data_of(context, builder, signature.args[8], arguments[8], arguments[9])
                added = form.load(place)
                results = [[builder.fadd(x, added) for x in line] for line in results]
            targets = places(0, 1, arguments[2:4], len(matrix), len(matrix))
            for line, row in zip(results, targets, strict=True):
                for value, place in zip(line, row, strict=True):
                    form.store(value, place)
            return context.get_dummy_value()

        long = types.int64
        return types.void(out, long, long, long, x, long, long, long, offset, long), generate

    return transform


def _product(form: Any, matrix: Matrix, values: list[Any]) -> list[Any]:
    """The matrix times a column of vectors. Columns, and rows, that differ by signs only, as those
    of two opposite points do, are computed from sums and differences."""
    builder = form.builder
    lines = turned(matrix)
    for j, k in _opposites(lines):
        signs = [(a > 0) == (b > 0) for a, b in zip(lines[j], lines[k], strict=True)]
        total, apart = builder.fadd(values[j], values[k]), builder.fsub(values[j], values[k])
        rest = [i for i in range(len(lines)) if i not in (j, k)]
        both = [
            tuple(a if same == wanted else 0.0 for a, same in zip(lines[j], signs, strict=True))
            for wanted in (True, False)
        ]
        fewer = turned((*(lines[i] for i in rest), *both))
        return _product(form, fewer, [*(values[i] for i in rest), total, apart])
    made: dict[int, Any] = {}
    for i, k in _opposites(matrix):
        if i in made or k in made:
            continue
        same = [a if a == b else 0.0 for a, b in zip(matrix[i], matrix[k], strict=True)]
        other = [a if a == -b else 0.0 for a, b in zip(matrix[i], matrix[k], strict=True)]
        even, odd = _combined(form, same, values), _combined(form, other, values)
        made[i], made[k] = builder.fadd(even, odd), builder.fsub(even, odd)
    return [made[i] if i in made else _combined(form, row, values) for i, row in enumerate(matrix)]


def _opposites(rows: Matrix) -> list[tuple[int, int]]:
    """Pairs of rows of the same numbers, some with the same sign and some not."""
    found = []
    for i, row in enumerate(rows):
        for k in range(i + 1, len(rows)):
            pairs = [(a, b) for a, b in zip(row, rows[k], strict=True) if a or b]
            if all(abs(a) == abs(b) for a, b in pairs) and len({a == b for a, b in pairs}) == 2:
                found.append((i, k))
    return found


def _combined(form: Any, factors: Any, values: list[Any]) -> Any:
    """The sum of values times factors."""
    terms = sorted(
        ((f, v) for f, v in zip(factors, values, strict=True) if f), key=lambda term: term[0] != 1
    )
    (factor, total), *others = terms
    if factor != 1:
        total = form.builder.fmul(total, form.constant(factor))
    for factor, value in others:
        if abs(factor) == 1:
            total = (form.builder.fadd if factor > 0 else form.builder.fsub)(total, value)
        else:
            total = form.fma(value, form.constant(factor), total)
    return total
