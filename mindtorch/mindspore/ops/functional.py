"""The functions of ``ops`` under the name by which older scripts import them (``as F``)."""

from __future__ import annotations

from typing import Any

from mindtorch import mindspore


def __getattr__(name: str) -> Any:
    return getattr(mindspore.ops, name)


def __dir__() -> list[str]:
    return dir(mindspore.ops)
