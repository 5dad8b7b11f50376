"""Tools for migration: the import switch, comparison with real PyTorch, scanning, command line."""

if __name__ != "mindtorch.tools":
    raise ImportError("import mindtorch.tools, not the folder 'tools'")

from typing import TYPE_CHECKING, Any

from .layer_info import debug_layer_info

if TYPE_CHECKING:
    from .watch_callback import WatchCallback
    from .watching import watch

__all__ = ["WatchCallback", "debug_layer_info", "watch"]


def __getattr__(name: str) -> Any:
    """What needs the engine is imported when it is first used."""
    if name == "watch":
        from .watching import watch

        return watch
    if name == "WatchCallback":
        from .watch_callback import WatchCallback

        return WatchCallback
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
