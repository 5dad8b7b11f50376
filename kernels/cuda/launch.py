"""How CUDA kernels are compiled and launched.

    picture   ``each``: one thread for each item; ``rows``: one block for each row, whose threads
              fold together
    sizes     blocks have a power of two of threads. In numba's simulator every thread is a Python
              thread, so blocks are small there, and few: a thread takes several items

Kernels of the first kind take ``count`` first, begin with ``i = cuda.grid(1)`` and ``while i <
count`` and end with ``i = launch.following(i, count)``, which on a GPU is no loop at all.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config
from numba import cuda as numbas

from . import errors, issue, streams
from .driver_launch import carrier


def _be_quiet() -> None:
    """A small tensor is no mistake: no warnings of few blocks."""
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    with contextlib.suppress(ImportError, AttributeError):  # numba-cuda has settings of its own
        importlib.import_module("numba.cuda.core.config").CUDA_LOW_OCCUPANCY_WARNINGS = 0


_be_quiet()
SIMULATED = bool(config.ENABLE_CUDASIM)
THREADS = 2 if SIMULATED else 256
FOLDING = 2 if SIMULATED else 128
_MOST_BLOCKS = 2 if SIMULATED else (1 << 31) - 1
# the simulator runs one kernel at a time; a GPU orders launches itself
_alone: Any = threading.RLock() if SIMULATED else contextlib.nullcontext()
_MOST_ROWS = (1 << 31) - 1


if not SIMULATED:  # the simulator has no dispatcher that could be read from the disk
    from .kernel_cache import Kernel


def kernel(function: Callable[..., Any]) -> Any:
    """A kernel; compiled, or read from the disk, at its first launch with some types."""
    made = numbas.jit(function)
    if SIMULATED:
        return made
    return Kernel(function, made.targetoptions)


if SIMULATED:
    from numba.cuda.simulator import kernel as _simulator

    class _Shared:
        """Memory that a block's threads share: that of a line of a kernel is one array. numba's own
        threads may each make one, when they come to the line at once."""

        def array(self, shape: Any, dtype: Any) -> Any:
            frame = sys._getframe(1)
            made = np.empty(shape, getattr(dtype, "name", dtype))
            arrays = _simulator._get_kernel_context().shared._allocations
            return arrays.setdefault((frame.f_code, frame.f_lineno), made)

    class _Cuda:
        """numba's ``cuda`` for kernels: of the launch under way. The simulator would put it into
        their modules, where its threads take it away from one another."""

        shared = _Shared()

        def __getattr__(self, name: str) -> Any:
            return getattr(_simulator._get_kernel_context() or numbas, name)

    cuda: Any = _Cuda()

    def device(function: Callable[..., Any]) -> Any:
        """A function that kernels call."""
        return function

    def following(i: Any, count: Any) -> Any:
        """The item that a thread takes after ``i``; ``count`` where there is none."""
        return i + cuda.gridsize(1)
else:
    cuda = numbas

    def device(function: Callable[..., Any]) -> Any:
        """A function that kernels call."""
        return numbas.jit(device=True)(function)

    @device
    def following(i: Any, count: Any) -> Any:
        """The item that a thread takes after ``i``; ``count`` where there is none."""
        return count


def twin(of_cpu: Any, **names: Any) -> Any:
    """The device function of the source of a CPU kernel, with ``names`` in the place of its own."""
    function = of_cpu.py_func
    space = {**function.__globals__, **names}
    return device(types.FunctionType(function.__code__, space, function.__name__))


def from_source(source: str, name: str, space: dict[str, Any]) -> Any:
    """The kernel ``name`` that generated ``source`` defines."""
    scope = {"cuda": cuda, "following": following, **space}
    exec(compile(source, f"<cuda kernel {name}>", "exec"), scope)
    return kernel(scope[name])


def _launch(function: Any, grid: Any, block: Any, given: list[Any]) -> None:
    if issue.active() is not None:
        issue.issue(lambda: _now(function, grid, block, given))
    else:
        _now(function, grid, block, given)


def _now(function: Any, grid: Any, block: Any, given: list[Any]) -> None:
    if not SIMULATED:
        function.launches(grid, block, given)
        return
    arrays = [carrier(each) for each in given]
    with _alone:
        errors.raised_as_torchs(lambda: function[grid, block, streams.current()](*arrays))


def each(function: Any, count: int, *arguments: Any) -> None:
    """Launch ``function(count, *arguments)`` with a thread for each of ``count`` items."""
    if count <= 0:
        return
    blocks = min(-(-count // THREADS), _MOST_BLOCKS)
    if not SIMULATED and count > blocks * THREADS:
        raise NotImplementedError(f"{count} elements in one launch")
    _launch(function, blocks, THREADS, [count, *arguments])


def rows(function: Any, count: int, *arguments: Any, threads: int = FOLDING) -> None:
    """Launch ``function(*arguments)`` with a block for each of ``count`` rows."""
    if count <= 0:
        return
    if count > _MOST_ROWS:
        raise NotImplementedError(f"{count} rows in one launch")
    _launch(function, count, threads, list(arguments))


def tiles(function: Any, grid: tuple[int, ...], block: tuple[int, int], *arguments: Any) -> None:
    """Launch ``function(*arguments)`` with a grid of two-dimensional blocks."""
    if all(grid):
        _launch(function, grid, block, list(arguments))
