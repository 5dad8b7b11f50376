"""Writers of products, convolutions, pooling, normalization, attention and recurrent layers."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.ops import (
    attention,
    convolution,
    linear_algebra,
    loss,
    normalization,
    pooling,
    recurrent,
    resizing,
    softmax,
)
from mindtorch.engine.symbolic_sizes import Count, has_amounts

from ._shapes import reduced
from ._writer import Writer, writes
from .errors import UnsupportedOperatorError


@writes(linear_algebra.matmul)
def _matmul(w: Writer, node: Any) -> str:
    return str(w.MatMul(*w.inputs(node)))


@writes(linear_algebra.linear)
def _linear(w: Writer, node: Any) -> str:
    x, weight, bias = w.inputs(node)
    if node.inputs[0].aval.ndim == 2:
        return str(w.Gemm(x, weight, bias, transB=1))
    made = w.MatMul(x, w.Transpose(weight, perm=[1, 0]))
    return str(made if bias is None else w.Add(made, bias))


@writes(convolution.convolution)
def _convolution(w: Writer, node: Any) -> str:
    given = node.params
    return str(w.Conv(
        *w.inputs(node), strides=list(given["stride"]), pads=[*given["padding"], *given["padding"]],
        dilations=list(given["dilation"]), group=given["groups"],
    ))  # fmt: skip


@writes(convolution.convolution_input_gradient)
def _transposed_convolution(w: Writer, node: Any) -> str:
    y, weight = node.inputs
    stride, padding, dilation = (
        node.params[name] for name in ("stride", "padding", "dilation")
    )
    more = []
    for axis, (s, p, d) in enumerate(zip(stride, padding, dilation, strict=True), 2):
        n, k = y.aval.shape[axis], weight.aval.shape[axis]
        rest = node.params["shape"][axis] - ((n - 1) * s - 2 * p + d * (k - 1) + 1)
        if type(rest) is Count:
            raise UnsupportedOperatorError("a transposed convolution to a size of its own")
        more.append(int(rest))
    return str(w.ConvTranspose(
        *w.inputs(node), strides=list(stride), pads=[*padding, *padding],
        dilations=list(dilation), group=node.params["groups"], output_padding=more,
    ))  # fmt: skip


# --- pooling --------------------------------------------------------------------------------------


@writes(pooling.max_pool)
def _max_pool(w: Writer, node: Any) -> Any:
    given = node.params
    made = w.MaxPool(
        w.of(node.inputs[0]), kernel_shape=list(given["kernel_size"]),
        strides=list(given["stride"]), pads=[*given["padding"], *given["padding"]],
        dilations=list(given["dilation"]), ceil_mode=int(given["ceil_mode"]),
    )  # fmt: skip
    return made, None


@writes(pooling.avg_pool)
def _avg_pool(w: Writer, node: Any) -> str:
    given, x = node.params, node.inputs[0]
    kernel, divisor = given["kernel_size"], given["divisor_override"]
    made = w.AveragePool(
        w.of(x), kernel_shape=list(kernel), strides=list(given["stride"]),
        pads=[*given["padding"], *given["padding"]], ceil_mode=int(given["ceil_mode"]),
        count_include_pad=int(given["count_include_pad"] or divisor is not None),
    )  # fmt: skip
    if divisor is None:
        return str(made)
    if given["ceil_mode"]:
        raise UnsupportedOperatorError("avg_pool(divisor_override) with ceil_mode")
    return str(w.Mul(made, w.scalar(math.prod(kernel) / divisor, x.aval.dtype)))


def _windows(n: int, m: int) -> list[tuple[int, int]]:
    return [(i * n // m, -(-(i + 1) * n // m)) for i in range(m)]


@writes(pooling.adaptive_avg_pool)
def _adaptive_avg_pool(w: Writer, node: Any) -> str:
    (value,), wanted = node.inputs, node.params["output_size"]
    x, sizes = w.of(value), value.aval.shape[2:]
    if all(m == 1 for m in wanted):
        return str(w.GlobalAveragePool(x))
    for axis, (n, m) in enumerate(zip(sizes, wanted, strict=True), 2):
        if n is m or (not has_amounts((n, m)) and n == m):
            continue
        if has_amounts((n, m)):
            raise UnsupportedOperatorError("adaptive pooling of a size that changes")
        shares = np.zeros((n, m), value.aval.dtype.np)  # each mean is a product
        for i, (first, last) in enumerate(_windows(n, m)):
            shares[first:last, i] = 1 / (last - first)
        order = list(range(value.aval.ndim))
        order[axis], order[-1] = order[-1], order[axis]
        x = w.Transpose(w.MatMul(w.Transpose(x, perm=order), w.constant(shares)), perm=order)
    return x


@writes(pooling.adaptive_max_pool)
def _adaptive_max_pool(w: Writer, node: Any) -> Any:
    (value,), wanted = node.inputs, node.params["output_size"]
    x, sizes = w.of(value), value.aval.shape[2:]
    if all(m == 1 for m in wanted):
        return w.GlobalMaxPool(x), None
    if has_amounts(tuple(sizes)) or any(n % m for n, m in zip(sizes, wanted, strict=True)):
        raise UnsupportedOperatorError("adaptive max pooling to windows of several sizes")
    steps = [n // m for n, m in zip(sizes, wanted, strict=True)]
    return w.MaxPool(x, kernel_shape=steps, strides=steps), None


_RESIZED = {"nearest": "nearest", "bilinear": "linear", "linear": "linear", "trilinear": "linear",
            "bicubic": "cubic"}  # fmt: skip


@writes(resizing.resize)
def _resize(w: Writer, node: Any) -> str:
    (value,), given = node.inputs, node.params
    mode, before, after = given["mode"], value.aval.shape[2:], given["size"]
    if mode not in _RESIZED:
        raise UnsupportedOperatorError(f"interpolate(mode={mode!r})")
    options: dict[str, Any] = {
        "mode": _RESIZED[mode], "coordinate_transformation_mode": "pytorch_half_pixel"
    }
    if given["align"]:
        options["coordinate_transformation_mode"] = "align_corners"
    if mode == "nearest":
        options |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if mode == "bicubic":
        options["cubic_coeff_a"] = -0.75
    x = w.of(value)
    steps = given["steps"]
    by_steps = not (given["align"] or has_amounts(tuple(steps))) and (
        has_amounts((*before, *after))
        or any(abs(n / m - s) > 1e-6 * s for n, m, s in zip(before, after, steps, strict=True))
    )
    if by_steps:  # the factor that was asked for, which the sizes do not have to the last digit
        scales = w.constant(np.array([1, 1, *[1 / s for s in steps]], np.float32))
        return str(w.Resize(x, None, scales, **options))
    return str(w.Resize(x, None, None, w.ints([*value.aval.shape[:2], *after]), **options))


# --- normalization --------------------------------------------------------------------------------


@writes(softmax.softmax, softmax.log_softmax)
def _softmax(w: Writer, node: Any) -> str:
    (x,) = node.inputs
    operator = w.Softmax if node.op is softmax.softmax else w.LogSoftmax
    if not x.aval.ndim:
        return str(w.Sub(w.of(x), w.of(x)) if node.op is not softmax.softmax
                   else w.Exp(w.Sub(w.of(x), w.of(x))))
    return str(operator(w.of(x), axis=node.params["axis"]))


def _or_else(w: Writer, name: str | None, shape: Any, dtype: Any, number: float) -> str:
    """A weight or bias, which may be absent."""
    return w.constant(np.full(shape, number, dtype.np)) if name is None else name


@writes(normalization.batch_norm_inference)
def _batch_norm(w: Writer, node: Any) -> str:
    described = node.inputs[0].aval
    x, weight, bias, mean, variance = w.inputs(node)
    shape, dtype = (described.shape[1],), described.dtype
    return str(w.BatchNormalization(
        x, _or_else(w, weight, shape, dtype, 1), _or_else(w, bias, shape, dtype, 0), mean,
        variance, epsilon=node.params["eps"],
    ))  # fmt: skip


@writes(normalization.batch_norm_training)
def _batch_statistics(w: Writer, node: Any) -> Any:
    """With the batch's own mean and variance, as in training."""
    described = node.inputs[0].aval
    x, weight, bias = w.inputs(node)
    axes = [i for i in range(described.ndim) if i != 1]
    along = w.ints([-1, *[1] * (described.ndim - 2)])
    mean = reduced(w, "ReduceMean", x, axes, True)
    away = w.Sub(x, mean)
    variance = reduced(w, "ReduceMean", w.Mul(away, away), axes, True)
    epsilon = w.scalar(node.params["eps"], described.dtype)
    made = w.Div(away, w.Sqrt(w.Add(variance, epsilon)))
    made = made if weight is None else w.Mul(made, w.Reshape(weight, along))
    made = made if bias is None else w.Add(made, w.Reshape(bias, along))
    return (made, *[None] * (len(node.outputs) - 1))


@writes(normalization.layer_norm)
def _layer_norm(w: Writer, node: Any) -> Any:
    described, count = node.inputs[0].aval, node.params["normalized_ndim"]
    x, weight, bias = w.inputs(node)
    scale = _or_else(w, weight, described.shape[-count:], described.dtype, 1)
    made = w.LayerNormalization(x, scale, bias, axis=-count, epsilon=node.params["eps"])
    return made, None, None


@writes(normalization.group_norm)
def _group_norm(w: Writer, node: Any) -> Any:
    described, groups = node.inputs[0].aval, node.params["groups"]
    x, weight, bias = w.inputs(node)
    rows = w.Reshape(x, w.ints([0, groups, -1]))
    rows = w.InstanceNormalization(
        rows, _or_else(w, None, (groups,), described.dtype, 1),
        _or_else(w, None, (groups,), described.dtype, 0), epsilon=node.params["eps"],
    )  # fmt: skip
    made = w.Reshape(rows, w.shape(described.shape))
    along = w.ints([-1, *[1] * (described.ndim - 2)])
    made = made if weight is None else w.Mul(made, w.Reshape(weight, along))
    made = made if bias is None else w.Add(made, w.Reshape(bias, along))
    return made, None, None


@writes(normalization.rms_norm)
def _rms_norm(w: Writer, node: Any) -> Any:
    described, count = node.inputs[0].aval, node.params["normalized_ndim"]
    x, weight = w.inputs(node)
    square = reduced(w, "ReduceMean", w.Mul(x, x), range(-count, 0), True)
    root = w.Sqrt(w.Add(square, w.scalar(node.params["eps"], described.dtype)))
    made = w.Div(x, root)
    return made if weight is None else w.Mul(made, weight), None


# --- attention ------------------------------------------------------------------------------------


@writes(attention.attention)
def _attention(w: Writer, node: Any) -> Any:
    query, key, value, mask = w.inputs(node)
    described, keys = node.inputs[0].aval, node.inputs[1].aval
    rank, dtype = described.ndim, described.dtype
    turned = w.Transpose(key, perm=[*range(rank - 2), rank - 1, rank - 2])
    scores = w.MatMul(w.Mul(query, w.scalar(node.params["scale"], dtype)), turned)
    least = w.scalar(-math.inf, dtype)
    if node.params["causal"]:
        rows, columns = described.shape[-2], keys.shape[-2]
        if has_amounts((rows, columns)):
            truths = w.Expand(w.constant(np.array(1, np.int64)), w.ints([rows, columns]))
            allowed = w.Cast(w.Trilu(truths, upper=0), to=9)
        else:
            allowed = w.constant(np.tri(int(rows), int(columns), dtype=bool))
        scores = w.Where(allowed, scores, least)
    if mask is not None:
        scores = w.Add(scores, mask)
        blind = w.Equal(reduced(w, "ReduceMax", scores, [-1], True), least)
        zero = w.scalar(0, dtype)
        weights = w.Softmax(w.Where(blind, zero, scores), axis=-1)
        return w.MatMul(w.Where(blind, zero, weights), value), None
    return w.MatMul(w.Softmax(scores, axis=-1), value), None


# --- recurrent layers -----------------------------------------------------------------------------


def _gates(w: Writer, order: list[int], name: str, width: int) -> str:
    """A weight or bias with its gates in another order, and an axis for the direction before it."""
    parts = [
        w.Slice(name, w.ints([g * width]), w.ints([(g + 1) * width]), w.ints([0])) for g in order
    ]
    joined = parts[0] if len(parts) == 1 else w.Concat(*parts, axis=0)
    return str(w.Unsqueeze(joined, w.ints([0])))


def _recurrent(
    w: Writer, node: Any, operator: str, order: list[int], states: int, **options: Any
) -> tuple[Any, ...]:
    """One layer in one direction. Its input comes multiplied by its weights, so that the operator
    gets the identity for them.

    Args:
        order: the operator's gates, as numbers of ours.
        states: how many states there are.
    """
    if node.inputs[-1] is not None:
        raise UnsupportedOperatorError("packed sequences")
    x, first = node.inputs[0], node.inputs[1]
    batch, width = first.aval.shape
    weight = node.inputs[1 + states]
    rows, dtype = len(order) * width, x.aval.dtype
    given = w.Reshape(w.of(x), w.ints([-1, batch, rows]))
    inner = _gates(w, order, w.constant(np.eye(rows, dtype=dtype.np)), width)
    outer = _gates(w, order, w.of(weight), width)
    bias = None
    if operator == "GRU":
        hidden = node.inputs[2 + states]
        shape = (3 * width,)
        parts = [w.constant(np.zeros(shape, dtype.np)), (
            w.of(hidden) if hidden is not None else w.constant(np.zeros(shape, dtype.np)))]
        bias = w.Concat(*[_gates(w, order, part, width) for part in parts], axis=1)
    begin = [w.Unsqueeze(w.of(v), w.ints([0])) for v in node.inputs[1 : 1 + states]]
    made = getattr(w, operator)(
        given, inner, outer, bias, None, *begin, hidden_size=int(width), results=1 + states,
        direction="reverse" if node.params["reverse"] else "forward", **options,
    )  # fmt: skip
    rows_of_states = w.Reshape(made[0], w.ints([-1, width]))
    return (rows_of_states, *[w.Squeeze(last, w.ints([0])) for last in made[1:]])


def _padded(node: Any, made: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*made, *itertools.repeat(None, len(node.outputs) - len(made)))


@writes(recurrent.lstm)
def _lstm(w: Writer, node: Any) -> Any:
    return _padded(node, _recurrent(w, node, "LSTM", [0, 3, 1, 2], 2))  # i, o, f, g


@writes(recurrent.gru)
def _gru(w: Writer, node: Any) -> Any:
    made = _recurrent(w, node, "GRU", [1, 0, 2], 1, linear_before_reset=1)  # z, r, n
    return _padded(node, made)


@writes(recurrent.simple_recurrent)
def _rnn(w: Writer, node: Any) -> Any:
    kind = {"tanh": "Tanh", "relu": "Relu"}[node.params["nonlinearity"]]
    return _padded(node, _recurrent(w, node, "RNN", [0], 1, activations=[kind]))


@writes(loss.cross_entropy)
def _cross_entropy(w: Writer, node: Any) -> Any:
    given = node.params
    if given["smoothing"]:
        raise UnsupportedOperatorError("cross_entropy(label_smoothing)")
    x, target, weight = node.inputs
    if target.aval.dtype.category >= dtypes.FLOAT:
        raise UnsupportedOperatorError("cross_entropy of probabilities")
    made = w.SoftmaxCrossEntropyLoss(
        w.of(x), w.typed(target, dtypes.int64), None if weight is None else w.of(weight),
        reduction=given["reduction"], ignore_index=given["ignore_index"],
    )  # fmt: skip
    return (made, *[None] * (len(node.outputs) - 1))
