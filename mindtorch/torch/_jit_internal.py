"""Names that torch's own modules are annotated with; calls are Python here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035

from .futures import Future as Future
from .jit import BroadcastingList1 as BroadcastingList1
from .jit import BroadcastingList2 as BroadcastingList2
from .jit import BroadcastingList3 as BroadcastingList3
from .jit import export as export
from .jit import ignore as ignore
from .jit import is_scripting as is_scripting
from .jit import unused as unused

__all__ = ["Dict", "Final", "List", "Optional", "Tuple", "Union", "boolean_dispatch"]


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable[..., Any],
    if_false: Callable[..., Any], module_name: str, func_name: str,
) -> Callable[..., Any]:  # fmt: skip
    """A function that calls one of two, by the value of one of its arguments."""

    def chosen(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs.get(arg_name, default)
        if arg_index < len(args):
            flag = args[arg_index]
        return (if_true if flag else if_false)(*args, **kwargs)

    chosen.__name__, chosen.__module__ = func_name, module_name
    chosen.__doc__ = if_true.__doc__ or if_false.__doc__
    return chosen


def _overload(function: Any) -> Any:
    """The function: Python needs no overloads."""
    return function


_overload_method = _overload
