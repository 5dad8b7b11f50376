"""The name tensors had before tensors and variables became one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from mindtorch.engine.autograd.backward import running
from mindtorch.engine.tensor import Tensor as EngineTensor


class _Engine:
    """What libraries ask of the backward pass that is under way."""

    def queue_callback(self, callback: Callable[[], None]) -> None:
        """Call ``callback()`` when the pass is at its end.

        Raises:
            RuntimeError: no pass is under way.
        """
        if not running():
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        running()[0].callbacks.append(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, EngineTensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(x)`` is ``x``."""

    _execution_engine = _Engine()

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
                stacklevel=2,
            )
        result = data.detach()
        return result.requires_grad_() if requires_grad else result
