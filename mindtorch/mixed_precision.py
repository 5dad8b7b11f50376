"""Layers that compute in 16 bits while their parameters stay float32: the levels O0 to O3.

A module gets a class of its own whose call casts its inputs, its parameters as they are read, and
its results. This works for torch's modules and for MindSpore's cells.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.nn.modules._changes import change_class
from mindtorch.torch.nn.modules.module import Module
from mindtorch.torch.utils._pytree import tree_map

__all__ = ["LEVELS", "cast_all", "cast_listed", "cast_unlisted", "lowered", "uncast_results"]

LEVELS = ("O0", "O1", "O2", "O3", "auto")
_SIXTEEN = (dtypes.float16, dtypes.bfloat16)


def lowered(value: Any, dtype: Any) -> Any:
    """``value`` with its floating-point tensors cast.

    Args:
        dtype: the type that they are cast to.
    """

    def cast(leaf: Any) -> Any:
        if isinstance(leaf, EngineTensor) and leaf.aval.dtype.category == dtypes.FLOAT:
            return leaf if leaf.aval.dtype is dtype else leaf.to(dtype)
        return leaf

    return tree_map(cast, value)


class _UnderWay(threading.local):
    """How many calls of casting modules are. A parent may read its child's parameters without
    calling the child, as attention does with its last projection."""

    calls = 0


_under_way = _UnderWay()


class _Casting:
    """Mixed in before a module's own class."""

    _amp_compute: Any = None
    _amp_result: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        compute = self._amp_compute
        if compute is not None:
            args, kwargs = lowered(args, compute), lowered(kwargs, compute)
        _under_way.calls += 1
        try:
            result = super().__call__(*args, **kwargs)  # type: ignore[misc]
        finally:
            _under_way.calls -= 1
        return result if self._amp_result is None else lowered(result, self._amp_result)

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)  # type: ignore[misc]
        if _under_way.calls and self._amp_compute is not None and isinstance(found, EngineTensor):
            return lowered(found, self._amp_compute) if _learned(self, name) else found
        return found

    def __reduce_ex__(self, protocol: Any) -> Any:
        kind = type(self).__mro__[2]
        return _restore, (kind, self.__getstate__())


def _learned(module: Any, name: str) -> bool:
    """Whether it is a parameter, and neither a moving average that is written to nor one of a
    layer that has such: these stay float32, and kernels take one type for all of them."""
    parameter = module._parameters.get(name)
    if parameter is None or not parameter.requires_grad:
        return False
    average = module._buffers.get("running_mean")
    return average is None and module._parameters.get("moving_mean") is None


def _restore(kind: Any, state: dict[str, Any]) -> Any:
    module = kind.__new__(kind)
    module.__setstate__(state)
    _made_casting(module)
    return module


_classes: dict[Any, Any] = {}


def _made_casting(module: Any) -> None:
    kind: Any = type(module)
    if issubclass(kind, _Casting):
        return
    if kind not in _classes:
        fields: Any = {"__module__": kind.__module__, "__qualname__": kind.__qualname__,
                  "__doc__": kind.__doc__}  # fmt: skip
        bases: Any = (_Casting, kind)
        name: str = kind.__name__
        _classes[kind] = type(name, bases, fields)
    change_class(module, _classes[kind])


@contextmanager
def uncast_results(module: Any) -> Iterator[None]:
    """In the block a module that computes in 16 bits gives its results as they are."""
    fields = module.__dict__
    before = fields.get("_amp_result")
    if before is not None:
        fields["_amp_result"] = None
    try:
        yield
    finally:
        if before is not None:
            fields["_amp_result"] = before


def _set(module: Any, compute: Any, result: Any) -> None:
    _made_casting(module)
    module.__dict__["_amp_compute"] = compute
    module.__dict__["_amp_result"] = result


def _begin(network: Any, level: str, dtype: Any) -> None:
    if not isinstance(network, Module):
        raise TypeError(f"The network type should be Cell, but got {type(network).__name__}.")
    if dtype not in _SIXTEEN:
        raise ValueError(f"The dtype should be float16 or bfloat16, but got {dtype}.")
    if network.__dict__.get("_amp_level") is not None:
        warnings.warn(
            f"the network has the amp level {network.__dict__['_amp_level']} already; "
            f"auto_mixed_precision(..., {level!r}) is applied on top of it",
            stacklevel=4,
        )
    network.__dict__["_amp_level"] = level


def cast_listed(network: Any, white_list: Iterable[type], dtype: Any, level: str = "O1") -> Any:
    """Modules of these classes compute in ``dtype`` and give float32.

    Args:
        network: a module.
        white_list: the classes.
        level: kept as the module's level.
    """
    _begin(network, level, dtype)
    kinds = tuple(white_list)
    for module in network.modules():
        if isinstance(module, kinds):
            _set(module, dtype, dtypes.float32)
    return network


def cast_unlisted(network: Any, black_list: Iterable[type], dtype: Any, level: str = "O2") -> Any:
    """Modules compute in ``dtype`` but for those of these classes, which compute in float32 and
    give ``dtype``; the network gives float32.

    Args:
        black_list: the classes.
        level: kept as the module's level.
    """
    _begin(network, level, dtype)
    kinds: Any = tuple(black_list)
    kept: set[int] = set()
    for module in network.modules():
        if isinstance(module, kinds):
            kept.update(map(id, Module.modules(module)))
            _set(module, dtypes.float32, dtype)
        elif id(module) not in kept:
            _set(module, dtype, None)
    network.__dict__["_amp_result"] = dtypes.float32
    return network


def cast_all(network: Any, dtype: Any) -> Any:
    """Everything computes in ``dtype``; the network gives float32."""
    return cast_unlisted(network, (), dtype, "O3")
