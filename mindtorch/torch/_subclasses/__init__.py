"""Tensors that stand for others while torch's compiler looks at a program: names only.

Libraries ask :func:`is_fake`; here no tensor is one.
"""

from .fake_tensor import FakeTensor, FakeTensorMode
from .functional_tensor import FunctionalTensor

__all__ = ["FakeTensor", "FakeTensorMode", "FunctionalTensor"]
