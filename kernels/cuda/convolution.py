"""Convolution for CUDA and its gradients, as products whose operands are images (``gemm``).

    picture   forward: rows are channels of results, columns places of results, the inner axis
              channels and taps of a window, one product for each image and group. Gradient for the
              input: rows are its channels, columns its places. Gradient for the weight: columns are
              channels and taps, the inner axis all places of all images
    memory    the tiles of ``gemm``; windows are not written down. With cupy's cuBLAS they are, one
              block of images at a time, since its product is faster than the copy is slow
    sync      see ``gemm``
    sizes     up to three spatial axes; strides, paddings, dilations and groups
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda

from . import arrays, gemm, launch, reduction, vendor
from .arrays import Array
from .half import flat, in_float32, optional

_GEOMETRY = (
    "d_, h_, w_, od_, oh_, ow_, kd_, kh_, kw_, sd_, sh_, sw_, pd_, ph_, pw_, dd_, dh_, dw_"
)
_NAMES = f"out, x, w, bias, biased, groups, c_, o_, images, {_GEOMETRY}"
_TAP = (
    "c = {c} // taps\ntap = {c} % taps\ne = tap % kw_\nb = (tap // kw_) % kh_\n"
    "a = tap // (kw_ * kh_)"
)
_SETUP = "image = z // groups\ngroup = z % groups\ntaps = kd_ * kh_ * kw_"
# value of the padded image at the window's tap (a, b, e) of the place q of results
_READ = """
ow = q % ow_
oh = (q // ow_) % oh_
od = q // (ow_ * oh_)
d = od * sd_ - pd_ + a * dd_
h = oh * sh_ - ph_ + b * dh_
v = ow * sw_ - pw_ + e * dw_
if d >= 0 and d < d_ and h >= 0 and h < h_ and v >= 0 and v < w_:
    at = (image * groups + group) * c_ + c
    value = A(x[((at * d_ + d) * h_ + h) * w_ + v])"""

_FORWARD = (
    _NAMES, _SETUP,
    "value = A(w[(group * o_ + i) * k + p])",
    _TAP.format(c="p") + "\nq = j" + _READ,
    "at = group * o_ + i\nif biased:\n    total += bias[at]\n"
    "out[(image * groups * o_ + at) * n + j] = total",
)  # fmt: skip
_INPUT = (
    _NAMES, _SETUP,
    "o = p // taps\nvalue = A(w[((group * o_ + o) * c_ + i) * taps + p % taps])",
    _TAP.format(c="p") + """
v = j % w_ + pw_ - e * dw_
h = (j // w_) % h_ + ph_ - b * dh_
d = j // (w_ * h_) + pd_ - a * dd_
if v >= 0 and h >= 0 and d >= 0 and v % sw_ == 0 and h % sh_ == 0 and d % sd_ == 0:
    v = v // sw_
    h = h // sh_
    d = d // sd_
    if v < ow_ and h < oh_ and d < od_:
        at = (image * groups + group) * o_ + c
        value = A(x[((at * od_ + d) * oh_ + h) * ow_ + v])""",
    "out[((image * groups + group) * c_ + i) * n + j] = total",
)  # fmt: skip
_WEIGHT = (
    _NAMES, "group = z\ntaps = kd_ * kh_ * kw_\nplaces = od_ * oh_ * ow_",
    "image = p // places\n"
    "value = A(w[((image * groups + group) * o_ + i) * places + p % places])",
    "image = p // places\nq = p % places\n" + _TAP.format(c="j") + _READ,
    "out[(group * o_ + i) * n + j] = total",
)  # fmt: skip


def _three(values: Any, fill: int) -> tuple[int, ...]:
    return (fill,) * (3 - len(values)) + tuple(int(v) for v in values)


class _Case:
    """Sizes of one convolution: input and weight shapes, the results' spatial shape."""

    def __init__(self, x: Any, weight: Any, result: Any, params: dict[str, Any]) -> None:
        self.images, self.groups = x[0], params["groups"]
        self.c, self.o = weight[1], weight[0] // params["groups"]
        self.wide, self.narrow, self.window = _three(x[2:], 1), _three(result[2:], 1), _three(
            weight[2:], 1
        )
        self.geometry = (
            *self.wide, *self.narrow, *self.window, *_three(params["stride"], 1),
            *_three(params["padding"], 0), *_three(params["dilation"], 1),
        )  # fmt: skip
        self.taps, self.places = math.prod(self.window), math.prod(self.narrow)
        self.pixels = math.prod(self.wide)

    def launch(self, texts: Any, batch: int, m: int, k: int, n: int, *operands: Any) -> None:
        """One of the products on (out, images, the other operand, bias, whether biased)."""
        dtype = operands[0].dtype
        kernel = gemm.kernel(*texts, dtype if dtype.kind == "f" else np.dtype(np.int64))
        numbers = (self.groups, self.c, self.o, self.images, *self.geometry)
        gemm.run(kernel, batch, m, k, n, *operands, *numbers)


@in_float32
def convolution(
    out: Any, x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> None:  # fmt: skip
    """``out[n, o] = bias[o] + sum over c and taps of weight[o, c, tap] * x[n, c, place + tap]``."""
    params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    case = _Case(x.shape, weight.shape, out.shape, params)
    offset, biased = optional(bias, out.dtype), int(bias is not None)
    if vendor.library() is not None and weight.size and x.size:
        columns = _columns(x, case)
        factors = Array(flat(weight), (groups, case.o, case.c * case.taps))
        target = Array(out.flat, (case.images, groups, case.o, case.places))
        if vendor.matmul(target, factors, columns):
            if biased:
                _add_bias(target, offset, groups * case.o, case.places)
            return
    case.launch(_FORWARD, case.images * groups, case.o, case.c * case.taps, case.places, out,
                flat(x), flat(weight), offset, biased)  # fmt: skip


@in_float32
def convolution_input_gradient(
    out: Any, g: Any, weight: Any, *, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    """The gradient for ``x`` (shape of ``out``), and a transposed convolution's forward pass."""
    params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    case = _Case(out.shape, weight.shape, g.shape, params)
    if vendor.library() is not None and weight.size and g.size:
        factors = Array(flat(weight), (groups, case.o, case.c * case.taps)).permute((0, 2, 1))
        slopes = Array(flat(g), (case.images, groups, case.o, case.places))
        shape = (case.images, groups, case.c * case.taps, case.places)
        columns = arrays.empty(shape, out.dtype)
        if vendor.matmul(columns, factors, slopes):
            launch.each(_collect, out.size, out, columns, case.taps, case.pixels, case.places,
                        *case.geometry)  # fmt: skip
            return
    case.launch(_INPUT, case.images * groups, case.c, case.o * case.taps, case.pixels, out,
                flat(g), flat(weight), optional(None, out.dtype), 0)  # fmt: skip


@in_float32
def convolution_weight_gradient(
    out: Any, g: Any, x: Any, *, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    """The gradient for the weight (shape of ``out``)."""
    params = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    case = _Case(x.shape, out.shape, g.shape, params)
    if vendor.library() is not None and out.size and g.size:
        columns = _columns(x, case).permute((1, 0, 3, 2))
        turned = arrays.dense(columns).reshape(groups, -1, case.c * case.taps)
        slopes = Array(flat(g), (case.images, groups, case.o, case.places)).permute((1, 2, 0, 3))
        left = arrays.dense(slopes).reshape(groups, case.o, -1)
        if vendor.matmul(Array(out.flat, (groups, case.o, case.c * case.taps)), left, turned):
            return
    case.launch(_WEIGHT, groups, case.o, case.images * case.places, case.c * case.taps, out,
                flat(x), flat(g), optional(None, out.dtype), 0)  # fmt: skip


def channel_sum(out: Any, g: Any, *, inner: int, groups: int) -> None:
    """``out[c] = sum over n and places of g[n, c, place]``: the gradient for the bias."""
    axes = (0, *range(2, g.ndim))
    run = reduction.plan("sum", (out,), (g,), axis=axes, keepdims=False)
    run(out.flat, g.flat)


# --- windows written down, for cuBLAS ----------------------------------------------------------


@launch.kernel
def _windows(
    count: int, out: Any, x: Any, taps: int, pixels: int, places: int, d_: int, h_: int, w_: int,
    od_: int, oh_: int, ow_: int, kd_: int, kh_: int, kw_: int, sd_: int, sh_: int, sw_: int,
    pd_: int, ph_: int, pw_: int, dd_: int, dh_: int, dw_: int,
) -> None:  # fmt: skip
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        q = i % places
        tap = (i // places) % taps
        plane = i // (places * taps)
        d = (q // (ow_ * oh_)) * sd_ - pd_ + (tap // (kw_ * kh_)) * dd_
        h = ((q // ow_) % oh_) * sh_ - ph_ + ((tap // kw_) % kh_) * dh_
        v = (q % ow_) * sw_ - pw_ + (tap % kw_) * dw_
        if d >= 0 and d < d_ and h >= 0 and h < h_ and v >= 0 and v < w_:
            out[i] = x[plane * pixels + (d * h_ + h) * w_ + v]
        else:
            out[i] = 0


def _columns(x: Any, case: _Case) -> Any:
    """[images, groups, channels * taps, places]: the elements that each window reads."""
    shape = (case.images, case.groups, case.c * case.taps, case.places)
    columns = arrays.empty(shape, x.dtype)
    launch.each(_windows, columns.size, columns, flat(x), case.taps, case.pixels, case.places,
                *case.geometry)  # fmt: skip
    return columns


@launch.kernel
def _collect(
    count: int, out: Any, columns: Any, taps: int, pixels: int, places: int, d_: int, h_: int,
    w_: int, od_: int, oh_: int, ow_: int, kd_: int, kh_: int, kw_: int, sd_: int, sh_: int,
    sw_: int, pd_: int, ph_: int, pw_: int, dd_: int, dh_: int, dw_: int,
) -> None:  # fmt: skip
    """Each pixel adds up what it gave to the windows that read it."""
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        j = i % pixels
        plane = i // pixels
        total = 0.0
        for tap in range(taps):
            v = j % w_ + pw_ - (tap % kw_) * dw_
            h = (j // w_) % h_ + ph_ - ((tap // kw_) % kh_) * dh_
            d = j // (w_ * h_) + pd_ - (tap // (kw_ * kh_)) * dd_
            if v >= 0 and h >= 0 and d >= 0 and v % sw_ == 0 and h % sh_ == 0 and d % sd_ == 0:
                v, h, d = v // sw_, h // sh_, d // sd_
                if v < ow_ and h < oh_ and d < od_:
                    q = (d * oh_ + h) * ow_ + v
                    total += columns[(plane * taps + tap) * places + q]
        out[i] = total


@launch.kernel
def _bias(count: int, out: Any, bias: Any, channels: int, places: int) -> None:
    for i in range(cuda.grid(1), count, cuda.gridsize(1)):
        out[i] = out[i] + bias[(i // places) % channels]


def _add_bias(out: Any, bias: Any, channels: int, places: int) -> None:
    launch.each(_bias, out.size, out, bias, channels, places)
