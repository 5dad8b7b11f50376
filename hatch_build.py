"""Compiled kernels in the wheel: those of the folder MINDTORCH_WHEEL_KERNELS (`make wheel`)."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg]
    """They are installed where `mindtorch warm --installed` writes them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("MINDTORCH_WHEEL_KERNELS")
        if version == "editable" or not folder:
            return
        files = sorted(Path(folder).glob("*/*.nbc"))
        if not files:
            raise FileNotFoundError(f"no kernels are in {folder}")
        for file in files:
            place = f"share/mindtorch/kernels/{file.parent.name}/{file.name}"
            build_data["shared_data"][str(file.resolve())] = place
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
