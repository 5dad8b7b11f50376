"""Convolution over one to three spatial axes, as matrix products over unfolded images.

An image ``[C, D, H, W]`` is unfolded into the matrix ``columns [C*kd*kh*kw, od*oh*ow]`` (one row
for each tap of the window), so that with ``weight [O, C*taps]``:

    forward            out[i]    = weight @ columns(x[i])
    input gradient     out[i]    = fold(weight.T @ g[i]), fold adding each row back at its tap
    weight gradient    out      += g[i] @ columns(x[i]).T

Small images are unfolded several together, so that a product has at least ``_WIDTH`` columns. A
window of one place with unit stride needs no unfolding. Depthwise convolutions have loops of their
own.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from mindtorch.kernels.compile import kernel

from . import blas
from .blas import gemm

_WIDTH = 256
_FAST = (np.dtype(np.float32), np.dtype(np.float64))
_scratch = threading.local()


def workspace(size: int, dtype: Any, name: str = "columns") -> Any:
    """A flat buffer of at least ``size`` elements that this thread uses again and again."""
    held = getattr(_scratch, name, None)
    nbytes = size * np.dtype(dtype).itemsize
    if held is None or held.nbytes < nbytes:
        held = np.empty(nbytes, np.uint8)
        setattr(_scratch, name, held)
    return held[:nbytes].view(dtype)


@kernel
def unfold_image(columns: Any, pitch: int, x: Any, facts: Any) -> None:
    """Write an image's windows as rows ``pitch`` apart; places in the padding are 0."""
    channels, depth, height, width = facts[0], facts[1], facts[2], facts[3]
    kd, kh, kw = facts[4], facts[5], facts[6]
    od, oh, ow = facts[7], facts[8], facts[9]
    sd, sh, sw = facts[10], facts[11], facts[12]
    pd, ph, pw = facts[13], facts[14], facts[15]
    dd, dh, dw = facts[16], facts[17], facts[18]
    row = 0
    for c in range(channels):
        for a in range(kd):
            for b in range(kh):
                for e in range(kw):
                    first = e * dw - pw
                    low = max(0, -(first // sw)) if first < 0 else 0
                    high = min(ow, (width - 1 - first) // sw + 1) if first < width else 0
                    low = min(low, ow)
                    high = max(high, low)
                    for i in range(od):
                        z = i * sd + a * dd - pd
                        for j in range(oh):
                            y = j * sh + b * dh - ph
                            at = row * pitch + (i * oh + j) * ow
                            target = columns[at : at + ow]
                            if z < 0 or z >= depth or y < 0 or y >= height:
                                for k in range(ow):
                                    target[k] = 0
                                continue
                            base = ((c * depth + z) * height + y) * width + first
                            for k in range(low):
                                target[k] = 0
                            if sw == 1:
                                source = x[base + low : base + high]
                                inner = target[low:high]
                                for k in range(source.size):
                                    inner[k] = source[k]
                            else:
                                for k in range(low, high):
                                    target[k] = x[base + k * sw]
                            for k in range(high, ow):
                                target[k] = 0
                    row += 1


@kernel
def fold_image(x: Any, columns: Any, pitch: int, facts: Any) -> None:
    """Add the rows of ``columns`` back to the places of the image they were unfolded from."""
    channels, depth, height, width = facts[0], facts[1], facts[2], facts[3]
    kd, kh, kw = facts[4], facts[5], facts[6]
    od, oh, ow = facts[7], facts[8], facts[9]
    sd, sh, sw = facts[10], facts[11], facts[12]
    pd, ph, pw = facts[13], facts[14], facts[15]
    dd, dh, dw = facts[16], facts[17], facts[18]
    row = 0
    for c in range(channels):
        for a in range(kd):
            for b in range(kh):
                for e in range(kw):
                    first = e * dw - pw
                    low = max(0, -(first // sw)) if first < 0 else 0
                    high = min(ow, (width - 1 - first) // sw + 1) if first < width else 0
                    for i in range(od):
                        z = i * sd + a * dd - pd
                        if z < 0 or z >= depth:
                            continue
                        for j in range(oh):
                            y = j * sh + b * dh - ph
                            if y < 0 or y >= height or high <= low:
                                continue
                            at = row * pitch + (i * oh + j) * ow
                            base = ((c * depth + z) * height + y) * width + first
                            if sw == 1:
                                target = x[base + low : base + high]
                                source = columns[at + low : at + high]
                                for k in range(source.size):
                                    target[k] += source[k]
                            else:
                                for k in range(low, high):
                                    x[base + k * sw] += columns[at + k]
                    row += 1


@kernel
def _forward(
    out: Any, x: Any, weight: Any, columns: Any, product: Any, facts: Any, images: int,
    groups: int, together: int, plain: int,
) -> None:  # fmt: skip
    taps = facts[0] * facts[4] * facts[5] * facts[6]
    places = facts[7] * facts[8] * facts[9]
    image = facts[0] * facts[1] * facts[2] * facts[3]
    features = weight.size // taps // groups
    for start in range(0, images, together):
        count = min(together, images - start)
        pitch = count * places
        for g in range(groups):
            w = weight[g * features * taps :]
            if plain:
                source = x[(start * groups + g) * image :]
                gemm(0, 0, features, places, taps, 1.0, w, taps, source, places, 0.0,
                     out[(start * groups + g) * features * places :], places)
                continue
            for i in range(count):
                unfold_image(
                    columns[i * places :], pitch, x[((start + i) * groups + g) * image :], facts
                )
            if count == 1:
                gemm(0, 0, features, places, taps, 1.0, w, taps, columns, places, 0.0,
                     out[(start * groups + g) * features * places :], places)
                continue
            gemm(0, 0, features, pitch, taps, 1.0, w, taps, columns, pitch, 0.0, product, pitch)
            for i in range(count):
                for f in range(features):
                    at = (((start + i) * groups + g) * features + f) * places
                    target = out[at : at + places]
                    made = product[f * pitch + i * places : f * pitch + (i + 1) * places]
                    for k in range(places):
                        target[k] = made[k]


@kernel
def _add_bias(out: Any, bias: Any, images: int, features: int) -> None:
    places = out.size // (images * features)
    for i in range(images):
        for f in range(features):
            at = (i * features + f) * places
            row = out[at : at + places]
            value = bias[f]
            for k in range(places):
                row[k] += value


@kernel
def _input_gradient(
    out: Any, g_: Any, weight: Any, columns: Any, product: Any, facts: Any, images: int,
    groups: int, together: int, plain: int,
) -> None:  # fmt: skip
    taps = facts[0] * facts[4] * facts[5] * facts[6]
    places = facts[7] * facts[8] * facts[9]
    image = facts[0] * facts[1] * facts[2] * facts[3]
    features = weight.size // taps // groups
    if not plain:
        for i in range(out.size):
            out[i] = 0
    for start in range(0, images, together):
        count = min(together, images - start)
        pitch = count * places
        for g in range(groups):
            w = weight[g * features * taps :]
            first = (start * groups + g) * features * places
            if plain:
                gemm(1, 0, taps, places, features, 1.0, w, taps, g_[first:], places, 0.0,
                     out[(start * groups + g) * image :], places)
                continue
            if count == 1:
                gemm(1, 0, taps, places, features, 1.0, w, taps, g_[first:], places, 0.0,
                     columns, places)
            else:
                for i in range(count):
                    for f in range(features):
                        at = (((start + i) * groups + g) * features + f) * places
                        source = g_[at : at + places]
                        made = product[f * pitch + i * places : f * pitch + (i + 1) * places]
                        for k in range(places):
                            made[k] = source[k]
                gemm(1, 0, taps, pitch, features, 1.0, w, taps, product, pitch, 0.0, columns,
                     pitch)
            for i in range(count):
                fold_image(
                    out[((start + i) * groups + g) * image :], columns[i * places :], pitch, facts
                )


@kernel
def _weight_gradient(
    out: Any, g_: Any, x: Any, columns: Any, product: Any, facts: Any, images: int, groups: int,
    together: int, plain: int,
) -> None:  # fmt: skip
    taps = facts[0] * facts[4] * facts[5] * facts[6]
    places = facts[7] * facts[8] * facts[9]
    image = facts[0] * facts[1] * facts[2] * facts[3]
    features = out.size // taps // groups
    for start in range(0, images, together):
        count = min(together, images - start)
        pitch = count * places
        kept = 0.0 if start == 0 else 1.0
        for g in range(groups):
            target = out[g * features * taps :]
            first = (start * groups + g) * features * places
            if plain:
                gemm(0, 1, features, taps, places, 1.0, g_[first:], places,
                     x[(start * groups + g) * image :], places, kept, target, taps)
                continue
            for i in range(count):
                unfold_image(
                    columns[i * places :], pitch, x[((start + i) * groups + g) * image :], facts
                )
            if count == 1:
                gemm(0, 1, features, taps, places, 1.0, g_[first:], places, columns, places,
                     kept, target, taps)
                continue
            for i in range(count):
                for f in range(features):
                    at = (((start + i) * groups + g) * features + f) * places
                    source = g_[at : at + places]
                    made = product[f * pitch + i * places : f * pitch + (i + 1) * places]
                    for k in range(places):
                        made[k] = source[k]
            gemm(0, 1, features, taps, pitch, 1.0, product, pitch, columns, pitch, kept, target,
                 taps)


class _Case:
    """A convolution's sizes: what the loops need, and how many images go together."""

    def __init__(
        self, image: Any, window: Any, result: Any, stride: Any, padding: Any, dilation: Any,
        groups: int,
    ) -> None:  # fmt: skip
        extra = 3 - (len(image) - 2)

        def three(values: Any, fill: int) -> tuple[int, ...]:
            return (fill,) * extra + tuple(int(v) for v in values)

        self.images, channels = int(image[0]), int(image[1]) // groups
        self.features = int(window[0])
        size, taps, places = three(image[2:], 1), three(window[2:], 1), three(result[2:], 1)
        self.facts = np.array(
            [channels, *size, *taps, *places, *three(stride, 1), *three(padding, 0),
             *three(dilation, 1)],
            np.int64,
        )  # fmt: skip
        self.taps = channels * int(np.prod(taps))
        self.places = int(np.prod(places))
        unit = all(t == 1 for t in taps) and all(s == 1 for s in self.facts[10:13])
        self.plain = int(unit and not self.facts[13:16].any())
        wanted = 1 if self.plain else -(-_WIDTH // max(self.places, 1))
        self.together = max(1, min(wanted, self.images))
        self.groups = groups

    def buffers(self, dtype: Any) -> tuple[Any, Any]:
        pitch = self.together * self.places
        columns = workspace(1 if self.plain else self.taps * pitch, dtype)
        features = self.features // self.groups
        product = workspace(1 if self.together == 1 else features * pitch, dtype, "product")
        return columns, product


def _flat(array: Any, dtype: Any) -> Any:
    return np.ascontiguousarray(array, dtype).reshape(-1)


def _work_dtype(dtype: Any) -> Any:
    if dtype in _FAST:
        return dtype
    return np.dtype(np.float64 if dtype.kind in "iu" else np.float32)


def _run(function: Any, out: Any, first: Any, second: Any, case: _Case) -> Any:
    """Call a loop; the result as a flat array, which is ``out``'s memory where types agree."""
    dtype = _work_dtype(out.dtype)
    blas.library()
    direct = dtype == out.dtype and out.flags.c_contiguous
    target = out.reshape(-1) if direct else np.empty(out.size, dtype)
    columns, product = case.buffers(dtype)
    function(
        target, _flat(first, dtype), _flat(second, dtype), columns, product, case.facts,
        case.images, case.groups, case.together, case.plain,
    )  # fmt: skip
    return target


def convolution(
    out: Any, x: Any, weight: Any, bias: Any = None, *, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> None:  # fmt: skip
    """``out[n, o] = bias[o] + sum over c and taps of weight[o, c, tap] * x[n, c, place + tap]``."""
    if out.dtype.kind == "c":
        parts = {
            "stride": stride, "padding": padding, "dilation": dilation, "groups": groups,
        }  # fmt: skip
        _complex(convolution, out, x, weight, parts)
        if bias is not None:
            out += bias.reshape(-1, *[1] * (out.ndim - 2))
        return
    case = _Case(x.shape, weight.shape, out.shape, stride, padding, dilation, groups)
    if case.taps == 0:
        out[...] = 0
        target = out.reshape(-1)
    else:
        target = _run(_forward, out, x, weight, case)
    if bias is not None:
        _add_bias(target, _flat(bias, target.dtype), case.images, case.features)
    if target.base is not out and target.dtype != out.dtype:
        out[...] = target.reshape(out.shape)


def convolution_input_gradient(
    out: Any, g: Any, weight: Any, *, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    """The gradient for ``x`` (shape of ``out``); also the forward pass of a transposed
    convolution."""
    if out.dtype.kind == "c":
        parts = {
            "stride": stride, "padding": padding, "dilation": dilation, "groups": groups,
        }  # fmt: skip
        _complex(convolution_input_gradient, out, g, weight, parts)
        return
    case = _Case(out.shape, weight.shape, g.shape, stride, padding, dilation, groups)
    if g.size == 0:
        out[...] = 0
        return
    target = _run(_input_gradient, out, g, weight, case)
    if target.dtype != out.dtype:
        out[...] = target.reshape(out.shape)


def convolution_weight_gradient(
    out: Any, g: Any, x: Any, *, stride: Any, padding: Any, dilation: Any, groups: int
) -> None:
    """The gradient for the weight (shape of ``out``)."""
    if out.dtype.kind == "c":
        parts = {
            "stride": stride, "padding": padding, "dilation": dilation, "groups": groups,
        }  # fmt: skip
        _complex(convolution_weight_gradient, out, g, x, parts)
        return
    case = _Case(x.shape, out.shape, g.shape, stride, padding, dilation, groups)
    if g.size == 0:
        out[...] = 0
        return
    target = _run(_weight_gradient, out, g, x, case)
    if target.dtype != out.dtype:
        out[...] = target.reshape(out.shape)


def _complex(function: Any, out: Any, a: Any, b: Any, params: dict[str, Any]) -> None:
    """The bilinear ``function`` of complex operands, from those of their parts."""
    real = np.dtype(np.float32 if out.dtype == np.complex64 else np.float64)
    parts = [np.empty(out.shape, real) for _ in range(4)]
    extra = {"bias": None} if function is convolution else {}
    for part, (u, v) in zip(
        parts, ((a.real, b.real), (a.imag, b.imag), (a.real, b.imag), (a.imag, b.real)),
        strict=True,
    ):  # fmt: skip
        function(part, u, v, **extra, **params)
    out.real = parts[0] - parts[1]
    out.imag = parts[2] + parts[3]
