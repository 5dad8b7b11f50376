"""Writers of products, convolutions, pooling, normalization, attention and recurrent layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.ops import (
    activations,
    attention,
    convolution,
    linear_algebra,
    normalization,
    pooling,
    recurrent,
    resizing,
    softmax,
)
from mindtorch.engine.symbolic_sizes import Count, has_amounts

from .errors import UnsupportedOperatorError
from .writer import Writer, writes
from .writers_shapes import padded, reduced, sliced

# --- products -------------------------------------------------------------------------------------


@writes(linear_algebra.matmul)
def _matmul(w: Writer, node: Any) -> str:
    x, y = w.inputs(node)
    a, b = (v.aval for v in node.inputs)
    if a.ndim == b.ndim == 2:
        return str(w.MatMul(x, y, transpose_a=False, transpose_b=False))
    if a.ndim == 1:
        x = w.ExpandDims(x, w.value(0))
    if b.ndim == 1:
        y = w.ExpandDims(y, w.value(1))
    both = max(a.ndim, b.ndim, 2)
    if both == 2:
        made = w.MatMul(x, y, transpose_a=False, transpose_b=False)
    elif b.ndim <= 2 and a.ndim > 2:
        rows = w.Reshape(x, w.value((-1, int(a.shape[-1]))))
        made = w.MatMul(rows, y, transpose_a=False, transpose_b=False)
        made = w.shaped(made, [*a.shape[:-1], 1 if b.ndim == 1 else b.shape[-1]])
    else:
        made = w.BatchMatMul(x, y, transpose_a=False, transpose_b=False)
    axes = [both - 2] * (a.ndim == 1) + [both - 1] * (b.ndim == 1)
    return str(w.Squeeze(made, axis=tuple(axes)) if axes else made)


@writes(linear_algebra.linear)
def _linear(w: Writer, node: Any) -> str:
    x, weight, bias = w.inputs(node)
    described, rows = node.inputs[0].aval, node.inputs[1].aval.shape[0]
    if described.ndim != 2:
        x = w.Reshape(x, w.value((-1, int(described.shape[-1]))))
    made = w.MatMul(x, weight, transpose_a=False, transpose_b=True)
    made = made if bias is None else w.BiasAdd(made, bias, format="NCHW")
    return str(made if described.ndim == 2 else w.shaped(made, [*described.shape[:-1], rows]))


# --- convolutions ---------------------------------------------------------------------------------


def _four(numbers: Any) -> tuple[int, ...]:
    """The numbers of the last axes, ones before them for the batch and the channels."""
    return (1, 1, *[int(n) for n in numbers])


def _row_as_image(w: Writer, *names: str) -> list[str]:
    """Rows as images of one line."""
    return [w.ExpandDims(name, w.value(2)) for name in names]


def _conv2d(w: Writer, x: str, weight: str, shape: Any, pads: Any, given: Any) -> str:
    """A convolution of images; ``pads`` are those before and after each axis."""
    ends = tuple(int(n) for n in pads)
    return str(w.Conv2D(
        x, weight, kernel_size=tuple(int(n) for n in shape[2:]), mode=1, out_channel=int(shape[0]),
        pad=ends, pad_mode="pad" if any(ends) else "valid", format="NCHW", pad_list=ends,
        groups=int(given["groups"]), stride=_four(given["stride"]), group=int(given["groups"]),
        dilation=_four(given["dilation"]),
    ))  # fmt: skip


@writes(convolution.convolution)
def _convolution(w: Writer, node: Any) -> str:
    x, weight, bias = w.inputs(node)
    shape, given = node.inputs[1].aval.shape, dict(node.params)
    padding = given["padding"]
    if len(shape) == 3:  # a row is an image of one line
        x, weight = _row_as_image(w, x, weight)
        given |= {name: (1, *given[name]) for name in ("stride", "dilation")}
        made = _conv2d(w, x, weight, (*shape[:2], 1, shape[2]), (0, 0, *padding * 2), given)
        made = w.Squeeze(made, axis=(2,))
        if bias is not None:
            made = w.Add(made, _over_channels(w, bias, 3))
        return str(made)
    if len(shape) == 5:
        ends = tuple(int(n) for n in padding for _ in range(2))
        made = w.Conv3D(x, weight, **_of_volumes(shape, ends, given), offset_x=0)
        return str(made if bias is None else w.Add(made, _over_channels(w, bias, 5)))
    made = _conv2d(w, x, weight, shape, [n for n in padding for _ in range(2)], given)
    return str(made if bias is None else w.BiasAdd(made, bias, format="NCHW"))


def _over_channels(w: Writer, bias: str, rank: int) -> str:
    """A row of numbers, one for each channel, along the second of ``rank`` axes."""
    return str(w.Reshape(bias, w.value((-1, *[1] * (rank - 2)))))


def _of_volumes(shape: Any, ends: tuple[int, ...], given: Any) -> dict[str, Any]:
    """The attributes of a convolution of volumes."""
    stride, dilation = (tuple(int(n) for n in given[name]) for name in ("stride", "dilation"))
    return {
        "kernel_size": tuple(int(n) for n in shape[2:]), "mode": 1, "out_channel": int(shape[0]),
        "pad": ends, "pad_mode": "pad", "pad_list": ends, "format": "NCDHW", "stride": stride,
        "strides": (1, 1, *stride), "dilation": dilation, "dilations": (1, 1, *dilation),
        "group": int(given["groups"]), "groups": int(given["groups"]),
    }  # fmt: skip


@writes(convolution.convolution_input_gradient)
def _transposed_convolution(w: Writer, node: Any) -> str:
    (y, weight), given = node.inputs, dict(node.params)
    shape, size = tuple(weight.aval.shape), tuple(given["shape"])
    if has_amounts(size[2:]):
        raise UnsupportedOperatorError("a transposed convolution of open sizes")
    if type(size[0]) is Count:
        raise UnsupportedOperatorError("a transposed convolution of an open batch")
    names = [w.of(y), w.of(weight)]
    ends = tuple(int(n) for n in given["padding"] for _ in range(2))
    if len(shape) == 5:
        channels = int(shape[1]) * int(given["groups"])
        settings = _of_volumes(shape, ends, given) | {"out_channel": channels}
        beyond = [
            m - (n - 1) * s - (k - 1) * d - 1 + 2 * p
            for m, n, s, k, d, p in zip(
                size[2:], y.aval.shape[2:], given["stride"], shape[2:], given["dilation"],
                given["padding"], strict=True,
            )
        ]  # fmt: skip
        return str(w.Conv3DTranspose(
            *names, **settings, in_channel=int(shape[0]), input_size=tuple(int(n) for n in size),
            output_padding=(0, 0, *[int(n) for n in beyond]),
        ))  # fmt: skip
    is_row = len(shape) == 3
    if is_row:
        names = _row_as_image(w, *names)
        shape, size, ends = (*shape[:2], 1, shape[2]), (*size[:2], 1, size[2]), (0, 0, *ends)
        given |= {name: (1, *given[name]) for name in ("stride", "dilation")}
    made = w.Conv2DTranspose(
        *names, w.numbers(size), out_channel=int(shape[0]),
        kernel_size=tuple(int(n) for n in shape[2:]), mode=1, pad=ends,
        pad_mode="pad" if any(ends) else "valid", pad_list=ends,
        stride=_four(given["stride"]), dilation=_four(given["dilation"]), format="NCHW",
        group=int(given["groups"]), groups=int(given["groups"]),
    )  # fmt: skip
    return str(w.Squeeze(made, axis=(2,)) if is_row else made)


# --- pooling --------------------------------------------------------------------------------------


def _windows(w: Writer, node: Any, name: str, filled: float, sizes: Any) -> tuple[str, Any]:
    """The input with what windows reach beyond it, and what was put before and after it."""
    (x,), given, rows = node.inputs, node.params, [(0, 0), (0, 0)]
    spread = given.get("dilation", (1,) * len(sizes))
    if any(d != 1 for d in spread):
        raise UnsupportedOperatorError("windows with gaps")
    for i, (k, s, p) in enumerate(
        zip(given["kernel_size"], given["stride"], given["padding"], strict=True)
    ):
        after = p
        if given["ceil_mode"]:
            n, m = sizes[i], node.outputs[0].aval.shape[2 + i]
            if has_amounts((n, m)):
                raise UnsupportedOperatorError("ceil_mode with a length that is open")
            after = max((m - 1) * s + k - n - p, 0)
        rows.append((p, after))
    return padded(w, name, x.aval, rows, filled), rows


def _pooled(w: Writer, kind: str, x: str, kernel: Any, stride: Any) -> str:
    """Windows that lie in the input, of rows (as images of one line), images or volumes."""
    count, of_two = len(kernel), kind == "AvgPool"
    if count == 3:
        more = {"count_include_pad": True, "divisor_override": 0} if of_two else {}
        return str(w.node(f"{kind}3D", (x,), {
            "kernel_size": _four(kernel), "strides": _four(stride), "pad_mode": "VALID",
            "pad_list": (0,) * 6, "ceil_mode": False if of_two else 0, "format": "NCDHW", **more,
        }))  # fmt: skip
    if count == 1:
        (x,), kernel, stride = _row_as_image(w, x), (1, *kernel), (1, *stride)
    sizes = (tuple(int(n) for n in each) if of_two else _four(each) for each in (kernel, stride))
    window, step = sizes
    made = w.node(kind, (x,), {
        "kernel_size": window, "strides": step, "pad_mode": "VALID", "format": "NCHW",
    })  # fmt: skip
    return str(w.Squeeze(made, axis=(2,)) if count == 1 else made)


@writes(pooling.max_pool)
def _max_pool(w: Writer, node: Any) -> Any:
    (x,), given = node.inputs, node.params
    maker = w.makers.get(x.number)
    least = 0.0 if maker is not None and maker.op is activations.relu else -math.inf
    name, _ = _windows(w, node, w.of(x), least, x.aval.shape[2:])
    return _pooled(w, "MaxPool", name, given["kernel_size"], given["stride"]), None


@writes(pooling.avg_pool)
def _avg_pool(w: Writer, node: Any) -> str:
    (x,), given = node.inputs, node.params
    sizes, made = x.aval.shape[2:], node.outputs[0].aval.shape[2:]
    name, rows = _windows(w, node, w.of(x), 0.0, sizes)
    found = _pooled(w, "AvgPool", name, given["kernel_size"], given["stride"])
    whole = math.prod(given["kernel_size"])
    divisor = given["divisor_override"]
    if divisor is not None:
        return str(w.Mul(found, w.scalar(whole / divisor, x.aval.dtype)))
    if not any(n for pair in rows for n in pair):
        return str(found)
    if has_amounts((*sizes, *made)):
        raise UnsupportedOperatorError("avg_pool with padding of a length that is open")
    counts = np.ones((), np.float64)
    for i, (n, m) in enumerate(zip(sizes, made, strict=True)):
        pad = given["padding"][i]
        begins = np.arange(m) * given["stride"][i] - pad
        low, high = (-pad, n + pad) if given["count_include_pad"] else (0, n)
        ends = np.minimum(begins + given["kernel_size"][i], high)
        counts = np.multiply.outer(counts, ends - np.maximum(begins, low))
    shares = (whole / counts).reshape((1, 1, *made))
    return str(w.Mul(found, w.constant(shares.astype(x.aval.dtype.np))))


@writes(pooling.adaptive_avg_pool)
def _adaptive_avg_pool(w: Writer, node: Any) -> str:
    (value,), wanted = node.inputs, node.params["output_size"]
    x, sizes, rank = w.of(value), value.aval.shape[2:], value.aval.ndim
    if all(m == 1 for m in wanted):
        return reduced(w, "ReduceMean", x, range(2, rank), True)
    for axis, (n, m) in enumerate(zip(sizes, wanted, strict=True), 2):
        if has_amounts((n, m)):
            raise UnsupportedOperatorError("adaptive pooling of a length that is open")
        if n == m:
            continue
        shares = np.zeros((n, m), value.aval.dtype.np)  # each mean is a product
        for i in range(m):
            first, last = i * n // m, -(-(i + 1) * n // m)
            shares[first:last, i] = 1 / (last - first)
        order = list(range(rank))
        order[axis], order[-1] = order[-1], order[axis]
        moved = w.Transpose(x, w.numbers(order))
        now = [*value.aval.shape[:2], *wanted[: axis - 2], *sizes[axis - 2 :]]
        shape = [now[i] for i in order]
        rows = w.MatMul(w.Reshape(moved, w.value((-1, int(n)))), w.constant(shares),
                        transpose_a=False, transpose_b=False)  # fmt: skip
        x = w.Transpose(w.shaped(rows, [*shape[:-1], m]), w.numbers(order))
    return x


@writes(resizing.resize)
def _resize(w: Writer, node: Any) -> str:
    (value,), given = node.inputs, node.params
    mode, size, align = given["mode"], given["size"], bool(given["align"])
    if value.aval.ndim != 4 or has_amounts((*value.aval.shape[2:], *size)):
        raise UnsupportedOperatorError("interpolate of other axes, or of a length that is open")
    exact = all(
        align or abs(n / m - s) <= 1e-6 * s
        for n, m, s in zip(value.aval.shape[2:], size, given["steps"], strict=True)
    )
    if not exact or mode not in ("nearest", "bilinear"):
        raise UnsupportedOperatorError(f"interpolate(mode={mode!r}) by a factor of its own")
    numbers = tuple(int(n) for n in size)
    if mode == "nearest":
        return str(w.ResizeNearestNeighbor(
            w.of(value), size=numbers, align_corners=False, half_pixel_centers=False
        ))  # fmt: skip
    return str(w.ResizeBilinearV2(
        w.of(value), w.value(numbers), align_corners=align, half_pixel_centers=not align
    ))  # fmt: skip


# --- normalization --------------------------------------------------------------------------------


@writes(softmax.softmax, softmax.log_softmax)
def _softmax(w: Writer, node: Any) -> str:
    (x,), axis = node.inputs, int(node.params["axis"])
    if not x.aval.ndim:
        raise UnsupportedOperatorError("softmax of a number")
    if node.op is softmax.softmax:
        return str(w.Softmax(w.of(x), axis=(axis,)))
    return str(w.LogSoftmax(w.of(x), axis=axis))


def _or_else(w: Writer, name: str | None, shape: Any, dtype: Any, number: float) -> str:
    """A weight or bias, which may be absent."""
    return w.constant(np.full(shape, number, dtype.np)) if name is None else name


@writes(normalization.batch_norm_inference)
def _batch_norm(w: Writer, node: Any) -> str:
    described = node.inputs[0].aval
    x, weight, bias, mean, variance = w.inputs(node)
    shape, dtype = (described.shape[1],), described.dtype
    weight = _or_else(w, weight, shape, dtype, 1)
    bias = _or_else(w, bias, shape, dtype, 0)
    eps = float(node.params["eps"])
    if described.ndim != 4:
        along = w.value((-1, *[1] * (described.ndim - 2)))
        root = w.Sqrt(w.Add(variance, w.scalar(eps, dtype)))
        scale = w.Reshape(w.Div(weight, root), along)
        away = w.Sub(x, w.Reshape(mean, along))
        return str(w.Add(w.Mul(away, scale), w.Reshape(bias, along)))
    return str(w.BatchNorm(
        x, weight, bias, mean, variance, is_training=False, epsilon=eps, momentum=0.1,
        format="NCHW", results=1,
    )[0])  # fmt: skip


@writes(normalization.batch_norm_training)
def _batch_statistics(w: Writer, node: Any) -> Any:
    """With the batch's own mean and variance, as instance norms have it."""
    described = node.inputs[0].aval
    x, weight, bias = w.inputs(node)
    axes = [i for i in range(described.ndim) if i != 1]
    away = w.Sub(x, reduced(w, "ReduceMean", x, axes, True))
    variance = reduced(w, "ReduceMean", w.Mul(away, away), axes, True)
    root = w.Sqrt(w.Add(variance, w.scalar(node.params["eps"], described.dtype)))
    made = _along_channels(w, w.Div(away, root), weight, bias, described.ndim)
    return (made, *[None] * (len(node.outputs) - 1))


@writes(normalization.layer_norm)
def _layer_norm(w: Writer, node: Any) -> Any:
    described, count = node.inputs[0].aval, node.params["normalized_ndim"]
    x, weight, bias = w.inputs(node)
    shape, first = described.shape[-count:], described.ndim - count
    (made,) = w.LayerNorm(
        x, _or_else(w, weight, shape, described.dtype, 1),
        _or_else(w, bias, shape, described.dtype, 0), begin_norm_axis=first,
        begin_params_axis=first, epsilon=float(node.params["eps"]), results=1,
    )  # fmt: skip
    return made, None, None


def _along_channels(w: Writer, made: str, weight: Any, bias: Any, rank: int) -> str:
    along = w.value((-1, *[1] * (rank - 2)))
    made = made if weight is None else w.Mul(made, w.Reshape(weight, along))
    return made if bias is None else str(w.Add(made, w.Reshape(bias, along)))


@writes(normalization.group_norm)
def _group_norm(w: Writer, node: Any) -> Any:
    described, groups = node.inputs[0].aval, node.params["groups"]
    x, weight, bias = w.inputs(node)
    inner = described.shape[1:]
    if has_amounts(inner):
        raise UnsupportedOperatorError("group_norm of a length that is open")
    rows = w.Reshape(x, w.value((-1, int(groups), math.prod(inner) // int(groups))))
    away = w.Sub(rows, reduced(w, "ReduceMean", rows, [2], True))
    variance = reduced(w, "ReduceMean", w.Mul(away, away), [2], True)
    root = w.Sqrt(w.Add(variance, w.scalar(node.params["eps"], described.dtype)))
    made = w.shaped(w.Div(away, root), described.shape)
    made = _along_channels(w, made, weight, bias, described.ndim)
    return (made, *[None] * (len(node.outputs) - 1))


@writes(normalization.rms_norm)
def _rms_norm(w: Writer, node: Any) -> Any:
    described, count = node.inputs[0].aval, node.params["normalized_ndim"]
    x, weight = w.inputs(node)
    axes = range(described.ndim - count, described.ndim)
    square = reduced(w, "ReduceMean", w.Mul(x, x), axes, True)
    root = w.Sqrt(w.Add(square, w.scalar(node.params["eps"], described.dtype)))
    made = w.Div(x, root)
    return (made if weight is None else w.Mul(made, weight),
            *[None] * (len(node.outputs) - 1))  # fmt: skip


# --- attention ------------------------------------------------------------------------------------


@writes(attention.attention)
def _attention(w: Writer, node: Any) -> Any:
    query, key, value, mask = w.inputs(node)
    described, keys = node.inputs[0].aval, node.inputs[1].aval
    dtype = described.dtype
    scaled = w.Mul(query, w.scalar(node.params["scale"], dtype))
    scores = w.BatchMatMul(scaled, key, transpose_a=False, transpose_b=True)
    least = float(np.finfo(np.float32).min)
    if node.params["causal"]:
        rows, columns = described.shape[-2], keys.shape[-2]
        if has_amounts((rows, columns)):
            raise UnsupportedOperatorError("causal attention over a length that is open")
        hidden = np.where(np.tri(int(rows), int(columns), dtype=bool), 0, least)
        scores = w.Add(scores, w.constant(hidden.astype(dtype.np)))
    if mask is None:
        weights = w.Softmax(scores, axis=(-1,))
        return w.BatchMatMul(weights, value, transpose_a=False, transpose_b=False), None
    low = w.scalar(least, dtype)
    scores = w.Add(scores, w.Maximum(mask, low))  # -inf - -inf is no number
    blind = w.LessEqual(reduced(w, "ReduceMax", scores, [-1], True), w.scalar(least / 2, dtype))
    seen = w.cast(w.LogicalNot(blind), dtypes.bool_, dtype)
    weights = w.Mul(w.Softmax(scores, axis=(-1,)), seen)
    return w.BatchMatMul(weights, value, transpose_a=False, transpose_b=False), None


# --- recurrent layers -----------------------------------------------------------------------------


def _steps(w: Writer, node: Any) -> tuple[list[str], bool]:
    """The rows of each step (batch, gates), and whether they go backwards."""
    if node.inputs[-1] is not None:
        raise UnsupportedOperatorError("packed sequences")
    rows, width = node.inputs[0].aval.shape
    batch = node.inputs[1].aval.shape[0]
    count = _ratio(rows, batch)
    split = w.Reshape(w.of(node.inputs[0]), w.value((count, -1, int(width))))
    steps = [sliced(w, split, 3, 0, i, i + 1, shrinks=True) for i in range(count)]
    return steps, bool(node.params["reverse"])


def _ratio(rows: Any, batch: Any) -> int:
    """How often the batch is in the rows."""
    if type(batch) is not Count:
        if type(rows) is Count:
            raise UnsupportedOperatorError("a recurrent layer over a length that is open")
        return int(rows // batch)
    (terms,) = (rows.terms,) if type(rows) is Count else ({},)
    for atoms, factor in batch.terms.items():
        if len(batch.terms) == len(terms) == 1 and terms.get(atoms, 0) % factor == 0:
            return int(terms[atoms] // factor)
    raise UnsupportedOperatorError("a recurrent layer over a length that is open")


def _unrolled(w: Writer, node: Any, states: int, step: Any) -> tuple[Any, ...]:
    """One layer in one direction: ``step(rows, states)`` gives the states after it."""
    given, backwards = _steps(w, node)
    now = [w.of(v) for v in node.inputs[1 : 1 + states]]
    made = []
    for rows in reversed(given) if backwards else given:
        now = step(rows, now)
        made.append(now[0])
    made = made[::-1] if backwards else made
    joined = made[0] if len(made) == 1 else w.Concat(
        w.MakeTuple(*made), axis=0, inputNums=len(made)
    )  # fmt: skip
    return (joined, *now, *[None] * (len(node.outputs) - 1 - states))


def _gates(w: Writer, node: Any, rows: str, count: int) -> Any:
    return w.Split(rows, axis=1, output_num=count, results=count)


def _outer(w: Writer, node: Any, state: str, place: int) -> str:
    return str(w.MatMul(state, w.of(node.inputs[place]), transpose_a=False, transpose_b=True))


@writes(recurrent.lstm)
def _lstm(w: Writer, node: Any) -> Any:
    def step(rows: str, now: list[str]) -> list[str]:
        total = w.Add(rows, _outer(w, node, now[0], 3))
        i, f, g, o = _gates(w, node, total, 4)
        cell = w.Add(w.Mul(w.Sigmoid(f), now[1]), w.Mul(w.Sigmoid(i), w.Tanh(g)))
        return [w.Mul(w.Sigmoid(o), w.Tanh(cell)), cell]

    return _unrolled(w, node, 2, step)


@writes(recurrent.gru)
def _gru(w: Writer, node: Any) -> Any:
    bias = node.inputs[3]

    def step(rows: str, now: list[str]) -> list[str]:
        inner = _outer(w, node, now[0], 2)
        inner = inner if bias is None else w.BiasAdd(inner, w.of(bias), format="NCHW")
        r, z, n = _gates(w, node, rows, 3)
        hr, hz, hn = _gates(w, node, inner, 3)
        reset, kept = w.Sigmoid(w.Add(r, hr)), w.Sigmoid(w.Add(z, hz))
        new = w.Tanh(w.Add(n, w.Mul(reset, hn)))
        return [w.Add(new, w.Mul(kept, w.Sub(now[0], new)))]

    return _unrolled(w, node, 1, step)


@writes(recurrent.simple_recurrent)
def _rnn(w: Writer, node: Any) -> Any:
    bounded = w.Tanh if node.params["nonlinearity"] == "tanh" else w.ReLU

    def step(rows: str, now: list[str]) -> list[str]:
        return [bounded(w.Add(rows, _outer(w, node, now[0], 2)))]

    return _unrolled(w, node, 1, step)
