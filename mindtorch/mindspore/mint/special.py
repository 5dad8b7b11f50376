"""``torch.special`` for MindSpore's tensors."""

from typing import Any

from mindtorch import torch

from .._names import Names

_names = Names("mindspore.mint.special", torch.special)


def __getattr__(name: str) -> Any:
    return _names[name]
