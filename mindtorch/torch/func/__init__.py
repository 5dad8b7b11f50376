"""Transformations of functions: derivatives, one call over a batch, modules as functions."""

from mindtorch.torch._api.public_names import own_names as _own_names

from ._derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ._functionalize import functionalize
from ._modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from ._vmap import vmap

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

_own_names(globals())
