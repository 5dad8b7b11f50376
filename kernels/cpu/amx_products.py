"""Matrix products on matrix registers (:mod:`.matrix_products.amx`): bfloat16 with float32 sums,
and float32 as three bfloat16 parts, which is up to twice as fast as with vectors.

float32 products are more exact than MKL's, but their sums are in another order: compiled functions
have them (``MINDTORCH_KERNEL_SUBSTITUTION``), and eager ones where a program allows other products
(``torch.set_float32_matmul_precision``). Parts reach down to 2 ** -126 only:
where operands have no numbers above 2 ** -90, or some that are not finite, other kernels do the
work; a product says afterwards whether it could be done. ``MINDTORCH_AMX=0`` turns all of them off.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel
from mindtorch.kernels.support import precision
from mindtorch.kernels.support.workspace import workspace

from .matrix_products import amx, product_shapes
from .matrix_products import product_loops as loops
from .matrix_products.amx import (
    LINES,
    TERMS,
    add_of,
    block_of,
    configure,
    release,
    split_of,
    step_bytes,
    turn_tile,
)
from .matrix_products.product_loops import (
    A_ALONG,
    A_DOWN,
    B_ALONG,
    B_DOWN,
    BATCH,
    BREADTH,
    DEPTH,
    DIVIDED,
    FORM,
    OFFSET,
    START_DOWN,
    K,
    N,
)  # fmt: skip
from .matrix_products.product_shapes import Matrix, Product
from .matrix_products.product_tile import address_of
from .processor import cache_bytes
from .threads.thread_pool import get_num_threads, parallel_for

HEIGHT = FORM  # the place of how many rows are packed at a time
BFLOAT16, FLOAT32 = np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)
_SERIAL = 4_000_000  # multiplications that one thread does sooner than two
_TERMS_AT_ONCE = 384  # of float32, at most
_LEFT = 4 << 20  # bytes of packed rows that several blocks of columns are multiplied with
_LINE, _BLOCK = 64, 4096  # bytes of a cache line, and of 32 by 32 results
_HALF = LINES // 2
_FINITE, _LEAST, _MOST = 0x7F000000, -90, 126  # bits of 2 ** 127; exponents
# nanoseconds of one multiplication here, with vectors, and with these and a transposed left
# operand, of packing a number and of turning it, of a result, of a call
_HERE, _VECTORS, _TURNED = 1 / 150, 1 / 82, 1 / 72
_PACK, _TURN, _RESULT, _CALL = 0.3, 0.1, 0.1, 4000
_FEW = 1 << 15  # multiplications of bfloat16 that are not worth a call


def _pack_step(parts: int, wide: bool) -> Any:
    split, size = split_of(parts, wide), 4 if wide else 2

    @kernel
    def pack(
        to: int, at: int, line: int, along: int, lines: int, terms: int, words: int, ahead: int,
        largest: int,
    ) -> None:  # fmt: skip
        """One step of an operand: up to 32 lines and terms, ``line`` and ``along`` bytes apart;
        ``words`` says whether words of a row are to be lines; the next one is ``ahead``."""
        rows = _HALF if lines <= _HALF else LINES
        if along == size:
            for i in range(rows):
                count = terms if i < lines else 0
                source = at + i * line
                split(to + i * 64, source, count, source + _HALF * size, count - _HALF,
                      ahead, largest)
        else:
            for first in range(0, rows, _HALF):
                source, count = at + first * size, lines - first
                for j in range(_HALF):
                    here = count if j < terms else 0
                    beyond = count if j + _HALF < terms else 0
                    split(to + (first + j) * 64, source, here, source + _HALF * along, beyond,
                          ahead, largest)
                    source += along
        if words != (along != size):
            for tile in range(2 * parts):
                turn_tile(to + tile * 1024)

    return pack


def _pack_operand(parts: int, wide: bool) -> Any:
    pack, step, size = _pack_step(parts, wide), step_bytes(parts), 4 if wide else 2

    @kernel
    def pack_operand(
        to: int, data: int, line: int, along: int, begin: int, end: int, q: int, k: int,
        steps: int, words: int, largest: int,
    ) -> None:  # fmt: skip
        """Lines ``begin`` to ``end`` of an operand, ``steps`` of terms from ``q`` on, in panels of
        32 lines. Where lines lie side by side, what is near in memory is packed at once."""
        panels = (end - begin + LINES - 1) // LINES
        ahead = TERMS * along if line == size else LINES * line
        for each in range(panels * steps):
            p, s = divmod(each, steps)
            if line == size:
                s, p = divmod(each, panels)
            j, t = begin + p * LINES, q + s * TERMS
            pack(to + (p * steps + s) * step, data + j * line + t * along, line, along,
                 min(LINES, end - j), k - t, words, ahead, largest)

    return pack_operand


@kernel
def _largest(words: Any) -> int:
    most = 0
    for word in words:
        most = max(most, word)
    return most


def _finish(wide: bool, parts: int) -> Any:
    block, add = block_of(parts), add_of(wide)

    @kernel
    def finish(
        rows: int, columns: int, steps: int, left: int, right: int, start: int, start_pitch: int,
        out: int, pitch: int, made: int, zeros: int, direct: bool,
    ) -> None:  # fmt: skip
        """A block of results: at once, or through ``made`` at an edge or for 16-bit results."""
        if direct and rows == LINES and columns == LINES:
            block(2, 2, steps, left, right, start, start_pitch, out, pitch)
        else:
            block((rows + 15) // 16, (columns + 15) // 16, steps, left, right, zeros, 0, made,
                  LINES * 4)
            add(rows, columns, made, start, start_pitch, out, pitch)

    return finish


@functools.cache
def _product(parts: int, wide: bool) -> Any:
    """``run(out, a, b, start, numbers, held, largest, first, last)``: shares of products
    ``out = a @ b + start``; numbers as in :mod:`.matrix_products.product_loops`, ``BREADTH`` in
    panels of 32 columns, and for each share the bits of each operand's largest magnitude."""
    pack, finish = _pack_operand(parts, wide), _finish(wide, parts)
    size, step, share = 4 if wide else 2, step_bytes(parts), loops.share

    @kernel
    def product(
        out: Any, a: Any, b: Any, start: Any, g: Any, held: Any, largest: Any, first: int, last: int
    ) -> None:
        k, pitch, depth, breadth, height = g[K], g[N] * size, g[DEPTH], g[BREADTH], g[HEIGHT]
        room = (min(depth, k) + TERMS - 1) // TERMS * step
        sizes = np.zeros(64, np.int32)
        base = -address_of(held) % _LINE
        made = address_of(held) + base
        held[base + _BLOCK : base + _BLOCK + 2 * _LINE] = 0
        zeros, right = made + _BLOCK, made + _BLOCK + 2 * _LINE
        left = right + breadth * room
        places = -address_of(sizes) % _LINE // 4
        a_sizes = address_of(sizes) + 4 * places
        configure()
        for number in range(last - first if g[DIVIDED] == BATCH else 1):
            out_at, a_at, b_at, start_at, m, n = share(g, first, last, number)
            a_data, b_data = address_of(a) + a_at * size, address_of(b) + b_at * size
            for q in range(0, k, depth):
                steps = (min(depth, k - q) + TERMS - 1) // TERMS
                for i0 in range(0, m, height):
                    i1 = min(m, i0 + height)
                    pack(left, a_data, g[A_DOWN] * size, g[A_ALONG] * size, i0, i1, q, k, steps, 0,
                         a_sizes)
                    for j0 in range(0, n, breadth * LINES):
                        j1 = min(n, j0 + breadth * LINES)
                        if i0 == 0 or n > breadth * LINES:
                            pack(right, b_data, g[B_ALONG] * size, g[B_DOWN] * size, j0, j1, q, k,
                                 steps, 1, a_sizes + _LINE)
                        for i in range(i0, i1, LINES):
                            for j in range(j0, j1, LINES):
                                target = address_of(out) + out_at * size + i * pitch + j * size
                                before, before_pitch = target, pitch
                                if q == 0:
                                    before_pitch = g[START_DOWN] * size
                                    before = i * before_pitch + (start_at + j * g[OFFSET]) * size
                                    before += address_of(start)
                                finish(min(LINES, m - i), min(LINES, n - j), steps,
                                       left + (i - i0) // LINES * steps * step,
                                       right + (j - j0) // LINES * steps * step, before,
                                       before_pitch, target, pitch, made, zeros, wide and q == 0)
        release()
        largest[2 * first] = _largest(sizes[places : places + 16])
        largest[2 * first + 1] = _largest(sizes[places + 16 : places + 32])

    kind = "float32" if wide else "uint16"
    arrays = ", ".join([f"{kind}[::1]"] * 4)
    return entry_point(
        product, f"void({arrays}, int64[::1], uint8[::1], int64[::1], int64, int64)"
    )


@functools.cache
def _nothing(dtype: Any) -> Any:
    return np.zeros(LINES, dtype)


def _numbers(parts: int, given: Product, start: Matrix | None) -> tuple[Any, int, int]:
    """The array that describes a product to its loops, into how many shares it divides, and how
    many bytes a share needs."""
    (m, n, k), batch = given.size, given.batch
    if batch is not None:
        divided, unit, shares = loops.BATCH, 1, int(np.prod(batch.shape))
    elif n >= m:
        divided, unit, shares = loops.COLUMNS, LINES, -(-n // LINES)
    else:
        divided, unit, shares = loops.ROWS, LINES, -(-m // LINES)
    depth = k
    if parts > 1:
        depth = -(-k // -(-k // _TERMS_AT_ONCE) // TERMS) * TERMS
    room = -(-min(depth, k) // TERMS) * step_bytes(parts)
    across, down = -(-n // LINES), -(-m // LINES)
    blocks = -(-across // max(cache_bytes(2) // 2 // room, 1))
    height = 1 if blocks == 1 else min(max(_LEFT // room, 1), down)
    breadth = -(-across // blocks)
    axes = [0] if batch is None else [len(batch.shape), *batch.shape, *batch.a, *batch.b]
    numbers = [m, n, k, *given.a, *given.b, *(start or (0, 0)), height * LINES, 0, depth, breadth]
    held = (breadth + height) * room + _BLOCK + 4 * _LINE
    return np.array([*numbers, divided, unit, *axes], np.int64), shares, held


def _fits(largest: Any, k: int) -> bool:
    """Whether operands with these largest numbers have exact parts, and finite products."""
    a, b = int(largest[::2].max()), int(largest[1::2].max())
    if max(a, b) >= _FINITE:
        return False
    if not a or not b:
        return True
    first, second = (a >> 23) - 127, (b >> 23) - 127
    together = first + second
    return min(first, second, together) >= _LEAST and together + k.bit_length() < _MOST


def _is_worth(given: Product) -> bool:
    """Whether a product of float32 is faster here than with vectors, by an estimate."""
    m, n, k = given.size
    count = 1 if given.batch is None else int(np.prod(given.batch.shape))
    height, width, depth = -(-m // _HALF) * _HALF, -(-n // _HALF) * _HALF, -(-k // TERMS) * TERMS
    pack_a = m * k * (_PACK + _TURN * (given.a.across != 1))
    pack_b = n * k * (_PACK + _TURN * (given.b.across == 1 and n > 1))
    here = height * width * depth * _HERE + pack_a + pack_b + m * n * _RESULT
    with_vectors = m * n * k * (_VECTORS if given.a.across == 1 else _TURNED)
    return count * here + _CALL < 0.85 * count * with_vectors


def plan(
    dtype: Any, given: Product, *, start: Matrix | None = None, always: bool = False,
    lazily: bool = False,
) -> Callable[..., bool] | None:  # fmt: skip
    """``run(out, a, b)``, or with a start ``run(out, a, b, start)``, on flat arrays, which says
    whether it could be done.

    Args:
        start: steps of what is added, as of :func:`products.plan`: a matrix, or a row for all.
        always: also where vectors are estimated to be faster.
        lazily: the kernel is compiled when it first runs.

    Returns:
        None where there are no such registers, where both steps of an operand are longer than one,
        or where it is not worth it.
    """
    m, n, k = given.size
    if dtype not in (FLOAT32, BFLOAT16) or not m * n * k or min(*given.a, *given.b) < 0:
        return None
    if 1 not in given.a or 1 not in given.b or not amx.available():
        return None
    wide = dtype == FLOAT32
    if not always and not (_is_worth(given) if wide else m * n * k >= _FEW):
        return None
    parts = 3 if wide else 1
    numbers, shares, room = _numbers(parts, given, start)
    nothing = _nothing(dtype)
    if not lazily:
        _product(parts, wide)
    alone = (1 if given.batch is None else shares) * m * n * k < _SERIAL

    def product(target: Any, x: Any, y: Any, begun: Any = nothing) -> bool:
        largest = np.zeros(2 * shares, np.int64)

        def part(first: int, last: int) -> None:
            held = workspace(room, np.uint8, "amx")
            _product(parts, wide)(target, x, y, begun, numbers, held, largest, first, last)

        if alone or get_num_threads() == 1:
            part(0, shares)
        else:
            parallel_for(shares, part)
        return not wide or _fits(largest, k)

    return product


def matmul(outs: Any, ins: Any, lazily: bool = False) -> Callable[..., bool] | None:
    """What serves products of float32 in compiled functions, of layouts; None: nothing does."""
    out, (a, b) = outs[0], ins
    if not out.dtype == a.dtype == b.dtype == FLOAT32:
        return None
    return plan(FLOAT32, product_shapes.of_matrices(out, a, b), lazily=lazily)


def linear(outs: Any, ins: Any, lazily: bool = False) -> Callable[..., bool] | None:
    """What serves linear layers of float32 in compiled functions; None: nothing does."""
    x, weight, bias = ins
    given = product_shapes.of_linear(x, weight)
    if given is None or any(a is not None and a.dtype != FLOAT32 for a in (outs[0], *ins)):
        return None
    if bias is not None and bias.strides != (1,):
        return None
    start = None if bias is None else Matrix(0, 1)
    run = plan(FLOAT32, given, start=start, lazily=lazily)
    if run is None or bias is not None:
        return run

    def product(target: Any, x: Any, weight: Any, bias: Any = None) -> bool:
        return run(target, x, weight)

    return product


def where_allowed(own: Any, make: Callable[[Any, Any, bool], Any], outs: Any, ins: Any) -> Any:
    """A plan that runs ``own``, or what ``make`` plans for these layouts while the program allows
    products of another order."""
    quick = None if own is None or outs[0].dtype != FLOAT32 else make(outs, ins, True)
    if quick is None:
        return own

    def run(*flats: Any) -> None:
        if not (precision.tf32 and quick(*flats)):
            own(*flats)

    return run
