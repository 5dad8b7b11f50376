"""Python's multiprocessing, with tensors whose memory processes share.

A tensor in shared memory that is sent to another process (as an argument, through a queue or a
pipe) arrives as the same memory; any other tensor arrives as a copy.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
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


def get_all_sharing_strategies() -> set[str]:
    """How shared memory can be passed on: by file descriptor."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """How shared memory is passed on."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how shared memory is passed on.

    Args:
        new_strategy: "file_system" or "file_descriptor".

    Raises:
        ValueError: not one of :func:`get_all_sharing_strategies`.
    """
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(
            f"sharing strategy {new_strategy!r} is not available; the strategies are "
            f"{sorted(get_all_sharing_strategies())}"
        )

_own_names(globals())
