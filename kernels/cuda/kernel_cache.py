"""Compiled CUDA kernels on disk: a second run on the same kind of GPU compiles nothing.

The files are those of the CPU's kernels (``kernels/codegen/jit.py``: named by what they were made
from, checked when they are read, written as a whole, compiled by one of several processes), in a
directory beside theirs for each version of numba-cuda and each capability of a device. A file holds
the machine code, and the code it was made from, which a device of another capability needs.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pickle
import platform
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.serialize import dumps

from mindtorch.kernels.codegen.jit import DiskCache, cache_root, made_directory
from mindtorch.kernels.support.first_use_clock import clock as first_use

from . import streams
from .driver_errors import raised_as_torchs
from .driver_launch import Launches, carrier

_FORMAT = 1
_dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")


def _compiler() -> str:
    try:
        return f"numba-cuda{importlib.metadata.version('numba-cuda')}"
    except importlib.metadata.PackageNotFoundError:  # numba's own, of before that package
        return f"numba{numba.__version__}"


@functools.cache
def _folder(capability: tuple[int, ...]) -> Path:
    """The directory of this version of Python, of numba-cuda, and of a capability."""
    version = f"cuda-py{sys.version_info[0]}{sys.version_info[1]}-{_compiler()}"
    number = "".join(map(str, capability))
    return made_directory(cache_root() / f"{version}-{platform.machine()}-sm{number}-{_FORMAT}")


class DeviceCache(DiskCache):
    """The cache of a CUDA kernel."""

    def folders(self) -> tuple[Path, ...]:
        return (_folder(tuple(_dispatcher.get_current_device().compute_capability)),)

    def pack(self, compiled: Any) -> bytes:
        try:
            return zlib.compress(dumps(compiled._reduce_states()), 1)
        except RuntimeError as error:  # numba's, of code that is linked to other files
            raise pickle.PicklingError(str(error)) from error

    def unpack(self, payload: bytes, target_context: Any) -> Any:
        return _dispatcher._Kernel._rebuild(**pickle.loads(zlib.decompress(payload)))


class Kernel(_dispatcher.CUDADispatcher):
    """numba's dispatcher of a CUDA kernel, with a cache of ours.

    Args:
        function: the Python function.
        options: what ``cuda.jit`` made of its arguments.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function, options)
        # as a function that others link, for which no helping processes are started
        self._cache = DeviceCache(function, {**options, "linked": True})
        self.launches = Launches(self._launch_by_numba, self._compiled_for)

    def _launch_by_numba(self, grid: Any, block: Any, arguments: list[Any]) -> None:
        given = [carrier(each) for each in arguments]
        raised_as_torchs(lambda: self[grid, block, streams.current()](*given))

    def _compiled_for(self, arguments: list[Any]) -> Any:
        """The compiled kernel for arguments of these types; None where numba converts some."""
        kinds = tuple(self.typeof_pyval(carrier(each)) for each in arguments)
        return self.overloads.get(kinds)

    def compile(self, sig: Any) -> Any:
        """The kernel for a signature: from the disk, or compiled now."""
        try:
            with first_use:
                return super().compile(sig)
        finally:
            self._cache.release()
