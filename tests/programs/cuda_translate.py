"""Translate the CUDA kernels to PTX without a GPU: run as a program where numba-cuda and NVVM are
installed (``pip install "numba-cuda[cu12]"``; no driver is needed).

    python tests/programs/cuda_translate.py [--all] [--part i/n] [--keep FOLDER] [--log FILE]
        [names...]

The op table's small cases are called as on a GPU, but device memory is host memory of zeros and a
launch translates its kernel for the types of its arguments and does not run it. So every kernel is
typed and compiled as it would be on a GPU, which the simulator, where kernels are plain Python,
cannot show. Where NVIDIA's assembler is found (``ptxas``, of the package ``nvidia-cuda-nvcc``) each
is assembled for the H200's capability. Prints a JSON object: kernels translated, what did not
translate or assemble, and what kernels need of registers, shared and local memory at most. A log
gets a line for each kernel; kernels that it holds already are not translated once more.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import types
import warnings
from pathlib import Path
from typing import Any

import numba
import numpy as np

from mindtorch.engine.devices import cuda as engine
from mindtorch.kernels.cuda import cublas, errors, fast_division, gemm, launch, memory, streams

cuda: Any = importlib.import_module("numba.cuda")
dispatcher: Any = importlib.import_module("numba.cuda.dispatcher")
CAPABILITY = (9, 0)
translated: dict[Any, int] = {}
failed: dict[str, str] = {}
needs: dict[str, dict[str, int]] = {}
having: collections.Counter[str] = collections.Counter()
folder = Path(tempfile.mkdtemp())


def _types(arguments: Any) -> tuple[Any, ...]:
    return tuple(
        numba.types.Array(numba.from_dtype(a.dtype), 1, "C")
        if isinstance(a, np.ndarray)
        else numba.typeof(a)
        for a in arguments
    )


def translate(kernel: Any, arguments: Any) -> None:
    """Compile ``kernel`` for the types of ``arguments``, once."""
    given = [argument(a) for a in arguments]
    signature = _types(given)
    key = (kernel, signature)
    if key in translated:
        return
    translated[key] = 0
    log.calls += 1
    mark = log.mark(kernel.py_func, signature)
    if mark in log.known:
        translated[key] = 1
        return
    try:
        ptx, _ = cuda.compile_ptx(kernel.py_func, signature, cc=CAPABILITY)
        translated[key] = len(ptx)
        name = f"{kernel.py_func.__name__}_{mark[:10]}"
        assemble(name, ptx)
        found = contents(ptx)
        having.update(kind for kind, number in found.items() if number)
        log.note(mark, kernel.py_func, signature, {**needs.get(name, {}), **found})
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        text = " | ".join([*lines[:3], *lines[-6:]])
        name = f"{kernel.py_func.__module__}.{kernel.py_func.__name__} {signature}"
        failed[name] = f"{type(error).__name__}: {text}"[:1500]
        print(name, failed[name], file=sys.stderr, flush=True)


def contents(ptx: str) -> dict[str, int]:
    """How many instructions of kinds that cost much, or little, a kernel has."""
    patterns = {"f64": r"\.f64", "local": r"(?:ld|st)\.local", "vectors": r"(?:ld|st)\S*\.v[24]",
                "fused": r"\bfma\.", "division": r"\b(?:div|rem)\.[su]64", "barriers": r"bar\.sync",
                "lines": r"\n"}  # fmt: skip
    return {kind: len(re.findall(pattern, ptx)) for kind, pattern in patterns.items()}


class Log:
    """A file with a line for each kernel that was translated, by its code and types."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.known: dict[str, Any] = {}
        self.row, self.calls = "", 0

    def open(self, path: Path) -> None:
        self.path = path
        if path.exists():
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            self.known = {found["mark"]: found for found in lines}

    def mark(self, function: Any, signature: Any) -> str:
        """The same for the same code, names that it uses and types."""
        return hashlib.sha256(f"{described(function)} {signature}".encode()).hexdigest()

    def note(self, mark: str, function: Any, signature: Any, found: dict[str, int]) -> None:
        name = f"{function.__module__}.{function.__name__}"
        told = {"mark": mark, "row": self.row, "kernel": name, "types": str(signature), **found}
        self.known[mark] = told
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(told) + "\n")


def described(function: Any, depth: int = 0) -> str:
    """The code of a function and of those that it calls."""
    code = getattr(function, "py_func", function)
    if not isinstance(code, types.FunctionType):
        return repr(function)
    names = {n: code.__globals__.get(n) for n in code.__code__.co_names}
    cells = zip(code.__code__.co_freevars, code.__closure__ or (), strict=True)
    names |= {name: cell.cell_contents for name, cell in cells}
    inner = "" if depth > 5 else " ".join(
        f"{n}={described(v, depth + 1)}" for n, v in sorted(names.items())
        if not isinstance(v, types.ModuleType)
    )  # fmt: skip
    plain = [c for c in code.__code__.co_consts if not isinstance(c, types.CodeType)]
    return f"{code.__name__} {code.__code__.co_code.hex()} {plain} {code.__code__.co_names} {inner}"


log = Log()


def assembler() -> str | None:
    """The path of ``ptxas``; None where there is none."""
    found = shutil.which("ptxas")
    spec = None if found else importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        found = next(map(str, Path(place).glob("*/bin/ptxas")), found)
    return found


def assemble(name: str, ptx: str) -> None:
    """Make machine code of a kernel and note what it needs.

    Raises:
        RuntimeError: the assembler refuses it.
    """
    path = folder / f"{name}.ptx"
    path.write_text(ptx.rstrip("\0"))
    if ASSEMBLER is None:
        return
    target = "sm_" + "".join(map(str, CAPABILITY))
    command = [ASSEMBLER, "-v", f"-arch={target}", str(path), "-o", str(path.with_suffix(".bin"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = {
        kind: int(number)
        for kind in ("registers", "bytes stack frame", "bytes spill stores", "bytes smem")
        for number in re.findall(rf"(\d+) {kind}", done.stderr)
    }
    needs[name] = found


ASSEMBLER = assembler()


class HostMemory(memory.DeviceArray):
    """Device memory that is host memory."""

    __slots__ = ()

    @property
    def carrier(self) -> Any:
        dtype = memory._CARRIERS.get(self.dtype, self.dtype)
        return self.memory.bytes[self.offset : self.offset + self.nbytes].view(dtype)

    def to_host(self) -> Any:
        return self.carrier.copy().view(self.dtype)

    def set(self, values: Any) -> None:
        host = np.ascontiguousarray(values, self.dtype).reshape(-1)
        self.carrier[:] = host.view(self.carrier.dtype)


def argument(value: Any) -> Any:
    flat = getattr(value, "flat", value)
    return flat.carrier if isinstance(flat, memory.DeviceArray) else value


def pretend() -> None:
    """Put host memory and translation in the place of the device's memory and launches."""
    device = types.SimpleNamespace(compute_capability=CAPABILITY)
    dispatcher.get_current_device = lambda: device  # device functions ask for its capability
    array: Any = memory.DeviceArray
    array.carrier = HostMemory.carrier
    array.to_host = HostMemory.to_host
    array.set = HostMemory.set
    for_memory: Any = memory
    for_memory.allocate = lambda size: memory.Memory(
        np.zeros(-(-size // 64) * 64, np.uint8), size
    )
    for_memory._cupy = lambda: None
    for_products: Any = cublas
    for_products.library = lambda: None  # which needs a driver
    for_memory.information = lambda: (1 << 40, 1 << 40)
    streams.device_count = lambda: 1
    engine.device_count = lambda: 1
    cell = np.zeros(1, np.int64)
    errors.cell = lambda: _Cell(cell)
    launches: Any = launch
    launches.each = lambda function, count, *a: (
        translate(function, (count, *a)) if count > 0 else None
    )
    launches.rows = lambda function, count, *a, threads=0: (
        translate(function, a) if count > 0 else None
    )
    tiled: Any = gemm
    tiled.run = _both_kernels
    launches.tiles = lambda function, grid, block, *a: translate(function, a)


def _both_kernels(
    product: Any, batch: int, m: int, k: int, n: int, *arguments: Any
) -> None:
    """A product's tiled kernel, and the one for small products."""
    by = fast_division.divisor(n, batch * m * n)
    translate(product.tiled, (batch, m, k, n, by, *arguments))
    translate(product.by_thread, (batch * m * n, batch, m, k, n, by, by, *arguments))


class _Cell:
    """The cell of faults, as device memory."""

    def __init__(self, cell: Any) -> None:
        self.flat = memory.DeviceArray(memory.Memory(cell.view(np.uint8), 8), 0, 1, cell.dtype)


def most() -> dict[str, list[Any]]:
    """For each thing that kernels need, the kernels that need most of it."""
    kinds = {kind for found in needs.values() for kind in found}
    return {
        kind: sorted(((found.get(kind, 0), name) for name, found in needs.items()))[-5:]
        for kind in sorted(kinds)
    }


def draws() -> None:
    """The samplers of CUDA's own random numbers."""
    import mindtorch.torch as torch
    from mindtorch.kernels.cuda import philox
    from mindtorch.torch.cuda.random import use_philox

    use_philox()
    like: Any = {"device": "cuda"}
    for dtype in (torch.float32, torch.float64):
        torch.rand(3, dtype=dtype, **like)
        torch.randn(3, dtype=dtype, **like)
    torch.randint(3, (3,), **like)
    torch.randperm(3, **like)
    philox.words(1, 0, 0)


def steps() -> None:
    """The optimizers' kernels, loops of compiled chains, and what is launched beside cuBLAS."""
    import mindtorch.torch as torch
    from mindtorch.engine.compile.passes import fusion
    from mindtorch.kernels.cuda import attention_products, convolution

    fusion.SMALLEST = 4
    for dtype in (torch.float32, torch.float64):
        weight: Any = torch.zeros(6, dtype=dtype, device="cuda", requires_grad=True)
        weight.grad = torch.zeros(6, dtype=dtype, device="cuda")
        torch.optim.SGD([weight], lr=0.1, momentum=0.9, nesterov=True).step()
        torch.optim.AdamW([weight], lr=0.1, amsgrad=True).step()
    chain: Any = torch.compile(lambda x, y: torch.sigmoid((x * y + 1).tanh() * 0.5).sum(0))
    for dtype in (torch.float32, torch.bfloat16):
        chain(torch.zeros(4, 6, dtype=dtype, device="cuda"), torch.zeros(6, device="cuda"))
    for kind in ("f4", "f8"):
        x = memory.empty(60, kind)
        weigh, slopes = attention_products._kernels(x.dtype)
        numbers = (0, 0, 0, 0, 0, 1, 0, 3, 5, 1.0, 0)
        launch.rows(weigh, 12, x, x, x, *numbers)
        launch.each(slopes, 60, x, x, x, x, x, *numbers)
        launch.rows(attention_products._drops, 12, x, x, x, 5)
    case = convolution._Case(
        (2, 2, 5, 5), (4, 2, 3, 3), (2, 4, 3, 3),
        ((1, 1), (0, 0), (1, 1)), 1,
    )  # fmt: skip
    for kind in ("f4", "f8", "f2"):
        x = memory.empty(100, kind)
        for together in (False, True):
            columns = case.columns(x, 0, 2, together)
        launch.each(convolution._collect, 100, x, columns, case.taps, case.pixels, case.places,
                    *case.geometry, *case.of_pixels(100))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--keep", type=Path, help="a folder for the kernels' PTX and machine code")
    parser.add_argument("--log", type=Path, help="a file with a line for each kernel")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.log:
        log.open(options.log)
    global folder
    if options.keep:
        folder = options.keep
        folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    importlib.import_module("mindtorch.torch.nn.functional")
    assert not launch.SIMULATED, "translation needs numba's compiler, not its simulator"
    pretend()
    from tests.programs.cuda_table import chosen, run
    from tests.tables.ops_table import all_rows

    part, parts = map(int, options.part.split("/"))
    start, errors = time.perf_counter(), {}
    for number, row in enumerate(all_rows()):
        if number % parts != part or (options.names and row.name not in options.names):
            continue
        log.row = row.name
        for case, dtype in chosen(row, options.all):
            try:
                run(row, case, dtype, "cuda", int(row.gradient and dtype in row.gradient_dtypes))
            except Exception as error:
                errors[row.name] = f"{type(error).__name__}: {error}"[:200]
    if part == 0 and (not options.names or "draws" in options.names):
        draws()
    if part == 0 and (not options.names or "steps" in options.names):
        steps()
    kernels = {key[0] for key in translated}
    print(json.dumps({
        "kernels": len(kernels), "translations": sum(map(bool, translated.values())),
        "failed": failed, "not reached": errors, "seconds": time.perf_counter() - start,
        "assembled": len(needs), "most": most(), "kernels with": having,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
