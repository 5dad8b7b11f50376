"""Data loading, checkpointing and other helpers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._compat.unsupported_names import absent_module

from ._swap import swap_tensors

_NO_CODE = "C++ is not compiled; kernels are written in Python, for numba"
_NO_SCRIPT = "there is no TorchScript"
absent_module(
    "utils.cpp_extension",
    _NO_CODE,
    "BuildExtension CUDAExtension CppExtension",
    "include_paths load load_inline",
)
absent_module("utils.mobile_optimizer", _NO_SCRIPT, "", "optimize_for_mobile")
_MODULES = (
    "_foreach_utils", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "collect_env",
    "data", "deterministic", "dlpack", "flop_counter", "hooks", "model_zoo", "module_tracker",
    "weak",
)  # fmt: skip


def _found_later(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "swap_tensors":
        return swap_tensors
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if TYPE_CHECKING:
    from . import _foreach_utils as _foreach_utils
    from . import _python_dispatch as _python_dispatch
    from . import _pytree as _pytree
    from . import benchmark as benchmark
    from . import checkpoint as checkpoint
    from . import collect_env as collect_env
    from . import data as data
    from . import deterministic as deterministic
    from . import dlpack as dlpack
    from . import flop_counter as flop_counter
    from . import hooks as hooks
    from . import model_zoo as model_zoo
    from . import module_tracker as module_tracker
    from . import weak as weak
    from ._swap import swap_tensors as swap_tensors
else:
    __getattr__ = _found_later


def set_module(obj: Any, mod: Any) -> None:
    """Make ``mod`` the module that ``obj`` says it is from."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod

_own_names(globals())
