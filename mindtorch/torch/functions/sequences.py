"""Tensors of numbers in even steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes, even_steps
from mindtorch.engine.aval import aval
from mindtorch.engine.dtype_support import refuse
from mindtorch.engine.symbolic_sizes import Count, as_whole, made_anew, open_sizes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._api.arguments import as_device, as_dtype, as_int, check_form, number_of
from .._api.out_rules import ANY, OUT_PARAMETER, Out
from .._api.publish import FUNCTIONS, function, store_out
from .._api.warn_caller import warn_caller
from .creation import finish, type_for


@function(method=False, constant=True)
def arange(
    start: Any = None,
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
        start, end = None, start
    if end is None:
        raise TypeError("arange() missing 1 required positional argument: 'end'")
    start, end, step = map(number_of, (0 if start is None else start, end, step))
    if dtype is None:
        if out is not None:
            dtype = out.dtype
        elif all(isinstance(x, (int, np.integer)) for x in (start, end, step)):
            dtype = dtypes.int64
        else:
            dtype = dtypes.default
    chosen = as_dtype(dtype)
    if chosen.is_complex or chosen in dtypes.STORED:
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
    if open_sizes and out is None:
        made = _up_to_a_size(start, end, step, as_device(device))
        if made is not None:
            return finish(made.to(chosen), requires_grad, layout, pin_memory)
    if chosen.category < dtypes.FLOAT:
        exact = chosen is dtypes.int64
        count = -((start - end) // step) if exact else math.ceil((end - start) / step)
        values = even_steps.whole_numbers(int(start), int(step), count)
    else:
        count = math.ceil((end - start) / step)
        values = even_steps.arithmetic(start, step, count, chosen)
    if out is not None:
        made = _store(from_array(values.astype(chosen.np)), out, "arange")
    else:
        made = from_array(values.astype(chosen.np, copy=False), as_device(device))
    return finish(made, requires_grad, layout, pin_memory)


def _up_to_a_size(start: Any, end: Any, step: Any, device: Any) -> Any:
    """Whole numbers whose count hangs on a size, made anew for each; None for others."""
    given: list[Any] = []
    for x in (start, end, step):
        if type(x) is not Count and not isinstance(x, (int, np.integer)):
            if not float(x).is_integer():
                return None
            given.append(int(x))
        else:
            given.append(x)
    start, end, step = given
    count = -((start - end) // step)
    described = aval((count,), dtypes.int64, None, device)
    return made_anew(described, even_steps.whole_numbers, start, step, count)


@function(method=False, name="range", checked=True)
def range_(
    start: Any = 0, end: Any = None, step: Any = 1, *, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
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
    return _spaced("range", values, chosen, device, requires_grad, layout, out, pin_memory)


def _store(made: Any, out: Any, name: str) -> Any:
    """Write a sequence into ``out``, which keeps its shape where it has as many elements."""
    if isinstance(out, EngineTensor) and out.aval.size == made.aval.size:
        made = made.reshape(out.aval.shape)
    rule = ANY if name == "range" else Out(OUT_PARAMETER, shown=f"aten::{name}")
    return store_out(made, out, name, (), rule)


def _spaced(
    name: str, values: Any, dtype: Any, device: Any, requires_grad: bool, layout: Any, out: Any,
    pin_memory: bool = False,
) -> Any:  # fmt: skip
    if dtype in dtypes.STORED:
        refuse(f"{name}_cpu", dtype)
    made = from_array(values.astype(dtype.np, copy=False), as_device(device))
    if out is not None:
        made = _store(made, out, name)
    return finish(made, requires_grad, layout, pin_memory)


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
    given = {
        word: x.aval.ndim for word, x in (("start", start), ("end", end))
        if isinstance(x, EngineTensor)
    }  # fmt: skip
    wrong = [f"{word} with {ndim} dimension(s)" for word, ndim in given.items()]
    if any(given.values()):
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


@function(method=False, constant=True)
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
    pin_memory: bool = False,
) -> Any:
    """``steps`` values from ``start`` to ``end`` with equal distances."""
    start, end = _ends("linspace", start, end, steps)
    chosen = _type_of(start, end, dtype, out)
    values = even_steps.linear(start, end, as_int(steps), chosen)
    return _spaced(
        "linspace", values, chosen, device, requires_grad, layout, out, pin_memory
    )


@function(method=False, constant=True)
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
    pin_memory: bool = False,
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
    exponents = even_steps.exponents(start, end, as_int(steps), chosen)
    if chosen.is_complex:
        values = np.power(float(base), exponents)
    else:  # numpy's powers have other last bits on processors with AVX-512
        values = FUNCTIONS["pow"](float(base), from_array(exponents)).array()
    return _spaced(
        "logspace", values, chosen, device, requires_grad, layout, out, pin_memory
    )


def _define_indices(name: str, upper: bool) -> None:
    about = "The coordinates of a triangle of a matrix, rows above columns."

    @function(method=False, name=name, about=about, constant=True)
    def body(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None,
        layout: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    ) -> Any:  # fmt: skip
        kind = dtypes.int64 if dtype is None else as_dtype(dtype)
        row, col, offset = as_int(row), as_int(col), as_int(offset)
        for word, count in (("row", row), ("col", col)):
            if count < 0:
                raise RuntimeError(f"{word} must be non-negative, got{count}")
        if kind.category != dtypes.INTEGER:
            wrong = dtypes.scalar_type_name(kind)
            raise NotImplementedError(f"\"{name}\" not implemented for '{wrong}'")
        places = from_array(_coordinates(row, col, offset, upper, kind.np), as_device(device))
        return finish(places, requires_grad, layout, pin_memory)


def _coordinates(row: int, col: int, offset: int, upper: bool, kind: Any) -> Any:
    """The rows and the columns of a triangle's places, row by row."""
    rows = np.arange(row)
    first = np.clip(rows + offset, 0, col) if upper else np.zeros(row, np.int64)
    last = np.full(row, col) if upper else np.clip(rows + offset + 1, 0, col)
    ends = np.cumsum(last - first)
    total = int(ends[-1]) if row else 0
    found = np.empty((2, total), kind)
    if total < _LONG_ROWS * row:
        found[0] = np.repeat(rows, last - first)
        found[1] = np.arange(total) - np.repeat(ends - last, last - first)
        return found
    every, stop = np.arange(col).astype(kind), 0
    for r, begin, end in zip(range(row), first.tolist(), last.tolist(), strict=True):
        start, stop = stop, stop + end - begin
        found[0, start:stop] = r
        found[1, start:stop] = every[begin:end]
    return found


_LONG_ROWS = 64  # places of a row that are sooner written by themselves

_define_indices("tril_indices", False)
_define_indices("triu_indices", True)
