"""Kernels of CUDA compiled or read from the disk, without a GPU: run as a program.

Where NVIDIA's compiler (numba-cuda and NVVM) is missing, stand-ins turn numba's code into words
that depend on it. Prints a JSON object: how many kernels were compiled and loaded, and a name for
each one's machine code.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import types
from typing import Any

import numba
import numpy as np

from mindtorch.kernels.codegen.fused_loop import Step
from mindtorch.kernels.codegen.jit import statistics
from mindtorch.kernels.cuda import elementwise, softmax

dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
codegen: Any = importlib.import_module("numba.cuda.codegen")
nvvm: Any = importlib.import_module("numba.cuda.cudadrv.nvvm")
CAPABILITY = (9, 0)
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
LAYOUT = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-f32:32:32-f64:64:64-n16:32:64"


def _code(library: Any, cc: Any = None) -> bytes:
    """What stands for machine code."""
    made = hashlib.sha256("".join(library.llvm_strs).encode()).digest()
    return bytes(library._cubin_cache.setdefault(CAPABILITY, made))


def pretend() -> None:
    """Put stand-ins in the place of a device, and of a compiler that is missing."""
    device = types.SimpleNamespace(compute_capability=CAPABILITY)
    dispatcher.get_current_device = lambda: device
    dispatcher._Kernel.bind = lambda kernel: kernel._codelibrary.get_cubin()
    library = codegen.CUDACodeLibrary
    library._ensure_cc = lambda self, cc: cc or CAPABILITY
    if importlib.util.find_spec("numba_cuda") is None:
        known = types.SimpleNamespace(data_layout=LAYOUT, get_ir_version=lambda: (2, 0, 3, 1))
        nvvm.NVVM = lambda: known
        library.get_asm_str = lambda self, cc=None: "words"
        library.get_cubin = _code


def main() -> None:
    pretend()
    flat = numba.types.Array(numba.types.float32, 1, "C")
    whole = numba.types.int64
    kernel = softmax._make(SINGLE)[0]
    codes = [_compiled(kernel, (flat, flat, whole, whole, whole))]
    for name, dtype, wide in (("sin", SINGLE, 4), ("cos", SINGLE, 4), ("cos", DOUBLE, 2)):
        # made after others were compiled or read, which must not change what it is called
        steps = (Step(name, (0,), dtype, dtype),)
        made = elementwise._kernel(steps, (0,), (dtype, dtype), "cc", 1, np.uint32, wide)
        flat = numba.types.Array(numba.from_dtype(dtype), 1, "C")
        codes.append(_compiled(made, (whole, flat, flat, whole)))
    print(json.dumps({
        "compiled": statistics.compiled, "loaded": statistics.loaded, "codes": codes,
        "folder": kernel._cache.cache_path,
    }))  # fmt: skip


def _compiled(kernel: Any, signature: Any) -> str:
    code = kernel.compile(signature)._codelibrary.get_cubin()
    return hashlib.sha256(getattr(code, "code", code)).hexdigest()


if __name__ == "__main__":
    main()
