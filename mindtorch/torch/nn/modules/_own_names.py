"""Functions that classes share, under each class's own name: Python's errors of arguments say it.

torch writes ``forward`` in ``Conv1d``, ``Conv2d`` and ``Conv3d``; here it is in a class above them.
"""

from __future__ import annotations

import types
from typing import Any

# classes whose functions torch has in the classes below them
_SHARED = {
    **dict.fromkeys(("_AvgPoolNd", "_ConvTransposeNd", "_Convolution", "_MaxUnpoolNd"),
                    ("__init__", "forward")),
    **dict.fromkeys(("_AdaptiveAvgPoolNd", "_AdaptiveMaxPoolNd", "_DropoutNd", "_LPPoolNd",
                     "_MaxPoolNd", "RNNBase"), ("forward",)),
    **dict.fromkeys(("_ConstantPadNd", "_LazyConvXdMixin", "_ReflectionPadNd",
                     "_ReplicationPadNd", "_ZeroPadNd"), ("__init__",)),
    "_Pad": ("__init__", "forward"),
}  # fmt: skip


def name_apart(classes: list[Any]) -> None:
    """Give the classes functions of their own in place of those that they share."""
    for each in classes:
        for name in ("__init__", "forward"):
            function = getattr(each, name, None)
            owner = getattr(function, "__qualname__", "").partition(".")[0]
            if isinstance(function, types.FunctionType) and name in _SHARED.get(owner, ()):
                setattr(each, name, _named(function, f"{each.__name__}.{name}"))


def name_as_methods_of(cls: type, *mixins: type) -> None:
    """Let the functions of classes that a class is made of be the class's own."""
    for mixin in mixins:
        for function in vars(mixin).values():
            if isinstance(function, types.FunctionType):
                function.__qualname__ = f"{cls.__name__}.{function.__name__}"


def _named(function: types.FunctionType, name: str) -> types.FunctionType:
    wrapped, closure = getattr(function, "__wrapped__", None), function.__closure__ or ()
    if isinstance(wrapped, types.FunctionType):  # Python's errors have the name of what it calls
        inner = _named(wrapped, name)
        closure = tuple(
            types.CellType(inner) if cell.cell_contents is wrapped else cell for cell in closure
        )
    made = types.FunctionType(
        function.__code__.replace(co_qualname=name), function.__globals__, function.__name__,
        function.__defaults__, closure or None,
    )  # fmt: skip
    made.__dict__.update(function.__dict__)
    if isinstance(wrapped, types.FunctionType):
        made.__dict__["__wrapped__"] = inner
    made.__doc__, made.__annotations__ = function.__doc__, function.__annotations__
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, name
    made.__module__ = function.__module__
    return made
