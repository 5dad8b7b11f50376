"""`mindtorch env`: what a bug report has to say about the machine and what is installed.

Nothing is imported that could fail or disturb: versions come from the packages' metadata. The
home folder is shown as `~`, and of the environment only variables that change what we do.
"""

import argparse
import contextlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mindtorch

__all__ = ["add_arguments", "environment", "main", "report"]

_NEEDED = ("numpy", "numba", "llvmlite", "scipy", "scipy-openblas32", "ml_dtypes", "safetensors",
           "rich")  # fmt: skip
_BESIDE = ("torch", "torchvision", "torchaudio", "timm", "transformers", "mindspore", "tensorboard",
           "libcst", "argcomplete", "mpi4py", "numba-cuda", "cupy-cuda12x", "onnx")  # fmt: skip
_VARIABLES = ("MINDTORCH_", "NUMBA_", "OPENBLAS_", "OMP_", "MKL_", "CUDA_VISIBLE_DEVICES")
_FLAGS = ("avx2", "fma", "f16c", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile", "sve")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _short(path: str | Path) -> str:
    """A path with the home folder written as `~`."""
    home = os.path.expanduser("~")
    text = str(path)
    return f"~{text[len(home):]}" if home != "/" and text.startswith(home) else text


def _commit() -> str | None:
    """The commit of a checkout; None for an installation."""
    root = Path(mindtorch.__file__).resolve().parent.parent
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    command = [git, "-C", str(root), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def processor() -> dict[str, Any]:
    fields: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    known = set((fields.get("flags") or fields.get("Features") or "").split())
    return {
        "name": fields.get("model name") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "flags": [flag for flag in _FLAGS if flag in known],
    }


def _memory() -> str | None:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
    return f"{size / 2**30:.1f} GiB"


def _files(directory: Path) -> str:
    """A directory, how many files are in it, and their size."""
    sizes = []
    for entry in directory.glob("**/*"):
        with contextlib.suppress(FileNotFoundError):  # another process has just taken it away
            if entry.is_file():
                sizes.append(entry.stat().st_size)
    return f"{_short(directory)} ({len(sizes)} files, {sum(sizes) / 2**20:.1f} MiB)"


def _kernels() -> dict[str, Any]:
    """How kernels run here: the BLAS that was chosen, threads, and the cache."""
    from mindtorch.kernels.codegen import jit as compiling
    from mindtorch.kernels.codegen.target import target
    from mindtorch.kernels.cpu.matrix_products import openblas
    from mindtorch.kernels.cpu.threads import thread_pool

    found: dict[str, Any] = {}
    try:
        found["BLAS"] = f"OpenBLAS, kernels for {openblas.core_name()}"
    except (ImportError, OSError) as error:
        found["BLAS"] = f"not loaded: {error}"
    installed = compiling.installed_root()
    found["kernels for"] = target().name
    found["kernel cache"] = _files(compiling.cache_directory())
    found["installed kernels"] = (
        "not read" if installed is None else _files(installed / compiling.kind_of_kernels())
    )
    found["threads"] = thread_pool.get_num_threads()
    return found


def _accelerator() -> str:
    """What the driver says; CUDA itself is not started."""
    driver = Path("/proc/driver/nvidia/version")
    if not driver.exists():
        return "no NVIDIA driver"
    return driver.read_text(encoding="utf-8").partition("\n")[0].partition(":")[2].strip()


def environment(variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The report as nested dicts of texts and numbers; a missing package is None."""
    variables = os.environ if variables is None else variables
    chosen = {k: _short(v) for k, v in sorted(variables.items()) if k.startswith(_VARIABLES)}
    return {
        "mindtorch": {
            "version": mindtorch.__version__,
            "commit": _commit(),
            "folder": _short(Path(mindtorch.__file__).resolve().parent),
        },
        "system": {
            "platform": platform.platform(),
            "python": f"{platform.python_version()} ({platform.python_implementation()})",
            "executable": _short(sys.executable),
            "memory": _memory(),
            "accelerator": _accelerator(),
        },
        "processor": processor(),
        "kernels": _kernels(),
        "packages": {name: _version(name) for name in _NEEDED},
        "beside": {name: _version(name) for name in _BESIDE},
        "variables": chosen,
    }


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return " ".join(value) if isinstance(value, list) else str(value)


def report(found: dict[str, Any]) -> str:
    """The report as aligned text, to be pasted into an issue."""
    lines = []
    for title, rows in found.items():
        lines.append(f"{title}:")
        width = max((len(key) for key in rows), default=0)
        lines += [f"  {key:<{width}}  {_text(value)}".rstrip() for key, value in rows.items()]
    return "\n".join(lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def main(options: argparse.Namespace) -> int:
    """Print the report; always 0."""
    found = environment()
    print(json.dumps(found, indent=2) if options.json else report(found))
    return 0
