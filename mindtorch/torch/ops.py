"""torch.ops: the operators that were declared with torch.library, by namespace and name, and our
functions as `torch.ops.aten`."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

from mindtorch import torch

from ._api.publish import FUNCTIONS, METHODS
from ._compat import aten_private as forms
from .library._custom_operators import OPERATORS, Operator, Schema
from .library._torchvision_ops import declare

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


# Names of torch's overloads: by the types of what they take. Some operators have others.
_OVERLOADS = frozenset(
    "default out grad_input Tensor Scalar Tensor_out Scalar_out Scalar_Tensor Tensor_Scalar "
    "Tensor_Tensor Tensor_mode Scalar_mode List ScalarList int float vec dim dims dim_int "
    "dim_IntList int_dim IntList correction names_dim self stable values values_stable two src "
    "value reduce value_reduce device dtype dtype_layout other input output low start start_step "
    "generator self_int self_Tensor sections indices tensor_indices_or_sections".split()
)
# Methods that no row of the op table declares.
# modules whose functions torch.ops.aten has under the names of torch
_LAZY_PLACES = (
    "_compat.nn_function_aliases", "_compat.native_norms", "_compat.deprecated_functions",
    "nn.functional",
)  # fmt: skip
_PLAIN_METHODS = ("copy_", "to")


class _Native:
    """`torch.ops.aten.name` where it is one of our own functions: called with its arguments.

    So is that of ``torch.ops.quantized``, which is another ``space``.
    """

    def __init__(self, name: str, function: Callable[..., Any], space: str = "aten") -> None:
        self.__name__, self.__qualname__ = name, f"{space}.{name}"
        self._qualified_op_name = f"{space}::{name}"
        self._function, self._space = function, space

    def __getattr__(self, name: str) -> _Native:
        """An overload; our functions tell torch's overloads from the arguments."""
        if name.startswith("__"):  # asked of a copy that has no name yet
            raise AttributeError(name)
        if name not in _OVERLOADS or "." in self.__name__:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        made = self.__dict__[name] = _Native(
            f"{self.__name__}.{name}", self._function, self._space
        )
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __str__(self) -> str:
        return f"{self._space}.{self.__name__}"

    def __repr__(self) -> str:
        op, _, overload = self.__name__.partition(".")
        if overload:
            return f"<OpOverload(op='{self._space}.{op}', overload='{overload}')>"
        return f"<OpOverloadPacket(op='{self}')>"


def _native(name: str) -> _Native | None:
    """The function behind `torch.ops.aten.name`, if there is one."""
    if name in forms.__all__:
        found = getattr(forms, name)
    elif torch._LAZY_NAMES.get(name) in _LAZY_PLACES:
        found = getattr(torch, name)
    else:
        found = FUNCTIONS.get(name) or METHODS.get(name)
        if name in _PLAIN_METHODS:
            found = getattr(torch.Tensor, name)
    return None if found is None else _Native(name, found)


class _Namespace:
    """`torch.ops.namespace`. An operator appears when it is declared."""

    def __init__(self, name: str, functions: dict[str, Callable[..., Any]] | None = None) -> None:
        self.name, self._functions = name, functions or {}

    def __getattr__(self, name: str) -> Any:
        operator = OPERATORS.get(f"{self.name}::{name}")
        if operator is None and name in self._functions:
            made = self.__dict__[name] = _Native(name, self._functions[name], self.name)
            return made
        if operator is None and self.name == "aten" and (native := _native(name)) is not None:
            self.__dict__[name] = native
            return native
        if operator is None or operator.schema is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        packet = self.__dict__[name] = _Packet(operator)
        return packet

    def __dir__(self) -> list[str]:
        own = (name.partition("::") for name, each in OPERATORS.items() if each.schema)
        return sorted([*self._functions, *[name for space, _, name in own if space == self.name]])

    def __repr__(self) -> str:
        return f"<torch.ops.{self.name}>"


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    if name == "aten":
        from ._compat.aten_operators import declare

        declare()
    functions = None
    if name == "quantized":
        functions = torch._quantized.OPERATORS
    namespace = globals()[name] = _Namespace(name, functions)
    return namespace
