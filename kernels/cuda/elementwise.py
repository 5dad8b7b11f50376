"""Elementwise kernels for CUDA, generated from the scalar functions that the CPU uses.

    picture   one thread for each element of the result; blocks of 256 threads cover its numbers
              0 .. n - 1 in order
    memory    no shared memory; each operand's place is found by dividing the element's number by
    the
              lengths of the merged axes and weighing with the operand's strides
    sync      none
    sizes     any number of elements and of axes; strides may be 0 (broadcast)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from numba import cuda

from mindtorch.kernels import scalar
from mindtorch.kernels.cpu.elementwise import arithmetic_type, broadcast_strides, merge_axes
from mindtorch.kernels.typed_scalar import TypedScalars, for_type

THREADS = 256
_HALF = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))


def _device(function: Callable[..., Any]) -> Any:
    return cuda.jit(device=True)(function)


def _is_finite(x: Any) -> Any:
    return x - x == 0


def _is_infinite(x: Any) -> Any:
    return (x - x != 0) & (x == x)


def _product_and_sum(x: Any, y: Any, z: Any) -> Any:
    return x * y + z  # which the compiler fuses


def _mathematics(dtype: np.dtype[Any]) -> dict[str, Any]:
    """libdevice's functions, by the names of the scalar module."""
    own = {"_isfinite": _device(_is_finite), "_isinf": _device(_is_infinite)}
    own["_fma"] = _device(_product_and_sum)
    return {**scalar.MATHEMATICS, "math": math, **own}


def _build(text: str, name: str, space: dict[str, Any], loops: bool) -> Any:
    scope = dict(space)
    exec(compile(text, f"<cuda {name}>", "exec"), scope)
    return _device(scope[name])


typed_scalar = TypedScalars(_mathematics, _build)


def plan(
    name: str, out_layouts: Any, in_layouts: Any, compute_dtype: Any = None, **params: Any
) -> Callable[..., None]:
    """``run(out, *ins)`` on flat device arrays: ``out[i] = name(*[in[i] for in in ins])``."""
    out = out_layouts[0]
    compute = np.dtype(compute_dtype) if compute_dtype is not None else out.dtype
    types = (out.dtype, *[x.dtype for x in in_layouts])
    if any(t in _HALF or t.kind == "c" for t in (*types, compute)):
        raise NotImplementedError(f"'{name}' for {compute} is not implemented on CUDA")
    operands = [list(out.strides)] + [broadcast_strides(x, out.shape) for x in in_layouts]
    lengths, strides = merge_axes(out.shape, operands)
    if not lengths:
        lengths, strides = [1], [[1] for _ in operands]
    geometry = np.array([lengths, *strides], np.int64)
    size = int(np.prod(lengths))
    kernel = _kernel(for_type(name, compute), arithmetic_type(compute), len(in_layouts), out.dtype)
    blocks = -(-size // THREADS)

    def run(*arrays: Any) -> None:
        kernel[blocks, THREADS](*arrays, cuda.to_device(geometry), size)

    return run


@functools.cache
def _kernel(name: str, compute: np.dtype[Any], arity: int, out_dtype: np.dtype[Any]) -> Any:
    names = [f"a{i}" for i in range(arity)]
    lines = [f"def kernel(out, {', '.join(names)}, geometry, size):",
             "    i = cuda.grid(1)", "    if i < size:", "        left = i",
             "        p = 0"]  # fmt: skip
    lines += [f"        p{k} = 0" for k in range(arity)]
    lines += ["        for axis in range(geometry.shape[1] - 1, -1, -1):",
              "            at = left % geometry[0, axis]",
              "            left = left // geometry[0, axis]",
              "            p += at * geometry[1, axis]"]  # fmt: skip
    lines += [f"            p{k} += at * geometry[{k + 2}, axis]" for k in range(arity)]
    values = [f"C({n}[p{k}])" for k, n in enumerate(names)]
    if name == "where":
        values[0] = "a0[p0] != 0"
    result = f"f({', '.join(values)})"
    if out_dtype == np.bool_:
        result += " != 0"
    lines.append(f"        out[p] = {result}")
    scope = {"cuda": cuda, "f": typed_scalar(name, compute), "C": compute.type}
    exec(compile("\n".join(lines), f"<cuda {name}>", "exec"), scope)
    return cuda.jit(scope["kernel"])


def copy(out: Any, x: Any, **params: Any) -> None:
    """``out[...] = x`` for device arrays of one shape."""
    size = out.size
    if size:
        _copy[-(-size // THREADS), THREADS](out.reshape(size), x.reshape(size), size)


copy_cast = copy


@cuda.jit
def _copy(out: Any, x: Any, size: int) -> None:
    i = cuda.grid(1)
    if i < size:
        out[i] = x[i]
