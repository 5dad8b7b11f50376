"""``torch.nn`` as cells: torch's arguments, names of parameters and initial values."""

from typing import Any

from mindtorch import torch

from ..._names import Names
from . import functional as functional

_names = Names("mindspore.mint.nn", torch.nn)


def __getattr__(name: str) -> Any:
    return _names[name]
