"""Convolution over one to three spatial axes, and its two gradients.

All three are sums over register tiles that read a padded copy of the image through tables of places
(:mod:`convolution_loops`). A tap is a channel and a place within the window:

    forward            out[n, o, p] = bias[o] + sum over taps of weight[o, tap] * x[n, p + tap]
    input gradient     the same over the padded gradient; each residue of the stride on its own
    weight gradient    out[o, tap] = sum over n and p of g[n, o, p] * x[n, p + tap]

Depthwise convolutions have loops of their own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.support.workspace import workspace

from . import winograd
from .convolutions import bfloat16_convolution
from .convolutions import convolution_depthwise as depthwise
from .convolutions import convolution_panels as in_panels
from .convolutions import convolution_pointwise as pointwise
from .convolutions import convolution_tables as geometry
from .convolutions.channels_last import (
    channels_behind,
    channels_lie_last,
    lies_last,
    writes_channels_last,
)
from .convolutions.convolution_tiles import (
    SERIAL,
    STRIP_ROWS,
    WEIGHT_PIXELS,
    loops,
    padded_images,
    share_out,
    strips,
    sum_channels,
    sum_last,
)
from .strided_copy import assign, ordered
from .threads.thread_pool import get_num_threads, parallel_for
from .vectors.simd import lanes

_FAST = (np.dtype(np.float32), np.dtype(np.float64))
_EDGE = 2  # results of Winograd's tiles whose errors are like those of sums, down and across
_MOVED = 128  # multiplications that take as long as to move an element


def _work_dtype(dtype: Any) -> Any:
    if dtype in _FAST:
        return dtype
    return np.dtype(np.float64 if dtype.kind in "iu" else np.float32)


def _flat(array: Any, dtype: Any, last: bool = False) -> Any:
    """An array's elements in C order, or in that of channels last."""
    return ordered(channels_behind(array) if last else array, dtype).reshape(-1)


@functools.lru_cache(maxsize=1024)
def _tile_sums(plan: geometry.Geometry, dtype: Any) -> Callable[..., None]:
    """``sums(out, source, weight, bias=None)``: results of all phases; ``out`` is
    ``[images, groups * channels, *spatial]``, flat."""
    channels, groups, images, together = plan.channels, plan.groups, plan.images, plan.together
    code, last = loops(dtype, channels), plan.last
    width, rows, all_channels = code.width, code.rows, groups * channels
    panels = -(-channels // width)
    terms = sum(p.taps.size * p.places.size for p in plan.phases)
    nothing = np.zeros((groups, panels * width), dtype)
    packing = _packing(plan, code)
    kept = [
        (g, phase, panels * width * phase.taps.size, f"packed {g} {number}")
        for g in range(groups) for number, phase in enumerate(plan.phases)
    ]  # fmt: skip

    def run(
        out: Any, source: Any, offsets: Any, packed: Any, step: int, pitch: int, first: int,
        last: int, first_panel: int, last_panel: int,
    ) -> None:  # fmt: skip
        edge = workspace(rows, np.int64, "edge")
        made = workspace(code.block * width, dtype, "made")
        apart = step * all_channels if pitch == 1 else out.size // images
        for start in range(first, last, together):
            count = last - start if last - start < together else together
            padded = padded_images(plan, source, start, count)
            for g, phase, held in packed:
                into, pixels = out, padded
                if g:
                    into, pixels = out[g * channels * step :], padded[g * plan.group_pitch :]
                code.correlate(
                    into, pixels, held, offsets[g], phase.pixels, phase.taps, phase.places,
                    phase.parts, plan.chained, phase.dense, start, count, apart, step, pitch,
                    channels, first_panel, last_panel, edge, made,
                )  # fmt: skip

    def sums(out: Any, source: Any, weight: Any, bias: Any = None) -> None:
        size = out.size // (images * all_channels)
        if not plan.complete:
            out[:] = 0
        share, packed = weight.size // groups, []
        for g, phase, count, name in kept:
            held = workspace(count, dtype, name)
            # a group of an input gradient's weight begins where its results' channels do
            packing(held, weight[g * share :] if g else weight, phase)
            packed.append((g, phase, held))
        offsets = nothing
        if bias is not None:
            offsets = np.zeros((groups, panels * width), dtype)
            offsets[:, :channels] = bias.reshape(groups, channels)
        given = out, source, offsets, packed, *((1, all_channels) if last else (size, 1))
        if out.size * terms < SERIAL * size:
            run(*given, 0, images, 0, panels)
        elif images >= get_num_threads() or panels == 1:
            parallel_for(images, lambda first, last: run(*given, first, last, 0, panels))
        else:
            parallel_for(panels, lambda first, last: run(*given, 0, images, first, last))

    return sums


def _packing(plan: geometry.Geometry, code: Any) -> Callable[..., None]:
    """``pack(held, weight, phase)``: one group's weight in panels, which threads divide."""
    channels, width, places = plan.channels, code.width, plan.places
    panels = -(-channels // width)

    def pack(held: Any, weight: Any, phase: Any) -> None:
        taps = (phase.weights if places is None else places).size
        step = plan.channel_step if places is None else taps
        if channels * taps * _MOVED >= SERIAL:
            parallel_for(panels, functools.partial(part, held, weight, phase, taps, step))
        elif places is None:
            code.pack(held, weight, phase.weights, channels, step)
        else:
            code.pack_channels(held, weight, places, channels)

    def part(
        held: Any, weight: Any, phase: Any, taps: int, step: int, first: int, last: int
    ) -> None:
        into, source = held[first * width * taps :], weight[first * width * step :]
        count = min(last * width, channels) - first * width
        if places is None:
            code.pack(into, source, phase.weights, count, step)
        else:
            code.pack_channels(into, source, places, count)

    return pack


def _strip_width(plan: geometry.Geometry, dtype: Any) -> int:
    """How wide the vectors of strips are that suit: few channels of results, in rows that fill
    vectors of one or half a register, and sums that are not of parts. 0: none."""
    few = plan.channels <= 2 * STRIP_ROWS and 4 * plan.channels <= 5 * lanes(dtype)
    if not few or not all(
        p.step in (1, 2) and (plan.chained or p.parts.size == 2) for p in plan.phases
    ):
        return 0
    widest = lanes(dtype)
    row = min(p.row for p in plan.phases)
    if row >= widest or (2 * row > widest > 8 and not plan.direct):  # padding may be read beyond
        return widest
    return widest // 2 if row >= widest // 2 >= 8 else 0


def _strip_sums(plan: geometry.Geometry, width: int, dtype: Any) -> Callable[..., None]:
    """:func:`_tile_sums` for few channels of results, in vectors of ``width``."""
    channels, groups, images = plan.channels, plan.groups, plan.images
    order = np.arange(channels)[:, None] * plan.channel_step
    phases = [
        (strips(channels, phase.step, width, bool(plan.chained), dtype),
         (order + phase.weights).reshape(-1),
         (phase.pixels, phase.taps, phase.places, phase.vectors(width), phase.terms(width, plan),
          phase.dense), phase.row)
        for phase in plan.phases
    ]  # fmt: skip
    terms = sum(p.taps.size * p.places.size for p in plan.phases)
    nothing = np.zeros(groups * channels, dtype)

    def sums(out: Any, source: Any, weight: Any, bias: Any = None) -> None:
        step = out.size // (images * groups * channels)
        if not plan.complete:
            out[:] = 0
        offsets = nothing if bias is None else np.ascontiguousarray(bias, dtype)
        if groups == 1:
            packed = [weight.take(places) for _, places, _, _ in phases]
        else:
            shares = weight.reshape(groups, -1)
            packed = [shares[:, places].reshape(-1) for _, places, _, _ in phases]

        def run(first: int, last: int) -> None:
            made = workspace(2 * channels * width, dtype, "made")
            for start in range(first, last, plan.together):
                count = min(plan.together, last - start)
                padded = padded_images(plan, source, start, count)
                for (code, _, facts, row), held in zip(phases, packed, strict=True):
                    code(
                        out, padded, held, offsets, *facts, start, count, plan.image_pitch, groups,
                        plan.group_pitch, step, channels, row, made,
                    )  # fmt: skip

        share_out(images, out.size * terms // max(step, 1), run)

    return sums


def _sum_weights(out: Any, g_: Any, x: Any, plan: geometry.Geometry) -> None:
    """The gradient for the weight.

    Threads divide the taps, or as oneDNN does the images where one block of channels is all.
    """
    channels, groups, images = plan.channels, plan.groups, plan.images
    code = loops(out.dtype, channels)
    width, panels = code.width, -(-channels // code.width)
    phase = plan.phases[0]
    count = plan.window.size
    pitch = -(-count // code.rows) * code.rows
    taps = np.full(pitch, plan.window[-1], np.int64)
    taps[:count] = plan.window
    places, size = phase.places.size, panels * width * pitch
    step, apart = (1, groups * channels) if plan.last else (places, 1)

    def sum_images(sums: Any, first: int, last: int, first_tap: int, last_tap: int) -> None:
        right = workspace(WEIGHT_PIXELS * width, out.dtype, "made")
        for start in range(first, last, plan.together):
            number = min(plan.together, last - start)
            padded = padded_images(plan, x, start, number)
            for g in range(groups):
                code.weight_gradient(
                    sums[g * size :], padded[g * plan.group_pitch :],
                    g_[g * channels * step :], phase.pixels, taps, first_tap, last_tap, start,
                    number, groups * channels * places, places, apart, channels, right,
                )  # fmt: skip

    work = g_.size * count
    share = _share(images, groups, channels, plan.inner)
    if share < images:
        sums = np.zeros((-(-images // share), groups * size), out.dtype)

        def part(first: int, last: int) -> None:
            for i in range(first, last):
                sum_images(sums[i], i * share, min((i + 1) * share, images), 0, pitch)

        share_out(len(sums), work, part)
        total = sums[0]
        for other in sums[1:]:
            total += other
    else:
        total = workspace(groups * size, out.dtype, "sums")
        total[:] = 0

        def tiles(first: int, last: int) -> None:
            sum_images(total, 0, images, first * code.rows, last * code.rows)

        share_out(pitch // code.rows, work, tiles)

    def unpacked(first: int, last: int) -> None:
        before = first * width
        among = min(last * width, channels) - before
        for g in range(groups):
            into = out[(g * channels + before) * count :]
            code.unpack(into, total[g * size + before * pitch :], count, pitch, among)

    share_out(panels, groups * channels * count * _MOVED, unpacked)


def _share(images: int, groups: int, channels: int, inner: int) -> int:
    """How many images are summed over before the sums are added up, for a group's channels.

    As oneDNN does, threads have images of their own where they outnumber the blocks of channels.
    """
    block = lanes(np.float32)
    blocks = groups * -(-channels // block) * -(-inner // block)
    return images if blocks >= get_num_threads() else max(-(-images // get_num_threads()), 1)


def _memory(out: Any, dtype: Any) -> tuple[Any, bool]:
    """Flat memory for results of type ``dtype``, that of ``out`` where this can be, and whether
    channels lie last in it."""
    if out.flags.c_contiguous and out.dtype == dtype:
        return out.reshape(-1), False
    if out.dtype == dtype and lies_last(out):
        return channels_behind(out).reshape(-1), True
    return np.empty(out.size, dtype), False


def _finish(out: Any, target: Any) -> None:
    """Results into ``out``, where they are not there already."""
    if not np.may_share_memory(out, target):
        assign(out, target.reshape(out.shape))


def _correlated(
    target: Any, source: Any, weight: Any, offset: Any, plan: Any, last: bool
) -> None:
    """A plan's sums into flat ``target``: in strips where rows are short, else in tiles."""
    factors = _flat(weight, target.dtype, plan.weight_last)
    width = 0 if last else _strip_width(plan, target.dtype)
    if width:
        _strip_sums(plan, width, target.dtype)(target, source, factors, offset)
    elif in_panels.suits(plan, target.dtype):
        in_panels.correlate(target, source, factors, offset, plan)
    else:
        _tile_sums(plan, target.dtype)(target, source, factors, offset)


@writes_channels_last
def convolution(
    out: Any, x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> None:  # fmt: skip
    """``out[n, o] = bias[o] + sum over c and taps of weight[o, c, tap] * x[n, c, place + tap]``."""
    params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if out.dtype.kind == "c":
        _complex(convolution, out, x, weight, params)
        if bias is not None:
            out += bias.reshape(-1, *[1] * (out.ndim - 2))
        return
    if out.size == 0:
        return
    if weight.size == 0:
        out[...] = 0 if bias is None else bias.reshape(-1, *[1] * (out.ndim - 2))
        return
    dtype = _work_dtype(out.dtype)
    case = (
        x.shape, weight.shape, out.shape, tuple(stride), tuple(padding), tuple(dilation), groups,
    )  # fmt: skip
    target, last = _memory(out, dtype)
    offset = None if bias is None else _flat(bias, dtype)
    source = _flat(x, dtype, last)
    if depthwise.suits(weight.shape, groups):
        depthwise.convolution(target, source, _flat(weight, dtype), offset, case, last)
    elif of_one := pointwise.correlation(dtype, case, last, bias is not None, False):
        of_one(target, source, _flat(weight, dtype), offset)
    else:
        plan = geometry.forward(*case, last, lies_last(weight))
        _correlated(target, source, weight, offset, plan, last)
    _finish(out, target)


@writes_channels_last
def convolution_input_gradient(
    out: Any, g: Any, weight: Any, *, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    """The gradient for ``x`` (shape of ``out``), and a transposed convolution's forward pass."""
    params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if out.dtype.kind == "c":
        _complex(convolution_input_gradient, out, g, weight, params)
        return
    if out.size == 0:
        return
    if g.size == 0 or weight.size == 0:
        out[...] = 0
        return
    dtype = _work_dtype(out.dtype)
    case = (
        out.shape, weight.shape, g.shape, tuple(stride), tuple(padding), tuple(dilation), groups,
    )  # fmt: skip
    target, last = _memory(out, dtype)
    source = _flat(g, dtype, last)
    if depthwise.suits(weight.shape, groups):
        depthwise.input_gradient(target, source, _flat(weight, dtype), case, last)
    elif of_one := pointwise.correlation(dtype, case, last, False, True):
        of_one(target, source, _flat(weight, dtype))
    else:
        plan = geometry.backward(*case, last, lies_last(weight))
        _correlated(target, source, weight, None, plan, last)
    _finish(out, target)


@writes_channels_last
def convolution_weight_gradient(
    out: Any, g: Any, x: Any, *, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    """The gradient for the weight (shape of ``out``)."""
    params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    if out.dtype.kind == "c":
        _complex(convolution_weight_gradient, out, g, x, params)
        return
    if out.size == 0:
        return
    if g.size == 0:
        out[...] = 0
        return
    dtype = _work_dtype(out.dtype)
    case = (
        x.shape, out.shape, g.shape, tuple(stride), tuple(padding), tuple(dilation), groups,
    )  # fmt: skip
    last = lies_last(x) or lies_last(g)
    target, weight_last = _memory(out, dtype)
    slope, source = _flat(g, dtype, last), _flat(x, dtype, last)
    if depthwise.suits(out.shape, groups):
        depthwise.weight_gradient(target, slope, source, case, last)
    elif of_one := pointwise.weight_gradient(dtype, case, last):
        of_one(target, slope, source)
    else:
        _sum_weights(target, slope, source, geometry.forward(*case, last, weight_last))
    _finish(out, target)


def channel_sum(out: Any, g: Any, *, inner: int, groups: int) -> None:
    """``out[c] = sum over n and places of g[n, c, place]``: the gradient for the bias.

    Terms are added one by one, as oneDNN does; ``inner`` is how many channels a filter reads.
    """
    if out.dtype.kind in "ciub" or g.size == 0:
        out[...] = g.sum(axis=(0, *range(2, g.ndim)))
        return
    dtype = _work_dtype(out.dtype)
    images, channels = g.shape[:2]
    last, pitch = lies_last(g), g.size // images
    flat = _flat(g, dtype, last)
    share = _share(images, groups, channels // groups, inner)
    total = np.zeros(channels, dtype)
    for first in range(0, images, share):
        number, rest = min(share, images - first), flat[first * pitch :]
        if last:
            total += sum_last(rest, number * pitch // channels, channels)
        else:
            sum_channels(total, rest, number, channels, pitch // channels)
    out[...] = total


def _complex(function: Any, out: Any, a: Any, b: Any, params: dict[str, Any]) -> None:
    """The bilinear ``function`` of complex operands, from those of their parts."""
    real = np.dtype(np.float32 if out.dtype == np.complex64 else np.float64)
    parts = [np.empty(out.shape, real) for _ in range(4)]
    for part, (u, v) in zip(
        parts, ((a.real, b.real), (a.imag, b.imag), (a.real, b.imag), (a.imag, b.real)),
        strict=True,
    ):  # fmt: skip
        function(part, u, v, **params)
    out.real = parts[0] - parts[1]
    out.imag = parts[2] + parts[3]


# --- operands of one type that lie in order: what follows from their shapes is found out once -----


def _orders(outs: Any, ins: Any) -> Any:
    """Whether channels lie last in each operand; None where some lie in neither order, or where
    they are not of one fast type."""
    given = [x for x in (*outs, *ins) if x is not None]
    found = [channels_lie_last(x) for x in given]
    kind = given[0].dtype
    if kind not in _FAST or None in found or any(x.dtype != kind for x in given):
        return None
    return found if all(math.prod(x.shape) for x in given) else None


def _case(image: Any, window: Any, result: Any, params: Any) -> Any:
    steps = [tuple(params[name]) for name in ("stride", "padding", "dilation")]
    return image.shape, window.shape, result.shape, *steps, params["groups"]


def _plan(outs: Any, ins: Any, **params: Any) -> Any:
    (out,), (x, weight, *_), orders = outs, ins, _orders(outs, ins)
    if orders is None or orders[0] != orders[1]:
        return bfloat16_convolution.convolution(outs, ins, **params)
    case, last = _case(x, weight, out, params), orders[0]
    if depthwise.suits(weight.shape, params["groups"]):
        return lambda out, x, weight, bias=None: depthwise.convolution(
            out, x, weight, bias, case, last
        )
    has_bias = any(x is not None for x in ins[2:])
    of_one = pointwise.correlation(out.dtype, case, last, has_bias, False)
    return of_one or _in_tiles(
        winograd.convolution(outs, ins, edge=_EDGE, **params),
        _sums(geometry.forward(*case, last, orders[2]), out.dtype),
    )


def _input_plan(outs: Any, ins: Any, **params: Any) -> Any:
    (out,), (g, weight), orders = outs, ins, _orders(outs, ins)
    if orders is None or orders[0] != orders[1]:
        return bfloat16_convolution.input_gradient(outs, ins, **params)
    case, last = _case(out, weight, g, params), orders[0]
    if depthwise.suits(weight.shape, params["groups"]):
        return lambda out, g, weight: depthwise.input_gradient(out, g, weight, case, last)
    of_one = pointwise.correlation(out.dtype, case, last, False, True)
    return of_one or _in_tiles(
        winograd.convolution_input_gradient(outs, ins, edge=_EDGE, **params),
        _sums(geometry.backward(*case, last, orders[2]), out.dtype),
    )


def _sums(plan: geometry.Geometry, dtype: Any) -> Any:
    width = 0 if plan.last else _strip_width(plan, dtype)
    if width:
        return _strip_sums(plan, width, dtype)
    if not in_panels.suits(plan, dtype):
        return _tile_sums(plan, dtype)
    return lambda out, source, weight, bias=None: in_panels.correlate(
        out, source, weight, bias, plan
    )


def _weight_plan(outs: Any, ins: Any, **params: Any) -> Any:
    (out,), (g, x), orders = outs, ins, _orders(outs, ins)
    if orders is None or orders[1] != orders[2]:
        return bfloat16_convolution.weight_gradient(outs, ins, **params)
    case = _case(x, out, g, params)
    if depthwise.suits(out.shape, params["groups"]):
        return lambda out, g, x: depthwise.weight_gradient(out, g, x, case, orders[1])
    if of_one := pointwise.weight_gradient(out.dtype, case, orders[1]):
        return of_one
    plan = geometry.forward(*case, orders[1], orders[0])
    return _in_tiles(
        winograd.convolution_weight_gradient(outs, ins, edge=_EDGE, **params),
        lambda out, g, x: _sum_weights(out, g, x, plan),
    )


def _in_tiles(quick: Any, direct: Any) -> Any:
    """``quick``, where there is one, and ``direct`` for what it leaves."""
    if quick is None:
        return direct

    def run(*arrays: Any) -> None:
        if not quick(*arrays):
            direct(*arrays)

    return run


made: Any
for made, how in (
    (convolution, _plan), (convolution_input_gradient, _input_plan),
    (convolution_weight_gradient, _weight_plan),
):  # fmt: skip
    made.plan = how
