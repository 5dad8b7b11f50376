"""The name tensors had before tensors and variables became one."""

from __future__ import annotations

import warnings
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor


class _VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, EngineTensor)


class Variable(metaclass=_VariableMeta):
    """``Variable(x)`` is ``x``."""

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
                stacklevel=2,
            )
        result = data.detach()
        return result.requires_grad_() if requires_grad else result
