"""Cells, layers, losses and optimizers with MindSpore's names, arguments and numbers."""

from mindtorch.mindspore._argument_texts import TEXTS as _TEXTS

from .. import _metrics as metrics
from .._absent import refusing as _refusing
from .._metrics import *
from . import (
    activation,
    basic,
    conv,
    dynamic_lr,
    learning_rate_schedule,
    loss,
    micro_batches,
    normalization,
    optim,
    optim_others,
    others,
    pooling,
    recurrent,
    transformer,
    wrap,
)
from ._optimizer_parts import opt_init_args_register as opt_init_args_register
from .activation import *
from .basic import *
from .cell import Cell as Cell
from .cell import CellDict as CellDict
from .cell import CellList as CellList
from .cell import SequentialCell as SequentialCell
from .conv import *
from .dynamic_lr import *
from .learning_rate_schedule import *
from .loss import *
from .micro_batches import *
from .normalization import *
from .optim import *
from .optim_others import *
from .optimizer import Optimizer as Optimizer
from .others import *
from .pooling import *
from .recurrent import *
from .transformer import *
from .wrap import *

__all__ = [  # noqa: PLE0604
    "Cell", "CellDict", "CellList", "Optimizer", "SequentialCell",
    *metrics.__all__,
    *(
        name
        for module in (
            activation, basic, conv, dynamic_lr, learning_rate_schedule, loss, micro_batches,
            normalization, optim, optim_others, others, pooling, recurrent, transformer, wrap,
        )
        for name in module.__all__
    ),
]  # fmt: skip

_TEXTS.add_to(globals().values())

__getattr__ = _refusing("mindspore.nn", "GraphCell")
