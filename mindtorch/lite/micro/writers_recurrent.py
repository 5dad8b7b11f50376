"""Recurrent layers in inference."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.ops import recurrent
from mindtorch.exporting.errors import UnsupportedOperatorError

from .writer import Writer, function, writes

LSTM = function("""
struct lstm_shape { int times, batch, width, reverse; };

/* One layer in one direction. `x` has the gates' parts of the input [time][batch][4 * width] in the
 * order input, forget, cell, output; `weight` is [4 * width][width]; h and c hold the state before
 * and after; `next` has room for a state of one example. */
static void lstm(const float *x, const float *weight, float *y, float *h, float *c, float *next,
                 const struct lstm_shape *s)
{
    const int width = s->width;
    for (int step = 0; step < s->times; ++step) {
        const int t = s->reverse ? s->times - 1 - step : step;
        for (int n = 0; n < s->batch; ++n) {
            const float *given = x + (t * s->batch + n) * 4 * width;
            float *state = h + n * width;
            for (int j = 0; j < width; ++j) {
                float gate[4];
                for (int g = 0; g < 4; ++g) {
                    gate[g] = given[g * width + j];
                    for (int k = 0; k < width; ++k) {
                        gate[g] += weight[(g * width + j) * width + k] * state[k];
                    }
                }
                float *cell = c + n * width + j;
                *cell = sigmoid(gate[1]) * *cell + sigmoid(gate[0]) * tanhf(gate[2]);
                next[j] = sigmoid(gate[3]) * tanhf(*cell);
            }
            for (int j = 0; j < width; ++j) {
                state[j] = next[j];
                y[(t * s->batch + n) * width + j] = next[j];
            }
        }
    }
}
""")
GRU = function("""
struct gru_shape { int times, batch, width, reverse; };

/* One layer in one direction. `x` has the gates' parts of the input [time][batch][3 * width] in the
 * order reset, update, new; `weight` is [3 * width][width], `bias` [3 * width] or NULL; h holds the
 * state before and after; `next` has room for a state of one example. */
static void gru(const float *x, const float *weight, const float *bias, float *y, float *h,
                float *next, const struct gru_shape *s)
{
    const int width = s->width;
    for (int step = 0; step < s->times; ++step) {
        const int t = s->reverse ? s->times - 1 - step : step;
        for (int n = 0; n < s->batch; ++n) {
            const float *given = x + (t * s->batch + n) * 3 * width;
            float *state = h + n * width;
            for (int j = 0; j < width; ++j) {
                float gate[3];
                for (int g = 0; g < 3; ++g) {
                    gate[g] = bias != NULL ? bias[g * width + j] : 0.0f;
                    for (int k = 0; k < width; ++k) {
                        gate[g] += weight[(g * width + j) * width + k] * state[k];
                    }
                }
                const float reset = sigmoid(given[j] + gate[0]);
                const float update = sigmoid(given[width + j] + gate[1]);
                const float fresh = tanhf(given[2 * width + j] + reset * gate[2]);
                next[j] = (state[j] - fresh) * update + fresh;
            }
            for (int j = 0; j < width; ++j) {
                state[j] = next[j];
                y[(t * s->batch + n) * width + j] = next[j];
            }
        }
    }
}
""")


def _recurrent(w: Writer, node: Any, name: str, states: int) -> Any:
    x, *given = node.inputs
    first, weight, sizes = given[:states], given[states], given[-1]
    if sizes is not None:
        raise UnsupportedOperatorError("packed sequences")
    if any(w.wants(v) for v in node.outputs[1 + states :]):
        raise UnsupportedOperatorError("training of recurrent layers")
    batch, width = first[0].aval.shape
    made = w.made(node.outputs[0])
    held = [w.copied(w.of(v)) for v in first]
    bias = [] if states == 2 else [w.pointer(given[2])]
    w.call(
        name, w.dense(x), w.dense(weight), *bias, made, *held, w.scratch(width),
        times=x.aval.shape[0] // batch, batch=batch, width=width,
        reverse=int(node.params["reverse"]),
    )  # fmt: skip
    return made, *held, *[None] * (len(node.outputs) - 1 - states)


@writes(recurrent.lstm)
def _lstm(w: Writer, node: Any) -> Any:
    return _recurrent(w, node, LSTM, 2)


@writes(recurrent.gru)
def _gru(w: Writer, node: Any) -> Any:
    return _recurrent(w, node, GRU, 1)
