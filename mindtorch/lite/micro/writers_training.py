"""What backward passes of convolutions, pooling and normalization are made of."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine.ops import convolution, normalization, pooling
from mindtorch.exporting.errors import UnsupportedOperatorError

from .buffers import View
from .writer import Writer, function, literal, writes
from .writers_networks import (
    average_shape,
    channels_of,
    conv_shape,
    plane_shape,
)

# --- convolutions ---------------------------------------------------------------------------------

CONV2D_INPUT_GRADIENT = function("""
struct conv2d_input_gradient_shape {
    int batch, groups, in_channels, in_height, in_width, out_channels, out_height, out_width;
    int kernel_height, kernel_width, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
};

/* x = the sum of the kernels that the elements of y weigh: the gradient for the input of a
 * convolution, and a transposed convolution. */
static void conv2d_input_gradient(const float *y, const float *weight, float *x,
                                  const struct conv2d_input_gradient_shape *s)
{
    const int in_group = s->in_channels / s->groups;
    const int out_group = s->out_channels / s->groups;
    for (int i = 0; i < s->batch * s->in_channels * s->in_height * s->in_width; ++i) {
        x[i] = 0.0f;
    }
    for (int n = 0; n < s->batch; ++n) {
        for (int o = 0; o < s->out_channels; ++o) {
            const float *kernel = weight + o * in_group * s->kernel_height * s->kernel_width;
            float *image = x + (n * s->in_channels + o / out_group * in_group)
                               * s->in_height * s->in_width;
            for (int oy = 0; oy < s->out_height; ++oy) {
                for (int ox = 0; ox < s->out_width; ++ox) {
                    const float g = *y++;
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
                                image[(c * s->in_height + iy) * s->in_width + ix] +=
                                    g * kernel[(c * s->kernel_height + ky) * s->kernel_width + kx];
                            }
                        }
                    }
                }
            }
        }
    }
}
""")
CONV2D_WEIGHT_GRADIENT = function("""
struct conv2d_weight_gradient_shape {
    int batch, groups, in_channels, in_height, in_width, out_channels, out_height, out_width;
    int kernel_height, kernel_width, stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x;
};

/* The gradient for the weights of a convolution of x, from the gradient of its result. */
static void conv2d_weight_gradient(const float *y, const float *x, float *weight,
                                   const struct conv2d_weight_gradient_shape *s)
{
    const int in_group = s->in_channels / s->groups;
    const int out_group = s->out_channels / s->groups;
    for (int o = 0; o < s->out_channels; ++o) {
        for (int c = 0; c < in_group; ++c) {
            for (int ky = 0; ky < s->kernel_height; ++ky) {
                for (int kx = 0; kx < s->kernel_width; ++kx) {
                    float sum = 0.0f;
                    for (int n = 0; n < s->batch; ++n) {
                        const int channel = n * s->in_channels + o / out_group * in_group + c;
                        const float *image = x + channel * s->in_height * s->in_width;
                        const float *g = y + (n * s->out_channels + o)
                                             * s->out_height * s->out_width;
                        for (int oy = 0; oy < s->out_height; ++oy) {
                            const int iy = oy * s->stride_y - s->pad_y + ky * s->dilation_y;
                            if (iy < 0 || iy >= s->in_height) {
                                continue;
                            }
                            for (int ox = 0; ox < s->out_width; ++ox) {
                                const int ix = ox * s->stride_x - s->pad_x + kx * s->dilation_x;
                                if (ix < 0 || ix >= s->in_width) {
                                    continue;
                                }
                                sum += g[oy * s->out_width + ox] * image[iy * s->in_width + ix];
                            }
                        }
                    }
                    *weight++ = sum;
                }
            }
        }
    }
}
""")


@writes(convolution.convolution_input_gradient)
def _input_gradient(w: Writer, node: Any) -> View:
    y, weight = node.inputs
    made = w.made(node.outputs[0])
    shape = conv_shape(made.shape, y.aval.shape, weight.aval.shape[2:], node.params)
    w.call(CONV2D_INPUT_GRADIENT, w.dense(y), w.dense(weight), made, **shape)
    return made


@writes(convolution.convolution_weight_gradient)
def _weight_gradient(w: Writer, node: Any) -> View:
    y, x = node.inputs
    made = w.made(node.outputs[0])
    shape = conv_shape(x.aval.shape, y.aval.shape, made.shape[2:], node.params)
    w.call(CONV2D_WEIGHT_GRADIENT, w.dense(y), w.dense(x), made, **shape)
    return made


CHANNEL_SUM = function("""
struct channel_sum_shape { int batch, channels, inner; };

/* The sum over all axes but the channels'. */
static void channel_sum(const float *x, float *y, const struct channel_sum_shape *s)
{
    for (int c = 0; c < s->channels; ++c) {
        float sum = 0.0f;
        for (int n = 0; n < s->batch; ++n) {
            for (int i = 0; i < s->inner; ++i) {
                sum += x[(n * s->channels + c) * s->inner + i];
            }
        }
        y[c] = sum;
    }
}
""")


@writes(convolution.channel_sum)
def _channel_sum(w: Writer, node: Any) -> View:
    (x,), made = node.inputs, w.made(node.outputs[0])
    w.call(CHANNEL_SUM, w.dense(x), made, **channels_of(x.aval.shape))
    return made


# --- pooling --------------------------------------------------------------------------------------

MAX_POOL_GRADIENT = function("""
struct max_pool_gradient_shape { int planes, before, after; };

/* The gradients of each plane's results, added at the places that these came from. */
static void max_pool_gradient(const float *y, const int32_t *index, float *x,
                              const struct max_pool_gradient_shape *s)
{
    for (int i = 0; i < s->planes * s->before; ++i) {
        x[i] = 0.0f;
    }
    for (int p = 0; p < s->planes; ++p) {
        for (int i = 0; i < s->after; ++i) {
            x[p * s->before + index[p * s->after + i]] += y[p * s->after + i];
        }
    }
}
""")


@writes(pooling.max_pool_gradient)
def _max_pool_gradient(w: Writer, node: Any) -> View:
    y, places = node.inputs
    made, shape = w.made(node.outputs[0]), node.params["shape"]
    w.call(
        MAX_POOL_GRADIENT, w.dense(y), w.dense(places), made, planes=shape[0] * shape[1],
        before=math.prod(shape[2:]), after=math.prod(y.aval.shape[2:]),
    )  # fmt: skip
    return made


AVG_POOL_GRADIENT = function("""
/* Each mean's gradient, spread over its window. */
static void avg_pool_gradient(const float *y, float *x, const struct avg_pool_shape *s)
{
    for (int i = 0; i < s->planes * s->in_height * s->in_width; ++i) {
        x[i] = 0.0f;
    }
    for (int p = 0; p < s->planes; ++p, x += s->in_height * s->in_width) {
        for (int oy = 0; oy < s->out_height; ++oy) {
            for (int ox = 0; ox < s->out_width; ++ox) {
                const int top = oy * s->stride_y - s->pad_y;
                const int left = ox * s->stride_x - s->pad_x;
                const float share = *y++ / (float)pool_divisor(top, left, s);
                for (int ky = 0; ky < s->kernel_height; ++ky) {
                    for (int kx = 0; kx < s->kernel_width; ++kx) {
                        const int iy = top + ky;
                        const int ix = left + kx;
                        if (iy >= 0 && iy < s->in_height && ix >= 0 && ix < s->in_width) {
                            x[iy * s->in_width + ix] += share;
                        }
                    }
                }
            }
        }
    }
}
""")


@writes(pooling.avg_pool_gradient)
def _avg_pool_gradient(w: Writer, node: Any) -> View:
    (y,), made = node.inputs, w.made(node.outputs[0])
    w.call(AVG_POOL_GRADIENT, w.dense(y), made, struct="avg_pool_shape",
           **average_shape(made.shape, y.aval.shape, node.params))  # fmt: skip
    return made


ADAPTIVE_AVG_POOL_GRADIENT = function("""
struct adaptive_avg_pool_gradient_shape { int planes, in_height, in_width, out_height, out_width; };

/* Each mean's gradient, spread over its window from floor(i * n / m) to ceil((i + 1) * n / m). */
static void adaptive_avg_pool_gradient(const float *y, float *x,
                                       const struct adaptive_avg_pool_gradient_shape *s)
{
    for (int i = 0; i < s->planes * s->in_height * s->in_width; ++i) {
        x[i] = 0.0f;
    }
    for (int p = 0; p < s->planes; ++p, x += s->in_height * s->in_width) {
        for (int oy = 0; oy < s->out_height; ++oy) {
            const int top = oy * s->in_height / s->out_height;
            const int bottom = ((oy + 1) * s->in_height + s->out_height - 1) / s->out_height;
            for (int ox = 0; ox < s->out_width; ++ox) {
                const int left = ox * s->in_width / s->out_width;
                const int right = ((ox + 1) * s->in_width + s->out_width - 1) / s->out_width;
                const float share = *y++ / (float)((bottom - top) * (right - left));
                for (int iy = top; iy < bottom; ++iy) {
                    for (int ix = left; ix < right; ++ix) {
                        x[iy * s->in_width + ix] += share;
                    }
                }
            }
        }
    }
}
""")


@writes(pooling.adaptive_avg_pool_gradient)
def _adaptive_avg_pool_gradient(w: Writer, node: Any) -> View:
    (y,), made = node.inputs, w.made(node.outputs[0])
    shape = plane_shape(made.shape, y.aval.shape)
    w.call(ADAPTIVE_AVG_POOL_GRADIENT, w.dense(y), made, **shape)
    return made


# --- normalization --------------------------------------------------------------------------------

BATCH_NORM_TRAINING = function("""
struct batch_norm_training_shape { int batch, channels, inner; };

/* (x - mean) * invstd * weight + bias with each channel's own mean and invstd = 1 / sqrt(variance +
 * eps); `squares` takes the sums of squared deviations. weight and bias may be NULL. */
static void batch_norm_training(const float *x, const float *weight, const float *bias, float eps,
                                float *y, float *mean, float *invstd, float *squares,
                                const struct batch_norm_training_shape *s)
{
    const float count = (float)(s->batch * s->inner);
    for (int c = 0; c < s->channels; ++c) {
        float sum = 0.0f;
        float square = 0.0f;
        for (int n = 0; n < s->batch; ++n) {
            for (int i = 0; i < s->inner; ++i) {
                sum += x[(n * s->channels + c) * s->inner + i];
            }
        }
        mean[c] = sum / count;
        for (int n = 0; n < s->batch; ++n) {
            for (int i = 0; i < s->inner; ++i) {
                const float away = x[(n * s->channels + c) * s->inner + i] - mean[c];
                square += away * away;
            }
        }
        squares[c] = square;
        invstd[c] = 1.0f / sqrtf(square / count + eps);
        for (int n = 0; n < s->batch; ++n) {
            for (int i = 0; i < s->inner; ++i) {
                const int at = (n * s->channels + c) * s->inner + i;
                y[at] = (x[at] - mean[c]) * invstd[c] * (weight != NULL ? weight[c] : 1.0f)
                        + (bias != NULL ? bias[c] : 0.0f);
            }
        }
    }
}
""")
BATCH_NORM_GRADIENT = function("""
struct batch_norm_gradient_shape { int batch, channels, inner; };

/* The gradients of batch_norm_training for x, weight and bias, from that of its result. */
static void batch_norm_gradient(const float *g, const float *x, const float *weight,
                                const float *mean, const float *invstd, float *gx, float *gweight,
                                float *gbias, const struct batch_norm_gradient_shape *s)
{
    const float count = (float)(s->batch * s->inner);
    for (int c = 0; c < s->channels; ++c) {
        float sum = 0.0f;
        float along = 0.0f;
        for (int n = 0; n < s->batch; ++n) {
            for (int i = 0; i < s->inner; ++i) {
                const int at = (n * s->channels + c) * s->inner + i;
                sum += g[at];
                along += g[at] * (x[at] - mean[c]) * invstd[c];
            }
        }
        gbias[c] = sum;
        gweight[c] = along;
        for (int n = 0; n < s->batch; ++n) {
            for (int i = 0; i < s->inner; ++i) {
                const int at = (n * s->channels + c) * s->inner + i;
                const float normal = (x[at] - mean[c]) * invstd[c];
                gx[at] = (weight != NULL ? weight[c] : 1.0f) * invstd[c]
                         * (g[at] - sum / count - normal * along / count);
            }
        }
    }
}
""")


@writes(normalization.batch_norm_training)
def _batch_norm_training(w: Writer, node: Any) -> Any:
    x, weight, bias = node.inputs
    made = tuple(w.made(v) for v in node.outputs)
    w.call(
        BATCH_NORM_TRAINING, w.dense(x), w.pointer(weight), w.pointer(bias),
        literal(node.params["eps"], "float"), *made, **channels_of(x.aval.shape),
    )  # fmt: skip
    return made


@writes(normalization.batch_norm_gradient)
def _batch_norm_gradient(w: Writer, node: Any) -> Any:
    made = tuple(w.made(v) for v in node.outputs)
    w.call(BATCH_NORM_GRADIENT, *[w.pointer(v) for v in node.inputs], *made,
           **channels_of(node.inputs[1].aval.shape))  # fmt: skip
    return made


@writes(normalization.move_average)
def _move_average(w: Writer, node: Any) -> View:
    momentum, divisor = node.params["momentum"], node.params["divisor"]
    made = w.made(node.outputs[0])
    share, rest = (literal(n, "float") for n in (momentum / divisor, 1 - momentum))
    w.loop(made, [w.of(v) for v in node.inputs],
           lambda y, old, new: f"{y} = {share} * {new} + {rest} * {old};")  # fmt: skip
    return made


LAYER_NORM_GRADIENT = function("""
struct layer_norm_gradient_shape { int rows, length; };

/* The gradients of layer_norm for x, weight and bias, from that of its result. */
static void layer_norm_gradient(const float *g, const float *x, const float *weight,
                                const float *mean, const float *invstd, float *gx, float *gweight,
                                float *gbias, const struct layer_norm_gradient_shape *s)
{
    for (int i = 0; i < s->length; ++i) {
        gweight[i] = 0.0f;
        gbias[i] = 0.0f;
    }
    for (int r = 0; r < s->rows; ++r, x += s->length, g += s->length, gx += s->length) {
        float sum = 0.0f;
        float along = 0.0f;
        for (int i = 0; i < s->length; ++i) {
            const float normal = (x[i] - mean[r]) * invstd[r];
            const float slope = g[i] * (weight != NULL ? weight[i] : 1.0f);
            sum += slope;
            along += slope * normal;
            gweight[i] += g[i] * normal;
            gbias[i] += g[i];
        }
        for (int i = 0; i < s->length; ++i) {
            const float normal = (x[i] - mean[r]) * invstd[r];
            const float slope = g[i] * (weight != NULL ? weight[i] : 1.0f);
            gx[i] = invstd[r] * (slope - (sum + normal * along) / (float)s->length);
        }
    }
}
""")


@writes(normalization.layer_norm_gradient)
def _layer_norm_gradient(w: Writer, node: Any) -> Any:
    _, x, _, mean, invstd = node.inputs
    made = tuple(w.made(v) for v in node.outputs)
    if mean is None or invstd is None:
        raise UnsupportedOperatorError("layer norm without its statistics")
    length = made[1].size
    w.call(LAYER_NORM_GRADIENT, *[w.pointer(v) for v in node.inputs], *made,
           rows=x.aval.size // length, length=length)  # fmt: skip
    return made
