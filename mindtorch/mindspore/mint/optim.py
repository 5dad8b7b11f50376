"""Torch's optimizers, called with gradients: ``optimizer(gradients)``."""

from mindtorch.torch.optim import SGD as SGD
from mindtorch.torch.optim import Adam as Adam
from mindtorch.torch.optim import AdamW as AdamW

__all__ = ["SGD", "Adam", "AdamW"]
