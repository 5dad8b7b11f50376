"""Gradients of overloads, in calls of overloads, in the order in which torch makes them.

An overload without a formula here is recorded by the engine's ops that its kernel is made of. The
arguments of a formula are those of the overload's schema, ``g`` (a tuple where there are several
results), ``out`` or ``out1`` for results, ``avals`` and ``needs`` as in the engine's vjp rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mindtorch.engine.autograd.rules import Rule

from .lowerings import call
from .schemas import lines_of, schema_of

__all__ = ["FORMULAS", "Formula", "gradient", "sum_to"]


class Formula:
    """An overload as an op of the tape.

    Attributes:
        names: its arguments that are tensors, and one that is a list of them, last.
        plain: the results that have no gradient.
    """

    view = None
    updates = False
    keeps_from = 0

    def __init__(
        self, name: str, function: Callable[..., Any], grad_name: str, plain: tuple[int, ...]
    ) -> None:
        base, _, which = name.partition(".")
        self.name = name
        self.plain = plain
        found = lines_of(base).get(which or "default")
        assert found is not None, name
        self.schema = schema_of(found)
        given = self.schema.arguments
        listed = [a.name for a in given if a.type in ("Tensor[]", "Tensor?[]")]
        single = [a.name for a in given if a.type in ("Tensor", "Tensor?")]
        self.names = single, listed
        self.input_names = tuple(single)
        self.keeps_from = len(single)
        self.variadic = bool(listed)
        self.defaults = {a.name: a.default for a in given if a.name not in single + listed}
        self.rules = Rule(self, function)
        words = base.strip("_").split("_")
        self.grad_name = grad_name or "".join(w[:1].upper() + w[1:] for w in words) + "Backward0"

    def node_name(self, avals: Any, params: Any) -> str:
        return self.grad_name


FORMULAS: dict[str, Formula] = {}


def gradient(
    *names: str, grad_name: str = "", plain: tuple[int, ...] = ()
) -> Callable[..., Callable[..., Any]]:
    """Make the function below the formula of these overloads."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            FORMULAS[name] = Formula(name, function, grad_name, plain)
        return function

    return keep


def sum_to(g: Any, shape: Any) -> Any:
    """The sum over what was broadcast."""
    have, wanted = g.aval.shape, tuple(shape)
    if have == wanted:
        return g
    lead = len(have) - len(wanted)
    axes = [*range(lead), *(i + lead for i, n in enumerate(wanted) if n == 1 != have[i + lead])]
    g = call("sum.dim_IntList", g, axes, True) if axes else g
    return call("view", g, list(wanted)) if lead else g


def _scaled(g: Any, factor: Any) -> Any:
    return g if factor == 1 else call("mul.Scalar", g, factor)


def _two(first: Any, second: Any, needs: Any, avals: Any) -> list[Any]:
    """The gradients of two operands of one shape of result; each is made when it is needed."""
    made = [make() if need else None for make, need in zip((first, second), needs, strict=True)]
    return [None if x is None else sum_to(x, a.shape) for x, a in zip(made, avals, strict=True)]


# --- arithmetic -------------------------------------------------------------------------------


@gradient("add.Tensor")
def _add(g: Any, alpha: Any, needs: Any, avals: Any) -> list[Any]:
    return _two(lambda: g, lambda: _scaled(g, alpha), needs, avals)


@gradient("sub.Tensor")
def _sub(g: Any, alpha: Any, needs: Any, avals: Any) -> list[Any]:
    return _two(lambda: g, lambda: _scaled(call("neg", g), alpha), needs, avals)


@gradient("mul.Tensor")
def _mul(g: Any, self: Any, other: Any, needs: Any, avals: Any) -> list[Any]:
    return _two(
        lambda: call("mul.Tensor", g, other), lambda: call("mul.Tensor", g, self), needs, avals
    )


@gradient("div.Tensor")
def _div(g: Any, self: Any, other: Any, needs: Any, avals: Any) -> list[Any]:
    def second() -> Any:
        quotient = call("div.Tensor", call("div.Tensor", self, other), other)
        return call("mul.Tensor", call("neg", g), quotient)

    slope = sum_to(second(), avals[1].shape) if needs[1] else None
    return [sum_to(call("div.Tensor", g, other), avals[0].shape) if needs[0] else None, slope]


@gradient("pow.Tensor_Scalar")
def _pow(g: Any, self: Any, exponent: Any) -> list[Any]:
    if exponent == 0:
        return [call("zeros_like", self)]
    power = call("mul.Scalar", call("pow.Tensor_Scalar", self, exponent - 1), exponent)
    return [call("mul.Tensor", g, power)]


@gradient("sqrt")
def _sqrt(g: Any, out: Any) -> list[Any]:
    return [call("div.Tensor", g, call("mul.Scalar", out, 2))]


@gradient("rsqrt")
def _rsqrt(g: Any, out: Any) -> list[Any]:
    power = call("mul.Scalar", call("pow.Tensor_Scalar", out, 3), -0.5)
    return [call("mul.Tensor", power, g)]


@gradient("reciprocal")
def _reciprocal(g: Any, out: Any) -> list[Any]:
    square = call("mul.Tensor", out, out)
    return [call("mul.Tensor", call("neg", g), square)]


@gradient("cos")
def _cos(g: Any, self: Any) -> list[Any]:
    return [call("mul.Tensor", g, call("neg", call("sin", self)))]


@gradient("pow.Scalar")
def _exponential(g: Any, self: Any, exponent: Any, out: Any) -> list[Any]:
    if self == 0:
        return [call("zeros_like", g)]
    return [call("mul.Tensor", g, call("mul.Scalar", out, math.log(self)))]


def _of_ties(g: Any, self: Any, other: Any, beaten: str) -> Any:
    """The gradient of the larger, or smaller, of two: half of it where they are equal."""
    half = call("div.Scalar", g, 2)
    part = call("where.self", call("eq.Tensor", self, other), half, g)
    return call("masked_fill_.Scalar", part, call(beaten, self, other), 0)


def _extremes(name: str, of_first: str, of_second: str) -> None:
    def formula(g: Any, self: Any, other: Any, needs: Any, avals: Any) -> list[Any]:
        second = _of_ties(g, self, other, of_second) if needs[1] else None
        first = _of_ties(g, self, other, of_first) if needs[0] else None
        return [
            None if x is None else sum_to(x, a.shape)
            for x, a in zip((first, second), avals, strict=True)
        ]

    gradient(name)(formula)


_extremes("maximum", "lt.Tensor", "gt.Tensor")
_extremes("minimum", "gt.Tensor", "lt.Tensor")


@gradient("abs")
def _abs(g: Any, self: Any) -> list[Any]:
    return [call("mul.Tensor", g, call("sgn", self))]


@gradient("floor", "ceil", "round", "trunc", "sign", "sgn")
def _flat(g: Any) -> list[Any]:
    return [call("zeros_like", g)]


@gradient("lerp.Scalar")
def _lerp(g: Any, weight: Any, needs: Any, avals: Any) -> list[Any]:
    return _two(
        lambda: call("mul.Scalar", g, 1 - weight), lambda: call("mul.Scalar", g, weight),
        needs, avals,
    )  # fmt: skip


@gradient("addcmul")
def _addcmul(
    g: Any, tensor1: Any, tensor2: Any, value: Any, needs: Any, avals: Any
) -> list[Any]:
    made = [g] + [
        call("mul.Tensor", _scaled(g, value), x) if need else None
        for x, need in zip((tensor2, tensor1), needs[1:], strict=True)
    ]
    return [
        sum_to(x, a.shape) if need and x is not None else None
        for x, a, need in zip(made, avals, needs, strict=True)
    ]


def _zero(g: Any) -> Any:
    return call("scalar_tensor", 0.0, dtype=g.aval.dtype, layout=g.layout, device=g.device)


@gradient("clamp")
def _clamp(g: Any, self: Any, min: Any, max: Any) -> list[Any]:  # noqa: A002
    zero = _zero(g)
    allowed = None if min is None else call("ge.Scalar", self, min)
    if max is not None:
        under = call("le.Scalar", self, max)
        allowed = under if allowed is None else call("logical_and_", allowed, under)
    return [call("where.self", allowed, g, zero)]


@gradient("clamp_min")
def _clamp_min(g: Any, self: Any, min: Any) -> list[Any]:  # noqa: A002
    zero = _zero(g)
    return [call("where.self", call("ge.Scalar", self, min), g, zero)]


@gradient("where.self")
def _where(g: Any, condition: Any, needs: Any, avals: Any) -> list[Any]:
    made = [None, None, None]
    if needs[1]:
        made[1] = sum_to(call("where.self", condition, g, _zero(g)), avals[1].shape)
    if needs[2]:
        made[2] = sum_to(call("where.self", condition, _zero(g), g), avals[2].shape)
    return made


@gradient("masked_fill.Scalar")
def _masked_fill(g: Any, mask: Any) -> list[Any]:
    return [call("masked_fill.Scalar", g, mask, 0), None]


# --- sums -------------------------------------------------------------------------------------


def _all_axes(dim: Any, ndim: int) -> list[int]:
    return sorted(d % max(ndim, 1) for d in dim) if dim else list(range(ndim))


def _widened(g: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    if not keepdim and shape:
        for axis in _all_axes(dim, len(shape)):
            g = call("unsqueeze", g, axis)
    return g


@gradient("sum")
def _sum(g: Any, avals: Any) -> list[Any]:
    return [call("expand", g, list(avals[0].shape))]


@gradient("sum.dim_IntList")
def _sum_of_axes(g: Any, dim: Any, keepdim: bool, avals: Any) -> list[Any]:
    shape = avals[0].shape
    if dim is None or not len(dim):
        return [call("expand", g, list(shape))]
    return [call("expand", _widened(g, shape, dim, keepdim), list(shape))]


@gradient("mean")
def _mean(g: Any, avals: Any) -> list[Any]:
    wide = call("expand", g, list(avals[0].shape))
    return [call("div.Scalar", wide, avals[0].size)]


@gradient("mean.dim", grad_name="MeanBackward1")
def _mean_of_axes(g: Any, dim: Any, keepdim: bool, avals: Any) -> list[Any]:
    shape = avals[0].shape
    count = math.prod(shape[axis] for axis in _all_axes(dim, len(shape)))
    wide = call("expand", _widened(g, shape, dim, keepdim), list(shape))
    return [call("div.Scalar", wide, count)]


@gradient("var.correction")
def _var(g: Any, self: Any, dim: Any, correction: Any, keepdim: bool) -> list[Any]:
    shape = self.aval.shape
    count = math.prod(shape[axis] for axis in _all_axes(dim, len(shape)))
    g = _widened(g, shape, dim, keepdim) if dim else g
    mean = call("mean.dim", self, list(dim), True) if dim else call("mean", self)
    away = call("sub.Tensor", self, mean)
    scale = 2.0 / max(count - (1 if correction is None else correction), 0)
    return [call("mul.Tensor", call("mul.Scalar", g, scale), away)]


@gradient("cumsum")
def _cumsum(g: Any, dim: int) -> list[Any]:
    return [call("flip", call("cumsum", call("flip", g, [dim]), dim), [dim])]


@gradient("logsumexp")
def _logsumexp(g: Any, self: Any, out: Any, dim: Any, keepdim: bool) -> list[Any]:
    shape = self.aval.shape
    g, out = _widened(g, shape, dim, keepdim), _widened(out, shape, dim, keepdim)
    return [call("mul.Tensor", g, call("exp", call("sub.Tensor", self, out)))]


@gradient("linalg_vector_norm")
def _vector_norm(
    g: Any, self: Any, out: Any, ord: Any, dim: Any, keepdim: bool  # noqa: A002
) -> list[Any]:
    if ord != 2:
        raise NotImplementedError("the gradient of linalg_vector_norm in the code of a mode")
    if dim is not None:
        g, out = (_widened(x, self.aval.shape, dim, keepdim) for x in (g, out))
    unit = call("div.Tensor", self, out)
    return [call("mul.Tensor", g, call("masked_fill_.Scalar", unit, call("eq.Scalar", out, 0), 0))]


@gradient("amax", "amin")
def _extreme(g: Any, self: Any, out: Any, dim: Any, keepdim: bool) -> list[Any]:
    shape = self.aval.shape
    kept = [1 if i in _all_axes(dim, len(shape)) else n for i, n in enumerate(shape)]
    out = out if keepdim else call("view", out, kept)
    chosen = call("eq.Tensor", out, self)
    g = g if keepdim else call("view", g, kept)
    axes = _all_axes(dim, len(shape))
    count = call("sum.dim_IntList", chosen, axes, True)
    return [call("mul.Tensor", call("div.Tensor", g, count), chosen)]


@gradient("max", "min", grad_name="MaxBackward1")
def _shared_extreme(g: Any, self: Any, out: Any) -> list[Any]:
    both = call("logical_and", call("isnan", self), call("isnan", out))
    chosen = call("logical_or_", both, call("eq.Tensor", self, out))
    return [call("mul.Tensor", call("div.Tensor", g, call("sum", chosen)), chosen)]


@gradient("std.correction")
def _std(
    g: Any, self: Any, out: Any, dim: Any, correction: Any, keepdim: bool
) -> list[Any]:
    slope = call("div.Tensor", g, call("mul.Scalar", out, 2))
    slope = call("masked_fill_.Scalar", slope, call("eq.Scalar", out, 0), 0)
    return _var(slope, self, dim, correction, keepdim)


@gradient(
    "max.dim", "min.dim", "topk", "sort", "kthvalue", "median.dim", "sort.stable", plain=(1,)
)
def _picked(g: Any, out1: Any, avals: Any, dim: int) -> list[Any]:
    first, index, shape = g[0], out1, avals[0].shape
    if first.aval.ndim < len(shape):
        first, index = call("unsqueeze", first, dim), call("unsqueeze", index, dim)
    zeros = call("new_zeros", first, list(shape))
    return [call("scatter.src", zeros, dim, index, first)]


# --- products ---------------------------------------------------------------------------------


def _t(x: Any) -> Any:
    return call("t", x)


def _by_columns(described: Any) -> bool:
    """Whether a matrix lies by its columns: its gradient is made so, too."""
    return described.strides[0] == 1 and described.strides[1] == described.shape[0]


def _first_factor(g: Any, other: Any, described: Any) -> Any:
    if _by_columns(described):
        return _t(call("mm", other, _t(g)))
    return call("mm", g, _t(other))


def _second_factor(g: Any, other: Any, described: Any) -> Any:
    if _by_columns(described):
        return _t(call("mm", _t(g), other))
    return call("mm", _t(other), g)


@gradient("mm")
def _mm(g: Any, self: Any, mat2: Any, needs: Any, avals: Any) -> list[Any]:
    second = _second_factor(g, self, avals[1]) if needs[1] else None
    return [_first_factor(g, mat2, avals[0]) if needs[0] else None, second]


@gradient("addmm")
def _addmm(
    g: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any, needs: Any, avals: Any
) -> list[Any]:
    first = _scaled(_first_factor(g, mat2, avals[1]), alpha) if needs[1] else None
    second = _scaled(_second_factor(g, mat1, avals[2]), alpha) if needs[2] else None
    return [sum_to(_scaled(g, beta), avals[0].shape) if needs[0] else None, first, second]


def _turned(x: Any) -> Any:
    return call("transpose.int", x, 1, 2)


@gradient("bmm")
def _bmm(g: Any, self: Any, mat2: Any, needs: Any) -> list[Any]:
    second = call("bmm", _turned(self), g) if needs[1] else None
    first = call("bmm", g, _turned(mat2)) if needs[0] else None
    return [first, second]


@gradient("baddbmm")
def _baddbmm(
    g: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any, needs: Any, avals: Any
) -> list[Any]:
    first = _scaled(call("bmm", g, _turned(batch2)), alpha) if needs[1] else None
    second = _scaled(call("bmm", _turned(batch1), g), alpha) if needs[2] else None
    return [sum_to(_scaled(g, beta), avals[0].shape) if needs[0] else None, first, second]


@gradient("mv")
def _mv(g: Any, self: Any, vec: Any, needs: Any) -> list[Any]:
    column = call("view", g, [-1, 1]) if needs[0] else None
    first = call("mul.Tensor", column, vec) if needs[0] else None
    return [first, call("mv", _t(self), g) if needs[1] else None]


@gradient("dot")
def _dot(g: Any, self: Any, tensor: Any, needs: Any) -> list[Any]:
    first = call("mul.Tensor", tensor, g) if needs[0] else None
    return [first, call("mul.Tensor", self, g) if needs[1] else None]


# --- choosing and joining ---------------------------------------------------------------------


@gradient("cat")
def _cat(g: Any, dim: int, avals: Any, needs: Any) -> list[Any]:
    made, start = [], 0
    for a, need in zip(avals, needs, strict=True):
        end = start + a.shape[dim]
        made.append(call("slice.Tensor", g, dim, start, end) if need else None)
        start = end
    return made


@gradient("stack")
def _stack(g: Any, dim: int, needs: Any) -> list[Any]:
    axis = dim % g.aval.ndim
    return [call("select.int", g, axis, i) if need else None for i, need in enumerate(needs)]


@gradient("index.Tensor")
def _index(g: Any, inputs: Any, avals: Any) -> list[Any]:
    places: list[Any] = [inputs.get(i) for i in range(1, len(avals))]
    zeros = call("new_zeros", g, list(avals[0].shape))
    made = call("index_put", zeros, places, g, True)
    return [made] + [None] * len(places)


@gradient("gather")
def _gather(g: Any, dim: int, index: Any, avals: Any) -> list[Any]:
    zeros = call("new_zeros", g, list(avals[0].shape))
    return [call("scatter_add", zeros, dim, index, g), None]


@gradient("index_select")
def _index_select(g: Any, dim: int, index: Any, avals: Any) -> list[Any]:
    zeros = call("new_zeros", g, list(avals[0].shape))
    return [call("index_add", zeros, dim, index, g), None]


@gradient("embedding")
def _embedding(
    g: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool, avals: Any
) -> list[Any]:
    if sparse:
        raise NotImplementedError("sparse gradients of embedding in the code of a mode")
    rows = avals[0].shape[0]
    made = call("embedding_dense_backward", g, indices, rows, padding_idx, scale_grad_by_freq)
    return [made, None]


@gradient("repeat")
def _repeat(g: Any, repeats: Any, avals: Any) -> list[Any]:
    shape = avals[0].shape
    lead = len(repeats) - len(shape)
    if lead:
        g = call("sum.dim_IntList", g, list(range(lead)))
    sizes: list[int] = []
    axes: list[int] = []
    for count, n in zip(repeats[lead:], shape, strict=True):
        if count != 1:
            axes.append(len(sizes))
            sizes.append(count)
        sizes.append(n)
    if not axes:
        return [g]
    return [call("sum.dim_IntList", call("view", g, sizes), axes)]


@gradient("_unsafe_view")
def _unsafe_view(g: Any, avals: Any) -> list[Any]:
    return [g.reshape(avals[0].shape)]


@gradient("_to_copy")
def _to_copy(g: Any, avals: Any) -> list[Any]:
    return [call("_to_copy", g, dtype=avals[0].dtype)]


@gradient("constant_pad_nd")
def _pad(g: Any, pad: Any) -> list[Any]:
    return [call("constant_pad_nd", g, [-n for n in pad])]
