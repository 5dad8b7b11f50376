"""Recurrent layers: one layer in one direction, all time steps in one op.

``x`` holds the input's part of the gates, a row for each sample at each time, time after time.
``sizes`` says how many rows each time has (a packed sequence); None where all have a row for each
row of ``h``. Results are the state of every row, the last states, and what backward reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..aval import Aval, aval
from ..callbacks import callbacks
from ..dispatch import state
from ..dtypes import scalar_type_name
from ..state import grad_mode
from .activations import relu
from .convolution import NetworkOp
from .elementwise import add, multiply, sigmoid, subtract, tanh
from .linear_algebra import linear
from .movement import cat, clone, slice_


class RecurrentOp(NetworkOp):
    """An op over all time steps; its last input, the lengths of packed sequences, is the host's."""

    on_device = -1


def _like(x: Aval, *shape: int) -> Aval:
    return aval(shape or x.shape, x.dtype, None, x.device)


def _check(weight: Aval, *states: Aval) -> None:
    for other in states:
        if other.dtype is not weight.dtype:
            raise RuntimeError(
                "mat1 and mat2 must have the same dtype, but got "
                f"{scalar_type_name(other.dtype)} and {scalar_type_name(weight.dtype)}"
            )


def _narrow(x: Any, axis: int, start: int, length: int) -> Any:
    return slice_(x, axis=axis, start=start, length=length, step=1)


# --- the same in ops, for derivatives of derivatives -------------------------------------------


def _parts(x: Any, count: int) -> list[Any]:
    width = x.aval.shape[-1] // count
    return [_narrow(x, 1, i * width, width) for i in range(count)]


def _lstm_step(x: Any, states: Any, weight: Any, bias: Any) -> Any:
    h, c = states
    i, f, g, o = _parts(add(x, linear(h, weight, bias)), 4)
    c = add(multiply(sigmoid(f), c), multiply(sigmoid(i), tanh(g)))
    return multiply(sigmoid(o), tanh(c)), c


def _gru_step(x: Any, states: Any, weight: Any, bias: Any) -> Any:
    (h,) = states
    xr, xz, xn = _parts(x, 3)
    hr, hz, hn = _parts(linear(h, weight, bias), 3)
    r, z = sigmoid(add(xr, hr)), sigmoid(add(xz, hz))
    n = tanh(add(xn, multiply(r, hn)))
    return (add(multiply(subtract(h, n), z), n),)


def _simple_step(bend: Any) -> Callable[..., Any]:
    return lambda x, states, weight, bias: (bend(add(x, linear(states[0], weight, bias))),)


def _times(sizes: Any, rows: int, batch: int, reverse: bool) -> Iterator[tuple[int, int]]:
    """(first row, number of rows) of each time, in the order in which the network runs."""
    counts = [batch] * (rows // max(batch, 1)) if sizes is None else sizes.array().tolist()
    starts = [sum(counts[:t]) for t in range(len(counts))]
    pairs = list(zip(starts, counts, strict=True))
    return iter(pairs[::-1] if reverse else pairs)


def _composed(
    step: Any, x: Any, states: list[Any], weight: Any, bias: Any, sizes: Any, reverse: bool
) -> list[Any]:
    """The states of all rows and the last states."""
    batch = states[0].aval.shape[0]
    outputs: dict[int, Any] = {}
    for start, rows in _times(sizes, x.aval.shape[0], batch, reverse):
        kept = [_narrow(s, 0, rows, batch - rows) for s in states]
        now = tuple(_narrow(s, 0, 0, rows) for s in states)
        now = step(_narrow(x, 0, start, rows), now, weight, bias)
        outputs[start] = now[0]
        states = [cat(s, k, axis=0) for s, k in zip(now, kept, strict=True)]
    return [cat(*[outputs[start] for start in sorted(outputs)], axis=0), *states]


def _again(
    step: Any, g: Any, x: Any, states: Any, weight: Any, bias: Any, sizes: Any, reverse: bool,
    needs: Any,
) -> list[Any]:  # fmt: skip
    """Gradients that can be differentiated: those of the composition in ops.

    Copies of the inputs keep apart what reaches them directly from what reaches them through each
    other.
    """
    with grad_mode(True):
        given = [x, *states, weight, bias]
        copies: list[Any] = [None if v is None else clone(v) for v in given]
        first, *middle, weight, bias = copies
        results = _composed(step, first, middle, weight, bias, sizes, reverse)
        pairs = [(r, v) for r, v in zip(results, g, strict=False) if v is not None]
        places = [i for i, v in enumerate(copies) if v is not None and needs[i]]
        found = callbacks.gradients(
            [r for r, _ in pairs], [copies[i] for i in places], [v for _, v in pairs],
            create_graph=True, allow_unused=True,
        )  # fmt: skip
    wanted: list[Any] = [None] * len(given)
    for i, gradient in zip(places, found, strict=True):
        wanted[i] = gradient
    return wanted


def _where(gradients: Any, needs: Any) -> list[Any]:
    return [v if need else None for v, need in zip(gradients, needs, strict=False)]


# --- LSTM --------------------------------------------------------------------------------------


def _lstm_aval(
    x: Aval, h: Aval, c: Aval, weight: Aval, sizes: Aval | None, *, reverse: bool
) -> tuple[Aval, ...]:
    _check(weight, h, c)
    rows, width = x.shape[0], h.shape[1]
    return _like(x, rows, width), _like(h), _like(c), _like(x), _like(x, rows, width)


def _lstm_vjp(
    g: Any, out0: Any, out3: Any, out4: Any, x: Any, h: Any, c: Any, weight: Any, sizes: Any,
    needs: Any, reverse: bool,
) -> list[Any]:  # fmt: skip
    if state.grad_enabled:
        found = _again(_lstm_step, g[:3], x, (h, c), weight, None, sizes, reverse, [*needs[:4], 0])
        return [*found[:4], None]
    values = lstm_gradient(
        g[0], g[1], g[2], out0, out3, out4, h, c, weight, sizes, reverse=reverse
    )
    return [*_where(values, needs), None]


# i, f, g, o = x + h weight^T;  c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' = sigmoid(o) tanh(c')
# (h of all rows, last h, last c, activated gates, c of all rows)
lstm = RecurrentOp("lstm", _lstm_aval, "rnn.lstm", vjp=_lstm_vjp)
lstm_gradient = RecurrentOp(
    "lstm_backward",
    lambda gy, gh, gc, y, gates, cells, h, c, weight, sizes, *, reverse: (
        _like(gates), _like(h), _like(c), _like(weight),
    ),
    "rnn.lstm_gradient",
)  # fmt: skip

# --- GRU ---------------------------------------------------------------------------------------


def _gru_aval(
    x: Aval, h: Aval, weight: Aval, bias: Aval | None, sizes: Aval | None, *, reverse: bool
) -> tuple[Aval, ...]:
    _check(weight, h)
    rows, width = x.shape[0], h.shape[1]
    return _like(x, rows, width), _like(h), _like(x, rows, 4 * width)


def _gru_vjp(
    g: Any, out0: Any, out2: Any, x: Any, h: Any, weight: Any, bias: Any, sizes: Any, needs: Any,
    reverse: bool,
) -> list[Any]:
    if state.grad_enabled:
        return [*_again(_gru_step, g[:2], x, (h,), weight, bias, sizes, reverse, needs), None]
    values = gru_gradient(g[0], g[1], out0, out2, h, weight, sizes, reverse=reverse)
    return [*_where(values, needs), None]


# r, z = sigmoid(x + u), n = tanh(x + r u) with u = h weight^T + bias;  h' = (h - n) z + n
# (h of all rows, last h, gates r, z, n and the part of u that belongs to n)
gru = RecurrentOp("gru", _gru_aval, "rnn.gru", vjp=_gru_vjp)
gru_gradient = RecurrentOp(
    "gru_backward",
    lambda gy, gh, y, gates, h, weight, sizes, *, reverse: (
        _like(gates, gates.shape[0], weight.shape[0]), _like(h), _like(weight),
        _like(weight, weight.shape[0]),
    ),
    "rnn.gru_gradient",
)  # fmt: skip

# --- the simple network --------------------------------------------------------------------------


def _simple_aval(
    x: Aval, h: Aval, weight: Aval, sizes: Aval | None, *, reverse: bool, nonlinearity: str
) -> tuple[Aval, ...]:
    _check(weight, h)
    return _like(x), _like(h)


def _simple_vjp(
    g: Any, out0: Any, x: Any, h: Any, weight: Any, sizes: Any, needs: Any, reverse: bool,
    nonlinearity: str,
) -> list[Any]:
    if state.grad_enabled:
        step = _simple_step(tanh if nonlinearity == "tanh" else relu)
        found = _again(step, g, x, (h,), weight, None, sizes, reverse, [*needs[:3], 0])
        return [*found[:3], None]
    values = simple_recurrent_gradient(
        g[0], g[1], out0, h, weight, sizes, reverse=reverse, nonlinearity=nonlinearity
    )
    return [*_where(values, needs), None]


# h' = tanh(x + h weight^T), or relu: (h of all rows, last h)
simple_recurrent = RecurrentOp("rnn", _simple_aval, "rnn.simple", vjp=_simple_vjp)
simple_recurrent_gradient = RecurrentOp(
    "rnn_backward",
    lambda gy, gh, y, h, weight, sizes, *, reverse, nonlinearity: (
        _like(y), _like(h), _like(weight),
    ),
    "rnn.simple_gradient",
)  # fmt: skip
