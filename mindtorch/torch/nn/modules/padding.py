"""Padding."""

from __future__ import annotations

from typing import Any

from .. import functional as F  # noqa: N812
from ._own_names import name_apart
from .module import Module
from .utils import ntuple


class _Pad(Module):
    """Adds elements at both ends of the last axes."""

    _spatial = 0
    _mode = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(2 * self._spatial)(padding)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """The input with its last axes made longer."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    """Adds the elements next to an end, turned around."""

    __constants__ = ["padding"]


class _ReplicationPadNd(_Pad):
    """Adds the last element again."""

    __constants__ = ["padding"]


class _ConstantPadNd(_Pad):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:  # noqa: A002
        """The input with ``value`` around it."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"padding={self.padding}, value={self.value}"


class _CircularPadNd(_Pad):
    __constants__ = ["padding"]

    def forward(self, input: Any) -> Any:  # noqa: A002
        """The input continued from its other end."""
        axes = self._spatial + 1
        if input.dim() not in (axes, axes + 1):
            raise ValueError(f"expected {axes}D or {axes + 1}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, "circular")


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"{self.padding}"


def _define() -> list[str]:
    """ConstantPad1d ... CircularPad3d."""
    kinds = {
        "ConstantPad": (_ConstantPadNd, "constant"), "ZeroPad": (_ZeroPadNd, "constant"),
        "ReflectionPad": (_ReflectionPadNd, "reflect"),
        "ReplicationPad": (_ReplicationPadNd, "replicate"),
        "CircularPad": (_CircularPadNd, "circular"),
    }  # fmt: skip
    names = []
    for kind, (base, mode) in kinds.items():
        for spatial in (1, 2, 3):
            name = f"{kind}{spatial}d"
            fields = {
                "_spatial": spatial, "_mode": mode, "__module__": __name__, "__qualname__": name,
                "__doc__": f"Padding ({mode}) of the last {spatial} axes.",
            }  # fmt: skip
            globals()[name] = type(name, (base,), fields)
            names.append(name)
    return names


name_apart([_ReflectionPadNd, _ReplicationPadNd])
__all__ = _define()  # noqa: PLE0605
