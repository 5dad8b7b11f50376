"""Elementwise kernels for CUDA, generated from the scalar functions that the CPU uses.

    picture   one thread for each element of the result, or for as many neighbours as 16 bytes hold.
              Places are unsigned, so that no thread asks whether they are negative, and of 32 bits
              where all are; axes are told apart by products (``division``)
    memory    no shared memory; neighbouring threads read neighbouring elements where the operands'
              layouts agree, as vectors where the last axis lies in order in each operand that has
              it and begins at a multiple of the vector's bytes. The merged axes' lengths and
              strides are arguments of the launch, so one kernel serves all shapes with as many
    sync      none
    sizes     any number of elements and of axes; strides may be 0 (broadcast). A 0-d operand on the
              host is a number of the launch
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.codegen.fused_loop import Step, Steps, load, statements
from mindtorch.kernels.codegen.typed_scalar import (
    SHORT_FLOATS,
    TypedScalars,
    cast_type,
    is_large,
)
from mindtorch.kernels.cpu.elementwise import broadcast_strides, merge_axes
from mindtorch.kernels.scalar import complex_numbers

from . import launch, simd
from .device_math import kept, mathematics
from .fast_division import divisor, over
from .float_bits import NAMESPACE

Layouts = tuple[Any, ...]


def _build(text: str, name: str, space: dict[str, Any], loops: bool) -> Any:
    scope = dict(space)
    exec(compile(text, f"<cuda {name}>", "exec"), scope)
    return launch.device(scope[name])


_MOST_PLANS = 4096
_SMALL = 1 << 31  # places below it fit in 32 bits, sums of two of them, too
typed_scalar = TypedScalars(mathematics, _build)


class Operand(NamedTuple):
    """How an array lies, by which plans are found again."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    on_host: bool


def _operands(layouts: Layouts) -> tuple[Operand, ...]:
    return tuple(Operand(x.shape, x.strides, x.dtype, on_host(x)) for x in layouts)


def plan(
    name: str, out_layouts: Layouts, in_layouts: Layouts, compute_dtype: Any = None, **params: Any
) -> Callable[..., None] | None:
    """``run(out, *ins)`` on flat device arrays: ``out[i] = name(*[in[i] for in in ins])``.

    None for complex numbers that the function is not written for.
    """
    return _plan(name, _operands(out_layouts), _operands(in_layouts), compute_dtype)


@functools.lru_cache(_MOST_PLANS)
def _plan(name: str, outs: Any, ins: Any, compute_dtype: Any) -> Callable[..., None] | None:
    out = outs[0]
    compute = np.dtype(compute_dtype) if compute_dtype is not None else out.dtype
    types = (out.dtype, compute, *[x.dtype for x in ins])
    if any(t.kind == "c" for t in types) and not complex_numbers.is_written(name):
        return None
    step = Step(name, tuple(range(len(ins))), compute, out.dtype)
    return fused_plan((step,), (0,), outs, ins)


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
    one = functools.partial(_Loop, steps, results, types, modes, lengths, strides)
    # a large function takes so long that it does not matter how its operands are read
    large = any(is_large(step.function) for step in steps)
    wide = 1 if large else _width(types, modes, lengths, strides, outs)
    alone = functools.cache(lambda: one(1))
    together = functools.cache(lambda: one(wide))
    streams = [
        (k, wide * types[k].itemsize)
        for k, (mode, own) in enumerate(zip(modes, strides, strict=True))
        if mode in "cv" and own[-1] == 1
    ]

    def run(*arrays: Any) -> None:
        given = [_number(a) if m == "h" else a for a, m in zip(arrays, modes, strict=True)]
        fits = wide > 1 and all(arrays[k].begins_at(size) for k, size in streams)
        (together() if fits else alone())(given)

    return run


def _width(types: Any, modes: str, lengths: list[int], strides: Any, outs: int) -> int:
    """How many elements of the last axis a thread can take together; 1 where rows cannot be cut
    into such groups, or do not lie in order."""
    if any(t.kind == "c" for t in types) or any(m == "s" for m in modes[:outs]):
        return 1
    walked = [s for s, m in zip(strides, modes, strict=True) if m == "v"]
    sizes = [t.itemsize for t, s, m in zip(types, strides, modes, strict=True)
             if m == "c" or (m == "v" and s[-1] == 1)]  # fmt: skip
    if (
        any(s[-1] not in (0, 1) for s in walked)
        or len(sizes) < outs
        or not all(s[-1] for s in strides[:outs])
    ):
        return 1
    wide = simd.width(sizes)
    if not walked:
        return wide if lengths[0] >= wide else 1
    reach = [lengths[-1], *[n for s in walked if s[-1] == 1 for n in s[:-1]]]
    while wide > 1 and any(n % wide for n in reach):
        wide //= 2
    return wide


class _Loop:
    """A kernel and what its launches are told of the layouts; a thread takes ``wide`` elements."""

    def __init__(
        self, steps: Steps, results: tuple[int, ...], types: Any, modes: str, lengths: list[int],
        strides: list[list[int]], wide: int,
    ) -> None:  # fmt: skip
        count = math.prod(lengths)
        reach = max(sum((n - 1) * s for n, s in zip(lengths, own, strict=True)) for own in strides)
        place = np.uint32 if max(count, reach) < _SMALL else np.uint64
        if wide > 1:
            modes = "".join("r" if m == "v" and not s[-1] else m
                            for m, s in zip(modes, strides, strict=True))  # fmt: skip
        self.kernel = _kernel(steps, results, types, modes, len(lengths), place, wide)
        self.items = -(-count // wide)
        cut = [*lengths[:-1], -(-lengths[-1] // wide)]
        self.geometry: list[Any] = []
        for n in cut[1:] if _walks(modes) else []:
            self.geometry += [place(n), divisor(n, self.items)]
        for mode, own in zip(modes, strides, strict=True):
            steps_of = [*own[:-1], own[-1] * wide]
            self.geometry += [place(s) for s in steps_of] if mode in "vr" else []
        if wide > 1 and not _walks(modes):
            self.geometry.append(count)

    def __call__(self, given: list[Any]) -> None:
        launch.each(self.kernel, self.items, *given, *self.geometry)


def _walks(modes: str) -> bool:
    """Whether an operand is walked by strides."""
    return "v" in modes or "r" in modes


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
    steps: Steps, results: tuple[int, ...], types: Any, modes: str, rank: int, place: Any, wide: int
) -> Any:
    outs, walks = len(results), _walks(modes)
    in_types, in_modes = types[outs:], modes[outs:].replace("h", "s").replace("r", "v")
    names = [*[f"o{i}" for i in range(outs)], *[f"a{i}" for i in range(len(in_types))]]
    arguments = [f"{x}{k}" for k in range(1, rank) for x in "nm"] if walks else []
    for name, mode in zip(names, modes, strict=True):
        arguments += [f"{name}_{k}" for k in range(rank)] if mode in "vr" else []
    body = [f"e = _U(i) * _U({wide})", *(_coordinates(rank) if walks else [])]
    space: dict[str, Any] = {**NAMESPACE, "_U": np.uint64, "_W": place, "over": over}
    inputs = []
    for i, dtype in enumerate(in_types):
        given = modes[outs + i] == "h" and dtype in SHORT_FLOATS  # a number, not its bits
        inputs.append(f"v{i} = np.float32(g{i})" if given else f"v{i} = {load(dtype, f'g{i}')}")
    places = [_place(name, mode, rank) for name, mode in zip(names, modes, strict=True)]
    made = (steps, results, in_types, in_modes)
    if wide > 1:
        if not walks:
            arguments.append("size")
            body += ["last = _U(size) - _U(1)", f"whole = e + _U({wide - 1}) <= last"]
        body += _together(made, modes, places, names, inputs, space, wide)
    else:
        body += [f"g{i} = {p}" for i, p in enumerate(places[outs:])] + inputs
        body += statements(*made, places[:outs], typed_scalar, space, kept)
    source = f"def loop(count, {', '.join([*names, *arguments])}):\n"
    source += "    i = cuda.grid(1)\n    while i < count:\n"
    source += "".join(f"        {line}\n" for line in [*body, "i = following(i, count)"])
    return launch.from_source(source, "loop", space)


def _together(
    made: Any, modes: str, places: list[str], names: list[str], inputs: list[str],
    space: dict[str, Any], wide: int,
) -> list[str]:  # fmt: skip
    """Statements for ``wide`` elements, whose arithmetic is a function of one."""
    outs, flat = len(made[1]), not _walks(modes)
    results = [f"y{k}" for k in range(outs)]
    given = [f"g{i}" for i in range(len(names) - outs)]
    one = [*inputs, *statements(*made, results, typed_scalar, space, kept)]
    text = f"def element({', '.join(given)}):\n" + "".join(f"    {line}\n" for line in one)
    space["element"] = _build(
        f"{text}    return ({', '.join(results)},)\n", "element", space, False
    )
    space.update(simd.functions(wide))
    lines, taken = [], []
    for g, name, mode, place in zip(given, names[outs:], modes[outs:], places[outs:], strict=True):
        several = mode in "cv"
        source = f"vector({name}, {place[len(name) + 1 : -1]})" if several else place
        if several and flat:
            source += f" if whole else few({name}, e, last)"
        lines.append(f"{g} = {source}")
        taken.append(f"{g}[{{}}]" if several else g)
    lines += [f"r{k} = element({', '.join(taken)})".format(*[k] * "".join(taken).count("{}"))
              for k in range(wide)]  # fmt: skip
    for j, (name, place) in enumerate(zip(names[:outs], places, strict=False)):
        values = f"({', '.join(f'r{k}[{j}]' for k in range(wide))})"
        at = place[len(name) + 1 : -1]
        if flat:
            lines += ["if whole:", f"    store_vector({name}, {at}, {values})",
                      "else:", f"    store_few({name}, e, last, {values})"]  # fmt: skip
        else:
            lines.append(f"store_vector({name}, {at}, {values})")
    return lines


def _coordinates(rank: int) -> list[str]:
    """Statements that give ``k0``, ``k1``, ...: the place of item ``i`` along each axis."""
    lines = ["left = _W(i)"]
    for axis in range(rank - 1, 0, -1):
        lines += [f"q = _W(over(left, m{axis}))", f"k{axis} = _W(left - q * n{axis})", "left = q"]
    return [*lines, "k0 = left"]


def _place(name: str, mode: str, rank: int) -> str:
    if mode == "h":
        return name
    if mode in "vr":
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
