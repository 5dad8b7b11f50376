"""Training: Model, callbacks, metrics, checkpoints."""

from . import callback, metrics, serialization, summary
from .callback import *
from .metrics import *
from .model import Model as Model
from .serialization import *
from .summary import *

__all__ = [  # noqa: PLE0604
    "Model", *callback.__all__, *metrics.__all__, *serialization.__all__, *summary.__all__
]  # fmt: skip
