"""What operators are made of in Core ATen, in calls of other overloads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.torch._aten.autograd import NOT_MADE
from mindtorch.torch._aten.lowerings import call
from mindtorch.torch._tensor.size_and_formats import contiguous_format, preserve_format

__all__ = ["RULES", "WRITES"]

Body = Callable[..., Any]
# by operator, or by operator and overload
RULES: dict[str, Body] = {}
# of operators that write: {"result": what they give, "writes": [(target, new value)]}
WRITES: dict[str, Body] = {}


def _rule(*names: str) -> Callable[[Body], Body]:
    def keep(body: Body) -> Body:
        RULES.update(dict.fromkeys(names, body))
        return body

    return keep


def _write(*names: str) -> Callable[[Body], Body]:
    def keep(body: Body) -> Body:
        WRITES.update(dict.fromkeys(names, body))
        return body

    return keep


# --- shapes -----------------------------------------------------------------------------------


@_rule("t", "numpy_T")
def _turned(x: Any) -> Any:
    return call("permute", x, list(range(x.aval.ndim))[::-1]) if x.aval.ndim > 1 else x


@_rule("transpose.int")
def _transposed(x: Any, first: int, second: int) -> Any:
    order = list(range(x.aval.ndim))
    if not order:
        return x
    order[first], order[second] = order[second], order[first]
    return call("permute", x, order)


@_rule("squeeze.default")
def _squeezed(x: Any) -> Any:
    return call("squeeze.dims", x, [i for i, n in enumerate(x.aval.shape) if n == 1])


@_rule("squeeze.dim")
def _squeezed_axis(x: Any, dim: int) -> Any:
    return call("squeeze.dims", x, [dim])


@_rule("unbind.int")
def _unbound(x: Any, dim: int = 0) -> Any:
    return [call("select.int", x, dim, i) for i in range(x.aval.shape[dim])]


@_rule("split.Tensor")
def _split(x: Any, size: int, dim: int = 0) -> Any:
    length = x.aval.shape[dim]
    count = max(-(-length // size), 1)
    sizes = [size] * (count - 1) + [length - size * (count - 1)]
    return call("split_with_sizes", x, sizes, dim)


@_rule("stack")
def _stacked(tensors: Any, dim: int = 0) -> Any:
    axis = dim % (tensors[0].aval.ndim + 1)
    return call("cat", [call("unsqueeze", x, axis) for x in tensors], axis)


@_rule("_unsafe_view")
def _unsafe_view(x: Any, size: Any) -> Any:
    return call("view", x, size)


@_rule("unflatten.int")
def _unflattened(x: Any, dim: int, sizes: Any) -> Any:
    axis, shape = dim % x.aval.ndim, list(x.aval.shape)
    given = list(sizes)
    if -1 in given:
        rest = -math.prod(given)
        given[given.index(-1)] = shape[axis] // rest
    return call("view", x, [*shape[:axis], *given, *shape[axis + 1 :]])


@_rule("contiguous")
def _contiguous(x: Any, *, memory_format: Any = contiguous_format) -> Any:
    if memory_format is contiguous_format and x.aval.contiguous:
        return x
    return call("clone", x, memory_format=memory_format)


@_rule("detach")
def _alias(x: Any) -> Any:
    return call("alias", x)


@_rule("lift_fresh_copy")
def _lifted(x: Any) -> Any:
    return call("clone", x)


# --- new tensors and types --------------------------------------------------------------------


def _filled(name: str, value: int) -> None:
    def body(size: Any, **named: Any) -> Any:
        named.setdefault("dtype", None)
        kind = named.pop("dtype") or dtypes.default
        return call("full", size, value, dtype=kind, **named)

    def like(x: Any, **named: Any) -> Any:
        return call("full_like", x, value, **{"memory_format": preserve_format, **named})

    def new(x: Any, size: Any, **named: Any) -> Any:
        given = {"dtype": x.aval.dtype, "device": x.aval.device, "pin_memory": False}
        return call("full", size, value, **{**given, **named})

    RULES[f"{name}.default"], RULES[f"{name}_like"], RULES[f"new_{name}"] = body, like, new


_filled("zeros", 0)
_filled("ones", 1)


@_rule("new_full")
def _new_full(x: Any, size: Any, value: Any, **named: Any) -> Any:
    given = {"dtype": x.aval.dtype, "device": x.aval.device, "pin_memory": False}
    return call("full", size, value, **{**given, **named})


@_rule("to.dtype")
def _to(
    x: Any, dtype: Any, non_blocking: bool = False, copy: bool = False, memory_format: Any = None
) -> Any:
    same = x.aval.dtype is dtype and not copy and memory_format in (None, preserve_format)
    return x if same else call("_to_copy", x, dtype=dtype)


@_rule("type_as")
def _type_as(x: Any, other: Any) -> Any:
    same = x.aval.dtype is other.aval.dtype
    return x if same else call("_to_copy", x, dtype=other.aval.dtype)


# --- arithmetic -------------------------------------------------------------------------------


@_rule("rsub.Scalar", "rsub.Tensor")
def _rsub(x: Any, other: Any, alpha: Any = 1) -> Any:
    scaled = x if alpha == 1 else call("mul.Scalar", x, alpha)
    if hasattr(other, "aval"):
        return call("sub.Tensor", other, scaled)
    return call("add.Scalar", call("neg", scaled), other)


@_rule("sum.default")
def _sum(x: Any, *, dtype: Any = None) -> Any:
    return call("sum.dim_IntList", x, [], **({} if dtype is None else {"dtype": dtype}))


@_rule("std.correction")
def _std(x: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    return call("sqrt", call("var.correction", x, dim, correction=correction, keepdim=keepdim))


@_rule("addcmul")
def _addcmul(x: Any, first: Any, second: Any, *, value: Any = 1) -> Any:
    product = call("mul.Tensor", first, second)
    return call("add.Tensor", x, product if value == 1 else call("mul.Scalar", product, value))


@_rule("addcdiv")
def _addcdiv(x: Any, first: Any, second: Any, *, value: Any = 1) -> Any:
    ratio = call("div.Tensor", first, second)
    return call("add.Tensor", x, ratio if value == 1 else call("mul.Scalar", ratio, value))


@_rule("lerp.Scalar")
def _lerp(x: Any, end: Any, weight: Any) -> Any:
    return call("add.Tensor", x, call("mul.Scalar", call("sub.Tensor", end, x), weight))


@_rule("masked_fill.Scalar")
def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    made = call("scalar_tensor", value, dtype=x.aval.dtype, device=x.aval.device)
    return call("where.self", mask, made, x)


@_rule("square")
def _square(x: Any) -> Any:
    return call("pow.Tensor_Scalar", x, 2)


@_rule("clamp_min")
def _clamp_min(x: Any, least: Any) -> Any:
    return call("clamp", x, least)


@_rule("clamp_max")
def _clamp_max(x: Any, most: Any) -> Any:
    return call("clamp", x, None, most)


# --- activations ------------------------------------------------------------------------------


@_rule("silu")
def _silu(x: Any) -> Any:
    return call("mul.Tensor", x, call("sigmoid", x))


def _six(x: Any) -> Any:
    """``clamp(x + 3, 0, 6)``."""
    return call("clamp", call("add.Scalar", x, 3), 0, 6)


@_rule("hardswish")
def _hardswish(x: Any) -> Any:
    return call("div.Scalar", call("mul.Tensor", x, _six(x)), 6)


@_rule("hardsigmoid")
def _hardsigmoid(x: Any) -> Any:
    return call("div.Scalar", _six(x), 6)


@_rule("relu6")
def _relu6(x: Any) -> Any:
    return call("hardtanh", x, 0.0, 6.0)


@_rule("softplus")
def _softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    scaled = x if beta == 1 else call("mul.Scalar", x, beta)
    soft = call("log1p", call("exp", scaled))
    soft = soft if beta == 1 else call("div.Scalar", soft, beta)
    return call("where.self", call("gt.Scalar", scaled, threshold), x, soft)


@_rule("mish")
def _mish(x: Any) -> Any:
    return call("mul.Tensor", x, call("tanh", call("softplus", x)))


@_rule("log_sigmoid")
def _log_sigmoid(x: Any) -> Any:
    least = call("clamp", x, None, 0)
    small = call("log1p", call("exp", call("neg", call("abs", x))))
    return call("sub.Tensor", least, small)


@_rule("prelu", "_prelu_kernel")
def _prelu(x: Any, weight: Any) -> Any:
    if weight.aval.size > 1:
        return NOT_MADE
    below = call("mul.Tensor", x, weight)
    return call("where.self", call("gt.Scalar", x, 0), x, below)


@_rule("glu")
def _glu(x: Any, dim: int = -1) -> Any:
    half = x.aval.shape[dim] // 2
    first, second = call("split_with_sizes", x, [half, half], dim)
    return call("mul.Tensor", first, call("sigmoid", second))


@_rule("feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def _left_out(x: Any, p: float, train: bool) -> Any:
    return NOT_MADE if train and p else x


@_rule("dropout")
def _dropout(x: Any, p: float, train: bool) -> Any:
    return call("native_dropout", x, p, train)[0] if train and p else x


# --- layers -----------------------------------------------------------------------------------


@_rule("batch_norm")
def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, momentum: float,
    eps: float, *rest: Any,
) -> Any:  # fmt: skip
    if mean is None or variance is None:
        return call(
            "_native_batch_norm_legit.no_stats", x, weight, bias, training, momentum, eps
        )[0]
    if not training:
        return call(
            "_native_batch_norm_legit_no_training", x, weight, bias, mean, variance, momentum, eps
        )[0]
    made = call(
        "_native_batch_norm_legit_functional", x, weight, bias, mean, variance, True, momentum, eps
    )
    call("copy_", mean, made[3])
    call("copy_", variance, made[4])
    return made[0]


@_rule("layer_norm")
def _layer_norm(
    x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05, *rest: Any
) -> Any:
    return call("native_layer_norm", x, shape, weight, bias, eps)[0]


@_rule("group_norm")
def _group_norm(
    x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05, *rest: Any
) -> Any:
    n, channels, *size = x.aval.shape
    return call(
        "native_group_norm", call("contiguous", x), weight, bias, n, channels, math.prod(size),
        groups, eps,
    )[0]  # fmt: skip


@_rule("max_pool2d")
def _max_pool(x: Any, *args: Any) -> Any:
    return call("max_pool2d_with_indices", x, *args)[0]


@_rule("adaptive_avg_pool2d")
def _adaptive_avg_pool(x: Any, size: Any) -> Any:
    if list(size) == [1, 1]:
        return call("mean.dim", x, [-1, -2], True)
    return call("_adaptive_avg_pool2d", x, size)


@_rule("pad")
def _pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    if mode != "constant":
        return NOT_MADE
    return call("constant_pad_nd", x, list(pad), 0.0 if value is None else value)


@_rule("scaled_dot_product_attention")
def _attention(
    query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False,
    *, scale: Any = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    if dropout or enable_gqa:
        return NOT_MADE
    factor = math.sqrt(query.aval.shape[-1] ** -0.5 if scale is None else scale)
    turned = call("transpose.int", key, -2, -1)
    scores = call("matmul", call("mul.Scalar", query, factor), call("mul.Scalar", turned, factor))
    if causal:
        shape = [query.aval.shape[-2], key.aval.shape[-2]]
        allowed = call("tril", call("full", shape, True, dtype=dtypes.bool_))
        mask = allowed
    if mask is not None and mask.aval.dtype is dtypes.bool_:
        none = call("scalar_tensor", -math.inf, dtype=scores.aval.dtype)
        scores = call("where.self", mask, scores, none)
    elif mask is not None:
        scores = call("add.Tensor", scores, mask)
    return call("matmul", call("_safe_softmax", scores, -1), value)


@_rule("_safe_softmax")
def _safe_softmax(x: Any, dim: int, dtype: Any = None) -> Any:
    made = call("_softmax", x, dim, False)
    seen = call("any.dim", call("logical_not", call("eq.Scalar", x, -math.inf)), dim, True)
    zeros = call("full_like", made, 0)
    return call("where.self", call("logical_not", seen), zeros, made)


@_rule("lstm.input")
def _lstm(
    x: Any, states: Any, weights: Any, biases: bool, layers: int, dropout: float, train: bool,
    two_sided: bool, batch_first: bool,
) -> Any:  # fmt: skip
    if (dropout and train) or len(weights) != layers * (2 if two_sided else 1) * (
        4 if biases else 2
    ):
        return NOT_MADE

    def step(gates: Any, state: Any) -> Any:
        width = state[1].aval.shape[-1]
        parts = call("split_with_sizes", gates, [width] * 4, 1)
        enter, keep, leave = (call("sigmoid", parts[i]) for i in (0, 1, 3))
        new = call("mul.Tensor", enter, call("tanh", parts[2]))
        cell = call("add.Tensor", call("mul.Tensor", keep, state[1]), new)
        return call("mul.Tensor", leave, call("tanh", cell)), cell

    output, *found = _network(x, states, weights, biases, two_sided, batch_first, step)
    return (output, *found)


def _network(
    x: Any, states: Any, weights: Any, biases: bool, two_sided: bool, batch_first: bool, step: Any
) -> Any:
    """Layers over time: the outputs and each kind of last state."""
    rows = call("transpose.int", x, 0, 1) if batch_first else x
    each, sides = (4 if biases else 2), (2 if two_sided else 1)
    finals: list[Any] = []
    for layer in range(len(weights) // each // sides):
        outputs = []
        for side in range(sides):
            place = layer * sides + side
            own = weights[place * each : (place + 1) * each]
            state = [call("select.int", s, 0, place) for s in states]
            made, state = _over_time(rows, state, own, bool(side), step)
            outputs.append(made)
            finals.append(state)
        rows = outputs[0] if sides == 1 else call("cat", outputs, 2)
    if batch_first:
        rows = call("transpose.int", rows, 0, 1)
    kinds = range(len(states))
    return (rows, *[call("stack", [final[k] for final in finals], 0) for k in kinds])


def _over_time(rows: Any, state: Any, weights: Any, backwards: bool, step: Any) -> Any:
    inner, outer, *biases = weights
    first, second = biases or (None, None)
    given = call("linear", rows, inner, first)
    outputs: list[Any] = []
    times = range(rows.aval.shape[0])
    for time in reversed(times) if backwards else times:
        own = call("linear", state[0], outer, second)
        state = step(call("add.Tensor", call("select.int", given, 0, time), own), state)
        outputs.append(state[0])
    return call("stack", outputs[::-1] if backwards else outputs, 0), state


# --- writes -----------------------------------------------------------------------------------


def _written(target: Any, value: Any) -> dict[str, Any]:
    return {"result": target, "writes": [(target, value)]}


@_write("copy_")
def _copy(target: Any, source: Any, non_blocking: bool = False) -> Any:
    return _written(target, source)


@_write("zero_")
def _zero(target: Any) -> Any:
    return _written(target, call("full_like", target, 0))


@_write("fill_")
def _fill(target: Any, value: Any) -> Any:
    if hasattr(value, "aval"):
        return _written(target, value)
    return _written(target, call("full_like", target, value))


@_write("detach_", "requires_grad_")
def _unchanged(target: Any, *args: Any) -> Any:
    return {"result": target, "writes": []}
