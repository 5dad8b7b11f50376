"""Activations that are functions of ``torch`` itself."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.ops import activations as act
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import constant
from mindtorch.engine.transforms.autocast import LOWER

from .._api.out_rules import FOUND, Out
from .._api.publish import FUNCTIONS, function, write_result


@function(method=False)
def selu(input: Any) -> Any:  # noqa: A002
    """``scale * (x if x > 0 else alpha * (exp(x) - 1))`` with the constants of SELU."""
    return act.elu(input, constant(act.SELU_ALPHA), constant(act.SELU_SCALE), constant(1.0))


@function(method=False)
def celu(input: Any, alpha: float = 1.0) -> Any:  # noqa: A002
    """``x if x > 0 else alpha * (exp(x / alpha) - 1)``."""
    found = act.elu(input, constant(float(alpha)), constant(1.0), constant(1.0 / alpha))
    return tape.named(found, "CeluBackward0")


@function(autocast=LOWER, autocast_cuda=LOWER)
def prelu(input: Any, weight: Any) -> Any:  # noqa: A002
    """x where x > 0, else weight * x; one weight, or one for each channel (axis 1)."""
    x, w = input.aval, weight.aval
    if w.size != 1:
        if x.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = x.shape[1] if x.ndim > 1 else 1
        if w.size != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{w.size} and channel size = {channels}."
            )
    if w.ndim > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{w.ndim}"
        )
    if x.dtype is not w.dtype:
        raise RuntimeError(
            "prelu: Type promoting not supported. Got "
            f"{dtypes.scalar_type_name(x.dtype)} and {dtypes.scalar_type_name(w.dtype)}"
        )
    if x.ndim != 1 or w.size == 1:
        shape = tuple(w.size if i == 1 else 1 for i in range(x.ndim)) if x.ndim > 1 else (
            (1,) * x.ndim
        )
        weight = movement.reshape(weight, shape)
    return act.prelu(input, weight)


@function(method=False, out=Out(FOUND))
def threshold(input: Any, threshold: float, value: float) -> Any:  # noqa: A002
    """``x if x > threshold else value``."""
    return act.threshold(input, *map(constant, of_kind(input, threshold, value)))


def of_kind(x: Any, *numbers: Any) -> Any:
    """Numbers cut to whole ones where the elements of ``x`` are."""
    return numbers if x.aval.dtype.category >= dtypes.FLOAT else tuple(map(int, numbers))


@function(out=Out(FOUND))
def hardshrink(input: Any, lambd: float = 0.5) -> Any:  # noqa: A002
    """``x`` outside of ``[-lambd, lambd]``, else 0."""
    refuse_kinds("hardshrink_cpu", input.aval, "bool whole")
    return act.hardshrink(input, constant(lambd))


def _in_place_activation(name: str, arguments: str) -> None:
    body = FUNCTIONS[name]

    def variant(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        inplace.check_writable(input)
        return write_result(input, body(input, *args, **kwargs))

    about = (
        f":func:`{name}`, which has the other arguments ({arguments}), written over ``input``; "
        "its type stays."
    ) if arguments else f":func:`{name}`, written over ``input``; its type stays."
    function(method=False, name=name + "_", about=about)(variant)


for _each, _named in (("selu", ""), ("celu", "alpha"), ("threshold", "threshold, value")):
    _in_place_activation(_each, _named)

