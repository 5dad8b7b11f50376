"""Initialisers with MindSpore's names and defaults, drawn by torch's ``nn.init``."""

from __future__ import annotations

import math
from typing import Any

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.nn import init

from ._adopting import adopt, adopting
from .dtype import as_dtype

__all__ = [
    "Constant", "Dirac", "HeNormal", "HeUniform", "Identity", "Initializer", "Normal", "One",
    "Orthogonal", "Sparse", "TruncatedNormal", "Uniform", "VarianceScaling", "XavierNormal",
    "XavierUniform", "Zero", "initializer",
]  # fmt: skip


class Initializer:
    """Fills a tensor: ``initializer(tensor)`` writes its elements.

    A subclass of a user's defines ``_initialize(array)``, which fills a numpy array.
    """

    def __init__(self, **kwargs: Any) -> None:
        self.settings = kwargs

    def fill(self, tensor: Any) -> None:
        array = tensor.asnumpy()
        self._initialize(array)
        tensor.assign_value(torch.from_numpy(array))

    def _initialize(self, array: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} defines no _initialize(array)")

    def __call__(self, tensor: Any) -> Any:
        adopting(self.fill)(tensor)
        return tensor


class Zero(Initializer):
    """Zeros."""

    def fill(self, tensor: Any) -> None:
        init.zeros_(tensor)


class One(Initializer):
    """Ones."""

    def fill(self, tensor: Any) -> None:
        init.ones_(tensor)


class Constant(Initializer):
    """``value`` everywhere."""

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def fill(self, tensor: Any) -> None:
        if isinstance(self.value, (bool, int, float)):
            init.constant_(tensor, self.value)
        else:
            tensor.assign_value(torch.tensor(self.value))


class Normal(Initializer):
    """The normal distribution of deviation ``sigma`` about ``mean``."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        super().__init__(sigma=sigma, mean=mean)
        self.sigma, self.mean = sigma, mean

    def fill(self, tensor: Any) -> None:
        init.normal_(tensor, self.mean, self.sigma)


class TruncatedNormal(Initializer):
    """The normal distribution between ``a`` and ``b`` deviations from the mean."""

    def __init__(
        self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0
    ) -> None:
        super().__init__(sigma=sigma, mean=mean, a=a, b=b)
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def fill(self, tensor: Any) -> None:
        low, high = self.mean + self.a * self.sigma, self.mean + self.b * self.sigma
        init.trunc_normal_(tensor, self.mean, self.sigma, low, high)


class Uniform(Initializer):
    """The uniform distribution between ``-scale`` and ``scale``."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def fill(self, tensor: Any) -> None:
        init.uniform_(tensor, -self.scale, self.scale)


class XavierUniform(Initializer):
    """Uniform up to ``gain sqrt(6 / (fan in + fan out))``."""

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def fill(self, tensor: Any) -> None:
        init.xavier_uniform_(tensor, self.gain)


class XavierNormal(XavierUniform):
    """Normal with deviation ``gain sqrt(2 / (fan in + fan out))``."""

    def fill(self, tensor: Any) -> None:
        init.xavier_normal_(tensor, self.gain)


class HeUniform(Initializer):
    """Uniform up to ``sqrt(6 / ((1 + negative_slope^2) fan))``."""

    def __init__(
        self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
    ) -> None:
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        self.negative_slope, self.mode, self.nonlinearity = negative_slope, mode, nonlinearity

    def fill(self, tensor: Any) -> None:
        init.kaiming_uniform_(tensor, self.negative_slope, self.mode, self.nonlinearity)


class HeNormal(HeUniform):
    """Normal with deviation ``sqrt(2 / ((1 + negative_slope^2) fan))``."""

    def fill(self, tensor: Any) -> None:
        init.kaiming_normal_(tensor, self.negative_slope, self.mode, self.nonlinearity)


class VarianceScaling(Initializer):
    """Variance ``scale / fan``, of the distribution "uniform", "truncated_normal" or
    "untruncated_normal"; the fan is "fan_in", "fan_out" or their mean, "fan_avg"."""

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal"
    ) -> None:
        super().__init__(scale=scale, mode=mode, distribution=distribution)
        if scale <= 0:
            raise ValueError(f"For 'VarianceScaling', the 'scale' must be > 0, but got {scale}.")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"For 'VarianceScaling', the mode {mode!r} is not known")
        if distribution not in ("uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError(f"For 'VarianceScaling', no distribution {distribution!r}")
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def fill(self, tensor: Any) -> None:
        inside, outside = init._calculate_fan_in_and_fan_out(tensor)
        fan = {"fan_in": inside, "fan_out": outside, "fan_avg": (inside + outside) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            Uniform(math.sqrt(3 * variance)).fill(tensor)
        elif self.distribution == "truncated_normal":
            # the deviation of a normal distribution cut at two deviations is 0.8796 of its own
            TruncatedNormal(math.sqrt(variance) / 0.87962566103423978).fill(tensor)
        else:
            Normal(math.sqrt(variance)).fill(tensor)


class Identity(Initializer):
    """The unit matrix."""

    def fill(self, tensor: Any) -> None:
        init.eye_(tensor)


class Dirac(Initializer):
    """A convolution's weight that passes its input through."""

    def __init__(self, groups: int = 1) -> None:
        super().__init__(groups=groups)
        self.groups = groups

    def fill(self, tensor: Any) -> None:
        init.dirac_(tensor, self.groups)


class Orthogonal(Initializer):
    """Orthogonal rows or columns, times ``gain``."""

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def fill(self, tensor: Any) -> None:
        init.orthogonal_(tensor, self.gain)


class Sparse(Initializer):
    """Normal numbers, of which the share ``sparsity`` in each column is zero."""

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        super().__init__(sparsity=sparsity, sigma=sigma)
        self.sparsity, self.sigma = sparsity, sigma

    def fill(self, tensor: Any) -> None:
        init.sparse_(tensor, self.sparsity, self.sigma)


_NAMES: dict[str, type[Initializer]] = {
    "zero": Zero, "zeros": Zero, "one": One, "ones": One, "normal": Normal, "uniform": Uniform,
    "truncatednormal": TruncatedNormal, "truncated_normal": TruncatedNormal,
    "xavieruniform": XavierUniform, "xavier_uniform": XavierUniform,
    "xaviernormal": XavierNormal, "xavier_normal": XavierNormal, "heuniform": HeUniform,
    "he_uniform": HeUniform, "henormal": HeNormal, "he_normal": HeNormal, "identity": Identity,
    "dirac": Dirac, "orthogonal": Orthogonal, "variancescaling": VarianceScaling,
    "variance_scaling": VarianceScaling,
}  # fmt: skip


def initializer(init: Any, shape: Any = None, dtype: Any = dtypes.float32) -> Any:
    """A tensor of ``shape`` and ``dtype`` filled by ``init``.

    Args:
        init: an :class:`Initializer`, the name of one, a number, or a tensor, which is returned.

    Raises:
        ValueError: no such name, or a tensor of another shape.
    """
    if isinstance(init, EngineTensor):
        if shape is not None and tuple(_shape(shape)) != init.aval.shape:
            raise ValueError(
                f"For 'initializer', the shape of the 'init' tensor is {init.aval.shape}, but the "
                f"'shape' is {tuple(_shape(shape))}"
            )
        return init
    if shape is None:
        raise ValueError("For 'initializer', the 'shape' can not be None")
    if isinstance(init, str):
        kind = _NAMES.get(init.lower())
        if kind is None:
            raise ValueError(
                f"For 'initializer', the class corresponding to '{init}' was not found."
            )
        init = kind()
    elif isinstance(init, (bool, int, float)):
        init = Constant(init)
    elif not isinstance(init, Initializer):
        raise TypeError(
            f"For 'initializer', the type of 'init' should be Tensor, number, str or Initializer, "
            f"but got {type(init).__name__}"
        )
    return adopt(init(torch.empty(_shape(shape), dtype=as_dtype(dtype))))


def _shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, int) else tuple(int(n) for n in shape)
