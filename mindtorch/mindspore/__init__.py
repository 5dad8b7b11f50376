"""MindSpore's names over the same engine: tensors, networks, ops, training, data.

What MindSpore does otherwise than torch (defaults, initialisers, the meaning of momentum) is as
in MindSpore; what is computed, torch's functions compute.
"""

from typing import Any as _Any

from mindtorch.functional import get_grad as get_grad
from mindtorch.functional import jvp as jvp
from mindtorch.functional import vjp as vjp
from mindtorch.transforms import jacfwd as jacfwd
from mindtorch.transforms import jacrev as jacrev
from mindtorch.transforms import recompute as recompute
from mindtorch.transforms import vmap as vmap

from . import amp as amp
from . import common as common
from . import communication as communication
from . import context as context
from . import log as log
from . import nn as nn
from . import ops as ops
from . import train as train
from . import version as version
from ._absent import refusing as _refusing
from ._argument_texts import TEXTS as _TEXTS
from ._autodiff import grad as grad
from ._autodiff import value_and_grad as value_and_grad
from ._general import *
from ._jit import jit as jit
from ._jit import jit_class as jit_class
from ._paths import offer as _offer
from .amp import *
from .common import COOTensor as COOTensor
from .common import CSRTensor as CSRTensor
from .common import Initializer as Initializer
from .common import Parameter as Parameter
from .common import ParameterTuple as ParameterTuple
from .common import RowTensor as RowTensor
from .common import Tensor as Tensor
from .common import dtype as dtype
from .common import get_seed as get_seed
from .common import set_seed as set_seed
from .common.dtype import *
from .context import *
from .train import *
from .version import __version__ as __version__

for _each in ("common", "communication", "graph", "nn", "ops", "train"):
    _offer(_each)

_TEXTS.add_to(globals().values())
_refuse = _refusing("mindspore", "FuncGraph", "export", "load")
_LATER = ("boost", "dataset", "mint", "experimental", "mindrecord", "numpy", "parallel", "scipy")
_SHARDED = ("Layout", "reshard", "shard")


def __getattr__(name: str) -> _Any:
    """Large parts are imported when they are first used."""
    if name in _LATER:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    if name in _SHARDED:
        return getattr(communication.sharding(), name)
    return _refuse(name)
