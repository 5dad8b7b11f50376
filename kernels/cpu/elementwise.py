"""Elementwise loops, generated for each scalar function, its types and the operands' layout.

The axes are ordered by the result's strides and merged as far as all operands allow. What is left
of most calls is one axis, where each operand is contiguous or a single element: that loop is
vectorised and called through its bare entry point. Everything else walks the outer axes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from mindtorch.kernels.codegen.fused_loop import Step, Steps, load, statements
from mindtorch.kernels.codegen.jit import entry_point, from_source, kernel
from mindtorch.kernels.codegen.typed_scalar import TypedScalars, cast_type
from mindtorch.kernels.scalar.facts import facts_of

from . import complex_numbers, strided_copy
from .scalar_math.float32_math import mathematics
from .threads import thread_pool
from .vectors import float_bits

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_FLOAT16 = np.dtype(np.float16)
_BOOL = np.dtype(np.bool_)
Layouts = tuple[Any, ...]

# --- scalar functions for a type -------------------------------------------------------------


def _build(text: str, name: str, space: dict[str, Any], loops: bool) -> Any:
    return from_source(text, name, space, **({} if loops else {"inline": "always"}))


typed_scalar = TypedScalars(mathematics, _build)

# --- loads and stores ------------------------------------------------------------------------


def carrier(dtype: np.dtype[Any]) -> str:
    """The numba name of the type in which the elements of ``dtype`` are passed."""
    if dtype in (_FLOAT16, _BFLOAT16):
        return "uint16"
    return "uint8" if dtype == _BOOL else dtype.name


# --- layout ----------------------------------------------------------------------------------


def merge_axes(shape: Any, operands: list[Any]) -> tuple[list[int], list[list[int]]]:
    """Order axes by the first operand's strides (outermost first) and merge them.

    Returns:
        The merged shape, and for each operand its strides.
    """
    axes = [i for i, n in enumerate(shape) if n != 1]
    axes.sort(key=lambda i: (-operands[0][i], i))
    lengths: list[int] = []
    strides: list[list[int]] = [[] for _ in operands]
    for i in axes:
        n = shape[i]
        if lengths and all(s[-1] == o[i] * n for s, o in zip(strides, operands, strict=True)):
            lengths[-1] *= n
            for s, o in zip(strides, operands, strict=True):
                s[-1] = o[i]
        else:
            lengths.append(n)
            for s, o in zip(strides, operands, strict=True):
                s.append(o[i])
    return lengths, strides


def broadcast_strides(layout: Any, shape: Any) -> list[int]:
    """The strides with which ``layout`` is read as ``shape``; 0 where it is repeated."""
    extra = len(shape) - len(layout.shape)
    own = [
        0 if n == 1 else s for n, s in zip(layout.shape, layout.strides, strict=True)
    ]
    return [0] * extra + own


class Operand:
    """The layout of an array that a kernel brings along."""

    def __init__(self, shape: Any, strides: Any, dtype: np.dtype[Any]) -> None:
        self.shape, self.strides, self.dtype = shape, strides, dtype


LOADS = {
    "load_half": float_bits.load_half, "store_half": float_bits.store_half,
    "load_bfloat16": float_bits.load_bfloat16, "store_bfloat16": float_bits.store_bfloat16,
}  # fmt: skip


# --- plans -----------------------------------------------------------------------------------

_compiled: dict[Any, Any] = {}
# what loops convert to complex numbers, and these
_PARTS = {np.dtype(kind) for kind in ("f4", "f8", "c8", "c16")}


def plan(
    name: str,
    out_layouts: Layouts,
    in_layouts: Layouts,
    compute_dtype: Any = None,
    **params: Any,
) -> Callable[..., None]:
    """``run(out, *ins)`` on flat arrays: ``out[i] = name(*[in[i] for in in ins])``.

    Args:
        name: a function of ``mindtorch.kernels.scalar.real``.
        out_layouts: the result's layout, as a tuple of one.
        in_layouts: the inputs', broadcast against the result's shape.
        compute_dtype: the type of the arithmetic; a ``where``'s condition keeps its own.
    """
    out = out_layouts[0]
    compute = np.dtype(compute_dtype) if compute_dtype is not None else out.dtype
    kinds = {out.dtype, *[x.dtype for x in in_layouts]}
    loops = out.dtype == compute and facts_of(name).of_complex and kinds <= _PARTS
    if not loops and (compute.kind == "c" or any(kind.kind == "c" for kind in kinds)):
        return _complex_plan(name, out, in_layouts, compute)
    step = Step(name, tuple(range(len(in_layouts))), compute, out.dtype)
    return fused_plan((step,), (0,), out_layouts, in_layouts)


def fused_plan(
    steps: Steps, results: tuple[int, ...], out_layouts: Layouts, in_layouts: Layouts
) -> Callable[..., None]:
    """One loop for a chain of scalar functions: ``run(*outs, *ins)`` on flat arrays.

    Each step's value is rounded to its stored type, so the chain gives what its functions give one
    after another.

    Args:
        steps: the chain, in order.
        results: the steps whose values are written, one for each layout in ``out_layouts``; these
            have one shape.
        in_layouts: broadcast against that shape.
    """
    shape = out_layouts[0].shape
    operands = [list(x.strides) for x in out_layouts]
    operands += [broadcast_strides(x, shape) for x in in_layouts]
    lengths, strides = merge_axes(shape, operands)
    if not lengths:
        lengths, strides = [1], [[1] for _ in operands]
    modes = "".join(_mode(s[-1]) for s in strides)
    outs = len(out_layouts)
    if "v" in modes[outs:] and _worth_a_copy(steps, lengths, strides, outs):
        in_pieces = _in_pieces(steps, results, out_layouts, in_layouts)
        return in_pieces or _on_copies(steps, results, out_layouts, in_layouts, modes)
    types = tuple(x.dtype for x in (*out_layouts, *in_layouts))
    if len(lengths) == 1 and "v" not in modes:
        run: Callable[..., None] = _kernel(steps, results, types, modes, flat=True)
        return _in_chunks(run, lengths[0], modes)
    walk = _kernel(steps, results, types, modes, flat=False)
    geometry = np.array([lengths, *strides], np.int64)

    outer, smallest = math.prod(lengths[:-1]), 1 + _PARALLEL_SIZE // (2 * lengths[-1])

    def run_strided(*arrays: Any) -> None:
        walk(*arrays, geometry, 0, outer)

    def run_parallel(*arrays: Any) -> None:
        def part(first: int, last: int) -> None:
            walk(*arrays, geometry, first, last)

        thread_pool.parallel_for(outer, part, smallest)

    return run_strided if outer < 2 * smallest else run_parallel


_COPIED_FROM = 2048
_FAR = 16  # elements: each lies in a cache line of its own


def _worth_a_copy(
    steps: Steps, lengths: list[int], strides: list[list[int]], outs: int
) -> bool:
    """Whether strided inputs are better copied first, so that the loop is made of vectors; from
    columns to rows that is done in tiles."""
    if math.prod(lengths) < _COPIED_FROM or any(s[-1] != 1 for s in strides[:outs]):
        return False
    apart = [s[-1] for s in strides[outs:] if s[-1] not in (0, 1)]
    if len(lengths) > 1 and max(apart) >= _FAR:
        return True
    return not all(1 <= facts_of(step.function).light <= len(apart) for step in steps)


_PIECE = 65536  # elements whose copies stay in the cache


def _in_pieces(
    steps: Steps, results: tuple[int, ...], out_layouts: Layouts, in_layouts: Layouts
) -> Callable[..., None] | None:
    """The loop over one range after another of the result's outermost axis; None for few
    elements."""
    shape, outer = out_layouts[0].shape, out_layouts[0].strides
    if math.prod(shape) < 2 * _PIECE:
        return None
    axis = max((i for i, n in enumerate(shape) if n > 1), key=lambda i: outer[i])
    count = shape[axis]
    step = max(1, _PIECE * count // math.prod(shape))
    layouts = [(x.strides, x.dtype) for x in out_layouts]
    layouts += [(broadcast_strides(x, shape), x.dtype) for x in in_layouts]

    def planned(length: int) -> tuple[Callable[..., None], list[int]]:
        part = (*shape[:axis], length, *shape[axis + 1 :])
        operands = [Operand(part, strides, dtype) for strides, dtype in layouts]
        outs = len(out_layouts)
        run = fused_plan(steps, results, tuple(operands[:outs]), tuple(operands[outs:]))
        return run, [
            1 + sum([(n - 1) * s for n, s in zip(part, x.strides, strict=True)]) for x in operands
        ]

    plans = {n: planned(n) for n in {step, count % step or step}}
    ahead = [strides[axis] for strides, _ in layouts]

    def run_pieces(*arrays: Any) -> None:
        def part(first: int, last: int) -> None:
            for start in range(first * step, min(last * step, count), step):
                run, sizes = plans[min(step, count - start)]
                places = [(x, start * s, n) for x, s, n in zip(arrays, ahead, sizes, strict=True)]
                run(*[x[at : at + n] for x, at, n in places])

        thread_pool.parallel_for(-(-count // step), part)

    return run_pieces


def _on_copies(
    steps: Steps, results: tuple[int, ...], out_layouts: Layouts, in_layouts: Layouts, modes: str
) -> Callable[..., None]:
    """The loop over dense copies, in the result's order, of those inputs that are strided."""
    shape, made = out_layouts[0].shape, list(in_layouts)
    order = sorted(range(len(shape)), key=lambda i: (out_layouts[0].strides[i], -i))
    copying: list[tuple[int, int, np.dtype[Any], Callable[..., None]]] = []
    for place, (x, mode) in enumerate(zip(in_layouts, modes[len(out_layouts) :], strict=True)):
        if mode == "v":
            own = broadcast_strides(x, shape)
            lengths = [n if s else 1 for n, s in zip(shape, own, strict=True)]
            dense, size = [0] * len(shape), 1
            for axis in order:
                dense[axis], size = size, size * lengths[axis]
            copy = Operand(lengths, dense, x.dtype)
            made[place] = copy
            fill = _copy_plan((copy,), (Operand(lengths, own, x.dtype),))
            copying.append((place, size, x.dtype, fill))
    run = fused_plan(steps, results, out_layouts, tuple(made))
    outs = len(out_layouts)

    def run_on_copies(*arrays: Any) -> None:
        given = list(arrays)
        for place, size, kind, fill in copying:
            given[outs + place] = np.empty(size, kind)
            fill(given[outs + place], arrays[outs + place])
        run(*given)

    return run_on_copies


def _mode(stride: int) -> str:
    return "c" if stride == 1 else ("s" if stride == 0 else "v")


_PARALLEL_SIZE = 1 << 18


def _in_chunks(run: Callable[..., None], size: int, modes: str) -> Callable[..., None]:
    """Split a long contiguous loop over the threads."""
    if size < _PARALLEL_SIZE:
        return run
    def run_parallel(*arrays: Any) -> None:
        if thread_pool.get_num_threads() == 1:
            run(*arrays)
            return

        def part(start: int, stop: int) -> None:
            run(*[a[start:stop] if m == "c" else a for a, m in zip(arrays, modes, strict=True)])

        thread_pool.parallel_for(size, part)

    return run_parallel


def _kernel(
    steps: Steps, results: tuple[int, ...], types: tuple[Any, ...], modes: str, flat: bool
) -> Any:
    key = (steps, results, types, modes, flat)
    found = _compiled.get(key)
    if found is None:
        found = _compiled[key] = _generate(*key)
    return found


def _generate(
    steps: Steps, results: tuple[int, ...], types: tuple[Any, ...], modes: str, flat: bool
) -> Any:
    outs = len(results)
    in_types, in_modes = types[outs:], modes[outs:]
    names = [f"a{i}" for i in range(len(in_types))]
    targets = [f"o{i}" for i in range(outs)]
    # unsigned places need no look whether they count from the end
    space: dict[str, Any] = {"_U": np.uint64, **LOADS}
    hoisted: list[str] = []
    inner: list[str] = []
    for i, (name, dtype, mode) in enumerate(zip(names, in_types, in_modes, strict=True)):
        place = {"s": f"{name}[0]", "c": f"{name}[i]", "v": f"{name}[_U(i*s{i})]"}[mode]
        (hoisted if mode == "s" else inner).append(f"v{i} = {load(dtype, place)}")
    where = {"c": "{0}[i]", "s": "{0}[0]", "v": "{0}[_U(i*s{0})]"}
    places = [where[mode].format(x) for x, mode in zip(targets, modes, strict=False)]
    inner += statements(steps, results, in_types, in_modes, places, typed_scalar, space)
    signature = [f"{carrier(t)}[::1]" for t in types]
    if flat:
        source = _flat_source(targets, names, hoisted, inner)
    else:
        source = _walking_source(targets, names, hoisted, inner, modes)
        signature.append("int64[:,::1], int64, int64")
    # in place, an element's inputs are read before it is written, if it is the only result
    dispatcher = from_source(source, "loop", space, **({"noalias": True} if outs == 1 else {}))
    return entry_point(dispatcher, f"void({', '.join(signature)})")


def indented(lines: list[str], depth: int) -> str:
    return "".join("    " * depth + line + "\n" for line in lines)


def _flat_source(
    targets: list[str], names: list[str], hoisted: list[str], inner: list[str]
) -> str:
    return (
        f"def loop({', '.join([*targets, *names])}):\n"
        + indented(hoisted, 1)
        + "    for i in range(o0.size):\n"
        + indented(inner, 2)
    )


def _walking_source(
    targets: list[str], names: list[str], hoisted: list[str], inner: list[str], modes: str
) -> str:
    """Outer axes by division of a running number, the innermost as a loop."""
    operands = [*targets, *names]
    given = [f"{x}_" for x in operands]
    places = [*[f"s{x}" for x in targets], *[f"s{i}" for i in range(len(names))]]
    source = f"def loop({', '.join(given)}, geometry, begin, end):\n"
    source += "    last = geometry.shape[1] - 1\n    n = geometry[0, last]\n"
    for row, place in enumerate(places):
        source += f"    {place} = geometry[{row + 1}, last]\n"
    source += "    for o in range(begin, end):\n        left = o\n"
    source += indented([f"p_{x} = 0" for x in operands], 2)
    source += "        for k in range(last - 1, -1, -1):\n"
    source += "            at = left % geometry[0, k]\n            left = left // geometry[0, k]\n"
    source += indented(
        [f"p_{x} += at * geometry[{row + 1}, k]" for row, x in enumerate(operands)], 3
    )
    for x, original, mode in zip(operands, given, modes, strict=True):
        stop = f"p_{x} + n" if mode == "c" else ""
        source += f"        {x} = {original}[p_{x}:{stop}]\n"
    return source + indented(hoisted, 2) + "        for i in range(n):\n" + indented(inner, 3)


# --- complex numbers: numpy's loops ----------------------------------------------------------


def _complex_plan(name: str, out: Any, ins: Layouts, compute: Any) -> Any:
    function = getattr(complex_numbers, name, None)
    if function is None:
        raise NotImplementedError(f"'{name}' is not implemented for complex numbers")
    if isinstance(function, np.ufunc):
        if function(*[np.empty(0, compute) for _ in ins]).dtype == out.dtype:
            return _written_by_numpy(function, out, ins, compute)

    def run(target: Any, *flat: Any) -> None:
        values = [strided(a, x) for a, x in zip(flat, ins, strict=True)]
        values = [
            v if (name == "where" and i == 0) or v.dtype == compute else v.astype(compute)
            for i, v in enumerate(values)
        ]
        with np.errstate(all="ignore"):
            result = function(*values)
        if out.dtype.kind != "c" and result.dtype.kind == "c":
            result = result != 0 if out.dtype.kind == "b" else result.real
        strided(target, out)[...] = result

    return run


def strided(flat: Any, layout: Any) -> Any:
    """The N-d view of a flat array that ``layout`` means."""
    itemsize = flat.dtype.itemsize
    return np.ndarray(
        layout.shape, flat.dtype, flat, 0, tuple([s * itemsize for s in layout.strides])
    )


def _written_by_numpy(function: Any, out: Any, ins: Layouts, compute: Any) -> Any:
    """A function of numpy's that writes its result where it belongs."""
    operands = [list(out.strides), *[broadcast_strides(x, out.shape) for x in ins]]
    lengths, strides = merge_axes(out.shape, operands)
    of_type = all(x.dtype == compute for x in ins)
    if of_type and len(lengths) == 1 and all(each[0] == 1 for each in strides):
        size = lengths[0]

        def run_flat(target: Any, *flat: Any) -> None:
            with np.errstate(all="ignore"):
                function(*[x[:size] for x in flat], out=target[:size])

        return run_flat

    def run(target: Any, *flat: Any) -> None:
        values = [
            strided(a, x).astype(compute, copy=False) for a, x in zip(flat, ins, strict=True)
        ]
        with np.errstate(all="ignore"):
            function(*values, out=strided(target, out))

    return run


# --- copies ----------------------------------------------------------------------------------


def _copy_plan(out_layouts: Layouts, in_layouts: Layouts, **params: Any) -> Callable[..., None]:
    out, x = out_layouts[0], in_layouts[0]
    if out.dtype != x.dtype:
        return plan("positive", out_layouts, in_layouts, cast_type(out.dtype, x.dtype))
    operands = [list(out.strides), broadcast_strides(x, out.shape)]
    lengths, strides = merge_axes(out.shape, operands)
    if not lengths or (len(lengths) == 1 and strides[0][0] == strides[1][0] == 1):
        size = lengths[0] if lengths else 1

        def run_whole(target: Any, source: Any) -> None:
            target[:size] = source[:size]

        return run_whole

    return strided_copy.planned(out.shape, operands[0], operands[1], out.dtype)


def copy(out: Any, x: Any, **params: Any) -> None:
    """``out[...] = x``."""
    out[...] = x


copy.plan = _copy_plan
copy_cast = copy


@kernel
def _fill(out: Any, value: Any) -> None:
    for i in range(out.size):
        out[i] = value


def fill(out: Any, value: Any) -> None:
    """``out[...] = value``."""
    out[...] = value
