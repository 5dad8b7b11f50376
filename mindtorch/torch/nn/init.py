"""Initial values of parameters; random ones are drawn in torch's order."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import numpy as np

import mindtorch.torch as torch
from mindtorch.engine.aval import dense_like
from mindtorch.engine.dtype_support import refuse
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array
from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS

from ..autograd.grad_mode import no_grad
from ..functions.creation import new_empty

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_",
    "normal_", "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_",
    "xavier_uniform_", "zeros_",
]  # fmt: skip

_LINEAR = (
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d",
)  # fmt: skip


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor that keeps the variance through an activation.

    1 for linear ones and sigmoid, 5/3 for tanh, sqrt(2) for relu, sqrt(2 / (1 + slope**2)) for
    leaky_relu (``param`` is the slope), 3/4 for selu.

    Raises:
        ValueError: the name is not known.
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope: Any = 0.01
        elif not isinstance(param, bool) and isinstance(param, (int, float)):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Fill with numbers spread evenly over [a, b)."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_uniform_(tensor: Any, a: float, b: float, generator: Any = None) -> Any:
    """:func:`uniform_` by the name that some libraries import."""
    return uniform_(tensor, a, b, generator)


def _no_grad_normal_(tensor: Any, mean: float, std: float, generator: Any = None) -> Any:
    """:func:`normal_` by the name that some libraries import."""
    return normal_(tensor, mean, std, generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Fill with normal numbers."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Any, val: float) -> Any:
    """Fill with ``val``."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Any:
    """Fill with 1."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Fill with 0."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Any) -> Any:
    """Make a matrix the identity."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _write(tensor, np.eye(*tensor.shape, dtype=np.float64))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Make a convolution's weight the identity on as many channels as there are (per group).

    Args:
        groups: into how many parts the channels are divided.
    """
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    shape = tuple(tensor.shape)
    if shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = shape[0] // groups
    values = np.zeros(shape)
    middle = tuple(n // 2 for n in shape[2:])
    for group in range(groups):
        for d in range(min(per_group, shape[1])):
            values[(group * per_group + d, d, *middle)] = 1
    return _write(tensor, values, 1 + groups * min(per_group, shape[1]))


def _write(tensor: Any, values: Any, writes: int = 1) -> Any:
    """Store ``values``; the tensor's version counts the ``writes`` that torch makes of it."""
    with no_grad():
        tensor.copy_(from_array(np.ascontiguousarray(values)))
    tensor._shared.version += writes - 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
    """How many inputs an output element has, and how many outputs an input element."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    shape = tuple(tensor.shape)
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _calculate_correct_fan(tensor: Any, mode: str) -> int:
    mode = mode.lower()
    valid = ["fan_in", "fan_out"]
    if mode not in valid:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid}")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Uniform over [-a, a), a = gain * sqrt(6 / (fan_in + fan_out))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    a = math.sqrt(3.0) * std
    return uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Any = None) -> Any:
    """Normal with std = gain * sqrt(2 / (fan_in + fan_out))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _no_elements(tensor: Any) -> bool:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Any:
    """Uniform over [-bound, bound), bound = gain * sqrt(3 / fan)."""
    if _no_elements(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Any = None,
) -> Any:
    """Normal with std = gain / sqrt(fan)."""
    if _no_elements(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    return normal_(tensor, 0, std, generator)


def _cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def trunc_normal_(
    tensor: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Any = None,
) -> Any:
    """Normal numbers, those outside [a, b] drawn again."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )
    if tensor.is_meta:
        return tensor
    if tensor.is_complex():
        refuse("lt_cpu", tensor.dtype)
    inside = _cdf((b - mean) / std) - _cdf((a - mean) / std)
    with no_grad():
        if inside > 0.3:
            return _redraw_outside(tensor, mean, std, a, b, generator)
        return _accept_or_redraw(tensor, mean, std, a, b, generator)


def _fresh(tensor: Any) -> Any:
    return new_empty(dense_like(tensor.aval))


def _on_host(function: Any) -> Any:
    """A function that writes to a tensor's array, for tensors of other devices, too."""

    @functools.wraps(function)
    def initialize(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(tensor, EngineTensor) or tensor.aval.device.type != "cuda":
            return function(tensor, *args, **kwargs)
        with no_grad():
            return tensor.copy_(function(tensor.detach().cpu(), *args, **kwargs))

    return initialize


@_on_host
def _redraw_outside(
    tensor: Any, mean: float, std: float, a: float, b: float, generator: Any
) -> Any:
    tensor.normal_(mean, std, generator=generator)
    values = tensor.array()
    low, high = values.dtype.type(a), values.dtype.type(b)
    outside = (values < low) | (values > high)
    if outside.any():
        tensor._shared.version += 1  # torch copies what it has drawn again
    while outside.any():
        again = _fresh(tensor).normal_(mean, std, generator=generator).array()
        values[outside] = again[outside]
        outside = (values < low) | (values > high)
    return tensor


@_on_host
def _accept_or_redraw(
    tensor: Any, mean: float, std: float, a: float, b: float, generator: Any
) -> Any:
    """Uniform candidates, accepted with the normal density relative to its largest value."""
    mode = max(a, min(mean, b))
    log_peak = -0.5 * ((mode - mean) / std) ** 2
    tensor.uniform_(a, b, generator=generator)
    values = tensor.array()
    kind = values.dtype.type

    def refused(candidates: Any) -> Any:
        accept = _fresh(tensor).uniform_(0, 1, generator=generator).array()
        z = (candidates - kind(mean)) / kind(std)
        with np.errstate(divide="ignore"):
            return np.log(accept) > z * z * kind(-0.5) - kind(log_peak)

    pending = refused(values)
    if pending.any():
        tensor._shared.version += 1
    while pending.any():
        candidates = _fresh(tensor).uniform_(a, b, generator=generator).array()
        values[pending] = candidates[pending]
        pending &= refused(candidates)
    return tensor


def orthogonal_(tensor: Any, gain: float = 1, generator: Any = None) -> Any:
    """A (semi-)orthogonal matrix from the QR decomposition of normal numbers, times ``gain``."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    if tensor.dtype in (torch.float16, torch.bfloat16):
        refuse("geqrf_cpu", tensor.dtype)
    if tensor.is_complex():
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
            "torch.sgn instead."
        )
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator).array()
    q, r = np.linalg.qr(flat.T if rows < columns else flat)
    q = q * np.sign(np.diag(r))
    values = (q.T if rows < columns else q).reshape(tuple(tensor.shape)) * q.dtype.type(gain)
    return _write(tensor, values, 2)


@_on_host
def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Any = None) -> Any:
    """Normal numbers, with the fraction ``sparsity`` of each column zero."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        values = tensor.array()
        for column in range(columns):
            values[torch.randperm(rows).array()[:zeros], column] = 0
            tensor._shared.version += 1
    return tensor


def _deprecated(new: Any) -> Any:
    old = new.__name__[:-1]

    def alias(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new.__name__}`.",
            FutureWarning,
            stacklevel=2,
        )
        return new(*args, **kwargs)

    alias.__name__ = old
    alias.__doc__ = f"The deprecated name of :func:`{new.__name__}`."
    return alias


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

_TEXTS.add_to(globals().values())
