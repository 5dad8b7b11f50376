"""Activations with MindSpore's names and defaults."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes

from ..common.initializer import initializer
from ..common.parameter import Parameter
from ..common.tensor import F, t
from .cell import Cell

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "HShrink",
    "HSigmoid",
    "HSwish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "SoftShrink",
    "Softmax",
    "Softmin",
    "Softsign",
    "Tanh",
    "Threshold",
    "get_activation",
]  # fmt: skip


class _Activation(Cell):
    """A function of torch's, with the settings given."""

    function = ""

    def __init__(self, *settings: Any) -> None:
        super().__init__()
        self.settings = settings

    def construct(self, x: Any) -> Any:
        return getattr(F, self.function)(x, *self.settings)

    def extend_repr(self) -> str:
        return ", ".join(map(str, self.settings))


def _plain(name: str, function: str, meaning: str) -> Any:
    """A class of an activation without settings."""

    def __init__(self: Any) -> None:  # noqa: N807
        _Activation.__init__(self)

    fields = {"function": function, "__doc__": meaning, "__init__": __init__}
    return type(name, (_Activation,), {**fields, "__module__": __name__})


ReLU = _plain("ReLU", "relu", "max(x, 0).")
ReLU6 = _plain("ReLU6", "relu6", "min(max(x, 0), 6).")
SELU = _plain("SELU", "selu", "The self-normalising exponential unit.")
SiLU = _plain("SiLU", "silu", "x sigmoid(x).")
Sigmoid = _plain("Sigmoid", "sigmoid", "1 / (1 + exp(-x)).")
Tanh = _plain("Tanh", "tanh", "The hyperbolic tangent.")
Mish = _plain("Mish", "mish", "x tanh(log(1 + exp(x))).")
HSwish = _plain("HSwish", "hardswish", "x relu6(x + 3) / 6.")
HSigmoid = _plain("HSigmoid", "hardsigmoid", "relu6(x + 3) / 6.")
LogSigmoid = _plain("LogSigmoid", "logsigmoid", "log sigmoid(x).")
Softsign = _plain("Softsign", "softsign", "x / (1 + |x|).")


class LeakyReLU(_Activation):
    """x where positive, else ``alpha`` x."""

    function = "leaky_relu"

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__(alpha)


class ELU(_Activation):
    """x where positive, else ``alpha`` (exp(x) - 1)."""

    function = "elu"

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__(alpha)


class CELU(_Activation):
    """x where positive, else ``alpha`` (exp(x / alpha) - 1)."""

    function = "celu"

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__(alpha)


class Softmax(_Activation):
    """exp(x) over its sum along ``axis``."""

    function = "softmax"

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis)


class LogSoftmax(_Activation):
    """The logarithm of :class:`Softmax`."""

    function = "log_softmax"

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis)


class Softmin(_Activation):
    """The softmax of -x."""

    function = "softmin"

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis)


class HShrink(_Activation):
    """x where it is further than ``lambd`` from zero, else 0."""

    function = "hardshrink"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd)


class SoftShrink(_Activation):
    """x, ``lambd`` nearer to zero."""

    function = "softshrink"

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd)


class Hardtanh(_Activation):
    """x between ``min_val`` and ``max_val``."""

    function = "hardtanh"

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__(min_val, max_val)


class Threshold(_Activation):
    """x where above ``threshold``, else ``value``."""

    function = "threshold"

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__(threshold, value)


class GLU(_Activation):
    """The first half along ``axis`` times the sigmoid of the second."""

    function = "glu"

    def __init__(self, axis: int = -1) -> None:
        super().__init__(axis)


class GELU(Cell):
    """x times the normal distribution function, or by default its approximation with tanh."""

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        if not isinstance(approximate, bool):
            raise TypeError(f"For 'GELU', 'approximate' must be bool, got {approximate!r}")
        self.approximate = approximate

    def construct(self, x: Any) -> Any:
        return F.gelu(x, approximate="tanh" if self.approximate else "none")


class PReLU(Cell):
    """x where positive, else w x with a trained w, one or one for each channel."""

    def __init__(self, channel: int = 1, w: Any = 0.25, dtype: Any = dtypes.float32) -> None:
        super().__init__()
        if not isinstance(channel, int) or channel < 1:
            raise ValueError(f"For 'PReLU', 'channel' must be a positive int, but got {channel}.")
        self.w = Parameter(initializer(w, (channel,), dtype), "a")

    def construct(self, x: Any) -> Any:
        return t.prelu(x, self.w)


_NAMES = {
    "softmax": Softmax, "logsoftmax": LogSoftmax, "relu": ReLU, "relu6": ReLU6, "tanh": Tanh,
    "gelu": GELU, "elu": ELU, "sigmoid": Sigmoid, "prelu": PReLU, "leakyrelu": LeakyReLU,
    "hswish": HSwish, "hsigmoid": HSigmoid, "logsigmoid": LogSigmoid, "silu": SiLU, "mish": Mish,
    "celu": CELU, "selu": SELU,
}  # fmt: skip


def get_activation(name: str, prim_name: str | None = None) -> Any:
    """A new activation by its name, None for an empty one.

    Args:
        name: such as "relu".
        prim_name: for the error message.

    Raises:
        KeyError: no such activation.
    """
    if not name:
        return None
    if name not in _NAMES:
        raise KeyError(
            f"For '{prim_name or 'get_activation'}', the 'name' must be one of {sorted(_NAMES)}, "
            f"but got {name!r}."
        )
    return _NAMES[name]()
