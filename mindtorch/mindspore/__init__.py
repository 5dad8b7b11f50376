"""The few names of MindSpore that training scripts for both use."""

from mindtorch.functional import get_grad as get_grad
from mindtorch.functional import grad as grad
from mindtorch.functional import jvp as jvp
from mindtorch.functional import value_and_grad as value_and_grad
from mindtorch.functional import vjp as vjp

from . import ops as ops
