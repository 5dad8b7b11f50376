"""MindSpore's ``ops``: functions, primitives, gradients and what is built on them."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from mindtorch import torch as _torch
from mindtorch.functional import get_grad as get_grad
from mindtorch.functional import jvp as jvp
from mindtorch.functional import vjp as vjp
from mindtorch.mindspore._argument_texts import TEXTS as _TEXTS
from mindtorch.transforms import jacfwd as jacfwd
from mindtorch.transforms import jacrev as jacrev
from mindtorch.transforms import recompute as recompute
from mindtorch.transforms import stop_gradient as stop_gradient
from mindtorch.transforms import vmap as vmap

from .._absent import refusing as _refusing
from .._autodiff import grad as grad
from .._autodiff import value_and_grad as value_and_grad
from .._general import constexpr as constexpr
from . import _methods as _methods
from . import composite as composite
from . import function as function
from . import functional as functional
from . import indexing as indexing
from . import losses as losses
from . import mathematics as mathematics
from . import neural as neural
from . import operations as operations
from . import primitives as primitives
from ._words import named as _named
from .composite import *
from .function import *
from .indexing import *
from .losses import *
from .mathematics import *
from .neural import *
from .operations import *
from .primitives import *

t = _named(_torch.t)

_TEXTS.add_to(globals().values())

# for names that are made from tables this is what tells type checkers that they may be there
__getattr__: _Callable[[str], _Any] = _refusing("mindspore.ops")
