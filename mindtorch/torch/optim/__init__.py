"""Optimizers and schedules of their learning rates."""

from sys import modules as _modules

from mindtorch.torch._api.public_names import belong_to as _belong_to
from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS
from mindtorch.torch._compat.module_aliases import alias_module

from . import _functional
from . import lr_scheduler as lr_scheduler
from . import swa_utils as swa_utils
from .adafactor import Adafactor as Adafactor
from .adam import Adam as Adam
from .adam import AdamW as AdamW
from .adaptive import ASGD as ASGD
from .adaptive import Adadelta as Adadelta
from .adaptive import Adagrad as Adagrad
from .adaptive import Adamax as Adamax
from .adaptive import NAdam as NAdam
from .adaptive import RAdam as RAdam
from .adaptive import RMSprop as RMSprop
from .adaptive import Rprop as Rprop
from .lbfgs import LBFGS as LBFGS
from .muon import Muon as Muon
from .optimizer import Optimizer as Optimizer
from .sgd import SGD as SGD
from .sparse_adam import SparseAdam as SparseAdam

for _name, _class in {
    "adadelta": "Adadelta", "adagrad": "Adagrad", "adamax": "Adamax", "adamw": "AdamW",
    "asgd": "ASGD", "nadam": "NAdam", "radam": "RAdam", "rmsprop": "RMSprop", "rprop": "Rprop",
}.items():  # fmt: skip
    alias_module(__name__, _name, _class)
for _name in _functional.__all__:
    _module, _step = _modules[f"{__name__}.{_name}"], getattr(_functional, _name)
    setattr(_module, _name, _step)
    _step.__module__ = _module.__name__

_TEXTS.add_to(globals().values())

_own_names(globals())
_belong_to(__name__, (Adafactor, Muon))
