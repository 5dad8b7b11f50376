"""``torch.nn.functional`` for MindSpore's tensors."""

from typing import Any

from mindtorch import torch

from ..._names import Names

_names = Names("mindspore.mint.nn.functional", torch.nn.functional, torch)


def __getattr__(name: str) -> Any:
    return _names[name]
