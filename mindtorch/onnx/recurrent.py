"""Recurrent operators: RNN, GRU and LSTM, step by step, and by torch's layers where they do."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.torch import nn

from .errors import UnsupportedOperatorError
from .registry import Numbers, operator
from .values import numbers, tensor

F = nn.functional

# the activations, with the numbers that some of them take
_BOUNDED: dict[str, Callable[..., Any]] = {
    "Tanh": torch.tanh, "Relu": torch.relu, "Sigmoid": torch.sigmoid, "Softsign": F.softsign,
    "Softplus": lambda x: F.softplus(x),
    "Affine": lambda x, a=1.0, b=0.0: a * x + b,
    "LeakyRelu": lambda x, a=0.01: F.leaky_relu(x, a),
    "ThresholdedRelu": lambda x, a=1.0: torch.where(x > a, x, torch.zeros_like(x)),
    "ScaledTanh": lambda x, a=1.0, b=1.0: a * torch.tanh(b * x),
    "HardSigmoid": lambda x, a=0.2, b=0.5: torch.clamp(a * x + b, 0, 1),
    "Elu": lambda x, a=1.0: F.elu(x, a),
}  # fmt: skip


def _functions(names: Any, alphas: Any, betas: Any, count: int, usual: list[str]) -> list[Any]:
    """The activations of each direction; ``usual`` unless they are named."""
    given_names = list(names or usual * count)
    first, second = list(alphas or ()), list(betas or ())
    made = []
    for name in given_names:
        found = _BOUNDED.get(name)
        if found is None:
            raise UnsupportedOperatorError(f"a recurrent layer with the activation {name}")
        takes = inspect.signature(found).parameters
        a = first.pop(0) if "a" in takes and first else None
        b = second.pop(0) if "b" in takes and second else None
        given = {"a": a} if a is not None else {}
        given |= {"b": b} if b is not None else {}
        made.append(functools.partial(found, **given))
    each = len(made) // count
    return [made[i * each : (i + 1) * each] for i in range(count)]


def _layers(
    x: Any, lengths: Any, states: list[Any], direction: str, layout: int, step: Callable[..., Any],
    outputs: int,
) -> tuple[Any, ...]:  # fmt: skip
    """All directions of a layer: ``step(direction, rows, states)`` gives the states after it."""
    if layout:
        x = x.transpose(0, 1)
        states = [each.transpose(0, 1) for each in states]
    count = 2 if direction == "bidirectional" else 1
    steps = x.shape[0]
    limits = None if lengths is None else tensor(np.array(numbers(lengths), np.int64))
    made, last = [], []
    for d in range(count):
        now = [each[d] for each in states]
        rows: list[Any] = [None] * steps
        backwards = direction == "reverse" or d == 1
        for t in reversed(range(steps)) if backwards else range(steps):
            after = step(d, x[t], now)
            if limits is None:
                rows[t], now = after[0], after
                continue
            goes_on = (limits > t).reshape(-1, 1)
            now = [torch.where(goes_on, a, b) for a, b in zip(after, now, strict=True)]
            rows[t] = torch.where(goes_on, after[0], torch.zeros_like(after[0]))
        made.append(torch.stack(rows))
        last.append(now)
    y = torch.stack(made, 1)
    ends = [torch.stack([now[i] for now in last]) for i in range(len(states))]
    if layout:
        y = y.permute(2, 0, 1, 3)
        ends = [each.transpose(0, 1) for each in ends]
    return (y, *ends)[:outputs]


# in torch's order, the gates of ONNX's
_ORDERS = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
_CALLS = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN": torch.rnn_tanh}


def _by_torch(
    kind: str, x: Any, weights: tuple[Any, Any, Any], states: list[Any], direction: str,
    layout: int, outputs: int,
) -> tuple[Any, ...]:  # fmt: skip
    """A layer with the usual activations, whatever the number of steps."""
    w, r, b = weights
    count, width, order = w.shape[0], r.shape[2], _ORDERS[kind]

    def arranged(gates: Any) -> Any:
        parts = torch.split(gates, width, 0)
        return torch.cat([parts[k] for k in order]) if len(order) > 1 else gates

    flat: list[Any] = []
    for d in range(count):
        half = len(order) * width
        biases = [] if b is None else [b[d][:half], b[d][half:]]
        flat += [arranged(each) for each in (w[d], r[d], *biases)]
    if layout:
        x, states = x.transpose(0, 1), [each.transpose(0, 1) for each in states]
    x = torch.flip(x, (0,)) if direction == "reverse" else x
    given = tuple(states) if kind == "LSTM" else states[0]
    y, *ends = _CALLS[kind](x, given, flat, b is not None, 1, 0.0, False, count == 2, False)
    y = torch.flip(y, (0,)) if direction == "reverse" else y
    y = y.reshape([*y.shape[:2], count, width])
    y = y.transpose(0, 1) if layout else y.transpose(1, 2)
    return (y, *[each.transpose(0, 1) if layout else each for each in ends])[:outputs]


def _start(x: Any, given: Any, count: int, width: int, layout: int) -> Any:
    if given is not None:
        return given
    batch = x.shape[0 if layout else 1]
    shape = [batch, count, width] if layout else [count, batch, width]
    return torch.zeros(shape, dtype=x.dtype)


def _is_usual(names: Any, usual: list[str], lengths: Any, clip: Any) -> bool:
    """Whether torch's layers compute this one."""
    return lengths is None and clip is None and (names is None or list(names) == usual)


def _bias(b: Any, d: int, rows: int) -> tuple[Any, Any]:
    return (0, 0) if b is None else (b[d][:rows], b[d][rows:])


def _bounded(x: Any, clip: Any) -> Any:
    return x if clip is None else torch.clamp(x, -clip, clip)


@operator("RNN", 7)
def _rnn(
    x: Any, w: Any, r: Any, b: Any = None, lengths: Numbers = None, h: Any = None, *,
    activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None,
    clip: Any = None, direction: str = "forward", hidden_size: Any = None, layout: int = 0,
    outputs: int,
) -> Any:  # fmt: skip
    count, width = w.shape[0], r.shape[2]
    functions = _functions(activations, activation_alpha, activation_beta, count, ["Tanh"])

    if _is_usual(activations, ["Tanh"] * count, lengths, clip):
        states = [_start(x, h, count, width, layout)]
        return _by_torch("RNN", x, (w, r, b), states, direction, layout, outputs)

    def step(d: int, rows: Any, now: list[Any]) -> list[Any]:
        first, second = _bias(b, d, width)
        total = rows @ w[d].t() + now[0] @ r[d].t() + first + second
        return [functions[d][0](_bounded(total, clip))]

    return _layers(
        x, lengths, [_start(x, h, count, width, layout)], direction, layout, step, outputs
    )


@operator("GRU", 7)
def _gru(
    x: Any, w: Any, r: Any, b: Any = None, lengths: Numbers = None, h: Any = None, *,
    activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None,
    clip: Any = None, direction: str = "forward", hidden_size: Any = None, layout: int = 0,
    linear_before_reset: int = 0, outputs: int,
) -> Any:  # fmt: skip
    count, n = w.shape[0], r.shape[2]
    usual = ["Sigmoid", "Tanh"]
    functions = _functions(activations, activation_alpha, activation_beta, count, usual)

    if linear_before_reset and _is_usual(activations, usual * count, lengths, clip):
        states = [_start(x, h, count, n, layout)]
        return _by_torch("GRU", x, (w, r, b), states, direction, layout, outputs)

    def step(d: int, rows: Any, now: list[Any]) -> list[Any]:
        f, g = functions[d]
        first, second = _bias(b, d, 3 * n)
        given = rows @ w[d].t() + first
        inner = now[0] @ r[d][: 2 * n].t() + (second if b is None else second[: 2 * n])
        z = f(_bounded(given[:, :n] + inner[:, :n], clip))
        reset = f(_bounded(given[:, n : 2 * n] + inner[:, n:], clip))
        last = second if b is None else second[2 * n :]
        if linear_before_reset:
            new = reset * (now[0] @ r[d][2 * n :].t() + last)
        else:
            new = (reset * now[0]) @ r[d][2 * n :].t() + last
        hidden = g(_bounded(given[:, 2 * n :] + new, clip))
        return [(1 - z) * hidden + z * now[0]]

    return _layers(x, lengths, [_start(x, h, count, n, layout)], direction, layout, step, outputs)


@operator("LSTM", 7)
def _lstm(
    x: Any, w: Any, r: Any, b: Any = None, lengths: Numbers = None, h: Any = None, c: Any = None,
    p: Any = None, *, activation_alpha: Any = None, activation_beta: Any = None,
    activations: Any = None, clip: Any = None, direction: str = "forward", hidden_size: Any = None,
    input_forget: int = 0, layout: int = 0, outputs: int,
) -> Any:  # fmt: skip
    count, n = w.shape[0], r.shape[2]
    usual = ["Sigmoid", "Tanh", "Tanh"]
    functions = _functions(activations, activation_alpha, activation_beta, count, usual)

    states = [_start(x, h, count, n, layout), _start(x, c, count, n, layout)]
    if p is None and not input_forget and _is_usual(activations, usual * count, lengths, clip):
        return _by_torch("LSTM", x, (w, r, b), states, direction, layout, outputs)

    def step(d: int, rows: Any, now: list[Any]) -> list[Any]:
        f, g, last = functions[d]
        first, second = _bias(b, d, 4 * n)
        total = rows @ w[d].t() + now[0] @ r[d].t() + first + second
        gi, go, gf, gc = (total[:, i * n : (i + 1) * n] for i in range(4))
        if p is not None:
            gi, gf = gi + p[d][:n] * now[1], gf + p[d][2 * n :] * now[1]
        i = f(_bounded(gi, clip))
        forget = 1 - i if input_forget else f(_bounded(gf, clip))
        cell = forget * now[1] + i * g(_bounded(gc, clip))
        go = go if p is None else go + p[d][n : 2 * n] * cell
        return [f(_bounded(go, clip)) * last(cell), cell]

    return _layers(x, lengths, states, direction, layout, step, outputs)
