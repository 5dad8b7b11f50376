"""Ops in int8: sums of integers in 32 bits, brought to the result's scale by a multiplication and a
shift as gemmlowp does it. What has no writer here is computed in float, between two conversions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.ops import (
    activations,
    convolution,
    copies,
    elementwise,
    linear_algebra,
    movement,
    pooling,
)
from mindtorch.exporting.errors import UnsupportedOperatorError
from mindtorch.exporting.writers import Writers

from .buffers import View
from .quantization import Quantized, multiplier_of, weights_of
from .writer import SYSTEM, WRITERS, Program, Writer, function, literal
from .writers_networks import average_shape, conv_shape, plane_shape

__all__ = ["INT8", "Int8Writer"]

INT8 = Writers()
writes = INT8.writes

RESCALE = function("""
/* x * multiplier * 2^(shift - 31), rounded as gemmlowp does: a doubling high product, then a
 * rounding division by a power of two. Right shifts of negative numbers are arithmetic, which every
 * compiler for such devices does. */
static int32_t rescale(int32_t x, int32_t multiplier, int32_t shift)
{
    const int right = shift < 0 ? -shift : 0;
    const int64_t product = (int64_t)x * ((int64_t)1 << (shift > 0 ? shift : 0)) * multiplier;
    const int64_t nudge = product >= 0 ? (int64_t)1 << 30 : 1 - ((int64_t)1 << 30);
    const int32_t high = (int32_t)((product + nudge) / ((int64_t)1 << 31));
    const int32_t mask = (int32_t)(((int64_t)1 << right) - 1);
    const int32_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
    return (high >> right) + ((high & mask) > threshold ? 1 : 0);
}
""")
CLAMPED = function("""
static int8_t clamped(int32_t x, int32_t low, int32_t high)
{
    return (int8_t)(x < low ? low : x > high ? high : x);
}
""")
QUANTIZE = function("""
/* The integers nearest to x / scale + zero. */
static void quantize(const float *x, int8_t *y, int count, float scale, int32_t zero)
{
    for (int i = 0; i < count; ++i) {
        const float number = nearbyintf(x[i] / scale) + (float)zero;
        y[i] = (int8_t)(!(number > -128.0f) ? -128 : number > 127.0f ? 127 : (int)number);
    }
}
""")
DEQUANTIZE = function("""
static void dequantize(const int8_t *x, float *y, int count, float scale, int32_t zero)
{
    for (int i = 0; i < count; ++i) {
        y[i] = scale * (float)(x[i] - zero);
    }
}
""")
RESCALED = function("""
struct rescaled_shape { int count, zero_in, zero_out, multiplier, shift; };

/* The same numbers at another scale. */
static void rescaled(const int8_t *x, int8_t *y, const struct rescaled_shape *s)
{
    for (int i = 0; i < s->count; ++i) {
        const int32_t moved = rescale(x[i] - s->zero_in, s->multiplier, s->shift);
        y[i] = clamped(s->zero_out + moved, -128, 127);
    }
}
""")


class Int8Writer(Writer):
    """A writer that holds what it can in int8.

    Args:
        scales: how each float value is held.

    Attributes:
        integers: by the numbers of values, where they lie as integers.
    """

    def __init__(self, program: Program, graph: Any, scales: dict[int, Quantized]) -> None:
        super().__init__(program, graph)
        self.scales = scales
        self.integers: dict[int, View] = {}
        self._moving = False
        self.consumers: dict[int, list[Any]] = {}
        for node in graph.nodes:
            for value in node.inputs:
                if value is not None:
                    self.consumers.setdefault(value.number, []).append(node)
        for value in graph.outputs:
            self.consumers.setdefault(value.number, []).append(None)

    def run(self) -> None:
        for node in self.graph.nodes:
            if all(v.number in self.integers for v in node.outputs):
                continue  # computed with the node before it
            self._comment = node.op.name + (f" at {node.line}" if node.line else "")
            made = INT8[node.op](self, node) if node.op in INT8 and self._fits(node) else None
            if made is not None:
                views = made if isinstance(made, tuple) else (made,)
                self.integers.update(
                    {v.number: x for v, x in zip(node.outputs, views, strict=False)}
                )
                continue
            for value, view in zip(
                node.outputs, WRITERS.write(self, node, SYSTEM),
                strict=True,
            ):  # fmt: skip
                if view is not None:
                    self.values[value.number] = view

    def _fits(self, node: Any) -> bool:
        """Whether a node's input and result are float tensors of known ranges."""
        first, made = node.inputs[0], node.outputs[0]
        return all(
            v.aval.dtype is dtypes.float32 and v.number in self.scales for v in (first, made)
        )

    def of(self, value: Any) -> View:
        number = value.number
        if self._moving and number in self.integers:
            return self.integers[number]
        if number not in self.values and number in self.integers:
            self.values[number] = self._as_float(value)
        return super().of(value)

    def made(self, value: Any, ctype: str | None = None) -> View:
        return super().made(value, "int8_t" if self._moving else ctype)

    def _as_float(self, value: Any) -> View:
        held, view = self.scales[value.number], self.dense(self.integers[value.number])
        made = super().made(value)
        self.call(DEQUANTIZE, view, made, view.size, literal(held.scale, "float"), held.zero)
        return made

    def integer(self, value: Any) -> View:
        """Where a value lies as integers, in C order."""
        if value.number not in self.integers:
            held, view = self.scales[value.number], self.dense(value)
            made = super().made(value, "int8_t")
            self.call(QUANTIZE, view, made, view.size, literal(held.scale, "float"), held.zero)
            self.integers[value.number] = made
        return self.dense(self.integers[value.number])

    def at_scale(self, value: Any, wanted: Quantized) -> View:
        """A value as integers of another scale."""
        held, view = self.scales[value.number], self.integer(value)
        if held == wanted:
            return view
        made = super().made(value, "int8_t")
        multiplier, shift = multiplier_of(held.scale / wanted.scale)
        self.call(RESCALED, view, made, count=view.size, zero_in=held.zero,
                  zero_out=wanted.zero, multiplier=multiplier, shift=shift)  # fmt: skip
        return made

    def moved(self, node: Any) -> Any:
        """What the float writer of a node that only moves elements does, with integers."""
        self._moving = True
        try:
            return WRITERS[node.op](self, node)
        finally:
            self._moving = False

    def ends_in(self, node: Any) -> tuple[Any, Quantized, int, int]:
        """The value that a product's integers are for: its own, or that of the activation behind
        it, which limits the integers; and these limits."""
        value = node.outputs[0]
        behind = self.consumers.get(value.number, [])
        after = behind[0] if len(behind) == 1 else None
        if after is not None and after.op is activations.relu:
            value = after.outputs[0]
            return value, self.scales[value.number], self.scales[value.number].zero, 127
        if after is not None and after.op in (activations.hardtanh, elementwise.clamp):
            bounds = [self.known(v) for v in after.inputs[1:3]]
            if all(b is not None and b.size == 1 for b in bounds):
                value = after.outputs[0]
                held = self.scales[value.number]
                low, high = (held.integer(float(b.reshape(()))) for b in bounds)
                return value, held, low, high
        return value, self.scales[value.number], -128, 127


# --- products and convolutions --------------------------------------------------------------------

LINEAR_INT8 = function("""
struct linear_int8_shape { int rows, inputs, outputs, zero_in, zero_out, low, high; };

/* For each output o the sum of (x - zero_in) * weight and of the bias, at scale x * weight, times
 * multiplier[o] * 2^(shift[o] - 31). */
static void linear_int8(const int8_t *x, const int8_t *weight, const int32_t *bias,
                        const int32_t *multiplier, const int32_t *shift, int8_t *y,
                        const struct linear_int8_shape *s)
{
    for (int r = 0; r < s->rows; ++r) {
        for (int o = 0; o < s->outputs; ++o) {
            int32_t sum = bias[o];
            for (int i = 0; i < s->inputs; ++i) {
                sum += (x[r * s->inputs + i] - s->zero_in) * weight[o * s->inputs + i];
            }
            sum = s->zero_out + rescale(sum, multiplier[o], shift[o]);
            y[r * s->outputs + o] = clamped(sum, s->low, s->high);
        }
    }
}
""")
CONV2D_INT8 = function("""
struct conv2d_int8_shape {
    int batch, groups, in_channels, in_height, in_width, out_channels, out_height, out_width;
    int kernel_height, kernel_width, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
    int zero_in, zero_out, low, high;
};

/* Cross-correlation in NCHW with weights [out][in / groups][ky][kx]; sums are at scale x * weight
 * and are multiplied by multiplier[out] * 2^(shift[out] - 31). */
static void conv2d_int8(const int8_t *x, const int8_t *weight, const int32_t *bias,
                        const int32_t *multiplier, const int32_t *shift, int8_t *y,
                        const struct conv2d_int8_shape *s)
{
    const int in_group = s->in_channels / s->groups;
    const int out_group = s->out_channels / s->groups;
    for (int n = 0; n < s->batch; ++n) {
        for (int o = 0; o < s->out_channels; ++o) {
            const int8_t *kernel = weight + o * in_group * s->kernel_height * s->kernel_width;
            const int8_t *image = x + (n * s->in_channels + o / out_group * in_group)
                                      * s->in_height * s->in_width;
            for (int oy = 0; oy < s->out_height; ++oy) {
                for (int ox = 0; ox < s->out_width; ++ox) {
                    int32_t sum = bias[o];
                    for (int c = 0; c < in_group; ++c) {
                        for (int ky = 0; ky < s->kernel_height; ++ky) {
                            const int iy = oy * s->stride_y - s->pad_y + ky * s->dilation_y;
                            if (iy < 0 || iy >= s->in_height) {
                                continue;
                            }
                            for (int kx = 0; kx < s->kernel_width; ++kx) {
                                const int ix = ox * s->stride_x - s->pad_x + kx * s->dilation_x;
                                if (ix < 0 || ix >= s->in_width) {
                                    continue;
                                }
                                sum += (image[(c * s->in_height + iy) * s->in_width + ix]
                                        - s->zero_in)
                                       * kernel[(c * s->kernel_height + ky) * s->kernel_width + kx];
                            }
                        }
                    }
                    sum = s->zero_out + rescale(sum, multiplier[o], shift[o]);
                    *y++ = clamped(sum, s->low, s->high);
                }
            }
        }
    }
}
""")
_MOST_TERMS = (2**31 - 1) // (255 * 127) // 2  # half for the bias


@writes(linear_algebra.linear, convolution.convolution)
def _product(w: Int8Writer, node: Any) -> View | None:
    x, weight, bias = node.inputs
    array, constant = w.known(weight), None if bias is None else w.known(bias)
    if array is None or (bias is not None and constant is None) or array.ndim < 2:
        return None
    if array[0].size > _MOST_TERMS:
        raise UnsupportedOperatorError(f"sums of {array[0].size} products may exceed 32 bits")
    value, held, low, high = w.ends_in(node)
    given = w.scales[x.number]
    integers, scales = weights_of(array)
    sums = given.scale * scales
    shifted = np.zeros(len(array)) if constant is None else np.rint(constant / sums)
    pairs = [multiplier_of(each / held.scale) for each in sums]
    name = w.graph.weights.get(weight.number) or "weight"
    most = float(2**30)
    arrays = [
        w.program.array(f"{name}_int8", integers, "int8_t"),
        w.program.array(f"{name}_bias", np.clip(shifted, -most, most).astype(np.int32), "int32_t"),
        w.program.array(f"{name}_multiplier", np.array([m for m, _ in pairs]), "int32_t"),
        w.program.array(f"{name}_shift", np.array([s for _, s in pairs]), "int32_t"),
    ]
    made = w.made(node.outputs[0], "int8_t")
    zeros = {"zero_in": given.zero, "zero_out": held.zero, "low": low, "high": high}
    if node.op is linear_algebra.linear:
        outputs, inputs = array.shape
        shape = {"rows": x.aval.size // inputs, "inputs": inputs, "outputs": outputs}
        w.call(LINEAR_INT8, w.integer(x), *arrays, made, **shape, **zeros)
    else:
        shape = conv_shape(x.aval.shape, made.shape, array.shape[2:], node.params)
        w.call(CONV2D_INT8, w.integer(x), *arrays, made, **shape, **zeros)
    w.integers[value.number] = made
    w.scales[node.outputs[0].number] = held
    return made


# --- pooling and activations ----------------------------------------------------------------------

MAX_POOL_INT8 = function("""
struct max_pool_int8_shape {
    int planes, in_height, in_width, out_height, out_width;
    int kernel_height, kernel_width, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
};

/* The largest element of each window. */
static void max_pool_int8(const int8_t *x, int8_t *y, const struct max_pool_int8_shape *s)
{
    for (int p = 0; p < s->planes; ++p, x += s->in_height * s->in_width) {
        for (int oy = 0; oy < s->out_height; ++oy) {
            for (int ox = 0; ox < s->out_width; ++ox) {
                int8_t best = -128;
                for (int ky = 0; ky < s->kernel_height; ++ky) {
                    const int iy = oy * s->stride_y - s->pad_y + ky * s->dilation_y;
                    for (int kx = 0; kx < s->kernel_width; ++kx) {
                        const int ix = ox * s->stride_x - s->pad_x + kx * s->dilation_x;
                        if (iy < 0 || iy >= s->in_height || ix < 0 || ix >= s->in_width) {
                            continue;
                        }
                        if (x[iy * s->in_width + ix] > best) {
                            best = x[iy * s->in_width + ix];
                        }
                    }
                }
                *y++ = best;
            }
        }
    }
}
""")


@writes(pooling.max_pool)
def _max_pool(w: Int8Writer, node: Any) -> View | None:
    (x,), (y, places) = node.inputs, node.outputs
    if w.wants(places):
        return None
    made = w.made(y, "int8_t")
    shape = conv_shape(x.aval.shape, made.shape, node.params["kernel_size"], node.params, False)
    w.call(MAX_POOL_INT8, w.integer(x), made, **shape)
    w.scales[y.number] = w.scales[x.number]
    return made


MEAN_INT8 = function("""
/* The mean of `count` integers around a zero point, rounded half away from zero. */
static int8_t mean_int8(int32_t sum, int32_t count, int32_t zero)
{
    const int32_t half = count / 2;
    return clamped(zero + (sum >= 0 ? sum + half : sum - half) / count, -128, 127);
}
""")
AVG_POOL_INT8 = function("""
/* The mean of each window, at the input's scale. */
static void avg_pool_int8(const int8_t *x, int8_t *y, int32_t zero, const struct avg_pool_shape *s)
{
    for (int p = 0; p < s->planes; ++p, x += s->in_height * s->in_width) {
        for (int oy = 0; oy < s->out_height; ++oy) {
            for (int ox = 0; ox < s->out_width; ++ox) {
                const int top = oy * s->stride_y - s->pad_y;
                const int left = ox * s->stride_x - s->pad_x;
                int32_t sum = 0;
                for (int ky = 0; ky < s->kernel_height; ++ky) {
                    for (int kx = 0; kx < s->kernel_width; ++kx) {
                        const int iy = top + ky;
                        const int ix = left + kx;
                        if (iy >= 0 && iy < s->in_height && ix >= 0 && ix < s->in_width) {
                            sum += x[iy * s->in_width + ix] - zero;
                        }
                    }
                }
                *y++ = mean_int8(sum, pool_divisor(top, left, s), zero);
            }
        }
    }
}
""")
ADAPTIVE_AVG_POOL_INT8 = function("""
struct adaptive_avg_pool_int8_shape { int planes, in_height, in_width, out_height, out_width; };

/* Means over windows from floor(i * n / m) up to ceil((i + 1) * n / m), at the input's scale. */
static void adaptive_avg_pool_int8(const int8_t *x, int8_t *y, int32_t zero,
                                   const struct adaptive_avg_pool_int8_shape *s)
{
    for (int p = 0; p < s->planes; ++p, x += s->in_height * s->in_width) {
        for (int oy = 0; oy < s->out_height; ++oy) {
            const int top = oy * s->in_height / s->out_height;
            const int bottom = ((oy + 1) * s->in_height + s->out_height - 1) / s->out_height;
            for (int ox = 0; ox < s->out_width; ++ox) {
                const int left = ox * s->in_width / s->out_width;
                const int right = ((ox + 1) * s->in_width + s->out_width - 1) / s->out_width;
                int32_t sum = 0;
                for (int iy = top; iy < bottom; ++iy) {
                    for (int ix = left; ix < right; ++ix) {
                        sum += x[iy * s->in_width + ix] - zero;
                    }
                }
                *y++ = mean_int8(sum, (bottom - top) * (right - left), zero);
            }
        }
    }
}
""")


@writes(pooling.avg_pool, pooling.adaptive_avg_pool)
def _average(w: Int8Writer, node: Any) -> View:
    (x,), (y,) = node.inputs, node.outputs
    made, held = w.made(y, "int8_t"), w.scales[x.number]
    if node.op is pooling.avg_pool:
        shape = average_shape(x.aval.shape, made.shape, node.params)
        w.call(AVG_POOL_INT8, w.integer(x), made, held.zero, struct="avg_pool_shape", **shape)
    else:
        shape = plane_shape(x.aval.shape, made.shape)
        w.call(ADAPTIVE_AVG_POOL_INT8, w.integer(x), made, held.zero, **shape)
    w.scales[y.number] = held
    return made


@writes(activations.relu)
def _relu(w: Int8Writer, node: Any) -> View:
    (x,), (y,) = node.inputs, node.outputs
    given, held = w.integer(x), w.scales[x.number]
    w.scales[y.number] = held
    zero = held.zero
    if zero == -128:
        return given  # nothing is below
    made = w.made(y, "int8_t")
    w.loop(
        made, [given], lambda y, x: f"{y} = (int8_t)({x} < {zero} ? {zero} : {x});",
        [(made.buffer, given.buffer)] if given.is_whole and given.buffer.text is None else [],
    )  # fmt: skip
    return made


ADD_INT8 = function("""
struct add_int8_shape {
    int count, x_zero, x_multiplier, x_shift, z_zero, z_multiplier, z_shift;
    int y_zero, y_multiplier, y_shift;
};

/* x + z: both are brought to one scale with 20 more bits, added, and brought to the result's. */
static void add_int8(const int8_t *x, const int8_t *z, int8_t *y, const struct add_int8_shape *s)
{
    for (int i = 0; i < s->count; ++i) {
        const int32_t a = rescale((x[i] - s->x_zero) * (1 << 20), s->x_multiplier, s->x_shift);
        const int32_t b = rescale((z[i] - s->z_zero) * (1 << 20), s->z_multiplier, s->z_shift);
        y[i] = clamped(s->y_zero + rescale(a + b, s->y_multiplier, s->y_shift), -128, 127);
    }
}
""")


@writes(elementwise.add)
def _add(w: Int8Writer, node: Any) -> View | None:
    (x, z), (y,) = node.inputs, node.outputs
    if x.aval.shape != z.aval.shape or z.number not in w.scales:
        return None
    made = w.made(y, "int8_t")
    a, b, c = (w.scales[v.number] for v in (x, z, y))
    common = 2 * max(a.scale, b.scale)
    numbers = {"count": made.size}
    for name, held, factor in (
        ("x", a, a.scale / common), ("z", b, b.scale / common),
        ("y", c, common / (c.scale * 2**20)),
    ):  # fmt: skip
        numbers[f"{name}_zero"] = held.zero
        numbers[f"{name}_multiplier"], numbers[f"{name}_shift"] = multiplier_of(factor)
    w.call(ADD_INT8, w.integer(x), w.integer(z), made, **numbers)
    return made


# --- moving elements ------------------------------------------------------------------------------


@writes(
    movement.alias_view, copies.clone, movement.view, movement.squeeze, movement.unsqueeze,
    movement.expand, movement.permute, movement.slice_, movement.select, movement.flip,
    movement.split, movement.split_with_sizes, movement.unbind, movement.roll,
)  # fmt: skip
def _move(w: Int8Writer, node: Any) -> Any:
    x = node.inputs[0]
    if x.number not in w.integers:
        return None
    w.scales.update({v.number: w.scales[x.number] for v in node.outputs})
    return w.moved(node)


@writes(movement.pad)
def _pad(w: Int8Writer, node: Any) -> View | None:
    x, number = node.inputs
    if x.number not in w.integers or w.number(number) != 0:
        return None
    (y,) = node.outputs
    padding = [max(n, 0) for pair in node.params["padding"] for n in pair]
    if math.fsum(padding) != sum(n for pair in node.params["padding"] for n in pair):
        return None  # elements are cut off
    given, held, made = w.integers[x.number], w.scales[x.number], w.made(y, "int8_t")
    w.loop(made, [], lambda y: f"{y} = {held.zero};")
    offset = sum(
        before * stride
        for (before, _), stride in zip(node.params["padding"], made.strides, strict=True)
    )
    w.copied(given, View(made.buffer, given.shape, made.strides, offset))
    w.scales[y.number] = held
    return made


@writes(movement.cat)
def _cat(w: Int8Writer, node: Any) -> View | None:
    (y,) = node.outputs
    if any(v.number not in w.scales or v.aval.ndim != y.aval.ndim for v in node.inputs):
        return None
    if not any(v.number in w.integers for v in node.inputs):
        return None
    held = w.scales[y.number]
    made, at = w.made(y, "int8_t"), 0
    axis = node.params["axis"]
    for value in node.inputs:
        part = w.at_scale(value, held)
        w.copied(part, View(made.buffer, part.shape, made.strides, at * made.strides[axis]))
        at += part.shape[axis]
    return made
