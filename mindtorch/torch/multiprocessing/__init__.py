"""Python's multiprocessing, with tensors whose memory processes share.

A tensor in shared memory that is sent to another process (as an argument, through a queue or a
pipe) arrives as the same memory; any other tensor arrives as a copy.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
import resource as _resource
from multiprocessing import *  # noqa: F403

from mindtorch.torch._api.public_names import own_names as _own_names

from .._compat.module_aliases import alias_module
from .._tensor.shared_memory import is_shared as is_shared
from .._tensor.shared_memory import register_reducers as _register_reducers
from .._tensor.shared_memory import share_memory as share_memory
from ..nn import parameter as _parameter  # noqa: F401  # its class travels, too
from ._spawn import ProcessContext as ProcessContext
from ._spawn import ProcessException as ProcessException
from ._spawn import ProcessExitedException as ProcessExitedException
from ._spawn import ProcessRaisedException as ProcessRaisedException
from ._spawn import SpawnContext as SpawnContext
from ._spawn import spawn as spawn
from ._spawn import start_processes as start_processes

__all__ = [  # noqa: PLE0604
    *_multiprocessing.__all__,
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException",
    "SpawnContext", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy",
    "spawn", "start_processes",
]  # fmt: skip

_register_reducers()
_function = spawn
alias_module(
    __name__, "spawn", "ProcessContext ProcessException ProcessExitedException "
    "ProcessRaisedException SpawnContext spawn start_processes",
)  # fmt: skip
spawn = _function  # which hides the module, as in PyTorch


_STRATEGIES = ("file_descriptor", "file_system")
_strategy = _STRATEGIES[0]


def get_all_sharing_strategies() -> set[str]:
    """The names that :func:`set_sharing_strategy` takes."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The name that was set last."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how shared memory is passed on.

    It is passed on by file descriptor in both cases. Programs choose "file_system" where they share
    more tensors than descriptors may be open; the limit of this process and of those that it starts
    is raised then, as far as the system allows.

    Args:
        new_strategy: "file_descriptor" or "file_system".

    Raises:
        AssertionError: not one of :func:`get_all_sharing_strategies`.
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of "
            f"{get_all_sharing_strategies()}"
        )
    _strategy = new_strategy
    if new_strategy == "file_system":
        most = _resource.getrlimit(_resource.RLIMIT_NOFILE)[1]
        _resource.setrlimit(_resource.RLIMIT_NOFILE, (most, most))


_own_names(globals())
