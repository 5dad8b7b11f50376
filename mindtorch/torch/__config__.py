"""What this mindtorch is made of, in words: `torch.__config__`."""

from __future__ import annotations

import platform
from importlib import metadata

from mindtorch.torch.settings import get_num_interop_threads, get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions of what computes, one a line."""
    parts = [f"Python {platform.python_version()}"]
    parts += [f"{each} {metadata.version(each)}" for each in ("numpy", "numba", "scipy")]
    return "mindtorch built with:\n" + "".join(f"  - {part}\n" for part in parts)


def parallel_info() -> str:
    """The numbers of threads, one a line."""
    return (
        f"at::get_num_threads() : {get_num_threads()}\n"
        f"at::get_num_interop_threads() : {get_num_interop_threads()}\n"
    )
