"""Torch's optimizers, called with gradients: ``optimizer(gradients)``."""

from mindtorch.torch.optim import ASGD as ASGD
from mindtorch.torch.optim import SGD as SGD
from mindtorch.torch.optim import Adadelta as Adadelta
from mindtorch.torch.optim import Adagrad as Adagrad
from mindtorch.torch.optim import Adam as Adam
from mindtorch.torch.optim import Adamax as Adamax
from mindtorch.torch.optim import AdamW as AdamW
from mindtorch.torch.optim import NAdam as NAdam
from mindtorch.torch.optim import Optimizer as Optimizer
from mindtorch.torch.optim import RAdam as RAdam
from mindtorch.torch.optim import RMSprop as RMSprop
from mindtorch.torch.optim import Rprop as Rprop

from . import lr_scheduler as lr_scheduler
