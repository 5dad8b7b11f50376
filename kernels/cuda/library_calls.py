"""Vendor libraries: cuBLAS for matrix products (``cublas``), cuFFT and cuSOLVER through cupy.

    picture   none of its own: arrays of cupy are made over our memory, and its functions called
    sync      on this thread's stream; cuSOLVER's numbers of failure are read on the host
    sizes     any

cupy is chosen because machines with GPUs have its wheels, because its arrays take an address and
strides as they are, and because it speaks numpy: where the CPU's kernel is written in numpy's
functions, that source runs here with cupy in numpy's place. Without cupy everything here answers
None or False, or the host computes.
"""

from __future__ import annotations

import functools
import importlib
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import arrays, cublas, errors, graphs, memory, streams


@functools.cache
def library() -> Any:
    """cupy; None where it is not installed, and in the simulator."""
    return memory._cupy()


@functools.cache
def multiplies(dtype: Any) -> bool:
    """Whether cuBLAS is there and multiplies matrices of a type, which it is asked to once."""
    if cublas.library() is None or not cublas.knows(dtype):
        return False
    out, a, b = (arrays.empty((2, 2), dtype) for _ in range(3))
    try:
        _multiply(out, a, b)
    except Exception as error:
        if dtype.kind in "fc":  # bfloat16 is not known to cards before Ampere
            warnings.warn(
                f"cuBLAS multiplies no {dtype} here, our own product does: {error}", stacklevel=2
            )
        return False
    return True


def view(array: Any) -> Any:
    """A cupy array over the memory of an ``Array``."""
    cupy = library()
    flat = array.flat
    owned = cupy.cuda.UnownedMemory(memory.pointer(flat), max(flat.nbytes, 1), flat)
    pointer = cupy.cuda.MemoryPointer(owned, 0)
    strides = tuple(s * flat.dtype.itemsize for s in array.strides)
    return cupy.ndarray(array.shape, flat.dtype, pointer, strides)


def matmul(out: Any, a: Any, b: Any, before: int = 0) -> bool:
    """``out = a @ b + before * out`` by cuBLAS; False where it cannot."""
    if not cublas.fits(out, a, b) or not multiplies(a.dtype):
        return False
    graphs.issue(lambda: _multiply(out, a, b, before))
    return True


def _multiply(out: Any, a: Any, b: Any, before: int = 0) -> None:
    found = cublas.library()
    errors.raised_as_torchs(lambda: cublas.multiply(found, out, a, b, before))


class Refused(Exception):
    """A matrix that the library's function fails on."""


def _refuse(*args: Any, **options: Any) -> Any:
    raise Refused


def through_library(of_cpu: Callable[..., None], own: Any = None) -> Callable[..., None]:
    """The kernel that runs ``of_cpu``, written in numpy's functions, in those of cupy.

    Without cupy it has no plan, and what cupy refuses (a singular matrix) is computed on the host,
    which names the matrix.

    Args:
        of_cpu: an array function of ``kernels.cpu``.
        own: ``own(cupy, outs, *ins, **params)`` instead, where the CPU's calls another library.
    """

    def planned(out_layouts: Any, in_layouts: Any, **params: Any) -> None:
        if library() is None:
            raise NotImplementedError("cupy is not installed")

    def function(outs: Any, *ins: Any, **params: Any) -> None:
        graphs.on_host(lambda: run(outs, ins, params))

    def run(outs: Any, ins: Any, params: Any) -> None:
        cupy = library()
        several = isinstance(outs, tuple)
        targets = [view(o) for o in outs] if several else view(outs)
        given = [x if x is None else view(x) for x in ins]
        try:
            with streams.of_cupy(cupy), errors_raised():
                call = _in_cupy(of_cpu) if own is None else functools.partial(own, cupy)
                call(targets, *given, **params)
        except (Refused, np.linalg.LinAlgError):
            on_host(of_cpu, outs, ins, params)

    made: Any = function
    made.plan = planned
    return function


def errors_raised() -> Any:
    """A block in which cuSOLVER's failures raise, as LAPACK's do."""
    return importlib.import_module("cupyx").errstate(linalg="raise")


class _Names:
    """cupy's names, and numpy's way to silence warnings, which cupy never gives."""

    errstate = np.errstate

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cupy, name)


def _in_cupy(of_cpu: Any) -> Any:
    """The function with cupy in numpy's place, and so those of its module that it calls."""
    scope = of_cpu.__globals__
    space = {**scope, "np": _Names(library()), "lapack": _refuse, "raise_for": _refuse}
    moved: dict[str, Any] = {}

    def move(function: Any) -> Any:
        made = types.FunctionType(
            function.__code__, space, function.__name__, function.__defaults__
        )
        made.__kwdefaults__ = function.__kwdefaults__
        moved[function.__name__] = made
        for name in function.__code__.co_names:
            found = scope.get(name)
            own = isinstance(found, types.FunctionType) and found.__globals__ is scope
            if own and name not in moved and space[name] is found:
                space[name] = move(found)
        return made

    return move(of_cpu)


def on_host(of_cpu: Any, outs: Any, ins: Any, params: Any) -> None:
    """The CPU's kernel on copies."""
    several = isinstance(outs, tuple)
    targets = outs if several else (outs,)
    made = tuple(np.empty(o.shape, o.dtype) for o in targets)
    given = [x if x is None else arrays.download(x) for x in ins]
    of_cpu(made if several else made[0], *given, **params)
    for target, values in zip(targets, made, strict=True):
        arrays.assign(target, arrays.upload(values))
