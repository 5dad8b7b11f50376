"""Settings of the whole library: threads, determinism, and what they may be set to."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "set_num_threads",
    "set_warn_always",
    "use_deterministic_algorithms",
]

_settings: dict[str, Any] = {
    "deterministic": False,
    "warn_only": False,
    "matmul": "highest",
    "warn_always": False,
}


def get_num_threads() -> int:
    """How many threads the kernels may use."""
    from mindtorch.kernels.cpu import threads

    return threads.get_num_threads()


def set_num_threads(count: int) -> None:
    """Let the kernels use ``count`` threads."""
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    if count <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    from mindtorch.kernels.cpu import threads

    threads.set_num_threads(count)


def get_num_interop_threads() -> int:
    return 1


def set_num_interop_threads(count: int) -> None:
    """Ops run one after another here; any other number than 1 is met with a warning."""
    if count != 1:
        warnings.warn(
            "set_num_interop_threads has no effect: ops run one after another",
            UserWarning,
            stacklevel=2,
        )


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic kernels; all of ours are."""
    _settings["deterministic"], _settings["warn_only"] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    return bool(_settings["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    return bool(_settings["warn_only"])


def set_float32_matmul_precision(precision: str) -> None:
    """The least precision of float32 products; ours are always of the highest."""
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"float32_matmul_precision must be one of 'highest', 'high' or 'medium', got "
            f"{precision}"
        )
    _settings["matmul"] = precision


def get_float32_matmul_precision() -> str:
    return str(_settings["matmul"])


def set_warn_always(b: bool) -> None:
    _settings["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    return bool(_settings["warn_always"])
