"""Tools for migration: the import switch, comparison with real PyTorch, scanning, command line."""

if __name__ != "mindtorch.tools":
    raise ImportError("import mindtorch.tools, not the folder 'tools'")

import importlib
from typing import TYPE_CHECKING, Any

from .later import later
from .layer_info.report import debug_layer_info

if TYPE_CHECKING:
    from .convert import convert_to_ms_tensor
    from .debugger.attach import debug
    from .pth2ckpt import pth2ckpt
    from .watchpoints.mindspore_callback import WatchCallback
    from .watchpoints.watcher import watch

__all__ = [
    "WatchCallback", "convert_to_ms_tensor", "debug", "debug_layer_info", "pth2ckpt", "watch",
]  # fmt: skip

# What needs the engine is imported when it is first used.
_LATER = {
    "WatchCallback": "watchpoints.mindspore_callback",
    "convert_to_ms_tensor": "convert",
    "debug": "debugger.attach",
    "watch": "watchpoints.watcher",
}


def __getattr__(name: str) -> Any:
    """Names that are imported late."""
    if name == "pth2ckpt":  # the module is called, too
        return importlib.import_module(f"{__name__}.pth2ckpt")
    if name in _LATER:
        return later(_LATER[name], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
