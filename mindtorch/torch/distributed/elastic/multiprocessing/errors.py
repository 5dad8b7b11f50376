"""record: leave the traceback of a main function where torchrun reads it."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

from mindtorch.torch.distributed._failure import write_report

__all__ = ["record"]


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """``fn``, whose exceptions are written for torchrun to show, and raised.

    Args:
        error_handler: None; torch's other handlers are not available.
    """
    if error_handler is not None:
        raise NotImplementedError("record(error_handler=...) is not available in mindtorch")

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except Exception as error:
            write_report("".join(traceback.format_exception(error)))
            raise

    return call
