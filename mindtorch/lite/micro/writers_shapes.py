"""Ops that move elements, choose some, join or reduce. Most are other views and cost nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from mindtorch.engine.ops import copies, embedding, indexing, movement, reduction
from mindtorch.exporting.errors import UnsupportedOperatorError

from .buffers import View
from .writer import Writer, function, literal, writes


@writes(movement.alias_view, copies.clone, movement.overwrite)
def _same(w: Writer, node: Any) -> View:
    return w.of(node.inputs[0])


@writes(movement.view)
def _view(w: Writer, node: Any) -> View:
    view, shape = w.of(node.inputs[0]), node.params["shape"]
    return view.reshaped(shape) or w.copied(view).reshaped(shape)  # type: ignore[return-value]


@writes(movement.squeeze, movement.unsqueeze)
def _axes(w: Writer, node: Any) -> View:
    found = w.of(node.inputs[0]).reshaped(node.outputs[0].aval.shape)
    assert found is not None
    return found


@writes(movement.expand)
def _expand(w: Writer, node: Any) -> View:
    view, shape = w.of(node.inputs[0]), node.params["shape"]
    missing = len(shape) - len(view.shape)
    own = [0 if n == 1 else s for n, s in zip(view.shape, view.strides, strict=True)]
    return View(view.buffer, tuple(shape), (*[0] * missing, *own), view.offset)


@writes(movement.permute)
def _permute(w: Writer, node: Any) -> View:
    view, axes = w.of(node.inputs[0]), node.params["axes"]
    return View(
        view.buffer, tuple(view.shape[i] for i in axes), tuple(view.strides[i] for i in axes),
        view.offset,
    )  # fmt: skip


def _narrowed(view: View, axis: int, start: int, length: int, step: int = 1) -> View:
    shape, strides = list(view.shape), list(view.strides)
    offset = view.offset + start * strides[axis] if length else view.offset
    shape[axis], strides[axis] = length, strides[axis] * step
    return View(view.buffer, tuple(shape), tuple(strides), offset)


def _without(view: View, axis: int) -> View:
    shape = (*view.shape[:axis], *view.shape[axis + 1 :])
    strides = (*view.strides[:axis], *view.strides[axis + 1 :])
    return View(view.buffer, shape, strides, view.offset)


@writes(movement.slice_)
def _slice(w: Writer, node: Any) -> View:
    given = node.params
    view = w.of(node.inputs[0])
    return _narrowed(view, given["axis"], given["start"], given["length"], given["step"])


@writes(movement.select)
def _select(w: Writer, node: Any) -> View:
    axis = node.params["axis"]
    return _without(_narrowed(w.of(node.inputs[0]), axis, node.params["index"], 1), axis)


@writes(movement.split, movement.split_with_sizes)
def _split(w: Writer, node: Any) -> tuple[View, ...]:
    axis, view, start, made = node.params["axis"], w.of(node.inputs[0]), 0, []
    for value in node.outputs:
        length = value.aval.shape[axis]
        made.append(_narrowed(view, axis, start, length))
        start += length
    return tuple(made)


@writes(movement.unbind)
def _unbind(w: Writer, node: Any) -> tuple[View, ...]:
    axis, view = node.params["axis"], w.of(node.inputs[0])
    return tuple(
        _without(_narrowed(view, axis, i, 1), axis) for i in range(len(node.outputs))
    )


@writes(movement.flip)
def _flip(w: Writer, node: Any) -> View:
    view = w.of(node.inputs[0])
    for axis in node.params["axes"]:
        if view.shape[axis]:
            view = _narrowed(view, axis, view.shape[axis] - 1, view.shape[axis], -1)
    return view


@writes(movement.diagonal)
def _diagonal(w: Writer, node: Any) -> View:
    first, second, offset = (node.params[name] for name in ("first", "second", "offset"))
    view = w.of(node.inputs[0])
    kept = [i for i in range(len(view.shape)) if i not in (first, second)]
    moved = offset * view.strides[second] if offset >= 0 else -offset * view.strides[first]
    strides = (*[view.strides[i] for i in kept], view.strides[first] + view.strides[second])
    return View(view.buffer, node.outputs[0].aval.shape, strides, view.offset + moved)


def _copy_into(w: Writer, target: View, source: View) -> None:
    if source.size:
        w.copied(source, target)


@writes(movement.cat, movement.stack)
def _cat(w: Writer, node: Any) -> View:
    """Join along an axis; what is stacked has the new axis already."""
    if len(node.inputs) == 1:
        return w.of(node.inputs[0])
    made, start, axis = w.made(node.outputs[0]), 0, node.params["axis"]
    for value in node.inputs:
        part = w.of(value)
        if len(part.shape) != len(made.shape):
            continue  # torch lets an empty row join anything
        if part.buffer.ctype != made.buffer.ctype:
            raise UnsupportedOperatorError("tensors of several types are joined")
        _copy_into(w, _narrowed(made, axis, start, part.shape[axis]), part)
        start += part.shape[axis]
    return made


@writes(movement.roll)
def _roll(w: Writer, node: Any) -> View:
    view = w.of(node.inputs[0])
    for shift, axis in zip(node.params["shifts"], node.params["axes"], strict=True):
        n = view.shape[axis]
        shift = shift % n if n else 0
        if shift:
            made = View.dense(w.program.buffer(view.buffer.ctype, view.size), view.shape)
            for to, start, length in ((shift, 0, n - shift), (0, n - shift, shift)):
                part = _narrowed(view, axis, start, length)
                _copy_into(w, _narrowed(made, axis, to, length), part)
            view = made
    return view


def filled(w: Writer, target: View, number: float) -> None:
    """Write one number everywhere."""
    w.loop(target, [], lambda y: f"{y} = {literal(number, target.buffer.ctype)};")


@writes(movement.pad)
def _pad(w: Writer, node: Any) -> View:
    view, padding = w.of(node.inputs[0]), node.params["padding"]
    for axis, (before, after) in enumerate(padding):
        if before < 0 or after < 0:
            cut = max(-before, 0)
            view = _narrowed(view, axis, cut, view.shape[axis] - cut - max(-after, 0))
    if all(max(pair) <= 0 for pair in padding):
        return view
    number, made = w.number(node.inputs[1]), w.made(node.outputs[0])
    filled(w, made, number)
    inner = made
    for axis, (before, _) in enumerate(padding):
        inner = _narrowed(inner, axis, max(before, 0), view.shape[axis])
    _copy_into(w, inner, view)
    return made


@writes(movement.slice_gradient)
def _slice_gradient(w: Writer, node: Any) -> View:
    given, made = node.params, w.made(node.outputs[0])
    filled(w, made, 0)
    inner = _narrowed(made, given["axis"], given["start"], given["length"], given["step"])
    _copy_into(w, inner, w.of(node.inputs[0]))
    return made


@writes(movement.view_update)
def _view_update(w: Writer, node: Any) -> View:
    base, value = node.inputs
    ((op, pairs),) = node.params["chain"]
    if op is movement.as_strided:
        raise UnsupportedOperatorError("a write into memory by strides")
    made = w.copied(w.dense(base))
    _copy_into(w, _viewed(made, op, dict(pairs)), w.of(value))
    return made


def _viewed(view: View, op: Any, given: dict[str, Any]) -> View:
    if op is movement.slice_:
        return _narrowed(view, given["axis"], given["start"], given["length"], given["step"])
    if op is movement.select:
        return _without(_narrowed(view, given["axis"], given["index"], 1), given["axis"])
    raise UnsupportedOperatorError(f"a write through {op.name}")


# --- choosing elements ----------------------------------------------------------------------------


EMBEDDING = function("""
struct embedding_shape { int count, rows, width; };

/* y[i] = table[index[i]]; an index that is no row gives zeros. */
static void embedding(const float *table, const int32_t *index, float *y,
                      const struct embedding_shape *s)
{
    for (int i = 0; i < s->count; ++i) {
        const int32_t row = index[i];
        const int known = row >= 0 && row < s->rows;
        for (int j = 0; j < s->width; ++j) {
            y[i * s->width + j] = known ? table[row * s->width + j] : 0.0f;
        }
    }
}
""")


@writes(embedding.embedding)
def _embedding(w: Writer, node: Any) -> View:
    table, index = node.inputs
    made = w.made(node.outputs[0])
    rows, width = table.aval.shape
    w.call(EMBEDDING, w.dense(table), w.dense(index), made,
           count=index.aval.size, rows=rows, width=width)  # fmt: skip
    return made


EMBEDDING_GRADIENT = function("""
struct embedding_gradient_shape { int count, rows, width, padding; };

/* The sum over i of g[i] in row index[i]; the row `padding` stays zero. */
static void embedding_gradient(const float *g, const int32_t *index, float *table,
                               const struct embedding_gradient_shape *s)
{
    for (int i = 0; i < s->rows * s->width; ++i) {
        table[i] = 0.0f;
    }
    for (int i = 0; i < s->count; ++i) {
        const int32_t row = index[i];
        if (row < 0 || row >= s->rows || row == s->padding) {
            continue;
        }
        for (int j = 0; j < s->width; ++j) {
            table[row * s->width + j] += g[i * s->width + j];
        }
    }
}
""")


@writes(embedding.embedding_gradient)
def _embedding_gradient(w: Writer, node: Any) -> View:
    g, index = node.inputs
    made = w.made(node.outputs[0])
    rows, width = made.shape
    w.call(EMBEDDING_GRADIENT, w.dense(g), w.dense(index), made, count=index.aval.size, rows=rows,
           width=width, padding=node.params["padding_idx"])  # fmt: skip
    return made


@writes(indexing.tril, indexing.triu)
def _triangle(w: Writer, node: Any) -> View:
    view, made = w.of(node.inputs[0]), w.made(node.outputs[0])
    filled(w, made, 0)
    rows, columns = view.shape[-2:]
    diagonal, upper = node.params["diagonal"], node.op is indexing.triu
    axis = len(view.shape) - 2
    for i in range(rows):
        edge = i + diagonal
        first, last = (max(edge, 0), columns) if upper else (0, min(edge + 1, columns))
        if first < last:
            parts = [_narrowed(_narrowed(v, axis, i, 1), axis + 1, first, last - first)
                     for v in (made, view)]  # fmt: skip
            _copy_into(w, parts[0], parts[1])
    return made


# --- reductions -----------------------------------------------------------------------------------


def folded(
    w: Writer, view: View, axes: Iterable[int], made: View, begin: str, step: str,
    end: str = "{y} = {a};",
) -> None:  # fmt: skip
    """One loop over the axes that stay around one over those that are folded.

    Args:
        begin, step, end: C statements of the accumulator ``a``, the element ``x`` and ``y``.
    """
    axes = sorted(axes)
    kept = [i for i in range(len(view.shape)) if i not in axes]
    outer = View(view.buffer, tuple(view.shape[i] for i in kept),
                 tuple(view.strides[i] for i in kept), view.offset)  # fmt: skip
    target = made.reshaped(outer.shape)
    assert target is not None
    inside = [(view.shape[i], view.strides[i]) for i in axes if view.shape[i] != 1]

    def body(y: str, x: str) -> str:
        place = x[x.index("[") + 1 : -1]
        terms = [place] if place != "0" or not inside else []
        terms += [f"{s} * k{i}" if s != 1 else f"k{i}" for i, (_, s) in enumerate(inside) if s]
        element = f"x[{' + '.join(terms) or '0'}]"
        lines, indent = [f"{view.buffer.ctype} a = {begin};"], ""
        for i, (n, _) in enumerate(inside):
            lines.append(f"{indent}for (int k{i} = 0; k{i} < {n}; ++k{i}) {{")
            indent += "    "
        lines.append(indent + step.format(x=element))
        for _ in inside:
            indent = indent[:-4]
            lines.append(f"{indent}}}")
        lines.append(end.format(y=y, a="a"))
        return "\n".join(lines)

    w.loop(target, [outer], body)


def _folded(w: Writer, node: Any, begin: str, step: str, end: str = "{y} = {a};") -> View:
    made = w.made(node.outputs[0])
    folded(w, w.of(node.inputs[0]), node.params["axis"], made, begin, step, end)
    return made


def _count(node: Any) -> int:
    shape = node.inputs[0].aval.shape
    return math.prod([shape[i] for i in node.params["axis"]])


def _require_float(node: Any) -> None:
    if not node.inputs[0].aval.dtype.is_floating_point:
        raise UnsupportedOperatorError(f"{node.op.name} of {node.inputs[0].aval.dtype.name}")


@writes(reduction.sum_)
def _sum(w: Writer, node: Any) -> View:
    if w.of(node.inputs[0]).buffer.ctype == "uint8_t":
        raise UnsupportedOperatorError("the sum of truth values")
    return _folded(w, node, literal(0, w.of(node.inputs[0]).buffer.ctype), "a += {x};")


@writes(reduction.mean)
def _mean(w: Writer, node: Any) -> View:
    _require_float(node)
    count = literal(_count(node), "float")
    return _folded(w, node, "0.0f", "a += {x};", f"{{y}} = {{a}} / {count};")


@writes(reduction.prod)
def _prod(w: Writer, node: Any) -> View:
    return _folded(w, node, literal(1, w.of(node.inputs[0]).buffer.ctype), "a *= {x};")


@writes(reduction.amax)
def _amax(w: Writer, node: Any) -> View:
    _require_float(node)
    return _folded(w, node, "-INFINITY", "a = ({x} > a || {x} != {x}) ? {x} : a;")


@writes(reduction.amin)
def _amin(w: Writer, node: Any) -> View:
    _require_float(node)
    return _folded(w, node, "INFINITY", "a = ({x} < a || {x} != {x}) ? {x} : a;")


@writes(reduction.var, reduction.std)
def _variance(w: Writer, node: Any) -> View:
    """From the mean, which a first loop computes."""
    _require_float(node)
    view, axes = w.of(node.inputs[0]), set(node.params["axis"])
    kept = tuple(1 if i in axes else n for i, n in enumerate(view.shape))
    mean = View.dense(w.program.buffer("float", math.prod(kept)), kept)
    away = View.dense(w.program.buffer("float", view.size), view.shape)
    count = _count(node)
    divisor = literal(max(count - node.params["correction"], 0), "float")
    folded(w, view, axes, mean, "0.0f", "a += {x};", f"{{y}} = {{a}} / {literal(count, 'float')};")
    w.loop(away, [view, mean], lambda y, x, m: f"{y} = ({x} - {m}) * ({x} - {m});")
    root = "sqrtf({a} / %s)" if node.op is reduction.std else "{a} / %s"
    made = w.made(node.outputs[0])
    folded(w, away, axes, made, "0.0f", "a += {x};", "{y} = " + root % divisor + ";")
    return made


ARGUMENT = function("""
struct largest_shape { int outer, length, inner, sign; };

/* For each row the largest element of sign * x and its place, the first of equal ones; `value` or
 * `index` may be NULL. */
static void largest(const float *x, float *value, int32_t *index, const struct largest_shape *s)
{
    for (int o = 0; o < s->outer; ++o) {
        for (int i = 0; i < s->inner; ++i) {
            const float *row = x + o * s->length * s->inner + i;
            int32_t best = 0;
            for (int32_t k = 1; k < s->length; ++k) {
                const float here = (float)s->sign * row[k * s->inner];
                if (here > (float)s->sign * row[best * s->inner]) {
                    best = k;
                }
            }
            if (value != NULL) {
                value[o * s->inner + i] = row[best * s->inner];
            }
            if (index != NULL) {
                index[o * s->inner + i] = best;
            }
        }
    }
}
""")


def _largest(w: Writer, node: Any, value: Any, index: Any, sign: int) -> list[View | None]:
    _require_float(node)
    shape: Sequence[int] = node.inputs[0].aval.shape
    axis = node.params["axis"]
    if axis is None or not shape:
        shape, axis = (node.inputs[0].aval.size,), 0
    made = [None if v is None or not w.wants(v) else w.made(v) for v in (value, index)]
    w.call(
        ARGUMENT, w.dense(node.inputs[0]), *["NULL" if v is None else v for v in made],
        outer=math.prod(shape[:axis]), length=shape[axis], inner=math.prod(shape[axis + 1 :]),
        sign=sign,
    )  # fmt: skip
    return made


@writes(reduction.argmax, reduction.argmin)
def _argument(w: Writer, node: Any) -> View | None:
    return _largest(w, node, None, node.outputs[0], 1 if node.op is reduction.argmax else -1)[1]


@writes(reduction.max_with_index, reduction.min_with_index)
def _extreme(w: Writer, node: Any) -> Any:
    sign = 1 if node.op is reduction.max_with_index else -1
    value, index = node.outputs
    return tuple(_largest(w, node, value, index, sign))
