"""Recurrent layers over all time steps: LSTM, GRU and the simple network, forward and backward.

The input's part of the gates comes computed (``x``, a row for each sample at each time). Rows lie
time after time; step ``t`` has ``sizes[t]`` of them and begins at row ``starts[t]``, so a packed
sequence is no special case. Within a row the gates follow each other, ``width`` elements each.
A sample's state stays what it was at times where the sample has no row.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from .matmul import add_thin, is_thin, matmul
from .matrix_products import openblas, products
from .matrix_products.openblas import gemm
from .matrix_products.panel_product import panels_of, whole
from .scalar_math.float32_math import exp32, tanh32
from .scalar_math.float64_math import exp64, tanh64
from .threads.thread_pool import get_num_threads, parallel_for
from .vectors import simd
from .via_float32 import flat, in_float32

# multiplications of a step, for each gate, that one thread does sooner than two
_SERIAL = 50_000
_SMALL = 1_000_000  # multiplications up to which BLAS does not pack
_STEPS = 8  # for which weights are laid out
_DEPTH = 192  # terms of a sum that are added up before they are added to others
_ROWS = 8  # sequences of a thread that are worth reading all weights for


@kernel
def _previous(found: Any, y: Any, first: Any, starts: Any, sizes: Any, width: int,
              reverse: int) -> None:  # fmt: skip
    """``found`` = for each row the state before it: an earlier row of ``y``, or one of ``first``.
    """
    steps = sizes.size
    for t in range(steps):
        before = t + 1 if reverse else t - 1
        known = sizes[before] if 0 <= before < steps else 0
        known = min(known, sizes[t])
        target = found[starts[t] * width : (starts[t] + sizes[t]) * width]
        if known:
            source = y[starts[before] * width :]
            for j in range(known * width):
                target[j] = source[j]
        for j in range(known * width, sizes[t] * width):
            target[j] = first[j]


@kernel
def _add_rows(target: Any, x: Any, bias: Any, rows: int, width: int) -> None:
    """``target = x + bias``, either of which may be empty."""
    for i in range(rows):
        row = target[i * width : (i + 1) * width]
        if x.size:
            source = x[i * width : (i + 1) * width]
            for j in range(width):
                row[j] = source[j]
        else:
            for j in range(width):
                row[j] = 0
        if bias.size:
            for j in range(width):
                row[j] += bias[j]


@kernel
def _accumulate(target: Any, values: Any, count: int) -> None:
    for j in range(count):
        target[j] += values[j]


@kernel
def _copy(target: Any, values: Any, count: int) -> None:
    for j in range(count):
        target[j] = values[j]


@kernel
def _column_sums(out: Any, rows: Any, width: int) -> None:
    for j in range(width):
        out[j] = 0
    for i in range(rows.size // width):
        _accumulate(out, rows[i * width :], width)


@kernel
def _turned(weight: Any, n: int, width: int) -> Any:
    """The weights turned over: BLAS has a kernel of its own for small products, without packing."""
    turned = np.empty(weight.size, weight.dtype)
    for first in range(0, n, 16):
        for j in range(width):
            for i in range(first, min(first + 16, n)):
                turned[j * n + i] = weight[i * width + j]
    return turned


PLAIN, TURNED, PACKED = range(3)  # how weights lie: as given, turned over, in panels


class _Products(NamedTuple):
    """Kernels of the products of a step, and what lays out their weights once for all steps."""

    laid: Any
    add: Any
    laid_back: Any
    state_gradient: Any


def _layouts(lanes: int) -> tuple[Any, Any]:
    """What lays out weights for vectors of ``lanes`` numbers, forward and backward."""
    panels = panels_of(lanes)
    pack_turned, pack_panels = panels.pack_turned, panels.pack_panels

    @kernel
    def laid(weight: Any, n: int, width: int, rows: int, steps: int, packs: int) -> Any:
        """The weights of a loop's products ``h @ weight.T``, and how they lie."""
        if steps < _STEPS or is_thin(rows, n, width):
            return weight, PLAIN
        if rows * n * width <= _SMALL:
            return _turned(weight, n, width), TURNED
        if not packs:
            return weight, PLAIN
        packed = np.empty(whole(n, lanes) * width, weight.dtype)
        for q in range(0, width, _DEPTH):
            count = min(_DEPTH, width - q)
            pack_turned(packed[q * whole(n, lanes) :], weight, q, width, n, n, count)
        return packed, PACKED

    @kernel
    def laid_back(weight: Any, n: int, width: int, rows: int, steps: int, packs: int) -> Any:
        """The weights of a loop's products ``gates @ weight``, and how they lie."""
        small = rows * n * width <= _SMALL
        if steps < _STEPS or is_thin(rows, width, n) or small or not packs:
            return weight, PLAIN
        packed = np.empty(whole(width, lanes) * n, weight.dtype)
        for q in range(0, n, _DEPTH):
            pack_panels(packed, q * whole(width, lanes), weight, q * width, width, width,
                        min(_DEPTH, n - q))  # fmt: skip
        return packed, PACKED

    return laid, laid_back


def _products(lanes: int) -> _Products:
    """Those for vectors of ``lanes`` numbers."""
    product = panels_of(lanes).product

    @kernel
    def add(out: Any, h: Any, weight: Any, rows: int, n: int, width: int, way: int) -> None:
        if way == PACKED:
            for q in range(0, width, _DEPTH):
                count = min(_DEPTH, width - q)
                product(out, 0, n, h, q, width, 1, weight, q * whole(n, lanes), 0, rows, n, n,
                        count, 1)  # fmt: skip
        elif way == PLAIN and is_thin(rows, n, width):
            add_thin(out, h, weight, rows, n, width, 0, width, 1, width, n)
        else:
            turned = int(way == PLAIN)
            gemm(0, turned, rows, n, width, 1.0, h, width, weight, width if turned else n, 1.0, out,
                 n)  # fmt: skip

    @kernel
    def state_gradient(
        out: Any, gates: Any, weight: Any, rows: int, n: int, width: int, beta: float, way: int
    ) -> None:
        """``out = gates @ weight + beta * out`` of the ``n`` gradients of each row; beta is 0 or 1.
        """
        if way == PACKED:
            for q in range(0, n, _DEPTH):
                count, adds = min(_DEPTH, n - q), int(q > 0 or beta > 0)
                product(out, 0, width, gates, q, n, 1, weight, q * whole(width, lanes), 0, rows,
                        width, width, count, adds)  # fmt: skip
        elif is_thin(rows, width, n):
            if beta == 0:
                for j in range(rows * width):
                    out[j] = 0
            add_thin(out, gates, weight, rows, width, n, 0, n, 0, width, width)
        else:
            gemm(0, 0, rows, width, n, 1.0, gates, n, weight, width, beta, out, width)

    laid, laid_back = _layouts(lanes)
    return _Products(laid, add, laid_back, state_gradient)


def _lstm(sigmoid: Any, tanh: Any, kernels: _Products) -> Any:
    laid, add, laid_back, state_gradient = kernels

    @kernel
    def cell(gates: Any, c: Any, y: Any, width: int) -> None:
        """One row: ``gates`` become activated, ``c`` and ``y`` the new states."""
        i, f, g, o = gates[:width], gates[width:], gates[2 * width :], gates[3 * width :]
        for j in range(2 * width):
            gates[j] = sigmoid(gates[j])
        for j in range(width):
            g[j] = tanh(g[j])
        for j in range(width):
            o[j] = sigmoid(o[j])
        for j in range(width):
            c[j] = f[j] * c[j] + i[j] * g[j]
        for j in range(width):
            y[j] = o[j] * tanh(c[j])

    @kernel
    def forward(
        y: Any, h: Any, c: Any, gates: Any, cells: Any, x: Any, weight: Any, starts: Any,
        sizes: Any, width: int, first: int, last: int, packs: int, reverse: int,
    ) -> None:  # fmt: skip
        steps = sizes.size
        weight, way = laid(weight, 4 * width, width, last - first, steps, packs)
        for k in range(steps):
            t = steps - 1 - k if reverse else k
            rows, start = max(min(sizes[t], last) - first, 0), starts[t] + first
            block = gates[start * 4 * width :]
            _copy(block, x[start * 4 * width :], rows * 4 * width)
            add(block, h, weight, rows, 4 * width, width, way)
            for i in range(rows):
                cell(block[i * 4 * width :], c[i * width :], y[(start + i) * width :], width)
            _copy(h, y[start * width :], rows * width)
            _copy(cells[start * width :], c, rows * width)

    @kernel(noalias=True)
    def cell_backward(
        gi: Any, gf: Any, gg: Any, go: Any, dh: Any, dc: Any, i: Any, f: Any, g: Any, o: Any,
        cell: Any, before: Any, width: int,
    ) -> None:  # fmt: skip
        one = gi.dtype.type(1)
        for j in range(width):
            bent = tanh(cell[j])
            go[j] = dh[j] * bent * o[j] * (one - o[j])
            slope = dc[j] + dh[j] * o[j] * (one - bent * bent)
            gi[j] = slope * g[j] * i[j] * (one - i[j])
            gg[j] = slope * i[j] * (one - g[j] * g[j])
            gf[j] = slope * before[j] * f[j] * (one - f[j])
            dc[j] = slope * f[j]

    @kernel
    def backward(
        gx: Any, dh: Any, dc: Any, gy: Any, gates: Any, cells: Any, before: Any, weight: Any,
        starts: Any, sizes: Any, width: int, first: int, last: int, packs: int, reverse: int,
    ) -> None:  # fmt: skip
        steps = sizes.size
        weight, way = laid_back(weight, 4 * width, width, last - first, steps, packs)
        for k in range(steps):
            t = k if reverse else steps - 1 - k
            rows, start = max(min(sizes[t], last) - first, 0), starts[t] + first
            _accumulate(dh, gy[start * width :], rows * width)
            for i in range(rows):
                at = (start + i) * width
                gate, slope = gates[4 * at :], gx[4 * at :]
                cell_backward(
                    slope, slope[width:], slope[2 * width :], slope[3 * width :], dh[i * width :],
                    dc[i * width :], gate, gate[width:], gate[2 * width :], gate[3 * width :],
                    cells[at:], before[at:], width,
                )  # fmt: skip
            state_gradient(dh, gx[start * 4 * width :], weight, rows, 4 * width, width, 0.0, way)

    return forward, backward


def _gru(sigmoid: Any, tanh: Any, kernels: _Products) -> Any:
    laid, add, laid_back, state_gradient = kernels

    @kernel
    def cell(gates: Any, x: Any, hidden: Any, h: Any, y: Any, width: int) -> None:
        """One row: ``gates`` = reset, update, candidate, and the candidate's part of ``hidden``."""
        r, z, n, m = gates[:width], gates[width:], gates[2 * width :], gates[3 * width :]
        xn, hn = x[2 * width :], hidden[2 * width :]
        for j in range(2 * width):
            gates[j] = sigmoid(x[j] + hidden[j])
        for j in range(width):
            m[j] = hn[j]
        for j in range(width):
            n[j] = tanh(xn[j] + r[j] * hn[j])
        for j in range(width):
            y[j] = (h[j] - n[j]) * z[j] + n[j]

    @kernel
    def forward(
        y: Any, h: Any, gates: Any, x: Any, weight: Any, bias: Any, starts: Any, sizes: Any,
        width: int, first: int, last: int, packs: int, reverse: int,
    ) -> None:  # fmt: skip
        steps = sizes.size
        weight, way = laid(weight, 3 * width, width, last - first, steps, packs)
        hidden = np.empty(3 * h.size, y.dtype)
        nothing = x[:0]
        for k in range(steps):
            t = steps - 1 - k if reverse else k
            rows, start = max(min(sizes[t], last) - first, 0), starts[t] + first
            _add_rows(hidden, nothing, bias, rows, 3 * width)
            add(hidden, h, weight, rows, 3 * width, width, way)
            for i in range(rows):
                at = (start + i) * width
                cell(gates[4 * at :], x[3 * at :], hidden[3 * i * width :], h[i * width :], y[at:],
                     width)  # fmt: skip
            _copy(h, y[start * width :], rows * width)

    @kernel
    def cell_backward(
        gx: Any, gm: Any, dh: Any, gates: Any, before: Any, width: int
    ) -> None:
        """``gx`` for the input's part, ``gm`` for the hidden part; ``dh`` keeps what ``z`` lets
        pass."""
        one = gx.dtype.type(1)
        r, z, n, m = gates[:width], gates[width:], gates[2 * width :], gates[3 * width :]
        gr, gz, gn = gx[:width], gx[width:], gx[2 * width :]
        gmn = gm[2 * width :]
        for j in range(width):
            gz[j] = dh[j] * (before[j] - n[j]) * z[j] * (one - z[j])
        for j in range(width):
            gn[j] = dh[j] * (one - z[j]) * (one - n[j] * n[j])
        for j in range(width):
            gr[j] = gn[j] * m[j] * r[j] * (one - r[j])
        for j in range(width):
            gmn[j] = gn[j] * r[j]
        _copy(gm, gx, 2 * width)
        for j in range(width):
            dh[j] *= z[j]

    @kernel
    def backward(
        gx: Any, gm: Any, dh: Any, gy: Any, gates: Any, before: Any, weight: Any, starts: Any,
        sizes: Any, width: int, first: int, last: int, packs: int, reverse: int,
    ) -> None:  # fmt: skip
        steps = sizes.size
        weight, way = laid_back(weight, 3 * width, width, last - first, steps, packs)
        for k in range(steps):
            t = k if reverse else steps - 1 - k
            rows, start = max(min(sizes[t], last) - first, 0), starts[t] + first
            _accumulate(dh, gy[start * width :], rows * width)
            for i in range(rows):
                at = (start + i) * width
                cell_backward(gx[3 * at :], gm[3 * at :], dh[i * width :], gates[4 * at :],
                              before[at:], width)  # fmt: skip
            state_gradient(dh, gm[start * 3 * width :], weight, rows, 3 * width, width, 1.0, way)

    return forward, backward


def _simple(tanh: Any, kernels: _Products) -> Any:
    laid, add, laid_back, state_gradient = kernels

    @kernel
    def forward(
        y: Any, h: Any, x: Any, weight: Any, starts: Any, sizes: Any, width: int, first: int,
        last: int, packs: int, reverse: int, bend: int,
    ) -> None:  # fmt: skip
        steps = sizes.size
        weight, way = laid(weight, width, width, last - first, steps, packs)
        zero = y.dtype.type(0)
        for k in range(steps):
            t = steps - 1 - k if reverse else k
            rows, start = max(min(sizes[t], last) - first, 0), starts[t] + first
            block = y[start * width :]
            _copy(block, x[start * width :], rows * width)
            add(block, h, weight, rows, width, width, way)
            if bend:
                for j in range(rows * width):
                    block[j] = tanh(block[j])
            else:
                for j in range(rows * width):
                    block[j] = zero if block[j] < zero else block[j]
            _copy(h, block, rows * width)

    @kernel
    def backward(
        gx: Any, dh: Any, gy: Any, y: Any, weight: Any, starts: Any, sizes: Any, width: int,
        first: int, last: int, packs: int, reverse: int, bend: int,
    ) -> None:  # fmt: skip
        steps = sizes.size
        weight, way = laid_back(weight, width, width, last - first, steps, packs)
        zero, one = y.dtype.type(0), y.dtype.type(1)
        for k in range(steps):
            t = k if reverse else steps - 1 - k
            rows, start = max(min(sizes[t], last) - first, 0), starts[t] + first
            _accumulate(dh, gy[start * width :], rows * width)
            value, target = y[start * width :], gx[start * width :]
            if bend:
                for j in range(rows * width):
                    target[j] = dh[j] * (one - value[j] * value[j])
            else:
                for j in range(rows * width):
                    target[j] = zero if value[j] <= zero else dh[j]
            state_gradient(dh, target, weight, rows, width, width, 0.0, way)

    return forward, backward


@kernel(inline="always")
def _sigmoid32(x: Any) -> Any:
    return np.float32(1) / (np.float32(1) + exp32(-x))


@kernel(inline="always")
def _sigmoid64(x: Any) -> Any:
    return 1.0 / (1.0 + exp64(-x))


@functools.cache
def _loops(single: bool) -> Any:
    """(forward, backward) of each kind of network for an element type."""
    openblas.library()
    sigmoid, tanh = (_sigmoid32, tanh32) if single else (_sigmoid64, tanh64)
    kernels = _products(simd.lanes(np.float32 if single else np.float64))
    return {
        "lstm": _lstm(sigmoid, tanh, kernels), "gru": _gru(sigmoid, tanh, kernels),
        "simple": _simple(tanh, kernels),
    }  # fmt: skip


def _run(
    kind: str, backward: bool, arrays: tuple[Any, ...], states: slice, steps: Any, h: Any,
    *flags: int,
) -> None:  # fmt: skip
    """One of the loops; threads have sequences of their own where there are many.

    Args:
        arrays: the loop's, flat; ``states``: which of them have a row for each sequence.
        steps: where each step begins, and how many rows it has.
        h: the first states.
    """
    batch, width = h.shape
    loop = _loops(arrays[0].dtype == np.float32)[kind][int(backward)]

    def part(first: int, last: int, packs: int = int(products.enabled())) -> None:
        own = list(arrays)
        if first:
            own[states] = [each[first * width :] for each in own[states]]
        loop(*own, *steps, width, first, last, packs, *flags)

    if batch * width * width < _SERIAL or get_num_threads() == 1:
        part(0, batch)
    elif batch >= get_num_threads() * _ROWS:
        parallel_for(batch, part)
    else:
        with openblas.together():
            part(0, batch, 0)


def _steps(sizes: Any, rows: int, batch: int) -> tuple[Any, Any]:
    """Where each step begins and how many rows it has."""
    if sizes is None:
        counts = np.full(rows // batch if batch else 0, batch, np.int64)
    else:
        counts = np.ascontiguousarray(sizes)
    return np.cumsum(counts) - counts, counts


def _given(gradient: Any, like: Any) -> Any:
    """The gradient of a result flat, zeros where there is none."""
    return np.zeros(like.size, like.dtype) if gradient is None else flat(gradient)


@in_float32
def lstm(outs: Any, x: Any, h: Any, c: Any, weight: Any, sizes: Any, *, reverse: bool) -> None:
    """``outs`` = states of all rows, last h, last c, activated gates, c of all rows."""
    y, last_h, last_c, gates, cells = outs
    last_h[...], last_c[...] = h, c
    arrays = (*[o.reshape(-1) for o in (y, last_h, last_c, gates, cells)], flat(x), flat(weight))
    _run("lstm", False, arrays, slice(1, 3), _steps(sizes, len(x), len(h)), h, int(reverse))


def _before(y: Any, first: Any, starts: Any, sizes: Any, reverse: bool) -> Any:
    found = np.empty(y.shape, y.dtype)
    _previous(found.reshape(-1), flat(y), flat(first), starts, sizes, y.shape[1], int(reverse))
    return found


@in_float32
def lstm_gradient(
    outs: Any, gy: Any, gh: Any, gc: Any, y: Any, gates: Any, cells: Any, h: Any, c: Any,
    weight: Any, sizes: Any, *, reverse: bool,
) -> None:  # fmt: skip
    """``outs`` = gradients for (x, h, c, weight) of :func:`lstm`."""
    gx, dh, dc, gw = outs
    steps = _steps(sizes, len(y), len(h))
    dh[...], dc[...] = 0 if gh is None else gh, 0 if gc is None else gc
    arrays = (
        gx.reshape(-1), dh.reshape(-1), dc.reshape(-1), _given(gy, y), flat(gates), flat(cells),
        _before(cells, c, *steps, reverse).reshape(-1), flat(weight),
    )  # fmt: skip
    _run("lstm", True, arrays, slice(1, 3), steps, h, int(reverse))
    matmul(gw, gx.T, _before(y, h, *steps, reverse))


@in_float32
def gru(outs: Any, x: Any, h: Any, weight: Any, bias: Any, sizes: Any, *, reverse: bool) -> None:
    """``outs`` = states of all rows, last state, gates with the hidden part of the candidate."""
    y, last, gates = outs
    last[...] = h
    arrays = (
        y.reshape(-1), last.reshape(-1), gates.reshape(-1), flat(x), flat(weight),
        np.empty(0, y.dtype) if bias is None else flat(bias),
    )
    _run("gru", False, arrays, slice(1, 2), _steps(sizes, len(x), len(h)), h, int(reverse))


@in_float32
def gru_gradient(
    outs: Any, gy: Any, gh: Any, y: Any, gates: Any, h: Any, weight: Any, sizes: Any,
    *, reverse: bool,
) -> None:  # fmt: skip
    """``outs`` = gradients for (x, h, weight, bias) of :func:`gru`."""
    gx, dh, gw, gb = outs
    steps = _steps(sizes, len(y), len(h))
    dh[...] = 0 if gh is None else gh
    inner, before = np.empty(gx.shape, gx.dtype), _before(y, h, *steps, reverse)
    arrays = (
        gx.reshape(-1), inner.reshape(-1), dh.reshape(-1), _given(gy, y), flat(gates),
        before.reshape(-1), flat(weight),
    )  # fmt: skip
    _run("gru", True, arrays, slice(2, 3), steps, h, int(reverse))
    matmul(gw, inner.T, before)
    _column_sums(gb, inner.reshape(-1), gb.size)


@in_float32
def simple(
    outs: Any, x: Any, h: Any, weight: Any, sizes: Any, *, reverse: bool, nonlinearity: str
) -> None:
    """``outs`` = states of all rows, last state."""
    y, last = outs
    last[...] = h
    arrays = (y.reshape(-1), last.reshape(-1), flat(x), flat(weight))
    steps, flags = _steps(sizes, len(x), len(h)), (int(reverse), int(nonlinearity == "tanh"))
    _run("simple", False, arrays, slice(1, 2), steps, h, *flags)


@in_float32
def simple_gradient(
    outs: Any, gy: Any, gh: Any, y: Any, h: Any, weight: Any, sizes: Any, *, reverse: bool,
    nonlinearity: str,
) -> None:  # fmt: skip
    """``outs`` = gradients for (x, h, weight) of :func:`simple`."""
    gx, dh, gw = outs
    steps = _steps(sizes, len(y), len(h))
    dh[...] = 0 if gh is None else gh
    arrays = (gx.reshape(-1), dh.reshape(-1), _given(gy, y), flat(y), flat(weight))
    flags = int(reverse), int(nonlinearity == "tanh")
    _run("simple", True, arrays, slice(1, 2), steps, h, *flags)
    matmul(gw, gx.T, _before(y, h, *steps, reverse))
