"""Products, convolutions, pooling, normalization and softmax.

Sums are accumulated in float, in the order of the loops.
"""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine.ops import (
    convolution,
    linear_algebra,
    normalization,
    pooling,
    softmax,
)
from mindtorch.exporting.errors import UnsupportedOperatorError

from .buffers import View
from .writer import Writer, function, literal, writes

# --- products -------------------------------------------------------------------------------------

LINEAR = function("""
struct linear_shape { int rows, inputs, outputs; };

/* y[r][o] = bias[o] + sum over i of x[r][i] * weight[o][i]; bias may be NULL. */
static void linear(const float *x, const float *weight, const float *bias, float *y,
                   const struct linear_shape *s)
{
    for (int r = 0; r < s->rows; ++r) {
        for (int o = 0; o < s->outputs; ++o) {
            float sum = bias != NULL ? bias[o] : 0.0f;
            for (int i = 0; i < s->inputs; ++i) {
                sum += x[r * s->inputs + i] * weight[o * s->inputs + i];
            }
            y[r * s->outputs + o] = sum;
        }
    }
}
""")


@writes(linear_algebra.linear)
def _linear(w: Writer, node: Any) -> View:
    x, weight, bias = node.inputs
    made = w.made(node.outputs[0])
    outputs, inputs = weight.aval.shape if weight.aval.ndim == 2 else (1, weight.aval.shape[0])
    w.call(LINEAR, w.dense(x), w.dense(weight), w.pointer(bias), made,
           rows=x.aval.size // inputs, inputs=inputs, outputs=outputs)  # fmt: skip
    return made


MATMUL = function("""
struct matmul_shape { int rows, inner, columns, x_row, x_inner, z_inner, z_column; };

/* y = x z for matrices whose neighbours in each axis lie the given distances apart. */
static void matmul(const float *x, const float *z, float *y, const struct matmul_shape *s)
{
    for (int r = 0; r < s->rows; ++r) {
        for (int c = 0; c < s->columns; ++c) {
            float sum = 0.0f;
            for (int i = 0; i < s->inner; ++i) {
                sum += x[r * s->x_row + i * s->x_inner] * z[i * s->z_inner + c * s->z_column];
            }
            y[r * s->columns + c] = sum;
        }
    }
}
""")


@writes(linear_algebra.matmul)
def _matmul(w: Writer, node: Any) -> View:
    x, z = (w.of(v) for v in node.inputs)
    if x.buffer.ctype != "float":
        raise UnsupportedOperatorError("a product of whole numbers")
    made = w.made(node.outputs[0])
    if len(x.shape) == 1:
        x = View(x.buffer, (1, *x.shape), (0, *x.strides), x.offset)
    if len(z.shape) == 1:
        z = View(z.buffer, (*z.shape, 1), (*z.strides, 0), z.offset)
    rows, inner, columns = x.shape[-2], x.shape[-1], z.shape[-1]
    batch = made.shape[: max(len(x.shape), len(z.shape)) - 2]
    for at in range(math.prod(batch)):
        offsets = [_batch_offset(v, batch, at) for v in (x, z)]
        w.call(
            MATMUL, _moved(x, offsets[0]), _moved(z, offsets[1]),
            View(made.buffer, (rows, columns), (columns, 1), at * rows * columns),
            rows=rows, inner=inner, columns=columns, x_row=x.strides[-2], x_inner=x.strides[-1],
            z_inner=z.strides[-2], z_column=z.strides[-1],
        )  # fmt: skip
    return made


def _moved(view: View, offset: int) -> View:
    return View(view.buffer, view.shape, view.strides, view.offset + offset)


def _batch_offset(view: View, batch: tuple[int, ...], at: int) -> int:
    """Where matrix ``at`` of a broadcast batch begins."""
    offset, own = 0, len(view.shape) - 2
    for axis in reversed(range(len(batch))):
        at, i = divmod(at, batch[axis])
        mine = axis - (len(batch) - own)
        if mine >= 0 and view.shape[mine] != 1:
            offset += i * view.strides[mine]
    return offset


# --- convolutions ---------------------------------------------------------------------------------

CONV2D = function("""
struct conv2d_shape {
    int batch, groups, in_channels, in_height, in_width, out_channels, out_height, out_width;
    int kernel_height, kernel_width, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
};

/* Cross-correlation in NCHW with weights [out][in / groups][ky][kx]; bias may be NULL. */
static void conv2d(const float *x, const float *weight, const float *bias, float *y,
                   const struct conv2d_shape *s)
{
    const int in_group = s->in_channels / s->groups;
    const int out_group = s->out_channels / s->groups;
    for (int n = 0; n < s->batch; ++n) {
        for (int o = 0; o < s->out_channels; ++o) {
            const float *kernel = weight + o * in_group * s->kernel_height * s->kernel_width;
            const float *image = x + (n * s->in_channels + o / out_group * in_group)
                                     * s->in_height * s->in_width;
            for (int oy = 0; oy < s->out_height; ++oy) {
                for (int ox = 0; ox < s->out_width; ++ox) {
                    float sum = bias != NULL ? bias[o] : 0.0f;
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
                                sum += image[(c * s->in_height + iy) * s->in_width + ix]
                                       * kernel[(c * s->kernel_height + ky) * s->kernel_width + kx];
                            }
                        }
                    }
                    *y++ = sum;
                }
            }
        }
    }
}
""")


def conv_shape(
    x: Any, y: Any, kernel: Any, given: dict[str, Any], channels: bool = True
) -> dict[str, int]:
    """The members of the structs of convolutions and pooling, of images or rows.

    Args:
        x, y: the shapes of the input and the result.
        kernel: the sizes of the window.
        given: the op's params.
        channels: there are groups; else each channel is a picture of its own.

    Raises:
        UnsupportedOperatorError: three spatial axes.
    """
    if len(kernel) > 2:
        raise UnsupportedOperatorError("convolution and pooling of volumes")
    pairs = {
        "in": x[2:], "out": y[2:], "kernel": kernel, "stride": given["stride"],
        "pad": given["padding"], "dilation": given.get("dilation", (1,) * len(kernel)),
    }  # fmt: skip
    fill = {"pad": 0}
    both = {
        name: tuple(int(n) for n in pair) if len(pair) == 2 else (fill.get(name, 1), int(pair[0]))
        for name, pair in pairs.items()
    }
    made = (
        {"batch": x[0], "groups": given["groups"], "in_channels": x[1]} if channels
        else {"planes": x[0] * x[1]}
    )  # fmt: skip
    made |= {"in_height": both["in"][0], "in_width": both["in"][1]}
    if channels:
        made["out_channels"] = y[1]
    made |= {"out_height": both["out"][0], "out_width": both["out"][1]}
    made |= {"kernel_height": both["kernel"][0], "kernel_width": both["kernel"][1]}
    for name in ("stride", "pad", "dilation"):
        made[f"{name}_y"], made[f"{name}_x"] = both[name]
    return made


@writes(convolution.convolution)
def _convolution(w: Writer, node: Any) -> View:
    x, weight, bias = node.inputs
    made = w.made(node.outputs[0])
    shape = conv_shape(x.aval.shape, made.shape, weight.aval.shape[2:], node.params)
    w.call(CONV2D, w.dense(x), w.dense(weight), w.pointer(bias), made, **shape)
    return made


# --- pooling --------------------------------------------------------------------------------------

MAX_POOL = function("""
struct max_pool_shape {
    int planes, in_height, in_width, out_height, out_width;
    int kernel_height, kernel_width, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
};

/* The largest element of each window (NaN wins) and its place in the plane; `index` may be NULL. */
static void max_pool(const float *x, float *y, int32_t *index, const struct max_pool_shape *s)
{
    for (int p = 0; p < s->planes; ++p, x += s->in_height * s->in_width) {
        for (int oy = 0; oy < s->out_height; ++oy) {
            for (int ox = 0; ox < s->out_width; ++ox) {
                float best = -INFINITY;
                int32_t place = -1;
                for (int ky = 0; ky < s->kernel_height; ++ky) {
                    const int iy = oy * s->stride_y - s->pad_y + ky * s->dilation_y;
                    for (int kx = 0; kx < s->kernel_width; ++kx) {
                        const int ix = ox * s->stride_x - s->pad_x + kx * s->dilation_x;
                        if (iy < 0 || iy >= s->in_height || ix < 0 || ix >= s->in_width) {
                            continue;
                        }
                        const float here = x[iy * s->in_width + ix];
                        if (place < 0 || here > best || here != here) {
                            best = here;
                            place = iy * s->in_width + ix;
                        }
                    }
                }
                *y++ = best;
                if (index != NULL) {
                    *index++ = place;
                }
            }
        }
    }
}
""")


@writes(pooling.max_pool)
def _max_pool(w: Writer, node: Any) -> Any:
    (x,), (y, places) = node.inputs, node.outputs
    made, index = w.made(y), w.made(places) if w.wants(places) else None
    shape = conv_shape(x.aval.shape, made.shape, node.params["kernel_size"], node.params, False)
    w.call(MAX_POOL, w.dense(x), made, "NULL" if index is None else index, **shape)
    return made, index


POOL_DIVISOR = function("""
struct avg_pool_shape {
    int planes, in_height, in_width, out_height, out_width;
    int kernel_height, kernel_width, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
    int count_padding, divisor;
};

/* How many elements the mean of a window is taken of: `divisor` if it is not 0, else those within
 * the image, with count_padding also those within its padding. */
static int pool_divisor(int top, int left, const struct avg_pool_shape *s)
{
    const int before_y = s->count_padding ? -s->pad_y : 0;
    const int before_x = s->count_padding ? -s->pad_x : 0;
    const int end_y = s->in_height + (s->count_padding ? s->pad_y : 0);
    const int end_x = s->in_width + (s->count_padding ? s->pad_x : 0);
    const int first_y = top > before_y ? top : before_y;
    const int first_x = left > before_x ? left : before_x;
    const int last_y = top + s->kernel_height < end_y ? top + s->kernel_height : end_y;
    const int last_x = left + s->kernel_width < end_x ? left + s->kernel_width : end_x;
    return s->divisor != 0 ? s->divisor : (last_y - first_y) * (last_x - first_x);
}
""")
AVG_POOL = function("""
/* The mean of each window. */
static void avg_pool(const float *x, float *y, const struct avg_pool_shape *s)
{
    for (int p = 0; p < s->planes; ++p, x += s->in_height * s->in_width) {
        for (int oy = 0; oy < s->out_height; ++oy) {
            for (int ox = 0; ox < s->out_width; ++ox) {
                const int top = oy * s->stride_y - s->pad_y;
                const int left = ox * s->stride_x - s->pad_x;
                float sum = 0.0f;
                for (int ky = 0; ky < s->kernel_height; ++ky) {
                    for (int kx = 0; kx < s->kernel_width; ++kx) {
                        const int iy = top + ky;
                        const int ix = left + kx;
                        if (iy >= 0 && iy < s->in_height && ix >= 0 && ix < s->in_width) {
                            sum += x[iy * s->in_width + ix];
                        }
                    }
                }
                *y++ = sum / (float)pool_divisor(top, left, s);
            }
        }
    }
}
""")


def average_shape(x: Any, y: Any, given: dict[str, Any]) -> dict[str, int]:
    """The members of ``avg_pool_shape``."""
    shape = conv_shape(x, y, given["kernel_size"], given, False)
    return shape | {
        "count_padding": int(given["count_include_pad"]), "divisor": given["divisor_override"] or 0
    }  # fmt: skip


@writes(pooling.avg_pool)
def _avg_pool(w: Writer, node: Any) -> View:
    (x,), made = node.inputs, w.made(node.outputs[0])
    w.call(AVG_POOL, w.dense(x), made, **average_shape(x.aval.shape, made.shape, node.params))
    return made


ADAPTIVE_AVG_POOL = function("""
struct adaptive_avg_pool_shape { int planes, in_height, in_width, out_height, out_width; };

/* Means over windows from floor(i * n / m) up to ceil((i + 1) * n / m). */
static void adaptive_avg_pool(const float *x, float *y, const struct adaptive_avg_pool_shape *s)
{
    for (int p = 0; p < s->planes; ++p, x += s->in_height * s->in_width) {
        for (int oy = 0; oy < s->out_height; ++oy) {
            const int top = oy * s->in_height / s->out_height;
            const int bottom = ((oy + 1) * s->in_height + s->out_height - 1) / s->out_height;
            for (int ox = 0; ox < s->out_width; ++ox) {
                const int left = ox * s->in_width / s->out_width;
                const int right = ((ox + 1) * s->in_width + s->out_width - 1) / s->out_width;
                float sum = 0.0f;
                for (int iy = top; iy < bottom; ++iy) {
                    for (int ix = left; ix < right; ++ix) {
                        sum += x[iy * s->in_width + ix];
                    }
                }
                *y++ = sum / (float)((bottom - top) * (right - left));
            }
        }
    }
}
""")


def plane_shape(x: Any, y: Any) -> dict[str, int]:
    """The sizes of pictures, or of rows as pictures of one line."""
    if len(x) > 4:
        raise UnsupportedOperatorError("pooling of volumes")
    (ih, iw), (oh, ow) = ((1, *v[2:]) if len(v) == 3 else v[2:] for v in (x, y))
    return {"planes": x[0] * x[1], "in_height": ih, "in_width": iw,
            "out_height": oh, "out_width": ow}  # fmt: skip


@writes(pooling.adaptive_avg_pool)
def _adaptive_avg_pool(w: Writer, node: Any) -> View:
    (x,), made = node.inputs, w.made(node.outputs[0])
    w.call(ADAPTIVE_AVG_POOL, w.dense(x), made, **plane_shape(x.aval.shape, made.shape))
    return made


@writes(pooling.adaptive_max_pool)
def _adaptive_max_pool(w: Writer, node: Any) -> Any:
    (x,), (y, places) = node.inputs, node.outputs
    before, after = x.aval.shape[2:], y.aval.shape[2:]
    if any(n % m for n, m in zip(before, after, strict=True)):
        raise UnsupportedOperatorError("adaptive max pooling to windows of several sizes")
    kernel = tuple(n // m for n, m in zip(before, after, strict=True))
    given = {"stride": kernel, "padding": (0,) * len(kernel)}
    made, index = w.made(y), w.made(places) if w.wants(places) else None
    shape = conv_shape(x.aval.shape, made.shape, kernel, given, False)
    w.call(MAX_POOL, w.dense(x), made, "NULL" if index is None else index, **shape)
    return made, index


# --- normalization and softmax --------------------------------------------------------------------

SOFTMAX = function("""
struct softmax_shape { int outer, length, inner; };

/* exp(x - max) / sum along the middle axis. */
static void softmax(const float *x, float *y, const struct softmax_shape *s)
{
    for (int o = 0; o < s->outer; ++o) {
        for (int i = 0; i < s->inner; ++i) {
            const int begin = o * s->length * s->inner + i;
            float top = x[begin];
            float sum = 0.0f;
            for (int k = 1; k < s->length; ++k) {
                const float here = x[begin + k * s->inner];
                top = here > top ? here : top;
            }
            for (int k = 0; k < s->length; ++k) {
                const float power = expf(x[begin + k * s->inner] - top);
                y[begin + k * s->inner] = power;
                sum += power;
            }
            for (int k = 0; k < s->length; ++k) {
                y[begin + k * s->inner] /= sum;
            }
        }
    }
}
""")
LOG_SOFTMAX = function("""
struct log_softmax_shape { int outer, length, inner; };

/* x - max - log(sum of exp(x - max)) along the middle axis. */
static void log_softmax(const float *x, float *y, const struct log_softmax_shape *s)
{
    for (int o = 0; o < s->outer; ++o) {
        for (int i = 0; i < s->inner; ++i) {
            const int begin = o * s->length * s->inner + i;
            float top = x[begin];
            float sum = 0.0f;
            for (int k = 1; k < s->length; ++k) {
                const float here = x[begin + k * s->inner];
                top = here > top ? here : top;
            }
            for (int k = 0; k < s->length; ++k) {
                sum += expf(x[begin + k * s->inner] - top);
            }
            for (int k = 0; k < s->length; ++k) {
                y[begin + k * s->inner] = x[begin + k * s->inner] - top - logf(sum);
            }
        }
    }
}
""")


def along(shape: Any, axis: int) -> dict[str, int]:
    """The lengths before, along and behind an axis."""
    if not shape:
        return {"outer": 1, "length": 1, "inner": 1}
    return {"outer": math.prod(shape[:axis]), "length": shape[axis],
            "inner": math.prod(shape[axis + 1 :])}  # fmt: skip


@writes(softmax.softmax, softmax.log_softmax)
def _softmax(w: Writer, node: Any) -> View:
    (x,), made = node.inputs, w.made(node.outputs[0])
    name = SOFTMAX if node.op is softmax.softmax else LOG_SOFTMAX
    w.call(name, w.dense(x), made, **along(made.shape, node.params["axis"]))
    return made


BATCH_NORM = function("""
struct batch_norm_shape { int batch, channels, inner; };

/* (x - mean) / sqrt(variance + eps) * weight + bias; weight and bias may be NULL. */
static void batch_norm(const float *x, const float *weight, const float *bias, const float *mean,
                       const float *variance, float eps, float *y,
                       const struct batch_norm_shape *s)
{
    for (int n = 0; n < s->batch; ++n) {
        for (int c = 0; c < s->channels; ++c) {
            const float scale = (weight != NULL ? weight[c] : 1.0f) / sqrtf(variance[c] + eps);
            const float shift = bias != NULL ? bias[c] : 0.0f;
            for (int i = 0; i < s->inner; ++i) {
                const int at = (n * s->channels + c) * s->inner + i;
                y[at] = (x[at] - mean[c]) * scale + shift;
            }
        }
    }
}
""")


def channels_of(shape: Any) -> dict[str, int]:
    """The lengths before, along and behind the channels' axis."""
    return {"batch": shape[0], "channels": shape[1], "inner": math.prod(shape[2:])}


@writes(normalization.batch_norm_inference)
def _batch_norm(w: Writer, node: Any) -> View:
    x, *rest = node.inputs
    made = w.made(node.outputs[0])
    eps = literal(node.params["eps"], "float")
    w.call(BATCH_NORM, w.dense(x), *[w.pointer(v) for v in rest], eps, made,
           **channels_of(made.shape))  # fmt: skip
    return made


LAYER_NORM = function("""
struct layer_norm_shape { int rows, length; };

/* (x - mean) / sqrt(variance + eps) * weight + bias of each row; weight, bias, mean and invstd may
 * be NULL. */
static void layer_norm(const float *x, const float *weight, const float *bias, float eps, float *y,
                       float *mean, float *invstd, const struct layer_norm_shape *s)
{
    for (int r = 0; r < s->rows; ++r, x += s->length, y += s->length) {
        float sum = 0.0f;
        float squares = 0.0f;
        for (int i = 0; i < s->length; ++i) {
            sum += x[i];
        }
        const float middle = sum / (float)s->length;
        for (int i = 0; i < s->length; ++i) {
            squares += (x[i] - middle) * (x[i] - middle);
        }
        const float scale = 1.0f / sqrtf(squares / (float)s->length + eps);
        for (int i = 0; i < s->length; ++i) {
            y[i] = (x[i] - middle) * scale * (weight != NULL ? weight[i] : 1.0f)
                   + (bias != NULL ? bias[i] : 0.0f);
        }
        if (mean != NULL) {
            mean[r] = middle;
        }
        if (invstd != NULL) {
            invstd[r] = scale;
        }
    }
}
""")


@writes(normalization.layer_norm)
def _layer_norm(w: Writer, node: Any) -> Any:
    x, weight, bias = node.inputs
    made = w.made(node.outputs[0])
    length = math.prod(made.shape[-node.params["normalized_ndim"] :])
    statistics = [w.made(v) if w.wants(v) else None for v in node.outputs[1:]]
    w.call(
        LAYER_NORM, w.dense(x), w.pointer(weight), w.pointer(bias),
        literal(node.params["eps"], "float"), made,
        *["NULL" if v is None else v for v in statistics],
        rows=made.size // length, length=length,
    )  # fmt: skip
    return made, *statistics
