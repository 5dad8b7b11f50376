"""What a report of an error should say about the machine: ``python -m torch.utils.collect_env``."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata

import mindtorch.torch as torch

__all__ = ["get_pretty_env_info", "main"]


def _packages() -> list[str]:
    found = []
    for name in ("mindtorch", "numba", "numpy", "scipy", "ml_dtypes", "cupy", "torchvision"):
        try:
            found.append(f"{name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return found


def get_pretty_env_info() -> str:
    """Versions, operating system, processors and packages, line by line."""
    available = torch.cuda.is_available()
    gpu = torch.cuda.get_device_name(0) if available else "No CUDA"
    lines = [
        f"PyTorch version: {torch.__version__} (mindtorch)",
        "Is debug build: False",
        f"CUDA used to build PyTorch: {torch.version.cuda}",
        "",
        f"OS: {platform.platform()}",
        f"Python version: {sys.version.splitlines()[0]} ({platform.architecture()[0]} runtime)",
        f"Is CUDA available: {available}",
        f"GPU models and configuration: {gpu}",
        f"CPU: {platform.processor() or platform.machine()}, {os.cpu_count()} cores",
        "",
        "Versions of relevant libraries:",
        *(f"[pip3] {each}" for each in _packages()),
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
