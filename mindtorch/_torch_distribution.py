"""What `importlib.metadata` knows of torch while mindtorch has its name."""

import importlib
import os
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError
from os import PathLike
from pathlib import Path

__all__ = ["TorchDistribution"]


class TorchDistribution(Distribution):
    """A distribution of torch's name and of the version that `mindtorch.torch` follows."""

    def read_text(self, filename: str) -> str | None:
        if filename != "METADATA":
            return None
        message = Message()
        message["Metadata-Version"] = "2.1"
        message["Name"] = "torch"
        message["Version"] = str(importlib.import_module("mindtorch.torch").__version__)
        message["Summary"] = "mindtorch under torch's name"
        return message.as_string()

    def locate_file(self, path: str | PathLike[str]) -> Path:
        raise PackageNotFoundError(f"torch is mindtorch here and has no file {os.fspath(path)!r}")
