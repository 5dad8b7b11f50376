"""Attention, norms of groups and of roots of mean squares, and images of other sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine.ops import attention, normalization, resizing
from mindtorch.engine.tensor import from_array
from mindtorch.exporting.errors import UnsupportedOperatorError

from .buffers import View
from .writer import Writer, broadcast, function, literal, writes

ATTENTION = function("""
struct attention_shape {
    int matrices, queries, keys, width, depth, causal, mask_matrix, mask_row, mask_column;
};

/* y = softmax(scale * q k' + mask) v for each of the matrices [queries][width], [keys][width] and
 * [keys][depth]; mask may be NULL, `weights` has room for those of one query. A query that may look
 * at no key gives zeros. */
static void attention(const float *q, const float *k, const float *v, const float *mask,
                      float scale, float *y, float *weights, const struct attention_shape *s)
{
    for (int m = 0; m < s->matrices; ++m) {
        for (int i = 0; i < s->queries; ++i, q += s->width, y += s->depth) {
            const int seen = s->causal && i + 1 < s->keys ? i + 1 : s->keys;
            float most = -INFINITY;
            float total = 0.0f;
            for (int j = 0; j < seen; ++j) {
                float sum = 0.0f;
                for (int c = 0; c < s->width; ++c) {
                    sum += q[c] * k[j * s->width + c];
                }
                sum *= scale;
                if (mask != NULL) {
                    sum += mask[m * s->mask_matrix + i * s->mask_row + j * s->mask_column];
                }
                weights[j] = sum;
                most = sum <= most ? most : sum;
            }
            for (int j = 0; j < seen; ++j) {
                weights[j] = most == -INFINITY ? 0.0f : expf(weights[j] - most);
                total += weights[j];
            }
            for (int d = 0; d < s->depth; ++d) {
                float sum = 0.0f;
                for (int j = 0; j < seen; ++j) {
                    sum += weights[j] * v[j * s->depth + d];
                }
                y[d] = most == -INFINITY ? 0.0f : sum / total;
            }
        }
        k += s->keys * s->width;
        v += s->keys * s->depth;
    }
}
""")


def _mask(w: Writer, given: Any, batch: tuple[int, ...], shape: tuple[int, int]) -> tuple[Any, Any]:
    """The address of a mask, and how far its matrices, rows and columns lie apart."""
    if given is None:
        return "NULL", (0, 0, 0)
    wide = broadcast(w.of(given), (*batch, *shape))
    steps = wide.strides[: len(batch)]
    if any(n != 1 and s for n, s in zip(batch, steps, strict=True)):
        wide = w.copied(wide)  # one for each matrix
        return wide, (shape[0] * shape[1], shape[1], 1)
    return wide, (0, *wide.strides[-2:])


@writes(attention.attention)
def _attention(w: Writer, node: Any) -> Any:
    q, k, v, mask = node.inputs
    if w.wants(node.outputs[1]):
        raise UnsupportedOperatorError("training of attention")
    *batch, queries, width = (int(n) for n in q.aval.shape)
    keys, depth = (int(n) for n in v.aval.shape[-2:])
    if tuple(k.aval.shape[:-2]) != tuple(batch) or tuple(v.aval.shape[:-2]) != tuple(batch):
        raise UnsupportedOperatorError("attention of batches that are repeated")
    made = w.made(node.outputs[0])
    address, (matrix, row, column) = _mask(w, mask, tuple(batch), (queries, keys))
    w.call(
        ATTENTION, w.dense(q), w.dense(k), w.dense(v), address,
        literal(node.params["scale"], "float"), made, w.scratch(max(keys, 1)),
        matrices=math.prod(batch), queries=queries, keys=keys, width=width, depth=depth,
        causal=int(node.params["causal"]), mask_matrix=matrix, mask_row=row, mask_column=column,
    )  # fmt: skip
    return made, None


GROUP_NORM = function("""
struct group_norm_shape { int samples, groups, channels, length; };

/* (x - mean) / sqrt(variance + eps) of each group of `channels` channels, times weight, plus bias;
 * weight and bias, which each channel has one of, may be NULL. */
static void group_norm(const float *x, const float *weight, const float *bias, float eps, float *y,
                       const struct group_norm_shape *s)
{
    const int size = s->channels * s->length;
    for (int r = 0; r < s->samples * s->groups; ++r, x += size, y += size) {
        float sum = 0.0f;
        float squares = 0.0f;
        for (int i = 0; i < size; ++i) {
            sum += x[i];
        }
        const float middle = sum / (float)size;
        for (int i = 0; i < size; ++i) {
            squares += (x[i] - middle) * (x[i] - middle);
        }
        const float scale = 1.0f / sqrtf(squares / (float)size + eps);
        for (int i = 0; i < size; ++i) {
            const int channel = r % s->groups * s->channels + i / s->length;
            y[i] = (x[i] - middle) * scale * (weight != NULL ? weight[channel] : 1.0f)
                   + (bias != NULL ? bias[channel] : 0.0f);
        }
    }
}
""")


@writes(normalization.group_norm)
def _group_norm(w: Writer, node: Any) -> Any:
    x, weight, bias = node.inputs
    if any(w.wants(v) for v in node.outputs[1:]):
        raise UnsupportedOperatorError("training of group_norm")
    samples, channels, *inner = (int(n) for n in x.aval.shape)
    groups, made = int(node.params["groups"]), w.made(node.outputs[0])
    w.call(
        GROUP_NORM, w.dense(x), w.pointer(weight), w.pointer(bias),
        literal(node.params["eps"], "float"), made, samples=samples, groups=groups,
        channels=channels // groups, length=math.prod(inner),
    )  # fmt: skip
    return made, *[None] * (len(node.outputs) - 1)


RMS_NORM = function("""
struct rms_norm_shape { int rows, length; };

/* x / sqrt(mean of x^2 + eps) of each row, times weight, which may be NULL. */
static void rms_norm(const float *x, const float *weight, float eps, float *y,
                     const struct rms_norm_shape *s)
{
    for (int r = 0; r < s->rows; ++r, x += s->length, y += s->length) {
        float squares = 0.0f;
        for (int i = 0; i < s->length; ++i) {
            squares += x[i] * x[i];
        }
        const float scale = 1.0f / sqrtf(squares / (float)s->length + eps);
        for (int i = 0; i < s->length; ++i) {
            y[i] = x[i] * scale * (weight != NULL ? weight[i] : 1.0f);
        }
    }
}
""")


@writes(normalization.rms_norm)
def _rms_norm(w: Writer, node: Any) -> tuple[View | None, ...]:
    x, weight = node.inputs
    if any(w.wants(v) for v in node.outputs[1:]):
        raise UnsupportedOperatorError("training of rms_norm")
    made = w.made(node.outputs[0])
    length = math.prod(made.shape[-node.params["normalized_ndim"] :])
    w.call(RMS_NORM, w.dense(x), w.pointer(weight), literal(node.params["eps"], "float"), made,
           rows=made.size // length, length=length)  # fmt: skip
    return made, *[None] * (len(node.outputs) - 1)


RESIZED = function("""
struct resized_shape { int outer, old, inner, made; };

/* y[o][j][i]: the sum of weights[k] * x[o][places[k]][i] for k from starts[j] to starts[j + 1]. */
static void resized(const float *x, const int32_t *starts, const int32_t *places,
                    const float *weights, float *y, const struct resized_shape *s)
{
    for (int o = 0; o < s->outer; ++o, x += s->old * s->inner) {
        for (int j = 0; j < s->made; ++j, y += s->inner) {
            for (int i = 0; i < s->inner; ++i) {
                float sum = 0.0f;
                for (int k = starts[j]; k < starts[j + 1]; ++k) {
                    sum += weights[k] * x[places[k] * s->inner + i];
                }
                y[i] = sum;
            }
        }
    }
}
""")


def _shares(node: Any, axis: int) -> np.ndarray:
    """How much of each old place there is in each new one along an axis: what the op makes of
    images that are one at a place and zero elsewhere."""
    given, rank = dict(node.params), len(node.params["size"])
    n = int(node.inputs[0].aval.shape[2 + axis])
    shape, size, steps = [1, n, *[1] * rank], [1] * rank, [1.0] * rank
    shape[2 + axis], size[axis], steps[axis] = n, given["size"][axis], given["steps"][axis]
    images = from_array(np.eye(n, dtype=np.float32).reshape(shape))
    made = resizing.resize(images, **{**given, "size": tuple(size), "steps": tuple(steps)})
    return np.asarray(made.array()).reshape(n, -1)


@writes(resizing.resize)
def _resize(w: Writer, node: Any) -> View:
    y = given = w.dense(node.inputs[0])
    shape = list(y.shape)
    for axis in reversed(range(2, len(shape))):
        shares = _shares(node, axis - 2)
        if np.array_equal(shares, np.eye(*shares.shape)):
            continue
        kept = [np.flatnonzero(column) for column in shares.T]
        starts = np.cumsum([0, *[len(each) for each in kept]])
        weights = [column[each] for column, each in zip(shares.T, kept, strict=True)]
        tables = [
            View.dense(w.program.array(name, np.asarray(each, kind), text), (len(each),))
            for name, each, kind, text in (
                ("starts", starts, np.int32, "int32_t"),
                ("places", np.concatenate(kept), np.int32, "int32_t"),
                ("shares", np.concatenate(weights), np.float32, "float"),
            )
        ]
        old, shape[axis] = shape[axis], shares.shape[1]
        after = w.scratch(math.prod(shape))
        w.call(
            RESIZED, y, *tables, after, outer=math.prod(shape[:axis]), old=old,
            inner=math.prod(shape[axis + 1 :]), made=shape[axis],
        )  # fmt: skip
        y = after
    return w.copied(given) if y is given else View.dense(y.buffer, shape)
