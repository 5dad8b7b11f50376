"""Training: Model, callbacks, metrics, checkpoints."""

from .. import _metrics as metrics
from .._absent import refusing as _refusing
from .._metrics import *
from ..amp import DynamicLossScaleManager as DynamicLossScaleManager
from ..amp import FixedLossScaleManager as FixedLossScaleManager
from ..amp import LossScaleManager as LossScaleManager
from ..amp import build_train_network as build_train_network
from . import callback, serialization, summary
from .callback import *
from .model import Model as Model
from .serialization import *
from .summary import *

__all__ = [  # noqa: PLE0604
    "DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager", "Model",
    "build_train_network", *callback.__all__, *metrics.__all__,
    *serialization.__all__, *summary.__all__,
]  # fmt: skip

__getattr__ = _refusing("mindspore.train", "export", "load")
