"""Tools for migration: the import switch, comparison with real PyTorch, scanning, command line."""

if __name__ != "mindtorch.tools":
    raise ImportError("import mindtorch.tools, not the folder 'tools'")

from .layer_info import debug_layer_info

__all__ = ["debug_layer_info"]
