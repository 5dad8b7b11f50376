"""Settings of the whole library: threads, determinism, and what they may be set to."""

from __future__ import annotations

import warnings
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.devices import cuda
from mindtorch.engine.devices.device import Device
from mindtorch.engine.settings import settings as _settings
from mindtorch.kernels.cpu.threads import thread_pool
from mindtorch.kernels.support import precision as switches
from mindtorch.kernels.support.denormals import flush_denormals

from ._api import warn_caller
from ._api.arguments import as_device
from ._api.default_device import default_device
from ._api.invalid_arguments import type_name
from ._compat.legacy_tensor_types import dtype_of_type_name
from ._tensor.tensor import Tensor

# what numpy and scipy bring: LAPACK and Fourier transforms, no MKL; kernels run on our own threads
has_lapack = has_spectral = True
has_mkl = has_openmp = False

__all__ = [
    "are_deterministic_algorithms_enabled",
    "compiled_with_cxx11_abi",
    "get_default_device",
    "get_deterministic_debug_mode",
    "get_device_module",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "has_lapack",
    "has_mkl",
    "has_openmp",
    "has_spectral",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_default_tensor_type",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_num_interop_threads",
    "set_num_threads",
    "set_warn_always",
    "typename",
    "use_deterministic_algorithms",
]

_settings.update(interop=0, deterministic=False, warn_only=False, matmul="highest")


def get_num_threads() -> int:
    """How many threads the kernels may use."""
    return thread_pool.get_num_threads()


def set_num_threads(count: int) -> None:
    """Let the kernels use ``count`` threads."""
    if not isinstance(count, int) or isinstance(count, bool):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    if count <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    thread_pool.set_num_threads(count)
    _settings["threads"] = count


def get_num_interop_threads() -> int:
    """How many threads were asked for; ops run one after another."""
    return _settings["interop"] or get_num_threads()


def set_num_interop_threads(count: int) -> None:
    """Ops run one after another here; any other number than 1 is met with a warning.

    Args:
        count: how many.

    Raises:
        RuntimeError: the number is not positive, or was set before.
    """
    if count <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    if _settings["interop"]:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or "
            "set_num_interop_threads called"
        )
    _settings["interop"] = count
    if count != 1:
        warnings.warn(
            "set_num_interop_threads has no effect: ops run one after another",
            UserWarning,
            stacklevel=2,
        )


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic kernels; all of ours are.

    Args:
        mode: whether to ask for them.
        warn_only: kept, and of no further effect.
    """
    if type(mode) is not bool:
        raise TypeError(
            "_set_deterministic_algorithms(): argument 'mode' (position 1) must be bool, not "
            f"{type_name(mode)}"
        )
    _settings["deterministic"], _settings["warn_only"] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether :func:`use_deterministic_algorithms` was asked for."""
    return bool(_settings["deterministic"])


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was asked for with ``warn_only``."""
    return bool(_settings["warn_only"])


def set_float32_matmul_precision(precision: str) -> None:
    """The least precision of float32 products: below "highest" cuBLAS may use tf32, and the CPU
    products by bfloat16 parts, whose errors are smaller but whose sums have another order."""
    if not isinstance(precision, str):
        raise RuntimeError(
            f"set_float32_matmul_precision expects a str, but got {type_name(precision)}"
        )
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"float32_matmul_precision must be one of 'highest', 'high' or 'medium', got "
            f"{precision}"
        )
    _settings["matmul"] = precision
    switches.tf32 = precision != "highest"


def get_float32_matmul_precision() -> str:
    """What :func:`set_float32_matmul_precision` was given; "highest" at first."""
    return str(_settings["matmul"])


def set_warn_always(b: bool, /) -> None:
    """Whether warnings that come once in a process are given each time.

    Args:
        b: whether they are.
    """
    if type(b) is not bool:
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type_name(b)}")
    warn_caller.always[0] = b


def is_warn_always_enabled() -> bool:
    """What :func:`set_warn_always` was given."""
    return warn_caller.always[0]


_DEBUG_MODES = ("default", "warn", "error")


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2: say nothing, warn or raise where an op is not deterministic."""
    if not _settings["deterministic"]:
        return 0
    return 1 if _settings["warn_only"] else 2


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """:func:`use_deterministic_algorithms` by number, or by "default", "warn" or "error".

    Args:
        debug_mode: 0, 1, 2 or the names.
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = _DEBUG_MODES.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def set_flush_denormal(mode: bool) -> bool:
    """Whether numbers below the smallest normal one are zeros from now on, in this thread.

    Args:
        mode: whether to flush them.

    Returns:
        False where the processor, or its C library, cannot be asked.
    """
    return flush_denormals(bool(mode))


def compiled_with_cxx11_abi() -> bool:
    """True, as for builds of PyTorch."""
    return True


def get_default_device() -> Any:
    """Where new tensors go; the error of that where there is no such device."""
    chosen = default_device()
    return as_device(chosen) if chosen.index is None else chosen


def set_default_tensor_type(t: Any) -> None:
    """Make the dtype of ``t``, a tensor type or its name, the type of new tensors (deprecated)."""
    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=2,
    )
    if isinstance(t, str) and t.startswith("torch.cuda.") and not cuda.device_count():
        raise TypeError(f"type {t} not available. Torch not compiled with CUDA enabled.")
    dtypes.set_default(dtype_of_type_name(t) if isinstance(t, str) else t.dtype)


def typename(obj: Any, /) -> str:
    """The name of an object's type with its module: "torch.FloatTensor" for a tensor.

    Args:
        obj: anything.
    """
    if isinstance(obj, Tensor):
        return obj.type()
    named = isinstance(obj, type) or (callable(obj) and hasattr(obj, "__qualname__"))
    kind = obj if named else type(obj)
    module = getattr(kind, "__module__", None) or ""
    name = getattr(kind, "__qualname__", "")
    if name == "DType":
        return "torch.dtype"
    module = module.removeprefix("mindtorch.")
    return name if module in ("", "builtins") else f"{module}.{name}"


def get_device_module(device: Any = None) -> Any:
    """The module of a kind of device: ``torch.cpu``, ``torch.cuda``, ..."""
    import importlib

    kind = get_default_device().type if device is None else Device(device).type
    try:
        return importlib.import_module(f"{__package__}.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        ) from None
