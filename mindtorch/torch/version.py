"""The PyTorch release whose behaviour this namespace has."""

__version__ = "2.13.0+mindtorch"
debug = False
cuda = None
hip = None
xpu = None
git_version = "mindtorch"
