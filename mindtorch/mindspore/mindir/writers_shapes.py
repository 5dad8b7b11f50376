"""Writers of ops that move elements, choose some, or put several together into one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.compile.ir.ir import MAKE
from mindtorch.engine.even_steps import whole_numbers
from mindtorch.engine.ops import (
    activations,
    copies,
    elementwise,
    embedding,
    indexing,
    movement,
    reduction,
    rounding,
    scan,
    sorting,
)
from mindtorch.engine.symbolic_sizes import Count, has_amounts, plain
from mindtorch.exporting.reductions import register_reductions

from .errors import UnsupportedOperatorError
from .primitives_shapes import type_number
from .writer import Writer, writes


@writes(movement.alias_view, copies.clone, movement.overwrite)
def _same(w: Writer, node: Any) -> str:
    return w.of(node.inputs[0])


@writes(copies.cast)
def _cast(w: Writer, node: Any) -> str:
    return w.typed(node.inputs[0], node.outputs[0].aval.dtype)


@writes(activations.gelu_tanh)
def _gelu_tanh(w: Writer, node: Any) -> str:
    return str(w.GeLU(w.of(node.inputs[0])))


@writes(elementwise.floor_divide)
def _floor_divide(w: Writer, node: Any) -> str:
    made = node.outputs[0].aval.dtype
    return str(w.FloorDiv(*[w.typed(v, made) for v in node.inputs]))


@writes(elementwise.remainder)
def _remainder(w: Writer, node: Any) -> str:
    made = node.outputs[0].aval.dtype
    return str(w.FloorMod(*[w.typed(v, made) for v in node.inputs]))


@writes(rounding.round_)
def _round(w: Writer, node: Any) -> str:
    return str(w.Rint(w.of(node.inputs[0])))


# --- shapes ---------------------------------------------------------------------------------------


@writes(movement.view)
def _view(w: Writer, node: Any) -> str:
    return w.shaped(w.of(node.inputs[0]), node.params["shape"])


@writes(movement.expand)
def _expand(w: Writer, node: Any) -> str:
    (x,), shape = node.inputs, node.params["shape"]
    own = (1,) * (len(shape) - x.aval.ndim) + tuple(x.aval.shape)
    name = w.of(x)
    longer = [n if type(n) is Count and m is not n and m != n else 1
              for n, m in zip(shape, own, strict=True)]  # fmt: skip
    if has_amounts(longer):
        if x.aval.dtype is dtypes.bool_:
            zeros = w.cast(w.zeros_along(longer, dtypes.int32), dtypes.int32, dtypes.bool_)
            name = str(w.LogicalOr(name, zeros))
        else:
            name = str(w.Add(name, w.zeros_along(longer, x.aval.dtype)))
    kept = [m if type(m) is Count else n for n, m in zip(shape, own, strict=True)]
    if all(n is m or n == m for n, m in zip(kept, own, strict=True)) and x.aval.ndim == len(shape):
        return name
    target = tuple(-1 if type(n) is Count else int(n) for n in shape)
    return str(w.BroadcastTo(name, shape=target))


@writes(movement.permute)
def _permute(w: Writer, node: Any) -> str:
    return str(w.Transpose(w.of(node.inputs[0]), w.numbers(node.params["axes"])))


@writes(movement.squeeze)
def _squeeze(w: Writer, node: Any) -> str:
    axes = [i for i in node.params["axes"] if plain(node.inputs[0].aval.shape[i]) == 1]
    x = w.of(node.inputs[0])
    return str(w.Squeeze(x, axis=tuple(axes))) if axes else x


@writes(movement.unsqueeze)
def _unsqueeze(w: Writer, node: Any) -> str:
    return str(w.ExpandDims(w.of(node.inputs[0]), w.value(int(node.params["axis"]))))


def sliced(
    w: Writer, x: str, rank: int, axis: int, start: Any, stop: Any, step: Any = 1,
    shrinks: bool = False, to_end: bool = False,
) -> str:  # fmt: skip
    """A part of a tensor along one axis.

    Args:
        shrinks: whether the axis, of which one element is taken, is left out.
        to_end: whether it goes to the end, ``stop`` being of no account.
    """
    others = ((1 << rank) - 1) ^ (1 << axis)
    begin, end, steps = [0] * rank, [0] * rank, [1] * rank
    begin[axis], end[axis], steps[axis] = start, 0 if to_end else stop, step
    return str(w.StridedSlice(
        x, w.numbers(begin), w.numbers(end), w.numbers(steps), begin_mask=others,
        end_mask=others | (to_end << axis), ellipsis_mask=0, new_axis_mask=0,
        shrink_axis_mask=shrinks << axis,
    ))  # fmt: skip


@writes(movement.select)
def _select(w: Writer, node: Any) -> str:
    axis, index = node.params["axis"], node.params["index"]
    (x,) = node.inputs
    length = x.aval.shape[axis]
    if type(index) is Count and type(index - length) is not Count:
        index = index - length  # counted from the end
    to_end = plain(index) == -1
    return sliced(w, w.of(x), x.aval.ndim, axis, index, index + 1, shrinks=True, to_end=to_end)


@writes(movement.slice_)
def _slice(w: Writer, node: Any) -> str:
    (x,), given = node.inputs, node.params
    axis, start, count, step = (given[n] for n in ("axis", "start", "length", "step"))
    stop = start + (count - 1) * step + 1
    length = x.aval.shape[axis]
    to_end = False
    if type(stop) is Count:
        missing = length - stop
        to_end = type(missing) is not Count and 0 <= missing < step
        if type(missing) is not Count and not to_end:
            stop = -missing
    if type(start) is Count and type(length - start) is not Count:
        start = start - length
    return sliced(w, w.of(x), x.aval.ndim, axis, start, stop, step, to_end=to_end)


@writes(movement.cat, movement.stack)
def _cat(w: Writer, node: Any) -> str:
    made = node.outputs[0].aval
    parts = [w.typed(v, made.dtype) for v in node.inputs if v.aval.ndim == made.ndim]
    return str(w.Concat(w.MakeTuple(*parts), axis=int(node.params["axis"]), inputNums=len(parts)))


@writes(movement.split, movement.split_with_sizes)
def _split(w: Writer, node: Any) -> Any:
    (x,), axis = node.inputs, node.params["axis"]
    parts = [v.aval.shape[axis] for v in node.outputs]
    if len(parts) == 1:
        return w.of(x)
    if not has_amounts(parts) and len(set(parts)) == 1:
        return w.Split(w.of(x), axis=int(axis), output_num=len(parts), results=len(parts))
    made, begin = [], 0
    for n in parts:
        made.append(sliced(w, w.of(x), x.aval.ndim, axis, begin, begin + n))
        begin = begin + n
    return tuple(made)


@writes(movement.unbind)
def _unbind(w: Writer, node: Any) -> Any:
    (x,), axis = node.inputs, node.params["axis"]
    made = [
        sliced(w, w.of(x), x.aval.ndim, axis, i, i + 1, shrinks=True)
        for i in range(len(node.outputs))
    ]
    return made[0] if len(made) == 1 else tuple(made)


@writes(movement.flip)
def _flip(w: Writer, node: Any) -> str:
    return str(w.ReverseV2(w.of(node.inputs[0]), axis=tuple(node.params["axes"])))


@writes(movement.roll)
def _roll(w: Writer, node: Any) -> str:
    (x,) = node.inputs
    name = w.of(x)
    for shift, axis in zip(node.params["shifts"], node.params["axes"], strict=True):
        n = x.aval.shape[axis]
        if has_amounts((n, shift)):
            raise UnsupportedOperatorError("a roll along a length that is open")
        if shift % n:
            head = sliced(w, name, x.aval.ndim, axis, n - shift % n, n)
            tail = sliced(w, name, x.aval.ndim, axis, 0, n - shift % n)
            name = str(w.Concat(w.MakeTuple(head, tail), axis=axis, inputNums=2))
    return name


@writes(movement.pad)
def _pad(w: Writer, node: Any) -> str:
    value, padding = node.inputs[1], node.params["padding"]
    (x, _), filled = node.inputs, w.known(value)
    if has_amounts(*padding) or filled is None:
        raise UnsupportedOperatorError("padding by what hangs on a length that is open")
    return padded(w, w.of(x), x.aval, padding, filled.item())


def padded(w: Writer, x: str, described: Any, padding: Any, filled: float) -> str:
    """A tensor with elements before and after it, or without some where that is below 0."""
    for axis, (before, after) in enumerate(padding):
        if before < 0 or after < 0:
            x = sliced(w, x, described.ndim, axis, max(-before, 0), -max(-after, 0),
                       to_end=after >= 0)  # fmt: skip
    rows = tuple((max(before, 0), max(after, 0)) for before, after in padding)
    if not any(n for pair in rows for n in pair):
        return x
    if filled == 0:
        return str(w.Pad(x, paddings=rows))
    numbers = [n for pair in reversed(rows) for n in pair]
    return str(w.PadV3(
        x, w.value(tuple(numbers)), w.scalar(filled, described.dtype), mode="constant",
        paddings_contiguous=True,
    ))  # fmt: skip


@writes(indexing.tril, indexing.triu)
def _triangle(w: Writer, node: Any) -> str:
    (x,), lower = node.inputs, node.op is indexing.tril
    rows, columns = x.aval.shape[-2:]
    if has_amounts((rows, columns)):
        raise UnsupportedOperatorError("a triangle of a matrix whose sizes are open")
    make = np.tril if lower else np.triu
    mask = make(np.ones((rows, columns), bool), node.params["diagonal"])
    zeros = w.constant(np.zeros((), x.aval.dtype.np))
    return str(w.Select(w.constant(mask), w.of(x), zeros))


@writes(movement.as_strided)
def _as_strided(w: Writer, node: Any) -> str:
    (x,), given = node.inputs, node.params
    if has_amounts(x.aval.shape, x.aval.strides, *given.values()):
        raise UnsupportedOperatorError("memory whose layout hangs on a length that is open")
    places = np.full(given["shape"], given["offset"], np.int64)
    for axis, (n, stride) in enumerate(zip(given["shape"], given["strides"], strict=True)):
        steps = np.arange(n, dtype=np.int64) * stride
        places += steps.reshape([-1 if i == axis else 1 for i in range(places.ndim)])
    order = sorted(range(x.aval.ndim), key=lambda i: (-x.aval.strides[i], i))
    name = w.of(x)
    if order != list(range(x.aval.ndim)):
        name = w.Transpose(name, w.numbers(order))
    return _chosen(w, w.Reshape(name, w.value((-1,))), w.constant(places), 0)


# --- choosing elements ----------------------------------------------------------------------------


def _chosen(w: Writer, x: str, places: str, axis: int) -> str:
    return str(w.Gather(x, places, w.value(int(axis)), batch_dims=0))


@writes(embedding.embedding)
def _embedding(w: Writer, node: Any) -> str:
    weight, index = w.inputs(node)
    return _chosen(w, weight, index, 0)


@writes(indexing.index_select)
def _index_select(w: Writer, node: Any) -> str:
    x, index = w.inputs(node)
    return _chosen(w, x, index, node.params["axis"])


@writes(indexing.gather)
def _gather(w: Writer, node: Any) -> str:
    x, index = w.inputs(node)
    return str(w.GatherD(x, w.value(int(node.params["axis"])), index))


@writes(indexing.index)
def _index(w: Writer, node: Any) -> str:
    x, *indices = node.inputs
    axes = [i for i, v in enumerate(indices) if v is not None]
    if len(axes) == 1:
        return _chosen(w, w.of(x), w.of(indices[axes[0]]), axes[0])
    given = [indices[i] for i in axes]
    if axes != list(range(len(axes))) or has_amounts(*[v.aval.shape for v in given]):
        raise UnsupportedOperatorError("several index tensors that do not come first")
    shape = np.broadcast_shapes(*[v.aval.shape for v in given])
    rows = []
    for v in given:
        name = w.typed(v, dtypes.int64)
        if v.aval.shape != shape:
            name = w.BroadcastTo(name, shape=tuple(shape))
        rows.append(w.ExpandDims(name, w.value(len(shape))))
    places = w.Concat(w.MakeTuple(*rows), axis=len(shape), inputNums=len(rows))
    return str(w.GatherNd(w.of(x), places))


# --- several into one -----------------------------------------------------------------------------


def reduced(w: Writer, primitive: str, x: str, axes: Any, keepdims: bool) -> str:
    """One of MindSpore's reductions over axes."""
    if not axes:
        return x
    return str(w.node(primitive, (x, w.numbers(axes)), {"keep_dims": bool(keepdims)}))


register_reductions(writes, reduced)


@writes(reduction.any_, reduction.all_)
def _truth(w: Writer, node: Any) -> str:
    primitive = "ReduceAny" if node.op is reduction.any_ else "ReduceAll"
    x = w.typed(node.inputs[0], dtypes.bool_)
    found = reduced(w, primitive, x, node.params["axis"], node.params["keepdims"])
    return w.cast(found, dtypes.bool_, node.outputs[0].aval.dtype)


@writes(reduction.logsumexp)
def _logsumexp(w: Writer, node: Any) -> str:
    axes, keepdims = node.params["axis"], node.params["keepdims"]
    axes = (axes,) if isinstance(axes, int) else axes
    x = w.of(node.inputs[0])
    largest = reduced(w, "ReduceMax", x, axes, True)
    total = reduced(w, "ReduceSum", w.Exp(w.Sub(x, largest)), axes, True)
    made = w.Add(w.Log(total), largest)
    return str(made) if keepdims else str(w.Squeeze(made, axis=tuple(axes)))


@writes(reduction.vector_norm)
def _vector_norm(w: Writer, node: Any) -> str:
    order, axes, keepdims = (node.params[name] for name in ("order", "axis", "keepdims"))
    dtype = node.outputs[0].aval.dtype
    x = w.typed(node.inputs[0], dtype)
    if order == 2:
        return str(w.Sqrt(reduced(w, "ReduceSum", w.Mul(x, x), axes, keepdims)))
    if order == 1:
        return reduced(w, "ReduceSum", w.Abs(x), axes, keepdims)
    if math.isinf(order):
        return reduced(w, "ReduceMax" if order > 0 else "ReduceMin", w.Abs(x), axes, keepdims)
    raise UnsupportedOperatorError(f"a norm of order {order}")


@writes(reduction.var, reduction.std)
def _variance(w: Writer, node: Any) -> str:
    axes, correction, keepdims = (node.params[n] for n in ("axis", "correction", "keepdims"))
    (value,), dtype = node.inputs, node.outputs[0].aval.dtype
    lengths = [value.aval.shape[axis] for axis in axes]
    if has_amounts(lengths):
        raise UnsupportedOperatorError("a variance over a length that is open")
    x = w.typed(value, dtype)
    away = w.Sub(x, reduced(w, "ReduceMean", x, axes, True))
    total = reduced(w, "ReduceSum", w.Mul(away, away), axes, keepdims)
    found = w.Div(total, w.scalar(max(math.prod(lengths) - correction, 0), dtype))
    return str(w.Sqrt(found) if node.op is reduction.std else found)


@writes(reduction.argmax, reduction.argmin)
def _argument(w: Writer, node: Any) -> str:
    primitive = "Argmax" if node.op is reduction.argmax else "Argmin"
    (x,), axis, keepdims = node.inputs, node.params["axis"], node.params["keepdims"]
    name = w.of(x)
    if axis is None or not x.aval.ndim:
        name, axis, keepdims = w.Reshape(name, w.value((-1,))), 0, False
    found = w.node(primitive, (name,), {
        "axis": int(axis), "output_type": type_number(dtypes.int64),
    })  # fmt: skip
    found = w.ExpandDims(found, w.value(int(axis))) if keepdims else found
    return str(found)


@writes(reduction.max_with_index, reduction.min_with_index)
def _extreme(w: Writer, node: Any) -> Any:
    primitive = (
        "ArgMaxWithValue" if node.op is reduction.max_with_index else "ArgMinWithValue"
    )
    axis, keepdims = int(node.params["axis"]), bool(node.params["keepdims"])
    places, values = w.node(
        primitive, (w.of(node.inputs[0]),), {"axis": axis, "keep_dims": keepdims}, 2
    )
    return values, w.cast(places, dtypes.int32, dtypes.int64)


@writes(sorting.topk, sorting.sort)
def _largest(w: Writer, node: Any) -> Any:
    axis, (x,) = node.params["axis"], node.inputs
    k = node.params.get("k", x.aval.shape[axis] if x.aval.ndim else 1)
    largest = node.params["largest"] if "largest" in node.params else node.params["descending"]
    if not x.aval.ndim or axis % x.aval.ndim != x.aval.ndim - 1 or type(k) is Count:
        raise UnsupportedOperatorError("sorting along another axis than the last")
    name = w.of(x) if largest else w.Neg(w.of(x))
    values, places = w.TopK(name, w.value(int(k)), sorted=True, results=2)
    places = w.cast(places, dtypes.int32, dtypes.int64)
    return values if largest else w.Neg(values), places


@writes(scan.cumsum)
def _cumsum(w: Writer, node: Any) -> str:
    dtype = node.outputs[0].aval.dtype
    return str(w.CumSum(
        w.typed(node.inputs[0], dtype), w.value(int(node.params["axis"])), exclusive=False,
        reverse=bool(node.params["reverse"]),
    ))  # fmt: skip


# --- tensors that hang on sizes alone -------------------------------------------------------------


@writes(MAKE)
def _make(w: Writer, node: Any) -> str:
    function, given, made = (node.params[n] for n in ("function", "arguments", "described"))
    if function is np.array and not has_amounts(given[0]):
        if not has_amounts(made.shape):
            return w.constant(np.full(made.shape, given[0], made.dtype.np))
        whole = made.dtype if made.dtype is not dtypes.bool_ else dtypes.int32
        fixed = [1 if type(n) is Count else n for n in made.shape]
        filled = w.constant(np.full(fixed, given[0], whole.np))
        return w.cast(str(w.Add(filled, w.zeros_along(made.shape, whole))), whole, made.dtype)
    if function is whole_numbers and not has_amounts(given):
        start, step, count = given
        return w.constant((start + step * np.arange(count)).astype(made.dtype.np))
    raise UnsupportedOperatorError("a tensor that is computed from a length that is open")
