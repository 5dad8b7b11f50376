"""``mindtorch.ops``: MindSpore's ``ops``."""

from mindtorch.mindspore.ops import *
from mindtorch.mindspore.ops import GradOperation as GradOperation
from mindtorch.mindspore.ops import get_grad as get_grad
from mindtorch.mindspore.ops import grad as grad
from mindtorch.mindspore.ops import jacfwd as jacfwd
from mindtorch.mindspore.ops import jacrev as jacrev
from mindtorch.mindspore.ops import jvp as jvp
from mindtorch.mindspore.ops import recompute as recompute
from mindtorch.mindspore.ops import stop_gradient as stop_gradient
from mindtorch.mindspore.ops import value_and_grad as value_and_grad
from mindtorch.mindspore.ops import vjp as vjp
from mindtorch.mindspore.ops import vmap as vmap
