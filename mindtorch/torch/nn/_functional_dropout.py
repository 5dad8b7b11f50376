"""Dropout: masks are drawn exactly as torch draws them, in x's memory layout."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace as writing
from mindtorch.engine.aval import Aval, aval
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.implementations import Implementations
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.result_strides import preserved_strides
from mindtorch.engine.tensor import constant as c
from mindtorch.engine.transforms.vmap import draw

from .._api.arguments import require_tensor
from .._api.kernel_signatures import Kernel
from .._api.publish import functional
from .._api.warn_caller import warn_caller
from .._tensor.generator import default_generator

__all__ = [
    "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
]  # fmt: skip

_ALPHA = 1.7580993408473766


def _check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _noise_like(x: Aval) -> Aval:
    """The layout of ``x`` where that is dense."""
    return aval(x.shape, x.dtype, preserved_strides(x), x.device)


def _feature_noise(x: Aval) -> Aval:
    """One element for each sample and channel: (N, C, 1, ...)."""
    if x.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return aval((*x.shape[:2], *[1] * (x.ndim - 2)), x.dtype, None, x.device)


def _require_noise(x: Aval) -> None:
    """torch's errors for types that its noise of channels does not have."""
    refuse_kinds("bernoulli_scalar_cpu_", x, "complex")
    if x.dtype.category < dtypes.FLOAT:
        kind = "Long" if x.dtype is dtypes.bool_ else dtypes.scalar_type_name(x.dtype)
        raise RuntimeError(f"result type Float can't be cast to the desired output type {kind}")


def _times(x: Any, factor: Any, inplace: bool) -> Any:
    if inplace:
        writing.check_captured(x, "mul_.Tensor")
        return writing.apply_in_place(pointwise.multiply, x, x, factor)
    return pointwise.multiply(x, factor)


def drop_where(x: Any, p: float, training: bool, inplace: bool, feature: bool = False) -> Any:
    _check(p)
    if not training or p == 0 or x.aval.size == 0:
        return x
    if p == 1:
        return _times(x, c(False), inplace)
    refuse_kinds("bernoulli_scalar_cpu_", x.aval, "complex")
    if x.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            "result type Float can't be cast to the desired output type "
            f"{dtypes.scalar_type_name(x.aval.dtype)}"
        )
    described = _feature_noise(x.aval) if feature else _noise_like(x.aval)
    noise = draw(described, lambda array: default_generator.dropout_noise(array, p))
    return _times(x, noise, inplace)


_DROPOUT = Kernel("dropout", "input p training")
_others = Implementations()


@functional(bare=True, implementations=_others)
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:  # noqa: A002
    """Each element 0 with probability ``p``, else divided by ``1 - p``."""
    if _others:
        found = _others.call((input, p, training, inplace), {})
        if found is not NotImplemented:
            return found
    try:
        return drop_where(input, p, training, inplace)
    except Exception as error:
        raise _DROPOUT.wrong(error, input=input, p=p, training=training) from None


@functional(kernel=Kernel("feature_dropout", "input p training", asked="dim"))
def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:  # noqa: A002
    """:func:`dropout` of whole channels of (N, C, L) or (C, L)."""
    _check(p)
    ndim = input.dim()
    if ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {ndim}D input. Note that "
            "dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, "
            "a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    if ndim == 3:
        return drop_where(input, p, training, inplace, feature=True)
    batched = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = drop_where(batched, p, training, inplace, feature=True)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def _warn_dims(name: str, spatial: int, ndim: int, known: tuple[int, ...]) -> None:
    batched, unbatched = known
    if ndim not in known:
        warn_caller(
            f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will "
            "result in an error in a future release. To retain the behavior and silence this "
            f"warning, please use dropout instead. Note that {name} exists to provide "
            f"channel-wise dropout on inputs with {spatial} spatial dimensions, a channel "
            "dimension, and an optional batch dimension "
            f"(i.e. {unbatched}D or {batched}D inputs).",
        )


def _channelwise(name: str, spatial: int, feature_dims: tuple[int, ...]) -> Any:
    def drop(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:  # noqa: A002
        _check(p)
        ndim = input.dim()
        _warn_dims(name, spatial, ndim, feature_dims)
        if spatial == 2 and ndim == feature_dims[1]:
            warn_caller(
                "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D "
                "dropout behavior is desired - input is interpreted as shape (N, C, L), where C "
                "is the channel dim. This behavior will change in a future release to interpret "
                "the input as one without a batch dimension, i.e. shape (C, H, W). To maintain "
                "the 1D channel-wise dropout behavior, please switch to using dropout1d instead.",
            )
        return drop_where(input, p, training, inplace, feature=True)

    drop.__name__ = drop.__qualname__ = name
    drop.__doc__ = f":func:`dropout` of whole channels with {spatial} spatial axes."
    kernel = Kernel("feature_dropout", "input p training", asked="dim")
    return functional(kernel=kernel)(drop) if spatial == 2 else drop


dropout2d = _channelwise("dropout2d", 2, (4, 3))
_dropout3d = _channelwise("dropout3d", 3, (5, 4))


@functional(kernel=Kernel("feature_dropout", "input p training", asked="dim"))
def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:  # noqa: A002
    """:func:`dropout` of whole channels of (N, C, D, H, W) or (C, D, H, W)."""
    if input.dim() == 5:
        return _dropout3d(input, p, training, inplace)
    _check(p)
    _warn_dims("dropout3d", 3, input.dim(), (5, 4))
    batched = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = drop_where(batched, p, training, inplace, feature=True)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def _alpha(x: Any, p: float, training: bool, inplace: bool, feature: bool) -> Any:
    """Dropped elements become -alpha'; the affine map after it keeps mean and variance."""
    _check(p)
    require_tensor(x, "feature_alpha_dropout" if feature else "alpha_dropout", "input", 1)
    if not training or p == 0 or x.aval.size == 0:
        return x
    if p == 1:
        return _times(x, c(False), inplace)
    _require_noise(x.aval)
    described = _feature_noise(x.aval) if feature else _noise_like(x.aval)
    noise: Any = draw(described, lambda array: default_generator.bernoulli(array, 1 - p))
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = (noise - 1) * (_ALPHA * a) + _ALPHA * a * p
    scaled = _times(x, noise * a, inplace)
    if inplace:
        return writing.apply_in_place(pointwise.add, scaled, scaled, shift)
    return pointwise.add(scaled, shift)


@functional(kernel=Kernel("alpha_dropout", "input p training"))
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:  # noqa: A002
    """Dropout that keeps the mean and variance that SELU gives."""
    return _alpha(input, p, training, inplace, False)


@functional(kernel=Kernel("feature_alpha_dropout", "input p training"))
def feature_alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False  # noqa: A002
) -> Any:
    """:func:`alpha_dropout` of whole channels."""
    return _alpha(input, p, training, inplace, True)
