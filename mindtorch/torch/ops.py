"""torch.ops: the operators that were declared with torch.library, by namespace and name, and our
functions as `torch.ops.aten`."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any

from mindtorch import torch
from mindtorch.engine.op import OPS

from ._aten.autograd import above as above
from ._aten.lowerings import own, packet
from ._aten.overloads import OpOverloadPacket, packet_of
from .library._custom_operators import OPERATORS
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


class _Namespace:
    """`torch.ops.namespace`. An operator appears when it is declared."""

    def __init__(self, name: str, functions: dict[str, Callable[..., Any]] | None = None) -> None:
        self.name, self._functions = name, functions or {}

    def __getattr__(self, name: str) -> Any:
        operator = OPERATORS.get(f"{self.name}::{name}")
        if operator is None and name in self._functions:
            found = OpOverloadPacket(f"{self.name}::{name}", self._functions[name])
            self.__dict__[name] = found
            return found
        if operator is None and self.name == "aten" and (native := packet(name)) is not None:
            self.__dict__[name] = native
            return native
        if self.name == "mindtorch" and name in OPS:
            return own(name).overloadpacket
        if operator is None or operator.schema is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        made = self.__dict__[name] = packet_of(operator)
        return made

    def __dir__(self) -> list[str]:
        own = (name.partition("::") for name, each in OPERATORS.items() if each.schema)
        return sorted([*self._functions, *[name for space, _, name in own if space == self.name]])

    def __repr__(self) -> str:
        return f"<torch.ops.{self.name}>"


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    functions = torch._quantized.OPERATORS if name == "quantized" else None
    namespace = globals()[name] = _Namespace(name, functions)
    if name == "higher_order":
        whole = torch._higher_order_ops
        for each in whole.__all__:  # operators do not check what they are given
            setattr(namespace, each, getattr(whole, f"{each}_op", getattr(whole, each)))
    return namespace
