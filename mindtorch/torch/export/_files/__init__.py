"""Files of exported programs (``.pt2``), as PyTorch 2.13 writes and reads them.

Nothing in a file is executed: operators are looked up by their names, lengths are arithmetic that
is parsed, containers are those named here, and pickles (examples) are read with
``weights_only=True``. See docs/design/041-pt2-files.md.
"""

from .archive import load, save

__all__ = ["load", "save"]
