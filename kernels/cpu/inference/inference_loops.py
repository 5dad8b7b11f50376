"""The loops between the register tiles of inference: layouts, pooling, sums, Winograd's transforms.

Images are ``[image][row][column][channel]``; a pixel has ``pitch`` channels, of which the last ones
may mean nothing. Memory is given by addresses, which whoever plans the steps answers for.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import kernel

from ..convolutions.winograd_transforms import GIVEN, OUT, transform_of
from ..multi_tensor_update import pointer32
from ..vectors.simd import lanes

_FLOAT = np.dtype(np.float32)
APART = 16  # numbers between places, which a power of two apart would share cache sets


def _pointer_to(kind: Any) -> Any:
    @intrinsic
    def pointer(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.int64), generate

    return pointer


# addresses as pointers to bytes and to whole numbers
pointer8, pointer_long = _pointer_to(types.uint8), _pointer_to(types.int64)


@kernel
def rounded(value: Any, inverse: Any, origin: Any) -> Any:
    """A number in eight bits: ``rint(value * inverse) + origin`` between 0 and 255; NaN is 0."""
    q = np.rint(value * inverse) + origin
    q = q if q > np.float32(0) else np.float32(0)
    return np.uint8(q if q < np.float32(255) else np.float32(255))


@kernel(noalias=True)
def _to_bytes(out: Any, a: Any, inverse: Any, origin: Any) -> None:
    for i in range(out.size):
        out[i] = rounded(a[i], inverse, origin)


@kernel(noalias=True)
def _line_in(out: Any, line: Any, c: int, pitch: int) -> None:
    """One row of an image's plane, in every pixel's place of the channel."""
    for i in range(line.size):
        out[i * pitch + c] = line[i]


@kernel(noalias=True)
def _three_in(out: Any, planes: Any, apart: int, width: int) -> None:
    """One row of three planes as pixels of three channels."""
    first, second, third = planes[:width], planes[apart : apart + width], planes[2 * apart :]
    for i in range(width):
        out[3 * i] = first[i]
        out[3 * i + 1] = second[i]
        out[3 * i + 2] = third[i]


@kernel
def _pixels_in(out: Any, planes: Any, apart: int, channels: int, width: int, pitch: int) -> None:
    """One row of planes, ``apart`` from one to the next, as pixels."""
    if pitch == 3:
        _three_in(out, planes, apart, width)
        return
    for c in range(channels):
        _line_in(out, planes[c * apart : c * apart + width], c, pitch)


@kernel
def _clear_around(line: Any, zero: Any, begin: int, end: int, whole: bool) -> None:
    """Zeros before and behind some numbers of a row, or in all of it."""
    line[: line.size if whole else begin] = zero
    if not whole:
        line[end:] = zero


@kernel
def read_image(row: Any, numbers: Any, x: int, out: int, first: int, last: int) -> None:
    """Planes as pixels, from image row ``first`` to ``last`` of all images, with a border.

    ``row``: channels, height, width, pitch, rows and columns with the border, the border on top
    and on the left, 1 for bytes.
    """
    channels, height, width, pitch = row[0], row[1], row[2], row[3]
    down, across, top, left, as_bytes = row[4], row[5], row[6], row[7], row[8]
    inverse, origin = numbers[2], numbers[3]
    zero = np.uint8(origin)
    plane, size = height * width, across * pitch
    held = np.empty(channels * width if as_bytes else 0, np.uint8)
    right = max(0, min(width, across - left))
    begin, end = left * pitch, (left + right) * pitch
    for r in range(first, last):
        image, y = r // down, r % down - top
        inside = 0 <= y < height
        source = carray(pointer32(x + image * channels * plane * 4), channels * plane)
        if not as_bytes:
            line = carray(pointer32(out + r * size * 4), size)
            _clear_around(line, np.float32(0), begin, end, pitch != channels or not inside)
            if inside and plane == 1:
                _line_in(line[begin:], source[: right * channels], 0, 1)
            elif inside:
                _pixels_in(line[begin:], source[y * width :], plane, channels, right, pitch)
            continue
        target = carray(pointer8(out + r * size), size)
        _clear_around(target, zero, begin, end, pitch != channels or not inside)
        if inside and (pitch == 1 or plane == 1):
            given = source[y * width : y * width + right * channels]
            _to_bytes(target[begin : begin + given.size], given, inverse, origin)
        elif inside:
            for c in range(channels):
                at = c * plane + y * width
                _to_bytes(held[c * right : (c + 1) * right], source[at : at + right], inverse,
                          origin)  # fmt: skip
            _pixels_in(target[begin:], held, right, channels, right, pitch)


@kernel
def write_image(row: Any, x: int, out: int, first: int, last: int) -> None:
    """Pixels as planes, from image ``first`` to ``last``; ``row``: channels, pixels, pitch."""
    channels, pixels, pitch = row[0], row[1], row[2]
    for image in range(first, last):
        source = carray(pointer32(x + image * pixels * pitch * 4), pixels * pitch)
        target = carray(pointer32(out + image * pixels * channels * 4), pixels * channels)
        for begin in range(0, channels, 16):
            for p in range(pixels):
                for c in range(begin, min(begin + 16, channels)):
                    target[c * pixels + p] = source[p * pitch + c]


@kernel(noalias=True)
def _add_line(out: Any, x: Any) -> None:
    for c in range(out.size):
        out[c] += x[c]


@kernel
def pool_mean(row: Any, x: int, out: int, first: int, last: int) -> None:
    """The mean of an image's pixels, for images ``first`` to ``last``; ``row``: pixels, pitch."""
    pixels, pitch = row[0], row[1]
    for image in range(first, last):
        source = carray(pointer32(x + image * pixels * pitch * 4), pixels * pitch)
        target = carray(pointer32(out + image * pitch * 4), pitch)
        target[:] = np.float32(0)
        for p in range(pixels):
            _add_line(target, source[p * pitch : (p + 1) * pitch])
        count = np.float32(pixels)
        for c in range(pitch):
            target[c] /= count


@kernel
def _limited(value: Any, low: Any, high: Any) -> Any:
    value = low if value < low else value
    return high if value > high else value


@kernel(noalias=True)
def _sum_floats(out: Any, a: Any, b: Any, low: Any, high: Any) -> None:
    for i in range(out.size):
        out[i] = _limited(a[i] + b[i], low, high)


@kernel(noalias=True)
def _limit_floats(out: Any, a: Any, low: Any, high: Any) -> None:
    for i in range(out.size):
        out[i] = _limited(a[i], low, high)


_TOGETHER, _BLOCK = 256, 2048  # numbers that stay in the first cache


@kernel
def combine(numbers: Any, a: int, b: int, out: int, as_bytes: int, first: int, last: int) -> None:
    """``min(max(a + b, low), high)`` for elements ``first`` to ``last``, as floats and as bytes.

    ``b``, ``out`` and ``as_bytes`` may be 0: nothing is added, or not stored so.
    """
    held = np.empty(_TOGETHER, np.float32)
    for at in range(first, last, _TOGETHER):
        count = min(_TOGETHER, last - at)
        target = carray(pointer32(out + at * 4), count) if out else held[:count]
        left = carray(pointer32(a + at * 4), count)
        if b:
            _sum_floats(target, left, carray(pointer32(b + at * 4), count), numbers[0], numbers[1])
        else:
            _limit_floats(target, left, numbers[0], numbers[1])
        if as_bytes:
            _to_bytes(carray(pointer8(as_bytes + at), count), target, numbers[2], numbers[3])


@kernel(noalias=True)
def _product_line(out: Any, a: Any, b: Any) -> None:
    for c in range(out.size):
        out[c] = a[c] * b[c]


@kernel
def scale(
    row: Any, numbers: Any, x: int, factors: int, out: int, as_bytes: int, first: int, last: int
) -> None:
    """Pixels ``first`` to ``last`` times factors, of which there is one pixel for each image, as
    floats and as bytes; ``row``: pixels of an image, pitch. ``out`` and ``as_bytes`` may be 0."""
    pixels, pitch = row[0], row[1]
    together = max(_BLOCK // pitch, 1)
    held = np.empty(0 if out else together * pitch, np.float32)
    for begin in range(first, last, together):
        count = min(together, last - begin)
        made = carray(pointer32(out + begin * pitch * 4), count * pitch) if out else held
        for p in range(count):
            _product_line(
                made[p * pitch : (p + 1) * pitch],
                carray(pointer32(x + (begin + p) * pitch * 4), pitch),
                carray(pointer32(factors + (begin + p) // pixels * pitch * 4), pitch),
            )
        if as_bytes:
            target = carray(pointer8(as_bytes + begin * pitch), count * pitch)
            _to_bytes(target, made, numbers[2], numbers[3])


@kernel
def place_channels(row: Any, x: int, out: int, first: int, last: int) -> None:
    """Some channels of pixels ``first`` to ``last``; ``row``: channels, pitch, the result's pitch,
    the first channel there."""
    channels, pitch, made, begin = row[0], row[1], row[2], row[3]
    for p in range(first, last):
        source = carray(pointer32(x + p * pitch * 4), channels)
        target = carray(pointer32(out + (p * made + begin) * 4), channels)
        for c in range(channels):
            target[c] = source[c]


# --- Winograd -------------------------------------------------------------------------------------


@functools.cache
def turn_given(made: int) -> Any:
    """The loop that turns tiles of pixels into numbers that are multiplied one by one."""
    width, size = lanes(_FLOAT), made + 2
    transform = transform_of(GIVEN[made], width)

    @kernel
    def turn(
        turned: int, patch: int, x: int, geometry: Any, first: int, last: int, place_step: int
    ) -> None:
        """Tiles ``first`` to ``last`` as ``turned[place][tile][channel]``.

        ``geometry``: height, width, channels, padding on top and on the left, rows and columns of
        tiles; ``patch`` has room for one tile.
        """
        height, across, pitch = geometry[0], geometry[1], geometry[2]
        tiles = geometry[5] * geometry[6]
        border = carray(pointer32(patch), size * size * pitch)
        room = (size * size - 1) * place_step + (last - first) * pitch
        target = carray(pointer32(turned), room)
        for t in range(first, last):
            image, y = t // tiles, t % tiles // geometry[6] * made - geometry[3]
            left = t % geometry[6] * made - geometry[4]
            source = carray(
                pointer32(x + image * height * across * pitch * 4), height * across * pitch
            )
            to = (t - first) * pitch
            inside = y >= 0 and left >= 0 and y + size <= height and left + size <= across
            if inside:
                at = (y * across + left) * pitch
                for c in range(0, pitch, width):
                    transform(target, to + c, size * place_step, place_step, source, at + c,
                              across * pitch, pitch, source, 0)  # fmt: skip
                continue
            for i in range(size):
                for j in range(size):
                    line = border[(i * size + j) * pitch : (i * size + j + 1) * pitch]
                    if 0 <= y + i < height and 0 <= left + j < across:
                        at = ((y + i) * across + left + j) * pitch
                        given = source[at : at + pitch]
                        for c in range(line.size):
                            line[c] = given[c]
                    else:
                        line[:] = np.float32(0)
            for c in range(0, pitch, width):
                transform(target, to + c, size * place_step, place_step, border, c,
                          size * pitch, pitch, border, 0)  # fmt: skip

    return turn


@functools.cache
def turn_made(made: int) -> Any:
    """The loop that turns sums of products into pixels."""
    width, size = lanes(_FLOAT), made + 2
    transform = transform_of(OUT[made], width, has_offset=True)

    @kernel
    def turn(
        sums: int, patch: int, bias: int, geometry: Any, numbers: Any, add: int, out: int,
        as_bytes: int, first: int, last: int, place_step: int,
    ) -> None:  # fmt: skip
        """Tiles ``first`` to ``last`` of ``sums[place][tile][channel]`` as pixels of the result.

        ``geometry``: rows and columns of the result, channels, (two numbers), rows and columns of
        tiles. Each pixel ends as :func:`combine` says.
        """
        height, across, pitch = geometry[0], geometry[1], geometry[2]
        tiles = geometry[5] * geometry[6]
        room = (size * size - 1) * place_step + (last - first) * pitch
        given = carray(pointer32(sums), room)
        offsets = carray(pointer32(bias), pitch)
        block = carray(pointer32(patch), made * made * pitch)
        for t in range(first, last):
            image, y = t // tiles, t % tiles // geometry[6] * made
            left = t % geometry[6] * made
            for c in range(0, pitch, width):
                transform(block, c, made * pitch, pitch, given, (t - first) * pitch + c,
                          size * place_step, place_step, offsets, c)  # fmt: skip
            count = min(made, across - left) * pitch
            for i in range(min(made, height - y)):
                at = ((image * height + y + i) * across + left) * pitch
                combine(
                    numbers, patch + i * made * pitch * 4, add + at * 4 if add else 0,
                    out + at * 4 if out else 0, as_bytes + at if as_bytes else 0, 0, count,
                )  # fmt: skip

    return turn
