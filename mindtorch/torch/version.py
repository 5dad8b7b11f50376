"""The PyTorch release whose behaviour this namespace has."""

from .torch_version import TorchVersion

__version__ = TorchVersion("2.13.0+mindtorch")
debug = False
cuda = None
hip = None
rocm = None
xpu = None
git_version = "mindtorch"
