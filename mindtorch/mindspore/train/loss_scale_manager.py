"""Loss scales where older scripts import them from."""

from ..amp import DynamicLossScaleManager as DynamicLossScaleManager
from ..amp import FixedLossScaleManager as FixedLossScaleManager
from ..amp import LossScaleManager as LossScaleManager
