"""Recurrent layers over all time steps for CUDA, as the CPU's: rows lie time after time.

    picture   for each time: one product (cuBLAS's, or ours) of the states with the weights, then
              one launch in which a thread makes all gates and the new state of a sample's unit
    memory    no shared memory; neighbouring threads have neighbouring units
    sync      launches follow each other on the stream; nothing is read on the host
    sizes     any; ``sizes`` (of packed sequences) lies on the host. In the backward pass the
              weights' gradient is one product over all times
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import arrays, launch
from .arrays import Array
from .device_math import mathematics
from .launch import cuda
from .matmul import matmul
from .reduction import plan as reduction_plan
from .via_float32 import flat, in_float32


def _lstm(sigmoid: Any, tanh: Any, one: Any) -> Any:
    @launch.kernel
    def forward(count: int, gates: Any, c: Any, h: Any, cells: Any, y: Any, x: Any, hidden: Any,
                start: int, width: int) -> None:  # fmt: skip
        k = cuda.grid(1)
        while k < count:
            i, j = k // width, k % width
            at, own = (start + i) * 4 * width + j, i * 4 * width + j
            a = sigmoid(x[at] + hidden[own])
            f = sigmoid(x[at + width] + hidden[own + width])
            g = tanh(x[at + 2 * width] + hidden[own + 2 * width])
            o = sigmoid(x[at + 3 * width] + hidden[own + 3 * width])
            gates[at], gates[at + width] = a, f
            gates[at + 2 * width], gates[at + 3 * width] = g, o
            c[k] = f * c[k] + a * g
            h[k] = o * tanh(c[k])
            cells[start * width + k] = c[k]
            y[start * width + k] = h[k]
            k = launch.following(k, count)

    @launch.kernel
    def backward(count: int, gx: Any, dh: Any, dc: Any, gy: Any, gates: Any, cells: Any,
                 before: Any, start: int, width: int) -> None:  # fmt: skip
        k = cuda.grid(1)
        while k < count:
            at, row = (start + k // width) * 4 * width + k % width, start * width + k
            a, f = gates[at], gates[at + width]
            g, o = gates[at + 2 * width], gates[at + 3 * width]
            slope, bent = dh[k] + gy[row], tanh(cells[row])
            inner = dc[k] + slope * o * (one - bent * bent)
            gx[at + 3 * width] = slope * bent * o * (one - o)
            gx[at] = inner * g * a * (one - a)
            gx[at + 2 * width] = inner * a * (one - g * g)
            gx[at + width] = inner * before[row] * f * (one - f)
            dc[k] = inner * f
            k = launch.following(k, count)

    return forward, backward


def _gru(sigmoid: Any, tanh: Any, one: Any) -> Any:
    @launch.kernel
    def forward(count: int, gates: Any, h: Any, y: Any, x: Any, hidden: Any, bias: Any,
                biased: int, start: int, width: int) -> None:  # fmt: skip
        k = cuda.grid(1)
        while k < count:
            i, j = k // width, k % width
            at, own = (start + i) * 3 * width + j, i * 3 * width + j
            to = (start + i) * 4 * width + j
            hr, hz, hn = hidden[own], hidden[own + width], hidden[own + 2 * width]
            if biased:
                hr += bias[j]
                hz += bias[j + width]
                hn += bias[j + 2 * width]
            r, z = sigmoid(x[at] + hr), sigmoid(x[at + width] + hz)
            n = tanh(x[at + 2 * width] + r * hn)
            gates[to], gates[to + width] = r, z
            gates[to + 2 * width], gates[to + 3 * width] = n, hn
            h[k] = (h[k] - n) * z + n
            y[start * width + k] = h[k]
            k = launch.following(k, count)

    @launch.kernel
    def backward(count: int, gx: Any, gm: Any, dh: Any, gy: Any, gates: Any, before: Any,
                 start: int, width: int) -> None:  # fmt: skip
        k = cuda.grid(1)
        while k < count:
            i, j = k // width, k % width
            at, to = (start + i) * 3 * width + j, (start + i) * 4 * width + j
            r, z = gates[to], gates[to + width]
            n, m = gates[to + 2 * width], gates[to + 3 * width]
            slope = dh[k] + gy[start * width + k]
            gz = slope * (before[start * width + k] - n) * z * (one - z)
            gn = slope * (one - z) * (one - n * n)
            gr = gn * m * r * (one - r)
            gx[at], gx[at + width], gx[at + 2 * width] = gr, gz, gn
            gm[at], gm[at + width], gm[at + 2 * width] = gr, gz, gn * r
            dh[k] = slope * z
            k = launch.following(k, count)

    return forward, backward


def _simple(tanh: Any, one: Any) -> Any:
    zero = one - one

    @launch.kernel
    def forward(count: int, h: Any, y: Any, x: Any, hidden: Any, bend: int, start: int,
                width: int) -> None:  # fmt: skip
        k = cuda.grid(1)
        while k < count:
            value = x[start * width + k] + hidden[k]
            if bend:
                h[k] = tanh(value)
            else:
                h[k] = zero if value < zero else value
            y[start * width + k] = h[k]
            k = launch.following(k, count)

    @launch.kernel
    def backward(count: int, gx: Any, dh: Any, gy: Any, y: Any, bend: int, start: int,
                 width: int) -> None:  # fmt: skip
        k = cuda.grid(1)
        while k < count:
            value, slope = y[start * width + k], dh[k] + gy[start * width + k]
            if bend:
                gx[start * width + k] = slope * (one - value * value)
            else:
                gx[start * width + k] = zero if value <= zero else slope
            k = launch.following(k, count)

    return forward, backward


@launch.kernel
def _gathered(count: int, out: Any, y: Any, first: Any, places: Any, width: int) -> None:
    """Rows of ``y`` by ``places``; a negative place ``~i`` is row i of ``first``."""
    k = cuda.grid(1)
    while k < count:
        place, j = places[k // width], k % width
        if place >= 0:
            out[k] = y[place * width + j]
        else:
            out[k] = first[(-1 - place) * width + j]
        k = launch.following(k, count)


@launch.kernel
def _added(count: int, target: Any, values: Any) -> None:
    k = cuda.grid(1)
    while k < count:
        target[k] += values[k]
        k = launch.following(k, count)


@functools.cache
def _cells(dtype: Any) -> Any:
    """(forward, backward) of each kind of network for an element type."""
    if dtype.name not in ("float32", "float64"):
        raise NotImplementedError(f"recurrent layers for {dtype} are not implemented on CUDA")
    own, one = mathematics(dtype), dtype.type(1)
    exp, tanh = own["exp"], own["tanh"]

    @launch.device
    def sigmoid(x: Any) -> Any:
        return one / (one + exp(-x))

    return {"lstm": _lstm(sigmoid, tanh, one), "gru": _gru(sigmoid, tanh, one),
            "simple": _simple(tanh, one)}  # fmt: skip


def _steps(sizes: Any, rows: int, batch: int, reverse: bool) -> list[tuple[int, int]]:
    """Where each time's rows begin and how many there are, in the order of computing."""
    if sizes is None:
        counts = np.full(rows // batch if batch else 0, batch, np.int64)
    else:
        counts = np.asarray(sizes.flat)[: sizes.size]
    found = list(zip((np.cumsum(counts) - counts).tolist(), counts.tolist(), strict=True))
    return found[::-1] if reverse else found


def _part(x: Array, start: int, rows: int) -> Array:
    """Rows of a dense matrix."""
    return Array(x.flat[start * x.shape[1] :], (rows, x.shape[1]))


def _before(y: Any, first: Any, steps: list[tuple[int, int]]) -> Array:
    """For each row the state before it: of the time that was computed before, or ``first``'s."""
    places = np.empty(y.shape[0], np.int64)
    previous = (0, 0)
    for start, rows in steps:
        known = min(previous[1], rows)
        places[start : start + known] = np.arange(previous[0], previous[0] + known)
        places[start + known : start + rows] = ~np.arange(known, rows)
        previous = (start, rows)
    out, width = arrays.empty(y.shape, y.dtype), y.shape[1]
    launch.each(_gathered, out.size, out.flat, flat(y), flat(first), arrays.upload(places), width)
    return out


def _start(target: Array, given: Any) -> None:
    if given is None:
        arrays.fill(target, 0)
    else:
        arrays.assign(target, given)


def _given(gradient: Any, like: Array) -> Any:
    """The gradient of a result flat, zeros where there is none."""
    return arrays.zeros(like.shape, like.dtype).flat if gradient is None else flat(gradient)


@in_float32
def lstm(outs: Any, x: Any, h: Any, c: Any, weight: Any, sizes: Any, *, reverse: bool) -> None:
    """``outs`` = states of all rows, last h, last c, activated gates, c of all rows."""
    y, last_h, last_c, gates, cells = outs
    arrays.assign(last_h, h)
    arrays.assign(last_c, c)
    width, given = h.shape[1], flat(x)
    hidden = arrays.empty((h.shape[0], 4 * width), y.dtype)
    turned = weight.permute((1, 0))
    for start, rows in _steps(sizes, x.shape[0], h.shape[0], reverse):
        matmul(_part(hidden, 0, rows), _part(last_h, 0, rows), turned)
        launch.each(_cells(y.dtype)["lstm"][0], rows * width, gates.flat, last_c.flat, last_h.flat,
                    cells.flat, y.flat, given, hidden.flat, start, width)  # fmt: skip


@in_float32
def lstm_gradient(
    outs: Any, gy: Any, gh: Any, gc: Any, y: Any, gates: Any, cells: Any, h: Any, c: Any,
    weight: Any, sizes: Any, *, reverse: bool,
) -> None:  # fmt: skip
    """``outs`` = gradients for (x, h, c, weight) of :func:`lstm`."""
    gx, dh, dc, gw = outs
    steps = _steps(sizes, y.shape[0], h.shape[0], reverse)
    _start(dh, gh)
    _start(dc, gc)
    width, slopes = h.shape[1], _given(gy, y)
    own, states, before = flat(gates), flat(cells), _before(cells, c, steps)
    for start, rows in reversed(steps):
        launch.each(_cells(gx.dtype)["lstm"][1], rows * width, gx.flat, dh.flat, dc.flat, slopes,
                    own, states, before.flat, start, width)  # fmt: skip
        matmul(_part(dh, 0, rows), _part(gx, start, rows), weight)
    matmul(gw, gx.permute((1, 0)), _before(y, h, steps))


@in_float32
def gru(outs: Any, x: Any, h: Any, weight: Any, bias: Any, sizes: Any, *, reverse: bool) -> None:
    """``outs`` = states of all rows, last state, gates with the hidden part of the candidate."""
    y, last, gates = outs
    arrays.assign(last, h)
    width, given = h.shape[1], flat(x)
    hidden = arrays.empty((h.shape[0], 3 * width), y.dtype)
    shift = hidden.flat if bias is None else flat(bias)
    turned = weight.permute((1, 0))
    for start, rows in _steps(sizes, x.shape[0], h.shape[0], reverse):
        matmul(_part(hidden, 0, rows), _part(last, 0, rows), turned)
        launch.each(_cells(y.dtype)["gru"][0], rows * width, gates.flat, last.flat, y.flat, given,
                    hidden.flat, shift, int(bias is not None), start, width)  # fmt: skip


@in_float32
def gru_gradient(
    outs: Any, gy: Any, gh: Any, y: Any, gates: Any, h: Any, weight: Any, sizes: Any,
    *, reverse: bool,
) -> None:  # fmt: skip
    """``outs`` = gradients for (x, h, weight, bias) of :func:`gru`."""
    gx, dh, gw, gb = outs
    steps = _steps(sizes, y.shape[0], h.shape[0], reverse)
    _start(dh, gh)
    width, slopes, own = h.shape[1], _given(gy, y), flat(gates)
    inner, before = arrays.empty(gx.shape, gx.dtype), _before(y, h, steps)
    back = arrays.empty(h.shape, gx.dtype)
    for start, rows in reversed(steps):
        launch.each(_cells(gx.dtype)["gru"][1], rows * width, gx.flat, inner.flat, dh.flat, slopes,
                    own, before.flat, start, width)  # fmt: skip
        matmul(_part(back, 0, rows), _part(inner, start, rows), weight)
        launch.each(_added, rows * width, dh.flat, back.flat)
    matmul(gw, inner.permute((1, 0)), before)
    reduction_plan("sum", (gb,), (inner,), axis=(0,), keepdims=False)(gb.flat, inner.flat)


@in_float32
def simple(
    outs: Any, x: Any, h: Any, weight: Any, sizes: Any, *, reverse: bool, nonlinearity: str
) -> None:
    """``outs`` = states of all rows, last state."""
    y, last = outs
    arrays.assign(last, h)
    width, given = h.shape[1], flat(x)
    hidden, turned = arrays.empty(h.shape, y.dtype), weight.permute((1, 0))
    for start, rows in _steps(sizes, x.shape[0], h.shape[0], reverse):
        matmul(_part(hidden, 0, rows), _part(last, 0, rows), turned)
        launch.each(_cells(y.dtype)["simple"][0], rows * width, last.flat, y.flat, given,
                    hidden.flat, int(nonlinearity == "tanh"), start, width)  # fmt: skip


@in_float32
def simple_gradient(
    outs: Any, gy: Any, gh: Any, y: Any, h: Any, weight: Any, sizes: Any, *, reverse: bool,
    nonlinearity: str,
) -> None:  # fmt: skip
    """``outs`` = gradients for (x, h, weight) of :func:`simple`."""
    gx, dh, gw = outs
    steps = _steps(sizes, y.shape[0], h.shape[0], reverse)
    _start(dh, gh)
    width, slopes, states = h.shape[1], _given(gy, y), flat(y)
    for start, rows in reversed(steps):
        launch.each(_cells(gx.dtype)["simple"][1], rows * width, gx.flat, dh.flat, slopes, states,
                    int(nonlinearity == "tanh"), start, width)  # fmt: skip
        matmul(_part(dh, 0, rows), _part(gx, start, rows), weight)
    matmul(gw, gx.permute((1, 0)), _before(y, h, steps))
