"""Activation functions.

They are functions of each element x of ``input``, of any shape, unless they take a ``dim``. With
``inplace`` the result is written into ``input``, as the names that end in ``_`` do.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import mindtorch.torch as torch
from mindtorch.engine import dtype_support, dtypes
from mindtorch.engine.autograd import inplace as writing
from mindtorch.engine.autograd import tape
from mindtorch.engine.aval import dense_like
from mindtorch.engine.ops import activations, movement
from mindtorch.engine.ops import activations as activation_ops
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops import softmax as softmax_ops
from mindtorch.engine.ops.base import normalize_axis
from mindtorch.engine.ops.movement import contiguous
from mindtorch.engine.tensor import constant as c
from mindtorch.engine.transforms.autocast import LOWER
from mindtorch.engine.transforms.vmap import draw

from .._api.arguments import as_dtype, require_tensor
from .._api.deprecations import warn_of_lost_imaginary_part
from .._api.kernel_signatures import Kernel
from .._api.out_rules import FOUND, SCALAR_TYPE_OF_RESULT, Out
from .._api.publish import functional
from .._api.warn_caller import warn_caller
from ..functions.activations import of_kind, prelu
from ..functions.random import generator_of

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid",
    "mish", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid",
    "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink",
    "threshold", "threshold_",
]  # fmt: skip


functional(explained=True, cacheable=True, autocast=LOWER, autocast_cuda=LOWER)(prelu)

# functions that PyTorch derives from their results when they wrote over their inputs
_BENT = {activations.elu: "elu", activations.leaky_relu: "leakyReLu"}


def _refuse_negative(name: str, gradients: Any) -> None:
    """PyTorch's error, whose formula needs slopes that tell the input's sign."""
    what = "" if name == "elu" else (
        " File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place"
        " leakRelu backward calculation with negative slope"
    )
    raise RuntimeError(
        f"In-place {name} backward calculation is triggered with a negative slope which is not "
        "supported. This is caused by calling in-place forward function with a negative slope, "
        f"please call out-of-place version instead.{what}"
    )


def _require_floats(x: Any, kernel: str) -> None:
    """PyTorch's error where a kernel is not there for whole numbers."""
    if x.aval.dtype.category < dtypes.FLOAT:
        kind = dtypes.scalar_type_name(x.aval.dtype)
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind}'")


def _run(op: Any, in_place: bool, x: Any, *numbers: Any, kernel: str | None = None) -> Any:
    """``op`` of a tensor and numbers, written over the tensor when ``in_place``.

    Args:
        kernel: PyTorch's name of it, where that is there for floating-point numbers alone.
    """
    require_tensor(x, op.name, "input", 1)
    if kernel is not None:
        _require_floats(x, kernel)
    constants = [c(n) for n in numbers]
    if in_place:
        writing.check_captured(x, f"{op.name}_")
        result = writing.apply_in_place(op, x, x, *constants)
        if op in _BENT and numbers[0] < 0 and tape.requires_grad(result):
            refusal = functools.partial(_refuse_negative, _BENT[op])
            tape.add_hook(tape.node_of(result), "pre", refusal)
        return result
    return op(x, *constants)


@functional(cacheable=True, kernel=Kernel("relu", "input"), explained=False)
def relu(input: Any, inplace: bool = False) -> Any:  # noqa: A002
    """max(x, 0)."""
    return _run(activation_ops.relu, inplace, input)


@functional(explained=True, cacheable=True)
def relu_(input: Any) -> Any:  # noqa: A002
    """max(x, 0), in place."""
    return _run(activation_ops.relu, True, input)


@functional(cacheable=True, kernel=Kernel("relu6", "input"))
def relu6(input: Any, inplace: bool = False) -> Any:  # noqa: A002
    """min(max(x, 0), 6)."""
    return hardtanh(input, 0.0, 6.0, inplace)


@functional(cacheable=True, kernel=Kernel("threshold", "input threshold value"))
def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:  # noqa: A002
    """x where x > threshold, else value; both are of x's kind."""
    return _run(activations.threshold, inplace, input, *of_kind(input, threshold, value))


@functional(explained=True, cacheable=True)
def threshold_(input: Any, threshold: float, value: float) -> Any:  # noqa: A002
    """:func:`threshold` in place."""
    return _run(activations.threshold, True, input, *of_kind(input, threshold, value))


@functional(cacheable=True, kernel=Kernel("leaky_relu", "input negative_slope"))
def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:  # noqa: A002
    """x where x > 0, else negative_slope * x."""
    return _run(activations.leaky_relu, inplace, input, negative_slope, kernel="leaky_relu_cpu")


@functional(explained=True, cacheable=True)
def leaky_relu_(input: Any, negative_slope: float = 0.01) -> Any:  # noqa: A002
    """:func:`leaky_relu` in place.

    Args:
        negative_slope: as there.
    """
    return _run(activations.leaky_relu, True, input, negative_slope, kernel="leaky_relu_cpu")


@functional(cacheable=True, kernel=Kernel("hardtanh", "input min_val max_val"))
def hardtanh(
    input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False  # noqa: A002
) -> Any:
    """min(max(x, min_val), max_val)."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input.aval.dtype is dtypes.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    if input.aval.dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    if not input.is_floating_point():
        # The bounds are converted to the integers' type, as torch does.
        min_val, max_val = int(min_val), int(max_val)
        if input.aval.dtype is dtypes.uint8 and min(min_val, max_val) < 0:
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return _run(activations.hardtanh, inplace, input, min_val, max_val)


@functional(explained=True)
def hardtanh_(input: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:  # noqa: A002
    """:func:`hardtanh` in place.

    Args:
        min_val, max_val: as there.
    """
    return hardtanh(input, min_val, max_val, True)


@functional(cacheable=True, kernel=Kernel("elu", "input alpha"))
def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:  # noqa: A002
    """x where x > 0, else alpha * (exp(x) - 1)."""
    return _run(activations.elu, inplace, input, alpha, 1.0, 1.0, kernel="elu_cpu")


@functional(explained=True, cacheable=True)
def elu_(
    input: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0  # noqa: A002
) -> Any:
    """:func:`elu` in place: ``scale`` times x where x > 0, else times
    ``alpha * (exp(input_scale * x) - 1)``."""
    return _run(activations.elu, True, input, alpha, scale, input_scale, kernel="elu_cpu")


@functional(cacheable=True, kernel=Kernel("selu", "input"))
def selu(input: Any, inplace: bool = False) -> Any:  # noqa: A002
    """scale * elu(x, alpha) with the constants that keep mean 0 and variance 1."""
    return _run(
        activations.elu, inplace, input, activations.SELU_ALPHA, activations.SELU_SCALE, 1.0,
        kernel="elu_cpu",
    )  # fmt: skip


@functional(explained=True)
def selu_(input: Any) -> Any:  # noqa: A002
    """:func:`selu` in place."""
    return _run(
        activations.elu, True, input, activations.SELU_ALPHA, activations.SELU_SCALE, 1.0,
        kernel="elu_cpu",
    )  # fmt: skip


@functional(cacheable=True, kernel=Kernel("celu", "input alpha"))
def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:  # noqa: A002
    """x where x > 0, else alpha * (exp(x / alpha) - 1)."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    found = _run(activations.elu, inplace, input, alpha, 1.0, 1.0 / alpha, kernel="elu_cpu")
    return tape.named(found, "CeluBackward0")


@functional(explained=True)
def celu_(input: Any, alpha: float = 1.0) -> Any:  # noqa: A002
    """:func:`celu` in place.

    Args:
        alpha: as there.
    """
    return celu(input, alpha, True)


@functional(out=Out(FOUND), cacheable=True)
def gelu(input: Any, approximate: str = "none") -> Any:  # noqa: A002
    """x * P(N(0, 1) < x), or its approximation by tanh.

    Args:
        input: x.
        approximate: "none", or "tanh" for x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x**3))) / 2.

    Raises:
        RuntimeError: for another ``approximate``.
    """
    if approximate == "none":
        return _run(activations.gelu, False, input, kernel="GeluKernelImpl")
    if approximate == "tanh":
        return _run(activations.gelu_tanh, False, input, kernel="GeluKernelImpl")
    raise RuntimeError("approximate argument must be either none or tanh.")


@functional(cacheable=True, kernel=Kernel("silu", "input"), explained=False)
def silu(input: Any, inplace: bool = False) -> Any:  # noqa: A002
    """x * sigmoid(x)."""
    return _run(activations.silu, inplace, input, kernel="silu_cpu")


@functional(cacheable=True, kernel=Kernel("mish", "input"))
def mish(input: Any, inplace: bool = False) -> Any:  # noqa: A002
    """x * tanh(softplus(x))."""
    return _run(activations.mish, inplace, input, kernel="mish_cpu")


@functional(out=Out(FOUND), cacheable=True, explained=True)
def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Any:  # noqa: A002
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold."""
    bounds = float(beta), float(threshold)
    return _run(activations.softplus, False, input, *bounds, kernel="softplus_cpu")


@functional(
    out=Out(SCALAR_TYPE_OF_RESULT, shown="log_sigmoid_forward"),
    name="log_sigmoid", cacheable=True, explained=True,
)  # fmt: skip
def logsigmoid(input: Any) -> Any:  # noqa: A002
    """log(sigmoid(x))."""
    return _run(activations.log_sigmoid, False, contiguous(input), kernel="log_sigmoid_cpu")


@functional(cacheable=True, kernel=Kernel("hardsigmoid", "input"))
def hardsigmoid(input: Any, inplace: bool = False) -> Any:  # noqa: A002
    """min(max(x + 3, 0), 6) / 6."""
    return _run(activations.hardsigmoid, inplace, input, kernel="hardsigmoid_cpu")


@functional(cacheable=True, kernel=Kernel("hardswish", "input"))
def hardswish(input: Any, inplace: bool = False) -> Any:  # noqa: A002
    """x * hardsigmoid(x)."""
    return _run(activations.hardswish, inplace, input, kernel="hardswish_cpu")


@functional(out=Out(FOUND), cacheable=True, explained=True)
def hardshrink(input: Any, lambd: float = 0.5) -> Any:  # noqa: A002
    """x where abs(x) > lambd, else 0."""
    return _run(activations.hardshrink, False, input, lambd, kernel="hardshrink_cpu")


@functional(out=Out(FOUND), cacheable=True, explained=True)
def softshrink(input: Any, lambd: float = 0.5) -> Any:  # noqa: A002
    """x moved by lambd towards 0."""
    if lambd < 0:
        dtype = input.aval.dtype
        raise RuntimeError(
            f"lambda must be in range [0, {float(np.finfo(dtype.np).max):g}] for input dtype "
            f"{dtypes.scalar_type_name(dtype)}, but found {lambd:g}"
        )
    return _run(activations.softshrink, False, input, lambd, kernel="softshrink_check")


@functional(cacheable=True, kernel=Kernel("tanhshrink", "input", "tanh"))
def tanhshrink(input: Any) -> Any:  # noqa: A002
    """x - tanh(x)."""
    if input.aval.dtype is dtypes.bool_:
        raise RuntimeError(dtype_support.ONE_BOOL)
    return pointwise.subtract(input, pointwise.tanh(input))


@functional(cacheable=True, kernel=Kernel("abs", "input", method=True))
def softsign(input: Any) -> Any:  # noqa: A002
    """x / (1 + abs(x))."""
    if input.aval.dtype is dtypes.bool_:
        dtype_support.refuse("abs_cpu", dtypes.bool_)
    return pointwise.divide(input, pointwise.add(pointwise.absolute(input), c(1)))


@functional(
    cacheable=True, kernel=Kernel("sigmoid", "input", method=True)
)
def sigmoid(input: Any) -> Any:  # noqa: A002
    """1 / (1 + exp(-x))."""
    return pointwise.sigmoid(input)


@functional(cacheable=True, kernel=Kernel("tanh", "input", method=True))
def tanh(input: Any) -> Any:  # noqa: A002
    """The hyperbolic tangent."""
    return pointwise.tanh(input)


@functional(kernel=Kernel("rrelu", "input lower upper training"))
def rrelu(
    input: Any,  # noqa: A002
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Any:
    """x where x >= 0, else x times a slope drawn from [lower, upper) (their mean in evaluation).

    Args:
        input: x.
        lower, upper: bounds of the slope; RuntimeError where the lower one is greater.
        training: draw a slope for each element.
        inplace: write into ``input``.
    """
    return rrelu_by(None, input, lower, upper, training, inplace)


def rrelu_by(
    generator: Any, input: Any, lower: float, upper: float, training: bool, inplace: bool  # noqa: A002
) -> Any:
    """:func:`rrelu` with the slopes of a generator; None: the default one."""
    for which, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {which} bound must be finite, got {bound:g}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        slope = leaky_relu(input, (lower + upper) / 2, inplace)
        return tape.named(slope, "RreluWithNoiseBackward0")

    dtype_support.refuse_kinds(
        "rrelu_with_noise_out_cpu", input.aval, "bool whole half complex"
    )

    def fill(array: Any, values: Any) -> None:
        generator_of(generator).rrelu_noise(array, values, lower, upper)

    noise = draw(dense_like(input.aval), fill, input)
    if inplace:
        writing.check_captured(input, "rrelu_with_noise_")
        return writing.apply_in_place(pointwise.multiply, input, input, noise)
    return tape.named(pointwise.multiply(contiguous(input), noise), "RreluWithNoiseBackward0")


@functional(explained=True)
def rrelu_(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False  # noqa: A002
) -> Any:
    """:func:`rrelu` in place."""
    return rrelu(input, lower, upper, training, True)


@functional(cacheable=True, explained=True)
def glu(input: Any, dim: int = -1) -> Any:  # noqa: A002
    """a * sigmoid(b) where a and b are the halves of ``input`` along ``dim``.

    Raises:
        RuntimeError: for a 0-d ``input``, and one of odd length along ``dim``.
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = normalize_axis(dim, input.dim())
    n = input.aval.shape[axis]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {n}")
    _require_floats(input, "glu_cpu")
    dtype_support.refuse_kinds("glu_cpu", input.aval, "complex")
    a = movement.slice_(input, axis=axis, start=0, length=n // 2, step=1)
    b = movement.slice_(input, axis=axis, start=n // 2, length=n // 2, step=1)
    return tape.named(pointwise.multiply(a, pointwise.sigmoid(b)), "GluBackward0")


def _implicit_dim(name: str, ndim: int) -> int:
    """PyTorch's choice, with its warning at the caller's line, whatever ``_stacklevel`` is."""
    warn_caller(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
    )
    return 0 if ndim in (0, 1, 3) else 1


def _along(op: Any, x: Any, dim: int, dtype: Any, method: str) -> Any:
    getattr(x, method)  # AttributeError, as torch has it, where it is no tensor
    if dtype is not None:
        kind = as_dtype(dtype)
        if x.aval.dtype.is_complex and not kind.is_complex:
            warn_of_lost_imaginary_part()
        x = movement.cast(x, dtype=kind) if x.aval.dtype is not kind else x
    axis = normalize_axis(dim, x.aval.ndim)
    if not x.aval.ndim:
        return movement.reshape(op(movement.reshape(x, (1,)), axis=0), ())
    return op(x, axis=axis)


_ALONG = functools.partial(
    Kernel, arguments="input dim dtype=", method=True,
    turned={"dim": lambda dim: 0 if dim is None else dim},  # which chooses one
)  # fmt: skip


@functional(cacheable=True, kernel=_ALONG("softmax"))
def softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:  # noqa: A002
    """exp(x) / sum(exp(x)) along ``dim``.

    Args:
        input: x, of any shape.
        dim: the axis; None chooses 0 for 0, 1 or 3 axes and else 1, with a warning.
        dtype: a type to which x is cast first.

    Raises:
        IndexError: for an axis that x does not have.
    """
    if dim is None:
        dim = _implicit_dim("softmax", input.dim())
    return _along(softmax_ops.softmax, input, dim, dtype, "softmax")


@functional(cacheable=True)
def softmin(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:  # noqa: A002
    """:func:`softmax` of ``-input``.

    Args:
        input, dim, dtype: as in :func:`softmax`.
    """
    if dim is None:
        dim = _implicit_dim("softmin", input.dim())
    return _along(softmax_ops.softmax, -input, dim, dtype, "softmax")


@functional(cacheable=True, kernel=_ALONG("log_softmax"))
def log_softmax(input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Any:  # noqa: A002
    """x - log(sum(exp(x))) along ``dim``.

    Args:
        input, dim, dtype: as in :func:`softmax`.
    """
    if dim is None:
        dim = _implicit_dim("log_softmax", input.dim())
    return _along(softmax_ops.log_softmax, input, dim, dtype, "log_softmax")


def gumbel_softmax(
    logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Any:
    """softmax((logits + gumbel noise) / tau); one-hot in the forward pass when ``hard``.

    Args:
        logits: logs of probabilities, unnormalized.
        tau: the temperature: the smaller, the closer to one-hot.
        hard: give the one-hot sample, with the gradient of the soft one.
        eps: has no effect; another than the default warns.
        dim: the axis of the classes.
    """
    if eps != 1e-10:
        warn_caller("`eps` parameter is deprecated and has no effect.")
    drawn = torch.empty_like(logits, memory_format=torch.contiguous_format).exponential_()
    noise = pointwise.negative(pointwise.log(drawn))
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    hot = torch.zeros_like(logits, memory_format=torch.contiguous_format).scatter_(dim, index, 1.0)
    return hot - soft.detach() + soft
