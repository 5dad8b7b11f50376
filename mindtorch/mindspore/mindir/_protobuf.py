"""The package protobuf, of the extra `export`."""

from __future__ import annotations

from mindtorch._distribution import install_extra

try:
    from google.protobuf.message import DecodeError

    from mindtorch.exporting.messages import message_classes
except ModuleNotFoundError as error:
    if not (error.name or "").startswith("google"):
        raise
    raise ModuleNotFoundError(
        f"MindIR files need the package protobuf: {install_extra('export')}",
        name="google",
    ) from None

__all__ = ["DecodeError", "message_classes"]
