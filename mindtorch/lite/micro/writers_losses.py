"""Losses, and what their backward passes are made of."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine.ops import loss, softmax

from .buffers import View
from .writer import Writer, function, literal, writes
from .writers_networks import along

SOFTMAX_GRADIENT = function("""
struct softmax_gradient_shape { int outer, length, inner; };

/* result * (y - sum(y * result)) along the middle axis. */
static void softmax_gradient(const float *y, const float *result, float *x,
                             const struct softmax_gradient_shape *s)
{
    for (int o = 0; o < s->outer; ++o) {
        for (int i = 0; i < s->inner; ++i) {
            const int begin = o * s->length * s->inner + i;
            float sum = 0.0f;
            for (int k = 0; k < s->length; ++k) {
                sum += y[begin + k * s->inner] * result[begin + k * s->inner];
            }
            for (int k = 0; k < s->length; ++k) {
                const int at = begin + k * s->inner;
                x[at] = result[at] * (y[at] - sum);
            }
        }
    }
}
""")
LOG_SOFTMAX_GRADIENT = function("""
struct log_softmax_gradient_shape { int outer, length, inner; };

/* y - exp(result) * sum(y) along the middle axis. */
static void log_softmax_gradient(const float *y, const float *result, float *x,
                                 const struct log_softmax_gradient_shape *s)
{
    for (int o = 0; o < s->outer; ++o) {
        for (int i = 0; i < s->inner; ++i) {
            const int begin = o * s->length * s->inner + i;
            float sum = 0.0f;
            for (int k = 0; k < s->length; ++k) {
                sum += y[begin + k * s->inner];
            }
            for (int k = 0; k < s->length; ++k) {
                const int at = begin + k * s->inner;
                x[at] = y[at] - expf(result[at]) * sum;
            }
        }
    }
}
""")


@writes(softmax.softmax_gradient, softmax.log_softmax_gradient)
def _softmax_gradient(w: Writer, node: Any) -> View:
    y, result = node.inputs
    made = w.made(node.outputs[0])
    name = SOFTMAX_GRADIENT if node.op is softmax.softmax_gradient else LOG_SOFTMAX_GRADIENT
    w.call(name, w.dense(y), w.dense(result), made, **along(made.shape, node.params["axis"]))
    return made


CROSS_ENTROPY = function("""
struct cross_entropy_shape { int batch, classes, inner, ignored, reduction; };

/* For x [batch][classes][inner] and class numbers [batch][inner] the sum over examples of
 *     (1 - smoothing) * weight[t] * -log_softmax(x)[t]
 *     + smoothing / classes * sum over c of weight[c] * -log_softmax(x)[c],
 * for reduction 1 divided by the sum of weight[t], for 0 one number for each example. What the
 * gradient needs: shift = the largest x, logs = log(sum(exp(x - shift))) and that sum of weights.
 * Examples of the class `ignored` (or of none there is) count nothing; weight may be NULL. */
static void cross_entropy(const float *x, const int32_t *target, const float *weight,
                          float smoothing, float *y, float *shift, float *logs, float *count,
                          const struct cross_entropy_shape *s)
{
    float total = 0.0f;
    *count = 0.0f;
    for (int e = 0; e < s->batch * s->inner; ++e) {
        const float *row = x + e / s->inner * s->classes * s->inner + e % s->inner;
        const int32_t t = target[e];
        float top = row[0];
        float sum = 0.0f;
        float here = 0.0f;
        for (int c = 1; c < s->classes; ++c) {
            top = row[c * s->inner] > top ? row[c * s->inner] : top;
        }
        for (int c = 0; c < s->classes; ++c) {
            sum += expf(row[c * s->inner] - top);
        }
        shift[e] = top;
        logs[e] = logf(sum);
        if (t != s->ignored && t >= 0 && t < s->classes) {
            const float own = weight != NULL ? weight[t] : 1.0f;
            here = (1.0f - smoothing) * own * (logs[e] - (row[t * s->inner] - top));
            for (int c = 0; smoothing > 0.0f && c < s->classes; ++c) {
                here += smoothing / (float)s->classes * (weight != NULL ? weight[c] : 1.0f)
                        * (logs[e] - (row[c * s->inner] - top));
            }
            *count += own;
        }
        if (s->reduction == 0) {
            y[e] = here;
        }
        total += here;
    }
    if (s->reduction != 0) {
        y[0] = s->reduction == 1 ? total / *count : total;
    }
}
""")
CROSS_ENTROPY_GRADIENT = function("""
struct cross_entropy_gradient_shape { int batch, classes, inner, ignored, reduction; };

/* The gradient of cross_entropy for x, from that of its result. */
static void cross_entropy_gradient(const float *g, const float *x, const float *shift,
                                   const float *logs, const float *count, const int32_t *target,
                                   const float *weight, float smoothing, float *y,
                                   const struct cross_entropy_gradient_shape *s)
{
    float weights = 0.0f;
    for (int c = 0; c < s->classes; ++c) {
        weights += weight != NULL ? weight[c] : 1.0f;
    }
    for (int e = 0; e < s->batch * s->inner; ++e) {
        const int begin = e / s->inner * s->classes * s->inner + e % s->inner;
        const int32_t t = target[e];
        const int known = t != s->ignored && t >= 0 && t < s->classes;
        const float slope = s->reduction == 0 ? g[e] : s->reduction == 1 ? g[0] / *count : g[0];
        const float even = smoothing / (float)s->classes;
        for (int c = 0; c < s->classes; ++c) {
            const int at = begin + c * s->inner;
            const float p = expf(x[at] - shift[e] - logs[e]);
            float slant = 0.0f;
            if (known) {
                slant = (1.0f - smoothing) * (weight != NULL ? weight[t] : 1.0f)
                        * (p - (c == t ? 1.0f : 0.0f));
                slant += even * (p * weights - (weight != NULL ? weight[c] : 1.0f));
            }
            y[at] = slope * slant;
        }
    }
}
""")
_REDUCTIONS = ("none", "mean", "sum")


def _classes_of(shape: Any) -> dict[str, int]:
    """The lengths before, along and behind the classes' axis."""
    return {"batch": shape[0], "classes": shape[1], "inner": math.prod(shape[2:])}


def _entropy_shape(x: Any, given: dict[str, Any]) -> dict[str, int]:
    return _classes_of(x.aval.shape) | {
        "ignored": given["ignore_index"], "reduction": _REDUCTIONS.index(given["reduction"])
    }  # fmt: skip


@writes(loss.cross_entropy)
def _cross_entropy(w: Writer, node: Any) -> Any:
    x, target, weight = node.inputs
    made = tuple(w.made(v) for v in node.outputs)
    w.call(
        CROSS_ENTROPY, w.dense(x), w.dense(target), w.pointer(weight),
        literal(node.params["smoothing"], "float"), *made, **_entropy_shape(x, node.params),
    )  # fmt: skip
    return made


@writes(loss.cross_entropy_gradient)
def _cross_entropy_gradient(w: Writer, node: Any) -> View:
    g, x, shift, logs, count, target, weight = node.inputs
    made = w.made(node.outputs[0])
    w.call(
        CROSS_ENTROPY_GRADIENT, *[w.dense(v) for v in (g, x, shift, logs, count, target)],
        w.pointer(weight), literal(node.params["smoothing"], "float"), made,
        **_entropy_shape(x, node.params),
    )  # fmt: skip
    return made


NLL = function("""
struct nll_shape { int batch, classes, inner, ignored; };

/* -weight[t] * x[t] for each example; 0 for the class `ignored`; weight may be NULL. */
static void nll(const float *x, const int32_t *target, const float *weight, float *y,
                const struct nll_shape *s)
{
    for (int e = 0; e < s->batch * s->inner; ++e) {
        const float *row = x + e / s->inner * s->classes * s->inner + e % s->inner;
        const int32_t t = target[e];
        const int known = t != s->ignored && t >= 0 && t < s->classes;
        y[e] = known ? -(weight != NULL ? weight[t] : 1.0f) * row[t * s->inner] : 0.0f;
    }
}
""")
NLL_GRADIENT = function("""
struct nll_gradient_shape { int batch, classes, inner, ignored; };

/* The gradient of nll for x, from that of its result. */
static void nll_gradient(const float *g, const int32_t *target, const float *weight, float *y,
                         const struct nll_gradient_shape *s)
{
    for (int e = 0; e < s->batch * s->inner; ++e) {
        const int begin = e / s->inner * s->classes * s->inner + e % s->inner;
        const int32_t t = target[e];
        for (int c = 0; c < s->classes; ++c) {
            const int hit = c == t && t != s->ignored;
            y[begin + c * s->inner] = hit ? -(weight != NULL ? weight[c] : 1.0f) * g[e] : 0.0f;
        }
    }
}
""")


@writes(loss.nll, loss.nll_gradient)
def _nll(w: Writer, node: Any) -> View:
    x, target, weight = node.inputs
    made = w.made(node.outputs[0])
    shape = node.params["shape"] if node.op is loss.nll_gradient else x.aval.shape
    w.call(
        NLL_GRADIENT if node.op is loss.nll_gradient else NLL, w.dense(x), w.dense(target),
        w.pointer(weight), made, **_classes_of(shape), ignored=node.params["ignore_index"],
    )  # fmt: skip
    return made
