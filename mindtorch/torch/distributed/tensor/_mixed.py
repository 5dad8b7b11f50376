"""Calls with plain tensors beside DTensors: refused, as torch does, unless a block allows them.

The engine takes a plain tensor for one that every process has; whether that is meant only the
caller knows.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from mindtorch.engine.sharding.class_parallel import setting as class_setting
from mindtorch.engine.sharding.dispatch import MIXED
from mindtorch.engine.sharding.sharded import is_sharded
from mindtorch.engine.tensor import Tensor as EngineTensor

from ..._api.public import record_of
from ..._tensor.tensor import Tensor
from ..._tensor.tensor_classes import functional, torch
from ._tensor import DTensor

__all__ = ["implicit_replication"]


class _Setting(threading.local):
    allowed = False


_setting = _Setting()


@contextlib.contextmanager
def implicit_replication() -> Iterator[None]:
    """A block in which plain tensors beside DTensors are taken for ones that all processes have."""
    before, _setting.allowed = _setting.allowed, True
    try:
        yield
    finally:
        _setting.allowed = before


def _tensors(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, EngineTensor):
            yield value
        elif value.__class__ in (list, tuple):
            yield from _tensors(value)


def _checked(name: str) -> Any:
    def check(*args: Any, **kwargs: Any) -> Any:
        """Raise for a plain tensor that is more than a number; then let the function itself run."""
        if not _setting.allowed:
            for x in _tensors((*args, *kwargs.values())):
                if not is_sharded(x.aval) and x.aval.size != 1:
                    raise RuntimeError(MIXED.format(name))
        return NotImplemented

    return check


def _checked_loss(name: str) -> Any:
    """Targets and weights may be plain in a block of ``loss_parallel``."""
    check = _checked(name)
    return lambda *args, **kwargs: (
        NotImplemented if class_setting.active else check(*args, **kwargs)
    )


def _refuses_plain(overload: str, *functions: Any) -> None:
    """Let functions raise for plain tensors; torch's error has the name of their ``overload``."""
    for function in functions:
        record = record_of(function)
        if record is not None:
            check = _checked(f"aten.{record.name}.{overload}")
            record.implementations.setdefault(DTensor, check)


_refuses_plain(
    "Tensor",
    torch.add, torch.sub, torch.mul, torch.div, torch.eq, torch.ne, torch.lt, torch.le, torch.gt,
    torch.ge, torch.floor_divide, torch.remainder, torch.fmod,
)  # fmt: skip
_refuses_plain(
    "default",
    torch.maximum, torch.minimum, torch.atan2, torch.mm, torch.bmm, torch.matmul, torch.addmm,
    torch.baddbmm, torch.cat, torch.stack, torch.mv, torch.dot, torch.outer, torch.logical_and,
    torch.logical_or, torch.logical_xor, torch.addcmul, torch.addcdiv, torch.einsum,
    functional.embedding, functional.layer_norm, functional.rms_norm, functional.group_norm,
    functional.linear, functional.conv1d, functional.conv2d, functional.conv3d,
    functional.mse_loss, functional.l1_loss, functional.scaled_dot_product_attention,
)  # fmt: skip
for _function in (functional.cross_entropy, functional.nll_loss):
    _record = record_of(_function)
    if _record is not None:
        _record.implementations.setdefault(DTensor, _checked_loss("aten.nll_loss_forward.default"))


def _checked_operator(name: str, overload: str) -> Any:
    plain, check = getattr(Tensor, name), _checked(f"aten.{overload}.Tensor")

    def operator(self: Any, other: Any) -> Any:
        check(self, other)
        return plain(self, other)

    return operator


for _operators, _overload in (
    ("add radd iadd", "add"), ("sub rsub isub", "sub"), ("mul rmul imul", "mul"),
    ("truediv rtruediv itruediv", "div"), ("eq", "eq"), ("ne", "ne"), ("lt", "lt"), ("le", "le"),
    ("gt", "gt"), ("ge", "ge"), ("matmul rmatmul", "mm"),
):  # fmt: skip
    for _name in _operators.split():
        setattr(DTensor, f"__{_name}__", _checked_operator(f"__{_name}__", _overload))
