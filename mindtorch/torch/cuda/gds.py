"""Files read by the device itself (GPUDirect Storage): not here, as in a build without it."""

from __future__ import annotations

import os
from typing import Any, NoReturn

__all__ = ["GdsFile", "gds_deregister_buffer", "gds_register_buffer"]


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(f"torch._C.{name} is not supported on this platform")


def gds_register_buffer(s: Any) -> None:
    """Raises RuntimeError, as all of this module: there is no GPUDirect Storage.

    Args:
        s: a storage.
    """
    _refuse("_gds_register_buffer")


def gds_deregister_buffer(s: Any) -> None:
    """Raises RuntimeError.

    Args:
        s: a storage.
    """
    _refuse("_gds_deregister_buffer")


class GdsFile:
    """A file that is opened and, as there is no GPUDirect Storage, refused.

    Args:
        filename, flags: as for ``os.open``.
    """

    def __init__(self, filename: str, flags: int) -> None:
        os.close(os.open(filename, flags, 0o664))
        _refuse("_gds_register_handle")
