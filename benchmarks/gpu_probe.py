"""What a machine with a GPU has: prints a JSON object for each fact as soon as it is known, so that
a fault tells by its place what is wrong. The last object has "done"."""

from __future__ import annotations

import importlib.metadata
import json
import os
import time
from collections.abc import Callable
from typing import Any

PACKAGES = ("numba", "numba-cuda", "cuda-bindings", "cupy-cuda13x", "cupy-cuda12x", "torch",
            "numpy", "scipy", "ml_dtypes", "triton")  # fmt: skip


def versions() -> str:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def nvvm() -> str:
    """The version of the compiler that numba-cuda uses, which some machines lack."""
    from numba.cuda.cudadrv import nvvm

    return f"version {nvvm.NVVM().get_version()}, CUDA_HOME {os.environ.get('CUDA_HOME')}"


def device() -> str:
    from mindtorch.torch import cuda

    found = cuda.get_device_properties()
    free, total = cuda.mem_get_info()
    return f"{found}, {free / 2**30:.1f} of {total / 2**30:.1f} GiB free"


def driver() -> str:
    import numba.cuda

    runtime = getattr(numba.cuda, "runtime", None)
    known = runtime.get_version() if runtime is not None else "unknown"
    return f"runtime {known}"


def first_kernel() -> str:
    """Compile and launch a kernel of our own."""
    import mindtorch.torch as torch

    begun = time.perf_counter()
    x: Any = torch.arange(5.0, device="cuda")
    found = (x * 2 + 1).tolist()
    assert found == [1.0, 3.0, 5.0, 7.0, 9.0], found
    return f"{time.perf_counter() - begun:.2f} s"


def cupy_product() -> str:
    """A product by cuBLAS into our memory, and a block of cupy's pool."""
    import mindtorch.torch as torch
    from mindtorch.kernels.cuda import library_calls

    if library_calls.library() is None:
        return "cupy is not installed"
    x: Any = torch.ones(64, 64, device="cuda")
    found = (x @ x).sum().item()
    assert found == 64.0**3, found
    return "right"


def launch_cost() -> str:
    """Microseconds of a small op on the host, and until it is done."""
    import mindtorch.torch as torch

    x: Any = torch.ones(64, device="cuda")
    for _ in range(10):
        y = x + x
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(100):
        y = x + x
    issued = time.perf_counter()
    torch.cuda.synchronize()
    done = time.perf_counter()
    assert y[0].item() == 2.0
    return f"{(issued - begun) * 1e4:.1f} us issued, {(done - begun) * 1e4:.1f} us done"


FACTS: dict[str, Callable[[], str]] = {
    "versions": versions, "NVVM": nvvm, "driver": driver, "device": device,
    "first kernel": first_kernel, "launch": launch_cost, "product": cupy_product,
}  # fmt: skip


def main() -> None:
    for name, fact in FACTS.items():
        try:
            said = fact()
        except Exception as error:
            said = f"failed: {type(error).__name__}: {error}"[:400]
        print(json.dumps({name: said}), flush=True)
    print(json.dumps({"done": True}))


if __name__ == "__main__":
    main()
