"""Convolution for CUDA and its gradients, as products whose operands are images (``gemm``).

    picture   forward: rows are channels of results, columns places of results, the inner axis
              channels and taps of a window, one product for each image and group. Gradient for the
              input: rows are its channels, columns its places. Gradient for the weight: columns are
              channels and taps, the inner axis all places of all images
    memory    the tiles of ``gemm``; windows are not written down. With cupy's cuBLAS they are, some
              images at a time, since its product is faster than the copy is slow; not those of one
              tap, which are the image itself. 16-bit floats stay such and are summed in float32.
              Where cuDNN is found it computes all of this (``cudnn``)
    sync      see ``gemm``
    sizes     up to three spatial axes; strides, paddings, dilations and groups
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from mindtorch.kernels.cpu.convolutions.convolution_tables import three_axes

from . import arrays, cudnn, gemm, launch, library_calls, reduction
from .arrays import Array
from .elementwise import plan
from .fast_division import divisors, over, three
from .indexing import words
from .launch import cuda
from .via_float32 import flat, in_float32, optional

# bytes of windows that are written down at once
WINDOWS = 1 << 30

_GEOMETRY = (
    "d_, h_, w_, od_, oh_, ow_, kd_, kh_, kw_, sd_, sh_, sw_, pd_, ph_, pw_, dd_, dh_, dw_"
)
_DIVISORS = (
    "by_groups, by_taps, by_places, by_h, by_w, by_oh, by_ow, by_kh, by_kw, by_sd, by_sh, by_sw"
)
_NAMES = f"out, x, w, bias, biased, groups, c_, o_, images, {_GEOMETRY}, {_DIVISORS}"
_TAP = "c = over({c}, by_taps)\na, b, e = three({c} - c * taps, kh_, kw_, by_kh, by_kw)"
_SETUP = "image = over(z, by_groups)\ngroup = z - image * groups\ntaps = kd_ * kh_ * kw_"
# value of the padded image at the window's tap (a, b, e) of the place q of results
_READ = """
od, oh, ow = three(q, oh_, ow_, by_oh, by_ow)
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
    "o = over(p, by_taps)\n"
    "value = A(w[((group * o_ + o) * c_ + i) * taps + p - o * taps])",
    _TAP.format(c="p") + """
d, h, v = three(j, h_, w_, by_h, by_w)
d = d + pd_ - a * dd_
h = h + ph_ - b * dh_
v = v + pw_ - e * dw_
if v >= 0 and h >= 0 and d >= 0:
    od, oh, ow = over(d, by_sd), over(h, by_sh), over(v, by_sw)
    within = ow < ow_ and oh < oh_ and od < od_
    if within and ow * sw_ == v and oh * sh_ == h and od * sd_ == d:
        at = (image * groups + group) * o_ + c
        value = A(x[((at * od_ + od) * oh_ + oh) * ow_ + ow])""",
    "out[((image * groups + group) * c_ + i) * n + j] = total",
)  # fmt: skip
_WEIGHT = (
    _NAMES, "group = z\ntaps = kd_ * kh_ * kw_\nplaces = od_ * oh_ * ow_",
    "image = over(p, by_places)\n"
    "value = A(w[((image * groups + group) * o_ + i) * places + p - image * places])",
    "image = over(p, by_places)\nq = p - image * places\n" + _TAP.format(c="j") + _READ,
    "out[(group * o_ + i) * n + j] = total",
)  # fmt: skip


class _Case:
    """Sizes of one convolution: input and weight shapes, the results' spatial shape."""

    def __init__(
        self, x: Any, weight: Any, result: Any, axes: tuple[Any, Any, Any], groups: int
    ) -> None:
        self.shapes = x, weight, result
        self.axes = [tuple(map(int, each)) for each in axes]
        self.images, self.groups = x[0], groups
        self.c, self.o = weight[1], weight[0] // groups
        self.wide, self.narrow = three_axes(x[2:], 1), three_axes(result[2:], 1)
        self.window = three_axes(weight[2:], 1)
        stride, padding = three_axes(axes[0], 1), three_axes(axes[1], 0)
        self.stride, self.padding = stride, padding
        self.geometry = (
            *self.wide, *self.narrow, *self.window, *stride, *padding,
            *three_axes(axes[2], 1),
        )  # fmt: skip
        self.taps, self.places = math.prod(self.window), math.prod(self.narrow)
        self.pixels = math.prod(self.wide)
        # each window is a pixel
        self.plain = self.taps == 1 and {*stride, *(p + 1 for p in padding)} == {1}

    def of_pixels(self, bound: int) -> tuple[Any, ...]:
        """The divisors of places in images, and of strides."""
        return divisors(bound, self.pixels, *self.wide[1:], *self.stride)

    def by_cudnn(self, kind: str, out: Any, left: Any, right: Any) -> bool:
        """Whether cuDNN has computed it."""
        if cudnn.library() is None:
            return False
        return cudnn.convolve(
            kind, out.flat, flat(left), flat(right), *self.shapes, self.axes, self.groups
        )

    def columns(self, x: Any, first: int, count: int, together: bool = False) -> Array:
        """What each window of some images reads: [images, groups, channels * taps, places], or
        ``together`` [groups, channels * taps, images * places]."""
        own = _images(x, first, count, (count, self.groups, self.c, self.pixels))
        rows = self.c * self.taps
        if self.plain:
            if not together:
                return own
            return own.permute((1, 2, 0, 3)).reshape(self.groups, rows, count * self.places)
        many = (count, self.groups, rows, self.places)
        made = arrays.empty((self.groups, rows, count * self.places) if together else many, x.dtype)
        launch.each(_windows, made.size, words(made.flat), words(own.flat), count,
                    self.groups * self.c, int(together), self.taps, self.pixels, self.places,
                    *self.geometry, *divisors(made.size, count, self.taps, self.places,
                    *self.narrow[1:], *self.window[1:]))  # fmt: skip
        return made

    def launch(self, texts: Any, batch: int, m: int, k: int, n: int, *operands: Any) -> None:
        """One of the products on (out, images, the other operand, bias, whether biased)."""
        dtype = operands[0].dtype
        kernel = gemm.kernel(*texts, dtype if dtype.kind == "f" else np.dtype(np.int64))
        numbers = (self.groups, self.c, self.o, self.images, *self.geometry)
        by = divisors(
            max(batch, k, n, self.places, *map(sum, zip(self.wide, self.padding, strict=True))),
            self.groups, self.taps, self.places, *self.wide[1:], *self.narrow[1:],
            *self.window[1:], *self.stride,
        )  # fmt: skip
        gemm.run(kernel, batch, m, k, n, *operands, *numbers, *by)


_case = functools.lru_cache(1024)(_Case)


def _axes(*given: Any) -> tuple[Any, ...]:
    """Strides, paddings and dilations, by which a case is found again."""
    return tuple(map(tuple, given))


def convolution(
    out: Any, x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> None:  # fmt: skip
    """``out[n, o] = bias[o] + sum over c and taps of weight[o, c, tap] * x[n, c, place + tap]``."""
    case = _case(x.shape, weight.shape, out.shape, _axes(stride, padding, dilation), groups)
    if x.size and weight.size and (
        case.by_cudnn(cudnn.FORWARD, out, x, weight) or _by_products(out, x, weight, case)
    ):
        if bias is not None:
            target = Array(out.flat, (case.images, groups * case.o, case.places))
            given = Array(flat(bias), (groups * case.o, 1)).expand(target.shape)
            plan("add", (target,), (target, given), _wide(out.dtype))(
                target.flat, target.flat, given.flat
            )
        return
    _implicit(out, x, weight, bias, case=case)


@in_float32
def _implicit(out: Any, x: Any, weight: Any, bias: Any, *, case: _Case) -> None:
    offset = optional(bias, out.dtype)
    case.launch(_FORWARD, case.images * case.groups, case.o, case.c * case.taps, case.places, out,
                flat(x), flat(weight), offset, int(bias is not None))  # fmt: skip


def convolution_input_gradient(
    out: Any, g: Any, weight: Any, *, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    """The gradient for ``x`` (shape of ``out``), and a transposed convolution's forward pass."""
    case = _case(out.shape, weight.shape, g.shape, _axes(stride, padding, dilation), groups)
    if not (weight.size and g.size and (
        case.by_cudnn(cudnn.INPUT, out, weight, g) or _input_by_products(out, g, weight, case)
    )):  # fmt: skip
        _implicit_input(out, g, weight, case=case)


@in_float32
def _implicit_input(out: Any, g: Any, weight: Any, *, case: _Case) -> None:
    case.launch(_INPUT, case.images * case.groups, case.c, case.o * case.taps, case.pixels, out,
                flat(g), flat(weight), optional(None, out.dtype), 0)  # fmt: skip


def convolution_weight_gradient(
    out: Any, g: Any, x: Any, *, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    """The gradient for the weight (shape of ``out``)."""
    case = _case(x.shape, out.shape, g.shape, _axes(stride, padding, dilation), groups)
    if not (out.size and g.size and (
        case.by_cudnn(cudnn.WEIGHT, out, x, g) or _weight_by_products(out, g, x, case)
    )):  # fmt: skip
        _implicit_weight(out, g, x, case=case)


@in_float32
def _implicit_weight(out: Any, g: Any, x: Any, *, case: _Case) -> None:
    case.launch(_WEIGHT, case.groups, case.o, case.images * case.places, case.c * case.taps, out,
                flat(x), flat(g), optional(None, out.dtype), 0)  # fmt: skip


def channel_sum(out: Any, g: Any, *, inner: int, groups: int) -> None:
    """``out[c] = sum over n and places of g[n, c, place]``: the gradient for the bias."""
    axes = (0, *range(2, g.ndim))
    run = reduction.plan("sum", (out,), (g,), axis=axes, keepdims=False)
    run(out.flat, g.flat)


# --- windows written down, for cuBLAS ----------------------------------------------------------


def _wide(dtype: Any) -> Any:
    """The type in which elements of a type are added."""
    return np.dtype(np.float32) if dtype.itemsize == 2 else dtype


def _blocks(case: _Case, itemsize: int) -> list[tuple[int, int]]:
    """(first image, images) of the parts whose windows are written down together."""
    each = case.groups * case.c * case.taps * case.places * itemsize
    count = max(min(WINDOWS // max(each, 1), case.images), 1)
    return [(k, min(count, case.images - k)) for k in range(0, case.images, count)]


def _images(x: Any, first: int, count: int, shape: Any) -> Array:
    """Some images of a dense flat array, as ``shape``."""
    size = math.prod(shape) // max(count, 1)
    return Array(x[first * size : (first + count) * size], shape)


def _by_products(out: Any, x: Any, weight: Any, case: _Case) -> bool:
    """The forward pass but for the bias; False where cuBLAS is not there or refuses."""
    if not library_calls.multiplies(out.dtype):
        return False
    factors = Array(flat(weight), (case.groups, case.o, case.c * case.taps))
    whole = flat(x)
    for first, count in _blocks(case, x.dtype.itemsize):
        shape = (count, case.groups, case.o, case.places)
        if not library_calls.matmul(
            _images(out.flat, first, count, shape), factors, case.columns(whole, first, count)
        ):
            return False
    return True


def _input_by_products(out: Any, g: Any, weight: Any, case: _Case) -> bool:
    if not library_calls.multiplies(out.dtype):
        return False
    factors = Array(flat(weight), (case.groups, case.o, case.c * case.taps)).permute((0, 2, 1))
    slopes, made = flat(g), out
    if not case.plain and out.dtype.itemsize == 2:
        made = arrays.empty(out.shape, np.float32)
    for first, count in _blocks(case, _wide(out.dtype).itemsize):
        given = _images(slopes, first, count, (count, case.groups, case.o, case.places))
        target = _images(made.flat, first, count, (count, case.groups, case.c, case.pixels))
        shape = (count, case.groups, case.c * case.taps, case.places)
        columns = target if case.plain else arrays.empty(shape, made.dtype)
        if not library_calls.matmul(columns, factors, given):
            return False
        if not case.plain:
            launch.each(_collect, target.size, target, columns, case.taps, case.pixels, case.places,
                        *case.geometry, *case.of_pixels(target.size))  # fmt: skip
    if made is not out:
        arrays.assign(out, made)
    return True


def _weight_by_products(out: Any, g: Any, x: Any, case: _Case) -> bool:
    if not library_calls.multiplies(out.dtype):
        return False
    slopes, whole, made = flat(g), flat(x), out
    blocks = _blocks(case, x.dtype.itemsize)
    if len(blocks) > 1 and out.dtype.itemsize == 2:
        made = arrays.empty(out.shape, np.float32)
    target = Array(made.flat, (case.groups, case.o, case.c * case.taps))
    for first, count in blocks:
        left = _images(slopes, first, count, (count, case.groups, case.o, case.places))
        left = left.permute((1, 2, 0, 3)).reshape(case.groups, case.o, count * case.places)
        columns = case.columns(whole, first, count, together=True)
        if not library_calls.matmul(target, left, columns.permute((0, 2, 1)), int(first > 0)):
            return False
    if made is not out:
        arrays.assign(out, made)
    return True


@launch.kernel
def _windows(
    count: int, out: Any, x: Any, images: int, channels: int, together: int, taps: int,
    pixels: int, places: int, d_: int, h_: int, w_: int, od_: int, oh_: int, ow_: int, kd_: int,
    kh_: int, kw_: int, sd_: int, sh_: int, sw_: int, pd_: int, ph_: int, pw_: int, dd_: int,
    dh_: int, dw_: int, by_images: Any, by_taps: Any, by_places: Any, by_oh: Any, by_ow: Any,
    by_kh: Any, by_kw: Any,
) -> None:  # fmt: skip
    """``together``: the images' places lie side by side, behind channels and taps."""
    i = cuda.grid(1)
    while i < count:
        row = over(i, by_places)
        q = i - row * places
        image = 0
        if together:
            image, row = row, over(row, by_images)
            image -= row * images
        plane = over(row, by_taps)
        td, th, tw = three(row - plane * taps, kh_, kw_, by_kh, by_kw)
        plane += image * channels
        a, b, c = three(q, oh_, ow_, by_oh, by_ow)
        d = a * sd_ - pd_ + td * dd_
        h = b * sh_ - ph_ + th * dh_
        v = c * sw_ - pw_ + tw * dw_
        if d >= 0 and d < d_ and h >= 0 and h < h_ and v >= 0 and v < w_:
            out[i] = x[plane * pixels + (d * h_ + h) * w_ + v]
        else:
            out[i] = 0
        i = launch.following(i, count)


@launch.kernel
def _collect(
    count: int, out: Any, columns: Any, taps: int, pixels: int, places: int, d_: int, h_: int,
    w_: int, od_: int, oh_: int, ow_: int, kd_: int, kh_: int, kw_: int, sd_: int, sh_: int,
    sw_: int, pd_: int, ph_: int, pw_: int, dd_: int, dh_: int, dw_: int, by_pixels: Any,
    by_h: Any, by_w: Any, by_sd: Any, by_sh: Any, by_sw: Any,
) -> None:  # fmt: skip
    """Each pixel adds up what it gave to the windows that read it."""
    i = cuda.grid(1)
    while i < count:
        plane = over(i, by_pixels)
        a, b, c = three(i - plane * pixels, h_, w_, by_h, by_w)
        total = 0.0
        for td in range(kd_):
            d = a + pd_ - td * dd_
            for th in range(kh_):
                h = b + ph_ - th * dh_
                for tw in range(kw_):
                    v = c + pw_ - tw * dw_
                    if v >= 0 and h >= 0 and d >= 0:
                        x, y, z = over(v, by_sw), over(h, by_sh), over(d, by_sd)
                        within = x < ow_ and y < oh_ and z < od_
                        if within and x * sw_ == v and y * sh_ == h and z * sd_ == d:
                            row = plane * taps + (td * kh_ + th) * kw_ + tw
                            total += columns[row * places + (z * oh_ + y) * ow_ + x]
        out[i] = total
        i = launch.following(i, count)
