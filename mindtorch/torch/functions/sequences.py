"""Tensors of numbers in even steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.aval import aval
from mindtorch.engine.symbolic_sizes import Count, as_whole, made_anew, open_sizes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._api.arguments import as_device, as_dtype, as_int, check_form, number_of
from .._api.out_rules import ANY, OUT_PARAMETER, Out
from .._api.publish import FUNCTIONS, function, store_out
from .._api.warn_caller import warn_caller
from .creation import finish, type_for


@function(method=False)
def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """start, start + step, ... below ``end``: ``start + i * step``, computed in float64."""
    if end is None:
        start, end = 0, start
    start, end, step = map(number_of, (start, end, step))
    if dtype is None:
        if out is not None:
            dtype = out.dtype
        elif all(isinstance(x, (int, np.integer)) for x in (start, end, step)):
            dtype = dtypes.int64
        else:
            dtype = dtypes.default
    chosen = as_dtype(dtype)
    if chosen.is_complex:
        kind = dtypes.scalar_type_name(chosen)
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{kind}'")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not all(type(x) is Count or math.isfinite(x) for x in (start, end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if chosen is dtypes.int64:  # other whole numbers count their elements in float64
        start, end, step = as_whole(start), as_whole(end), as_whole(step)
        if step == 0:
            raise ValueError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if chosen.category < dtypes.FLOAT:
        exact = chosen is dtypes.int64
        count = -((start - end) // step) if exact else math.ceil((end - start) / step)
        if exact and open_sizes and out is None:
            described = aval((count,), chosen, None, as_device(device))
            made = made_anew(described, _whole_numbers, start, step, count)
            if made is not None:
                return finish(made, requires_grad, layout, pin_memory)
        values = _whole_numbers(int(start), int(step), count)
    else:
        count = math.ceil((end - start) / step)
        values = _arithmetic(start, step, count, chosen)
    if out is not None:
        return _store(from_array(values.astype(chosen.np)), out, "arange")
    made = from_array(values.astype(chosen.np, copy=False), as_device(device))
    return finish(made, requires_grad, layout, pin_memory)


def _whole_numbers(start: int, step: int, count: int) -> Any:
    if not start and step == 1:
        return np.arange(count)
    return start + np.arange(count, dtype=np.int64) * step


@function(method=False, name="range", checked=True)
def range_(
    start: Any = 0, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """``start``, ``start + step``, ... up to and with ``end``; torch.arange replaces it."""
    warn_caller(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
    )
    if end is None:
        start, end = 0, start
    count = int((end - start) / step) + 1
    chosen = type_for(dtype, out)
    if chosen.category < dtypes.FLOAT:
        start, step = int(start), int(step)
    values = start + np.arange(count, dtype=np.float64) * step
    return _spaced("range", values, chosen, device, requires_grad, layout, out)


def _store(made: Any, out: Any, name: str) -> Any:
    """Write a sequence into ``out``, which keeps its shape where it has as many elements."""
    if isinstance(out, EngineTensor) and out.aval.size == made.aval.size:
        made = made.reshape(out.aval.shape)
    rule = ANY if name == "range" else Out(OUT_PARAMETER, shown=f"aten::{name}")
    return store_out(made, out, name, (), rule)


def _spaced(
    name: str, values: Any, dtype: Any, device: Any, requires_grad: bool, layout: Any, out: Any
) -> Any:
    made = from_array(values.astype(dtype.np, copy=False), as_device(device))
    if out is not None:
        return _store(made, out, name)
    return finish(made, requires_grad, layout)


def _fused(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` of one float type, rounded once (T. Dekker's exact product in float64)."""
    if c.dtype == np.float32:
        return (a.astype(np.float64) * b + c).astype(np.float32)
    high_a, high_b = (x * 134217729.0 - (x * 134217729.0 - x) for x in (a, b))
    low_a, low_b = a - high_a, b - high_b
    product = a * b
    rest = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    total = product + c
    taken = total - product
    return total + (((product - (total - taken)) + (c - taken)) + rest)


def _loops() -> Any:
    """The kernels, loaded with numba when they are needed."""
    from mindtorch.kernels.cpu import arange_linspace

    return arange_linspace


def _linear(start: Any, end: Any, steps: int, chosen: Any) -> Any:
    """Steps counted from both ends, in the type's own arithmetic, as torch does."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if chosen.is_complex:
        parts = dtypes.float32 if chosen.itemsize == 8 else dtypes.float64
        real = _linear(complex(start).real, complex(end).real, steps, parts)
        return real + 1j * _linear(complex(start).imag, complex(end).imag, steps, parts)
    if chosen.category < dtypes.FLOAT:
        start, end = int(start), int(end)
    work = chosen.np.type if chosen.category == dtypes.FLOAT else np.float64
    first, last = (np.array(x).astype(work) for x in (start, end))
    if steps == 1:
        return first.reshape(1)
    step = ((last - first) / np.array(max(steps - 1, 1)).astype(work)).astype(work)
    if work in (np.float32, np.float64):
        return _loops().from_both_ends(first, last, step, steps)
    ahead = np.arange(steps // 2).astype(work)
    behind = np.arange(steps - 1 - steps // 2, -1, -1).astype(work)
    return np.concatenate([first + step * ahead, last - step * behind])


def _exponents(start: Any, end: Any, steps: int, chosen: Any) -> Any:
    """Like :func:`_linear`, in float64 but for the ends and their distance."""
    if chosen.category != dtypes.FLOAT or steps < 2:
        wide = dtypes.complex128 if chosen.is_complex else dtypes.float64
        return _linear(start, end, steps, wide)
    first, last = (np.array(x).astype(chosen.np) for x in (start, end))
    step = (last - first).astype(np.float64) / (steps - 1)
    index = np.arange(steps)
    return np.where(index < steps // 2, first + step * index, last - step * (steps - 1 - index))


def _arithmetic(start: float, step: float, count: int, chosen: Any) -> Any:
    """``start + i * step``; in groups of a vector's size from the group's rounded first value,
    up to the last multiple of two vectors, as torch's loop does."""
    if chosen.np in (np.float32, np.float64):
        return _loops().from_one_end(start, step, count, chosen.np)
    index = np.arange(count)
    first, distance = np.float64(start), np.float64(step)
    lanes = 64 // chosen.itemsize // 2
    group = np.where(index < count // (2 * lanes) * (2 * lanes), index // lanes * lanes, index)
    begun = _fused(distance, group.astype(np.float64), first)
    begun = begun.astype(chosen.np).astype(np.float64)
    return _fused(distance, (index - group).astype(np.float64), begun).astype(chosen.np)


def _ends(name: str, start: Any, end: Any, steps: Any, more: str = "") -> tuple[Any, ...]:
    """Both ends as numbers; tensors must be 0-d.

    Args:
        more: parameters after ``steps``, as the error about a wrong type lists them.
    """
    forms = (
        f"{a} start, {b} end, int steps,{more} *, Tensor out = None, torch.dtype dtype = None, "
        "torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool "
        "requires_grad = False"
        for b in ("Tensor", "Number") for a in ("Tensor", "Number")
    )  # fmt: skip
    whole = isinstance(steps, EngineTensor) or hasattr(steps, "__index__")
    check_form(name, whole, (start, end, steps), *forms)
    wrong = [
        f"{word} with {x.aval.ndim} dimension(s)"
        for word, x in (("start", start), ("end", end))
        if isinstance(x, EngineTensor) and x.aval.ndim
    ]  # fmt: skip
    if wrong:
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got "
            f"{' and '.join(wrong)}."
        )
    ends = (x.item() if isinstance(x, EngineTensor) else x for x in (start, end))
    return tuple(ends)


def _type_of(start: Any, end: Any, dtype: Any, out: Any) -> Any:
    """:func:`type_for`, of which the default is complex where an end is."""
    chosen = type_for(dtype, out)
    if dtype is None and out is None and (isinstance(start, complex) or isinstance(end, complex)):
        return chosen.to_complex()
    return chosen


@function(method=False)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``steps`` values from ``start`` to ``end`` with equal distances."""
    start, end = _ends("linspace", start, end, steps)
    chosen = _type_of(start, end, dtype, out)
    values = _linear(start, end, as_int(steps), chosen)
    return _spaced("linspace", values, chosen, device, requires_grad, layout, out)


@function(method=False)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``base`` to the powers of :func:`linspace`.

    Args:
        start, end: exponents of the first and the last value.
        steps: how many values.
    """
    start, end = _ends("logspace", start, end, steps, " float base = 10.0,")
    chosen = _type_of(start, end, dtype, out)
    if chosen.category < dtypes.FLOAT:
        start, end = int(start), int(end)
    exponents = _exponents(start, end, as_int(steps), chosen)
    if chosen.is_complex:
        values = np.power(float(base), exponents)
    else:  # numpy's powers have other last bits on processors with AVX-512
        values = FUNCTIONS["pow"](float(base), from_array(exponents)).array()
    return _spaced("logspace", values, chosen, device, requires_grad, layout, out)
