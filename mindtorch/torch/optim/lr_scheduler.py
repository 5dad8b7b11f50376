"""Schedules of learning rates."""

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS

from ._schedule_base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from ._schedule_base import LRScheduler as LRScheduler
from ._schedule_combined import ChainedScheduler as ChainedScheduler
from ._schedule_combined import ReduceLROnPlateau as ReduceLROnPlateau
from ._schedule_combined import SequentialLR as SequentialLR
from ._schedule_cyclic import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from ._schedule_cyclic import CyclicLR as CyclicLR
from ._schedule_cyclic import OneCycleLR as OneCycleLR
from ._schedule_simple import ConstantLR as ConstantLR
from ._schedule_simple import CosineAnnealingLR as CosineAnnealingLR
from ._schedule_simple import ExponentialLR as ExponentialLR
from ._schedule_simple import LambdaLR as LambdaLR
from ._schedule_simple import LinearLR as LinearLR
from ._schedule_simple import MultiplicativeLR as MultiplicativeLR
from ._schedule_simple import MultiStepLR as MultiStepLR
from ._schedule_simple import PolynomialLR as PolynomialLR
from ._schedule_simple import StepLR as StepLR


class _LRScheduler(LRScheduler):
    """The name that old code derives schedules from."""


__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

_TEXTS.add_to(globals().values())

_own_names(globals())
