"""Torch's schedulers of learning rates."""

from mindtorch.torch.optim.lr_scheduler import ChainedScheduler as ChainedScheduler
from mindtorch.torch.optim.lr_scheduler import ConstantLR as ConstantLR
from mindtorch.torch.optim.lr_scheduler import CosineAnnealingLR as CosineAnnealingLR
from mindtorch.torch.optim.lr_scheduler import (
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
)
from mindtorch.torch.optim.lr_scheduler import CyclicLR as CyclicLR
from mindtorch.torch.optim.lr_scheduler import ExponentialLR as ExponentialLR
from mindtorch.torch.optim.lr_scheduler import LambdaLR as LambdaLR
from mindtorch.torch.optim.lr_scheduler import LinearLR as LinearLR
from mindtorch.torch.optim.lr_scheduler import LRScheduler as LRScheduler
from mindtorch.torch.optim.lr_scheduler import MultiplicativeLR as MultiplicativeLR
from mindtorch.torch.optim.lr_scheduler import MultiStepLR as MultiStepLR
from mindtorch.torch.optim.lr_scheduler import PolynomialLR as PolynomialLR
from mindtorch.torch.optim.lr_scheduler import ReduceLROnPlateau as ReduceLROnPlateau
from mindtorch.torch.optim.lr_scheduler import SequentialLR as SequentialLR
from mindtorch.torch.optim.lr_scheduler import StepLR as StepLR
