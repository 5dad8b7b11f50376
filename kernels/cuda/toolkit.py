"""Where NVIDIA's compiler library lies, for machines that have it in a toolkit alone.

numba-cuda finds NVVM in wheels, in conda's folders and by ``CUDA_HOME``. Many machines have a
toolkit under /usr/local and no such variable, or keep the library beside the toolkit's others.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
_BITCODE = Path("nvvm") / "libdevice" / "libdevice.10.bc"
_LIBRARIES = ("nvvm/lib64", "lib64", "nvvm/lib", "lib")


def _in_wheels() -> bool:
    spec = importlib.util.find_spec("nvidia")
    places = (spec.submodule_search_locations or []) if spec else []
    folders = ("*/lib/libnvvm.so*", "*/nvvm/lib64/libnvvm.so*")
    return any(next(Path(p).glob(f), None) is not None for p in places for f in folders)


def roots() -> list[Path]:
    """Folders that may be toolkits, the most likely first."""
    compiler = shutil.which("nvcc")
    named = [Path(os.environ[name]) for name in _VARIABLES if os.environ.get(name)]
    beside = [Path(compiler).resolve().parent.parent] if compiler else []
    installed = sorted(Path("/usr/local").glob("cuda-*"), reverse=True)
    return [*named, *beside, Path("/usr/local/cuda"), *installed, Path("/opt/cuda")]


def find() -> None:
    """Set ``CUDA_HOME`` where it is missing, and load NVVM where numba-cuda would not look."""
    if _in_wheels():
        return
    for root in roots():
        if not (root / _BITCODE).is_file():
            continue
        if not any(os.environ.get(name) for name in _VARIABLES):
            os.environ["CUDA_HOME"] = str(root)
        found = [p for folder in _LIBRARIES for p in sorted((root / folder).glob("libnvvm.so.?"))]
        with contextlib.suppress(OSError):
            if found and found[0].parent != root / "nvvm" / "lib64":
                ctypes.CDLL(str(found[0]))
        return


def import_with_old_numpy_names() -> None:
    """Import the module of numba-cuda that reads ``numpy.row_stack``, which numpy 2.5 has no more.

    numba-cuda 0.30 imports it when it first compiles a kernel, and fails with an AttributeError.
    """
    numpy: Any = np
    if hasattr(numpy, "row_stack"):
        return
    numpy.row_stack = numpy.vstack
    try:
        importlib.import_module("numba.cuda.np.arrayobj")
    except ImportError:  # an older numba-cuda, whose module has another name
        return
    del numpy.row_stack
