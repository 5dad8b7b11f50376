"""Tensors, parameters, types, initialisers and the seed."""

from . import dtype as dtype
from . import initializer as initializer
from .initializer import Initializer as Initializer
from .parameter import Parameter as Parameter
from .parameter import ParameterTuple as ParameterTuple
from .seed import get_seed as get_seed
from .seed import set_seed as set_seed
from .sparse_tensor import COOTensor as COOTensor
from .sparse_tensor import CSRTensor as CSRTensor
from .sparse_tensor import RowTensor as RowTensor
from .tensor import Tensor as Tensor
