"""``mindspore.scipy``: SciPy's linear algebra and assignment for MindSpore's tensors."""

from . import linalg as linalg
from . import optimize as optimize

__all__ = ["linalg", "optimize"]
