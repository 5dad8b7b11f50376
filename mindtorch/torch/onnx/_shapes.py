"""Writers of ops that move elements, choose some, or put several together into one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.compile.ir.ir import MAKE
from mindtorch.engine.even_steps import whole_numbers
from mindtorch.engine.ops import (
    copies,
    embedding,
    indexing,
    movement,
    reduction,
    scan,
    sorting,
)
from mindtorch.engine.symbolic_sizes import Count, has_amounts, plain
from mindtorch.exporting.reductions import reduction_writer, register_reductions

from ._writer import Writer, element_type, writes
from .errors import UnsupportedOperatorError

_LONG = 2**62  # an end behind all elements



@writes(movement.alias_view, copies.clone, movement.overwrite)
def _same(w: Writer, node: Any) -> str:
    return w.of(node.inputs[0])


@writes(movement.view)
def _view(w: Writer, node: Any) -> str:
    shape = node.params["shape"]
    if 0 in [plain(n) for n in shape]:
        w.need(14)
        return str(w.Reshape(w.of(node.inputs[0]), w.ints(shape), allowzero=1))
    return str(w.Reshape(w.of(node.inputs[0]), w.shape(shape)))


@writes(movement.expand)
def _expand(w: Writer, node: Any) -> str:
    return str(w.Expand(w.of(node.inputs[0]), w.ints(node.params["shape"])))


@writes(movement.permute)
def _permute(w: Writer, node: Any) -> str:
    return str(w.Transpose(w.of(node.inputs[0]), perm=list(node.params["axes"])))


@writes(movement.squeeze)
def _squeeze(w: Writer, node: Any) -> str:
    axes = [i for i in node.params["axes"] if plain(node.inputs[0].aval.shape[i]) == 1]
    x = w.of(node.inputs[0])
    return str(w.Squeeze(x, w.ints(axes)) if axes else w.Identity(x))


@writes(movement.unsqueeze)
def _unsqueeze(w: Writer, node: Any) -> str:
    return str(w.Unsqueeze(w.of(node.inputs[0]), w.ints([node.params["axis"]])))


@writes(movement.select)
def _select(w: Writer, node: Any) -> str:
    axis, index = node.params["axis"], node.params["index"]
    if type(index) is Count:
        row = w.Gather(w.of(node.inputs[0]), w.size(index), axis=axis)
        return str(w.Squeeze(row, w.ints([axis])))
    return str(w.Gather(w.of(node.inputs[0]), w.constant(np.int64(index)), axis=axis))


def _sliced(w: Writer, x: str, axis: int, start: Any, length: Any, step: Any = 1) -> str:
    end = start + (length - 1) * step + 1
    return str(w.Slice(x, w.ints([start]), w.ints([end]), w.ints([axis]), w.ints([step])))


@writes(movement.slice_)
def _slice(w: Writer, node: Any) -> str:
    given = node.params
    x = w.of(node.inputs[0])
    if plain(given["length"]) == 0:
        return str(w.Slice(x, w.ints([0]), w.ints([0]), w.ints([given["axis"]])))
    return _sliced(w, x, given["axis"], given["start"], given["length"], given["step"])


@writes(movement.cat, movement.stack)
def _cat(w: Writer, node: Any) -> str:
    made = node.outputs[0].aval
    parts = [w.typed(v, made.dtype) for v in node.inputs if v.aval.ndim == made.ndim]
    return str(w.Concat(*parts, axis=node.params["axis"]))


@writes(movement.split, movement.split_with_sizes)
def _split(w: Writer, node: Any) -> Any:
    parts = w.ints([v.aval.shape[node.params["axis"]] for v in node.outputs])
    return w.Split(
        w.of(node.inputs[0]), parts, axis=node.params["axis"], results=len(node.outputs)
    )


@writes(movement.unbind)
def _unbind(w: Writer, node: Any) -> Any:
    axis, x = node.params["axis"], w.of(node.inputs[0])
    made = [
        w.Gather(x, w.constant(np.int64(i)), axis=axis) for i in range(len(node.outputs))
    ]
    return made[0] if len(made) == 1 else tuple(made)


@writes(movement.flip)
def _flip(w: Writer, node: Any) -> str:
    axes = node.params["axes"]
    x, count = w.of(node.inputs[0]), len(axes)
    if not count:
        return str(w.Identity(x))
    return str(w.Slice(
        x, w.ints([-1] * count), w.ints([-_LONG] * count), w.ints(axes), w.ints([-1] * count)
    ))  # fmt: skip


@writes(movement.roll)
def _roll(w: Writer, node: Any) -> str:
    x, shape = w.of(node.inputs[0]), node.inputs[0].aval.shape
    for shift, axis in zip(node.params["shifts"], node.params["axes"], strict=True):
        n = shape[axis]
        if type(n) is not Count:
            shift = shift % n if n else 0
        if not plain(shift):
            continue
        begin, axes = w.ints([-shift]), w.ints([axis])
        head = w.Slice(x, begin, w.ints([_LONG]), axes)
        x = w.Concat(head, w.Slice(x, w.ints([0]), begin, axes), axis=axis)
    return x


@writes(indexing.tril, indexing.triu)
def _triangle(w: Writer, node: Any) -> str:
    return str(w.Trilu(
        w.of(node.inputs[0]), w.constant(np.int64(node.params["diagonal"])),
        upper=int(node.op is indexing.triu),
    ))  # fmt: skip


@writes(movement.pad)
def _pad(w: Writer, node: Any) -> str:
    value, padding = node.inputs[1], node.params["padding"]
    x, dtype = w.of(node.inputs[0]), node.inputs[0].aval.dtype
    for axis, pair in enumerate(padding):
        if min(plain(n) for n in pair) < 0:  # elements are cut off
            begin, end = (max(-plain(n), 0) for n in pair)
            x = w.Slice(x, w.ints([begin]), w.ints([-end if end else _LONG]), w.ints([axis]))
    padding = [[n if plain(n) > 0 else 0 for n in pair] for pair in padding]
    pads = w.ints([*[before for before, _ in padding], *[after for _, after in padding]])
    return str(w.Pad(x, pads, w.typed(value, dtype)))


@writes(movement.diagonal)
def _diagonal(w: Writer, node: Any) -> str:
    first, second, offset = (node.params[name] for name in ("first", "second", "offset"))
    (x,) = node.inputs
    rows, columns = x.aval.shape[first], x.aval.shape[second]
    if has_amounts((rows, columns)):
        raise UnsupportedOperatorError("a diagonal of a matrix whose sizes change")
    others = [i for i in range(x.aval.ndim) if i not in (first, second)]
    moved = w.Transpose(w.of(x), perm=[*others, first, second])
    flat = w.Reshape(moved, w.shape([*[x.aval.shape[i] for i in others], rows * columns]))
    length = node.outputs[0].aval.shape[-1]
    begin = offset if offset >= 0 else -offset * columns
    places = begin + np.arange(length, dtype=np.int64) * (columns + 1)
    return str(w.Gather(flat, w.constant(places), axis=len(others)))


@writes(indexing.diag_embed)
def _diag_embed(w: Writer, node: Any) -> str:
    first, second, offset = (node.params[name] for name in ("first", "second", "offset"))
    (x,), made = node.inputs, node.outputs[0].aval
    if has_amounts((made.shape[first], x.aval.shape[-1])):
        raise UnsupportedOperatorError("a diagonal of a matrix whose sizes change")
    n, length = made.shape[first], x.aval.shape[-1]
    mask = np.zeros((length, n, n), bool)
    at = np.arange(length)
    mask[at, at + max(-offset, 0), at + max(offset, 0)] = True
    spread = w.constant(mask.reshape(length, n * n).astype(x.aval.dtype.np))
    square = w.MatMul(w.Unsqueeze(w.of(x), w.ints([x.aval.ndim - 1])), spread)
    square = w.Reshape(square, w.shape([*x.aval.shape[:-1], n, n]))
    others = [i for i in range(made.ndim) if i not in (first, second)]
    order = [*others, first, second]
    return str(w.Transpose(square, perm=[order.index(i) for i in range(made.ndim)]))


@writes(movement.unfold)
def _unfold(w: Writer, node: Any) -> str:
    axis, size, step = (node.params[name] for name in ("axis", "size", "step"))
    (x,) = node.inputs
    count = node.outputs[0].aval.shape[axis]
    if has_amounts((count, size, step)):
        raise UnsupportedOperatorError("windows along an axis whose size changes")
    places = np.arange(count)[:, None] * step + np.arange(size)
    found = w.Gather(w.of(x), w.constant(places.astype(np.int64)), axis=axis)
    last = x.aval.ndim  # where the elements of a window go
    order = [i for i in range(last + 1) if i != axis + 1]
    return str(w.Transpose(found, perm=[*order, axis + 1]))


def _in_memory(w: Writer, value: Any) -> str:
    """The elements as they lie in memory, in a row."""
    described, x = value.aval, w.of(value)
    if has_amounts(described.shape, described.strides):
        raise UnsupportedOperatorError("memory whose layout changes with sizes")
    order = _order(described)
    if [i for i in order if described.shape[i] != 1] != [
        i for i in range(described.ndim) if described.shape[i] != 1
    ]:
        x = w.Transpose(x, perm=order)
    return str(w.Reshape(x, w.ints([-1])))


def _order(described: Any) -> list[int]:
    """The axes as they follow each other in memory."""
    return sorted(range(described.ndim), key=lambda i: (-described.strides[i], i))


def _places(place: Any) -> Any:
    """Where in memory the elements of a view lie."""
    if has_amounts(*place.values()):
        raise UnsupportedOperatorError("memory whose layout changes with sizes")
    found = np.full(place["shape"], place["offset"], np.int64)
    for axis, (n, stride) in enumerate(zip(place["shape"], place["strides"], strict=True)):
        steps = np.arange(n, dtype=np.int64) * stride
        found += steps.reshape([-1 if i == axis else 1 for i in range(found.ndim)])
    return found


def _within_rows(described: Any, place: Any) -> Any:
    """The places of a view within each row of a tensor whose first length alone changes, if it
    takes the same elements of every row; else None."""
    shape, strides = described.shape, described.strides
    if not place["shape"] or not has_amounts(shape[:1]) or has_amounts(shape[1:], strides):
        return None
    if list(strides[1:]) != sorted(strides[1:], reverse=True):
        return None
    row = {name: place[name][1:] for name in ("shape", "strides")} | {"offset": place["offset"]}
    if place["shape"][0] is not shape[0] or place["strides"][0] != strides[0]:
        return None
    return None if has_amounts(*row.values()) else _places(row)


@writes(movement.as_strided)
def _as_strided(w: Writer, node: Any) -> str:
    (x,) = node.inputs
    within = _within_rows(x.aval, node.params)
    if within is not None:
        rows = w.Reshape(w.of(x), w.ints([-1, math.prod(x.aval.shape[1:])]))
        return str(w.Gather(rows, w.constant(within), axis=1))
    places = _places(node.params)
    return str(w.Gather(_in_memory(w, x), w.constant(places), axis=0))


@writes(movement.view_update)
def _view_update(w: Writer, node: Any) -> str:
    base, value = node.inputs
    ((_, pairs),) = node.params["chain"]
    described, place = base.aval, dict(pairs)
    within = _within_rows(described, place)
    if within is not None:
        count, size = described.shape[0], within.size
        rows = w.Reshape(w.of(base), w.ints([-1, math.prod(described.shape[1:])]))
        part = w.Reshape(w.typed(value, described.dtype), w.ints([-1, size]))
        places = w.Expand(w.constant(within.reshape(-1)), w.ints([count, size]))
        rows = w.ScatterElements(rows, places, part, axis=1)
        return str(w.Reshape(rows, w.shape(described.shape)))
    places = _places(place).reshape(-1)
    order = _order(described)
    part = w.Reshape(w.typed(value, described.dtype), w.ints([-1]))
    flat = w.ScatterElements(_in_memory(w, base), w.constant(places), part, axis=0)
    lying = w.Reshape(flat, w.ints([described.shape[i] for i in order]))
    return str(w.Transpose(lying, perm=[order.index(i) for i in range(described.ndim)]))


@writes(movement.as_strided_gradient)
def _added_up(w: Writer, node: Any) -> str:
    """The sum of what lies at each place, as `fold` makes of windows."""
    given, made = node.params, node.outputs[0].aval
    places = _places({name: given[name] for name in ("shape", "strides", "offset")})
    if has_amounts(made.shape) or made.strides != given["input_strides"]:
        raise UnsupportedOperatorError("memory whose layout changes with sizes")
    zeros = w.constant(np.zeros(made.extent, made.dtype.np))
    part = w.Reshape(w.of(node.inputs[0]), w.ints([-1]))
    flat = w.ScatterElements(zeros, w.constant(places.reshape(-1)), part, **_how(w, True))
    return str(w.Reshape(flat, w.ints(made.shape)))


# --- choosing elements ----------------------------------------------------------------------------


def _indices(w: Writer, value: Any) -> str:
    return w.typed(value, dtypes.int64)


@writes(embedding.embedding)
def _embedding(w: Writer, node: Any) -> str:
    weight, index = node.inputs
    return str(w.Gather(w.of(weight), _indices(w, index), axis=0))


@writes(indexing.index_select)
def _index_select(w: Writer, node: Any) -> str:
    x, index = node.inputs
    return str(w.Gather(w.of(x), _indices(w, index), axis=node.params["axis"]))


@writes(indexing.gather)
def _gather(w: Writer, node: Any) -> str:
    x, index = node.inputs
    return str(w.GatherElements(w.of(x), _indices(w, index), axis=node.params["axis"]))


@writes(indexing.take)
def _take(w: Writer, node: Any) -> str:
    x, index = node.inputs
    return str(w.Gather(w.Reshape(w.of(x), w.ints([-1])), _indices(w, index), axis=0))


def _how(w: Writer, adds: bool) -> dict[str, str]:
    """Whether scattered elements are added, as an attribute."""
    if not adds:
        return {}
    w.need(16)
    return {"reduction": "add"}


@writes(indexing.scatter, indexing.scatter_add)
def _scatter(w: Writer, node: Any) -> str:
    x, index, source = node.inputs
    how = _how(w, node.op is indexing.scatter_add)
    part = w.typed(source, x.aval.dtype)
    if source.aval.ndim == 0 and index.aval.ndim:
        part = w.Expand(part, w.Shape(w.of(index)))
    elif source.aval.shape != index.aval.shape:
        for axis, n in enumerate(index.aval.shape):
            part = _sliced(w, part, axis, 0, n)
    return str(w.ScatterElements(
        w.of(x), _indices(w, index), part, axis=node.params["axis"], **how
    ))  # fmt: skip


def _stacked(w: Writer, given: list[Any]) -> str:
    """Index tensors that are broadcast together, side by side along a last axis."""
    names = [_indices(w, v) for v in given]
    rank = max(v.aval.ndim for v in given)
    if len(names) > 1:
        shape = w.Shape(names[0])
        for i, name in enumerate(names[1:], 1):
            if given[i].aval.shape != given[0].aval.shape:
                probe = w.Add(w.Mul(names[0], w.constant(np.int64(0))), name)
                shape = w.Shape(probe)
        names = [w.Expand(name, shape) for name in names]
    names = [w.Unsqueeze(name, w.ints([rank])) for name in names]
    return names[0] if len(names) == 1 else str(w.Concat(*names, axis=rank))


def _leading(node: Any, indices: Any) -> tuple[list[int], list[Any]]:
    """The axes that index tensors stand for, which must lie side by side, and these tensors."""
    axes = [i for i, v in enumerate(indices) if v is not None]
    if axes != list(range(axes[0], axes[0] + len(axes))):
        raise UnsupportedOperatorError("index tensors with slices between them")
    return axes, [indices[i] for i in axes]


@writes(indexing.index)
def _index(w: Writer, node: Any) -> str:
    x, *indices = node.inputs
    axes, given = _leading(node, indices)
    if len(axes) == 1:
        return str(w.Gather(w.of(x), _indices(w, given[0]), axis=axes[0]))
    rank, first = x.aval.ndim, axes[0]
    others = [i for i in range(rank) if i not in axes]
    moved = w.of(x) if first == 0 else w.Transpose(w.of(x), perm=[*axes, *others])
    found = w.GatherND(moved, _stacked(w, given))
    if first == 0:
        return str(found)
    wide = max(v.aval.ndim for v in given)  # the index's axes go where the first tensor was
    order = [*range(wide, wide + first), *range(wide), *range(wide + first, wide + len(others))]
    return str(w.Transpose(found, perm=order))


@writes(indexing.index_put)
def _index_put(w: Writer, node: Any) -> str:
    x, value, *indices = node.inputs
    axes, given = _leading(node, indices)
    if axes[0] != 0:
        raise UnsupportedOperatorError("index tensors behind a slice that is written to")
    how = _how(w, node.params["accumulate"])
    places = _stacked(w, given)
    wide = max(v.aval.ndim for v in given)
    lengths = [w.length(places, i) for i in range(wide)]
    lengths += [w.length(w.of(x), i) for i in range(len(axes), x.aval.ndim)]
    part = w.Expand(w.typed(value, x.aval.dtype), w.Concat(*lengths, axis=0))
    return str(w.ScatterND(w.of(x), places, part, **how))


# --- several into one -----------------------------------------------------------------------------


def reduced(w: Writer, operator: str, x: str, axes: Any, keepdims: bool) -> str:
    """One of ONNX's reductions over axes."""
    if not axes:
        return x
    if w.opset >= (13 if operator == "ReduceSum" else 18):
        return str(getattr(w, operator)(x, w.ints(axes), keepdims=int(keepdims)))
    return str(getattr(w, operator)(x, axes=list(axes), keepdims=int(keepdims)))


register_reductions(writes, reduced)
writes(reduction.logsumexp)(reduction_writer(reduced, "ReduceLogSumExp"))


@writes(reduction.any_, reduction.all_)
def _truth(w: Writer, node: Any) -> str:
    operator = "ReduceMax" if node.op is reduction.any_ else "ReduceMin"
    (x,) = node.inputs
    true = w.cast(w.cast(w.of(x), x.aval.dtype, dtypes.bool_), dtypes.bool_, dtypes.int32)
    found = reduced(w, operator, true, node.params["axis"], node.params["keepdims"])
    return w.cast(found, dtypes.int32, node.outputs[0].aval.dtype)


@writes(reduction.vector_norm)
def _vector_norm(w: Writer, node: Any) -> str:
    order, axes, keepdims = (node.params[name] for name in ("order", "axis", "keepdims"))
    (value,), dtype = node.inputs, node.outputs[0].aval.dtype
    x = w.typed(value, dtype)
    if order == 2:
        return reduced(w, "ReduceL2", x, axes, keepdims) if axes else str(w.Abs(x))
    sized = w.Abs(x)
    if math.isinf(order):
        return reduced(w, "ReduceMax" if order > 0 else "ReduceMin", sized, axes, keepdims)
    if order == 0:
        zero = w.scalar(0, dtype)
        counted = w.cast(w.Not(w.Equal(x, zero)), dtypes.bool_, dtype)
        return reduced(w, "ReduceSum", counted, axes, keepdims)
    power = w.Pow(sized, w.scalar(order, dtype))
    return str(w.Pow(reduced(w, "ReduceSum", power, axes, keepdims), w.scalar(1 / order, dtype)))


@writes(reduction.var, reduction.std)
def _variance(w: Writer, node: Any) -> str:
    axes, correction, keepdims = (node.params[n] for n in ("axis", "correction", "keepdims"))
    (value,), dtype = node.inputs, node.outputs[0].aval.dtype
    x = w.typed(value, dtype)
    count: Any = 1
    for axis in axes:
        count = count * value.aval.shape[axis]
    away = w.Sub(x, reduced(w, "ReduceMean", x, axes, True))
    total = reduced(w, "ReduceSum", w.Mul(away, away), axes, keepdims)
    if type(count) is Count:
        known = w.Squeeze(w.size(count), w.ints([0]))
        divisor = w.Sub(w.Cast(known, to=element_type(dtype)), w.scalar(correction, dtype))
    else:
        divisor = w.scalar(max(count - correction, 0), dtype)
    found = w.Div(total, divisor)
    return str(w.Sqrt(found) if node.op is reduction.std else found)


@writes(reduction.argmax, reduction.argmin)
def _argument(w: Writer, node: Any) -> str:
    operator = "ArgMax" if node.op is reduction.argmax else "ArgMin"
    (x,), axis, keepdims = node.inputs, node.params["axis"], node.params["keepdims"]
    name = w.of(x)
    if x.aval.dtype is dtypes.bool_:
        name = w.cast(name, dtypes.bool_, dtypes.int32)
    if axis is None or not x.aval.ndim:
        flat = w.Reshape(name, w.ints([-1]))
        found = getattr(w, operator)(flat, axis=0, keepdims=0)
        return str(w.Reshape(found, w.ints(node.outputs[0].aval.shape)))
    return str(getattr(w, operator)(name, axis=axis, keepdims=int(keepdims)))


@writes(reduction.max_with_index, reduction.min_with_index)
def _extreme(w: Writer, node: Any) -> Any:
    kind = "Max" if node.op is reduction.max_with_index else "Min"
    axis, keepdims = node.params["axis"], int(node.params["keepdims"])
    x = w.of(node.inputs[0])
    value = reduced(w, f"Reduce{kind}", x, [axis], bool(keepdims))
    return value, getattr(w, f"Arg{kind}")(x, axis=axis, keepdims=keepdims)


@writes(sorting.topk, sorting.sort)
def _largest(w: Writer, node: Any) -> Any:
    axis = node.params["axis"]
    (x,) = node.inputs
    if not x.aval.ndim:
        raise UnsupportedOperatorError("sorting of a number")
    k = node.params.get("k", x.aval.shape[axis])
    largest = node.params["largest"] if "largest" in node.params else node.params["descending"]
    return w.TopK(w.of(x), w.ints([k]), axis=axis, largest=int(largest), results=2)


@writes(scan.cumsum)
def _cumsum(w: Writer, node: Any) -> str:
    dtype = node.outputs[0].aval.dtype
    return str(w.CumSum(
        w.typed(node.inputs[0], dtype), w.constant(np.int64(node.params["axis"])),
        reverse=int(node.params["reverse"]),
    ))  # fmt: skip


# --- tensors that hang on sizes alone -------------------------------------------------------------


@writes(MAKE)
def _make(w: Writer, node: Any) -> str:
    function, given, made = (node.params[n] for n in ("function", "arguments", "described"))
    to = element_type(made.dtype)
    if function is np.array:
        (number,) = given
        if type(number) is Count:
            name = w.Cast(w.Squeeze(w.size(number), w.ints([0])), to=to)
        elif has_amounts(number):
            raise UnsupportedOperatorError("a fraction of a size")
        else:
            name = w.scalar(number, made.dtype)
        return str(w.Expand(name, w.ints(made.shape)) if made.ndim else w.Identity(name))
    if function is np.eye:
        empty = w.Expand(w.scalar(0, made.dtype), w.ints(made.shape))
        return str(w.EyeLike(empty, dtype=to))
    if function is whole_numbers:
        start, step, count = given
        first, width = (w.Squeeze(w.size(n), w.ints([0])) for n in (start, step))
        end = w.Squeeze(w.size(start + step * count), w.ints([0]))
        return str(w.Cast(w.Range(first, end, width), to=to))
    raise UnsupportedOperatorError("a tensor that is computed from sizes in Python")
