"""Elementwise kernels for CUDA, generated from the scalar functions that the CPU uses.

    picture   one thread for each element of the result (in the simulator, a loop over the grid,
              which on a GPU would begin with a division in each thread). Places are unsigned, so
              that no thread asks whether they are negative, and of 32 bits where all are, whose
              division costs a fraction
    memory    no shared memory; neighbouring threads read neighbouring elements where the operands'
              layouts agree. The merged axes' lengths and strides are arguments of the launch, so
              one kernel serves all shapes with as many of them
    sync      none
    sizes     any number of elements and of axes; strides may be 0 (broadcast). A 0-d operand on the
              host is a number of the launch
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels import scalar_complex
from mindtorch.kernels.chains import Step, Steps, load, statements
from mindtorch.kernels.cpu.elementwise import broadcast_strides, merge_axes
from mindtorch.kernels.typed_scalar import SHORT_FLOATS, TypedScalars, cast_type

from . import launch
from .bits import NAMESPACE
from .mathematics import kept, mathematics

Layouts = tuple[Any, ...]


def _build(text: str, name: str, space: dict[str, Any], loops: bool) -> Any:
    scope = dict(space)
    exec(compile(text, f"<cuda {name}>", "exec"), scope)
    return launch.device(scope[name])


_SMALL = 1 << 31  # places below it fit in 32 bits, sums of two of them, too
typed_scalar = TypedScalars(mathematics, _build)


def plan(
    name: str, out_layouts: Layouts, in_layouts: Layouts, compute_dtype: Any = None, **params: Any
) -> Callable[..., None] | None:
    """``run(out, *ins)`` on flat device arrays: ``out[i] = name(*[in[i] for in in ins])``.

    None for complex numbers that the function is not written for.
    """
    out = out_layouts[0]
    compute = np.dtype(compute_dtype) if compute_dtype is not None else out.dtype
    types = (out.dtype, compute, *[x.dtype for x in in_layouts])
    if any(t.kind == "c" for t in types) and name not in scalar_complex.NAMES:
        return None
    step = Step(name, tuple(range(len(in_layouts))), compute, out.dtype)
    return fused_plan((step,), (0,), out_layouts, in_layouts)


def on_host(layout: Any) -> bool:
    """Whether an operand is a number on the host."""
    return bool(getattr(layout, "on_host", False))


def fused_plan(
    steps: Steps, results: tuple[int, ...], out_layouts: Layouts, in_layouts: Layouts
) -> Callable[..., None]:
    """One loop for a chain of scalar functions, as the CPU's ``fused_plan``."""
    shape, outs = out_layouts[0].shape, len(out_layouts)
    types = tuple(x.dtype for x in (*out_layouts, *in_layouts))
    operands = [list(x.strides) for x in out_layouts]
    operands += [broadcast_strides(x, shape) for x in in_layouts]
    lengths, strides = merge_axes(shape, operands)
    if not lengths:
        lengths, strides = [1], [[1] for _ in operands]
    modes = "".join(
        "h" if k >= outs and on_host(in_layouts[k - outs]) else _mode(s)
        for k, s in enumerate(strides)
    )
    count = math.prod(lengths)
    reach = max(sum((n - 1) * s for n, s in zip(lengths, own, strict=True)) for own in strides)
    place = np.uint32 if max(count, reach) < _SMALL else np.uint64
    kernel = _kernel(steps, results, types, modes, len(lengths), place)
    geometry = [place(n) for n in lengths[1:]]
    for mode, own in zip(modes, strides, strict=True):
        geometry += [place(s) for s in own] if mode == "v" else []

    def run(*arrays: Any) -> None:
        given = [_number(a) if m == "h" else a for a, m in zip(arrays, modes, strict=True)]
        launch.whole(kernel, count, *given, *geometry)

    return run


def _number(flat: Any) -> Any:
    """A number of the host as a launch takes it."""
    return flat[0] if flat.dtype == np.uint64 else flat[0].item()


def _mode(strides: list[int]) -> str:
    """How an operand is walked: "c" in order, "s" one element, "v" by strides."""
    if strides == [1]:
        return "c"
    return "v" if any(strides) else "s"


@functools.cache
def _kernel(
    steps: Steps, results: tuple[int, ...], types: Any, modes: str, rank: int, place: Any
) -> Any:
    outs = len(results)
    in_types, in_modes = types[outs:], modes[outs:].replace("h", "s")
    names = [*[f"o{i}" for i in range(outs)], *[f"a{i}" for i in range(len(in_types))]]
    arguments = [f"n{k}" for k in range(1, rank)]
    for name, mode in zip(names, modes, strict=True):
        arguments += [f"{name}_{k}" for k in range(rank)] if mode == "v" else []
    body = ["e = _U(i)", *(_coordinates(rank) if "v" in modes else [])]
    places = [_place(name, mode, rank) for name, mode in zip(names, modes, strict=True)]
    space: dict[str, Any] = {**NAMESPACE, "_U": np.uint64, "_W": place}
    for i, (dtype, place) in enumerate(zip(in_types, places[outs:], strict=True)):
        given = modes[outs + i] == "h" and dtype in SHORT_FLOATS  # a number, not its bits
        body.append(f"v{i} = np.float32({place})" if given else f"v{i} = {load(dtype, place)}")
    body += statements(steps, results, in_types, in_modes, places[:outs], typed_scalar, space, kept)
    source = f"def loop(count, {', '.join([*names, *arguments])}):\n"
    source += f"    i = cuda.grid(1)\n    {launch.WHOLE} i < count:\n"
    source += "".join(f"        {line}\n" for line in [*body, "i += cuda.gridsize(1)"])
    return launch.from_source(source, "loop", space)


def _coordinates(rank: int) -> list[str]:
    """Statements that give ``k0``, ``k1``, ...: the place of element ``i`` along each axis."""
    lines = ["left = _W(i)"]
    for axis in range(rank - 1, 0, -1):
        lines += [f"k{axis} = _W(left % n{axis})", f"left = _W(left // n{axis})"]
    return [*lines, "k0 = left"]


def _place(name: str, mode: str, rank: int) -> str:
    if mode == "h":
        return name
    if mode == "v":
        return f"{name}[_U({' + '.join(f'k{k} * {name}_{k}' for k in range(rank))})]"
    return f"{name}[e]" if mode == "c" else f"{name}[0]"


def _copy_plan(out_layouts: Layouts, in_layouts: Layouts, **params: Any) -> Any:
    out, x = out_layouts[0], in_layouts[0]
    between = out.dtype if out.dtype == x.dtype else cast_type(out.dtype, x.dtype)
    if out.dtype.kind == "c" and x.dtype == out.dtype:
        return _copy_words(out, x)
    short = out.dtype == x.dtype and x.dtype.itemsize == 2 and x.dtype.kind not in "iu"
    wrapped = out.dtype != x.dtype and out.dtype.itemsize == x.dtype.itemsize == 8
    if not on_host(x) and (short or (wrapped and out.dtype.kind in "iu" and x.dtype.kind in "iu")):
        return _copy_bits(out, x, np.dtype(np.uint16 if short else np.int64))
    return plan("positive", out_layouts, in_layouts, between)


class _Words:
    """A layout of other elements in the same places."""

    def __init__(self, layout: Any, dtype: Any) -> None:
        self.shape, self.strides, self.dtype = layout.shape, layout.strides, dtype
        self.on_host = on_host(layout)


def _copy_bits(out: Any, x: Any, word: Any) -> Any:
    """Elements that are the same in bits are copied as whole numbers."""
    target, source = (_Words(each, word) for each in (out, x))
    inner = plan("positive", (target,), (source,), word)
    return lambda to, given: inner(to.view(word), given.view(word))


def _copy_words(out: Any, x: Any) -> Any:
    """Complex numbers are copied as pairs of their parts."""
    part = np.dtype(np.float32 if out.dtype.itemsize == 8 else np.float64)
    pairs = [_Words(each, part) for each in (out, x)]
    for pair in pairs:
        pair.shape = (*pair.shape, 2)
        pair.strides = (*[2 * s for s in pair.strides], 1)
        pair.on_host = False
    if on_host(x):
        return None
    inner = plan("positive", (pairs[0],), (pairs[1],), part)

    def run(target: Any, source: Any) -> None:
        inner(target.view(part), source.view(part))

    return run


def copy(out: Any, x: Any, **params: Any) -> None:
    """``out[...] = x``."""
    copy.plan((out,), (x,))(out.flat, x.flat)


copy.plan = _copy_plan
copy_cast = copy
