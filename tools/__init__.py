"""Tools for migration: the import switch, comparison with real PyTorch, scanning, command line."""

if __name__ != "mindtorch.tools":
    raise ImportError("import mindtorch.tools, not the folder 'tools'")

from typing import TYPE_CHECKING, Any

from .layer_info.report import debug_layer_info

if TYPE_CHECKING:
    from .convert import convert_to_ms_tensor
    from .pth2ckpt import pth2ckpt
    from .watchpoints.mindspore_callback import WatchCallback
    from .watchpoints.watcher import watch

__all__ = ["WatchCallback", "convert_to_ms_tensor", "debug_layer_info", "pth2ckpt", "watch"]


def __getattr__(name: str) -> Any:
    """What needs the engine is imported when it is first used."""
    if name == "watch":
        from .watchpoints.watcher import watch

        return watch
    if name == "WatchCallback":
        from .watchpoints.mindspore_callback import WatchCallback

        return WatchCallback
    if name == "convert_to_ms_tensor":
        from .convert import convert_to_ms_tensor

        return convert_to_ms_tensor
    if name == "pth2ckpt":
        import importlib

        return importlib.import_module(f"{__name__}.pth2ckpt")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
