"""Tensors of numbers in even steps."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._arguments import as_device, as_dtype, as_int, check_form
from .._registry import function, store_out
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
    start, end, step = (x.item() if isinstance(x, EngineTensor) else x for x in (start, end, step))
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
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if chosen is dtypes.int64:  # other whole numbers count their elements in float64
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if chosen.category < dtypes.FLOAT:
        count = max(-((int(start) - int(end)) // int(step)), 0) if isinstance(step, int) else (
            math.ceil((end - start) / step)
        )
        values = int(start) + np.arange(count, dtype=np.int64) * int(step)
    else:
        count = math.ceil((end - start) / step)
        values = start + np.arange(count, dtype=np.float64) * step
    if out is not None:
        return store_out(from_array(values.astype(chosen.np)), out, "arange")
    made = from_array(values.astype(chosen.np), as_device(device))
    return finish(made, requires_grad, layout, pin_memory)


@function(method=False, name="range")
def range_(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Any:
    """``start``, ``start + step``, ... up to and with ``end``; torch.arange replaces it."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        UserWarning,
        stacklevel=2,
    )
    if end is None:
        start, end = 0, start
    count = int((end - start) / step) + 1
    values = start + np.arange(count, dtype=np.float64) * step
    dtype = options.pop("dtype", None) or dtypes.default
    return finish(from_array(values.astype(dtype.np)), **options)


def _spaced(
    name: str, values: Any, dtype: Any, device: Any, requires_grad: bool, layout: Any, out: Any
) -> Any:
    made = from_array(values.astype(dtype.np), as_device(device))
    if out is not None:
        return store_out(made, out, name)
    return finish(made, requires_grad, layout)


def _linear(start: float, end: float, steps: int, chosen: Any) -> Any:
    """Steps counted from both ends, in the type's own arithmetic, as torch does."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    work = chosen.np.type if chosen in (dtypes.float32, dtypes.float64) else np.float64
    if chosen.category < dtypes.FLOAT:
        start, end = int(start), int(end)
    if steps == 1:
        return np.array([start], work)
    first, last = work(start), work(end)
    step = work((last - first) / work(max(steps - 1, 1)))
    index = np.arange(steps)
    half = steps // 2
    left = (first + step * index.astype(work)).astype(work)
    right = (last - step * (steps - 1 - index).astype(work)).astype(work)
    return np.where(index < half, left, right)


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
    chosen = type_for(dtype, out)
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
    """``base`` to the powers of :func:`linspace`."""
    start, end = _ends("logspace", start, end, steps, " float base = 10.0,")
    chosen = type_for(dtype, out)
    if chosen.category < dtypes.FLOAT:
        start, end = int(start), int(end)
    values = np.power(float(base), _linear(start, end, as_int(steps), dtypes.float64))
    return _spaced("logspace", values, chosen, device, requires_grad, layout, out)
