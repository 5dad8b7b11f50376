"""torch.ops: the operators that were declared with torch.library, by namespace and name, and our
functions as `torch.ops.aten`."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

from ._operators import OPERATORS, Operator, Schema

__all__ = ["load_library", "loaded_libraries"]

loaded_libraries: set[str] = set()


def load_library(path: str | os.PathLike[str]) -> None:
    """A compiled extension of PyTorch calls PyTorch's C++ library, which is not here.

    In place of torchvision's own library the operators that it declares are declared, with
    kernels of ours; the file itself is not read.

    Raises:
        OSError: another library, as torch does for one that it cannot load.
    """
    name = pathlib.PurePath(os.fspath(path))
    if name.parent.name == "torchvision" and name.name.partition(".")[0] == "_C":
        from ._vision_operators import declare

        declare()
        loaded_libraries.add(os.path.realpath(path))
        return
    raise OSError(
        f"Could not load this library: {os.fspath(path)}: it is an extension of PyTorch's C++ "
        "library, which mindtorch does not have"
    )


class _Overload:
    """`torch.ops.namespace.name.overload`; an operator has one overload."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operator(*args, **kwargs)

    @property
    def _schema(self) -> Schema | None:
        return self._operator.schema

    def name(self) -> str:
        return self._operator.name

    def __str__(self) -> str:
        return f"{self._operator.name.replace('::', '.')}.{_overload_name(self._operator)}"

    def __repr__(self) -> str:
        name = self._operator.name.replace("::", ".")
        return f"<OpOverload(op='{name}', overload='{_overload_name(self._operator)}')>"


def _overload_name(operator: Operator) -> str:
    return (operator.schema.overload if operator.schema else "") or "default"


class _Packet:
    """`torch.ops.namespace.name`."""

    def __init__(self, operator: Operator) -> None:
        self._overload = _Overload(operator)
        setattr(self, _overload_name(operator), self._overload)
        self.__name__ = operator.name.partition("::")[2]
        self._qualified_op_name = operator.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._overload(*args, **kwargs)

    def overloads(self) -> list[str]:
        return [_overload_name(self._overload._operator)]

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class _Native:
    """`torch.ops.aten.name` where it is one of our own functions: called with its arguments."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = name
        self._qualified_op_name = f"aten::{name}"
        self._function = function

    @property
    def default(self) -> _Native:
        """Our functions tell torch's overloads from the arguments."""
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


def _native(name: str) -> _Native | None:
    """The function behind `torch.ops.aten.name`, if there is one."""
    from mindtorch import torch

    from . import _private_forms as forms
    from ._registry import FUNCTIONS

    if name in forms.__all__:
        found = getattr(forms, name)
    elif torch._LAZY_NAMES.get(name) in ("_neural", "_native", "_older_functions", "nn.functional"):
        found = getattr(torch, name)
    else:
        found = FUNCTIONS.get(name)
    return None if found is None else _Native(name, found)


class _Namespace:
    """`torch.ops.namespace`. An operator appears when it is declared."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> _Packet | _Native:
        operator = OPERATORS.get(f"{self.name}::{name}")
        if operator is None and self.name == "aten" and (native := _native(name)) is not None:
            self.__dict__[name] = native
            return native
        if operator is None or operator.schema is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        packet = self.__dict__[name] = _Packet(operator)
        return packet

    def __dir__(self) -> list[str]:
        own = (name.partition("::") for name, each in OPERATORS.items() if each.schema)
        return sorted(name for space, _, name in own if space == self.name)

    def __repr__(self) -> str:
        return f"<torch.ops.{self.name}>"


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    if name == "aten":
        from ._aten import declare

        declare()
    namespace = globals()[name] = _Namespace(name)
    return namespace
