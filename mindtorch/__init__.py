"""PyTorch scripts on a small functional autodiff engine of our own."""

from .module_hooker import torch_disable as torch_disable
from .module_hooker import torch_enable as torch_enable
from .module_hooker import torch_pop as torch_pop

__version__ = "0.1.0"
