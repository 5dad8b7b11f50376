"""torch.export: the names that packages import. Programs are not exported."""

from __future__ import annotations

import enum

from mindtorch.torch._compat.unsupported_names import absent_class, absent_function, absent_module

__all__ = ["Dim", "ExportedProgram", "ShapesCollection", "draft_export", "export", "load",
           "register_dataclass", "save"]  # fmt: skip

_WHY = "models are not exported; torch.save keeps a state_dict"


class _Hint(enum.Enum):
    """What `Dim.AUTO` and its like are."""

    AUTO = 1
    DYNAMIC = 2
    STATIC = 3


class Dim:
    """A name for a length that an exported program would leave open."""

    AUTO = _Hint.AUTO
    DYNAMIC = _Hint.DYNAMIC
    STATIC = _Hint.STATIC

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:  # noqa: A002
        self.__name__, self.min, self.max = name, 0 if min is None else min, max


ExportedProgram = absent_class("torch.export", "ExportedProgram", _WHY)
ShapesCollection = absent_class("torch.export", "ShapesCollection", _WHY)
draft_export = absent_function("torch.export", "draft_export", _WHY)
export = absent_function("torch.export", "export", _WHY)
load = absent_function("torch.export", "load", _WHY)
register_dataclass = absent_function("torch.export", "register_dataclass", _WHY)
save = absent_function("torch.export", "save", _WHY)
absent_module("export._trace", _WHY, "", "_export")
absent_module("export.decomp_utils", _WHY, "CustomDecompTable")
