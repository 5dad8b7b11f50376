"""MindSpore's ``mint``: torch's functions, names and arguments, for MindSpore's tensors."""

from typing import Any

from mindtorch import torch

from .._names import Names
from ..common.tensor import t as _functions
from ..ops.mathematics import cross as cross
from . import linalg as linalg
from . import nn as nn
from . import optim as optim
from . import special as special

sub = _functions.sub
_names = Names("mindspore.mint", torch)


def __getattr__(name: str) -> Any:
    return _names[name]
