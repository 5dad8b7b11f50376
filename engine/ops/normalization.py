"""Normalisation by mean and variance: of a batch, of the last axes, of groups of channels."""

from __future__ import annotations

from typing import Any

from ..aval import Aval, Shape, aval
from .convolution import NetworkOp


def _like(x: Aval, shape: Shape | None = None) -> Aval:
    return aval(x.shape if shape is None else shape, x.dtype, None, x.device)


def _given(gradients: Any, needs: Any) -> list[Any]:
    """The gradients for those inputs that need one; absent inputs have none."""
    return [v if need else None for v, need in zip(gradients, needs, strict=True)]


def _no_second(name: str) -> Any:
    def rule(g: Any, needs: Any) -> Any:
        raise NotImplementedError(f"the second derivative of {name} is not implemented")

    return rule


# --- over the batch --------------------------------------------------------------------------


def _batch_norm_aval(
    x: Aval, weight: Aval | None, bias: Aval | None, *, eps: float
) -> tuple[Aval, ...]:
    channels = (x.shape[1],)
    return _like(x), _like(x, channels), _like(x, channels)


# (x - mean) / sqrt(variance + eps) * weight + bias over all axes but 1, the mean, and the inverse
# standard deviation
batch_norm_training = NetworkOp(
    "native_batch_norm",
    _batch_norm_aval,
    "normalization.batch_norm_training",
    vjp=lambda g, out1, out2, x, weight, needs: _given(
        batch_norm_gradient(g[0], x, weight, out1, out2), needs
    ),
    group="network",
)
batch_norm_gradient = NetworkOp(
    "native_batch_norm_backward",
    lambda y, x, weight, mean, invstd: (
        _like(x), _like(x, (x.shape[1],)), _like(x, (x.shape[1],)),
    ),
    "normalization.batch_norm_gradient",
    vjp=_no_second("batch_norm"),
    group="network",
)  # fmt: skip

# --- over the last axes ----------------------------------------------------------------------


def _layer_norm_aval(
    x: Aval, weight: Aval | None, bias: Aval | None, *, eps: float, normalized_ndim: int
) -> tuple[Aval, ...]:
    kept = x.shape[: x.ndim - normalized_ndim]
    return _like(x), _like(x, kept), _like(x, kept)


# the last axes normalised, times weight, plus bias; the means and inverse deviations
layer_norm = NetworkOp(
    "native_layer_norm",
    _layer_norm_aval,
    "normalization.layer_norm",
    vjp=lambda g, out1, out2, x, weight, needs, normalized_ndim: _given(
        layer_norm_gradient(
            g[0], x, weight, out1, out2, normalized_ndim=normalized_ndim
        ),
        needs,
    ),
    group="network",
)
layer_norm_gradient = NetworkOp(
    "native_layer_norm_backward",
    lambda y, x, weight, mean, rstd, *, normalized_ndim: (
        _like(x),
        _like(x, x.shape[x.ndim - normalized_ndim :]),
        _like(x, x.shape[x.ndim - normalized_ndim :]),
    ),
    "normalization.layer_norm_gradient",
    vjp=_no_second("layer_norm"),
    group="network",
)

# --- over groups of channels -----------------------------------------------------------------


def _group_norm_aval(
    x: Aval, weight: Aval | None, bias: Aval | None, *, groups: int, eps: float
) -> tuple[Aval, ...]:
    return _like(x), _like(x, (x.shape[0], groups)), _like(x, (x.shape[0], groups))


# each of ``groups`` groups of channels of each sample normalised, times weight, plus bias
group_norm = NetworkOp(
    "native_group_norm",
    _group_norm_aval,
    "normalization.group_norm",
    vjp=lambda g, out1, out2, x, weight, needs, groups: _given(
        group_norm_gradient(g[0], x, weight, out1, out2, groups=groups), needs
    ),
    group="network",
)
group_norm_gradient = NetworkOp(
    "native_group_norm_backward",
    lambda y, x, weight, mean, rstd, *, groups: (
        _like(x), _like(x, (x.shape[1],)), _like(x, (x.shape[1],)),
    ),
    "normalization.group_norm_gradient",
    vjp=_no_second("group_norm"),
    group="network",
)  # fmt: skip

# --- by the root of the mean square ----------------------------------------------------------

# x / sqrt(mean(x**2) + eps) over the last axes, times weight; the inverse roots
rms_norm = NetworkOp(
    "rms_norm",
    lambda x, weight, *, eps, normalized_ndim: (
        _like(x), _like(x, x.shape[: x.ndim - normalized_ndim]),
    ),
    "normalization.rms_norm",
    vjp=lambda g, out1, x, weight, needs, normalized_ndim: _given(
        rms_norm_gradient(g[0], x, weight, out1, normalized_ndim=normalized_ndim), needs
    ),
    group="network",
)  # fmt: skip
rms_norm_gradient = NetworkOp(
    "rms_norm_backward",
    lambda y, x, weight, rstd, *, normalized_ndim: (
        _like(x), _like(x, x.shape[x.ndim - normalized_ndim :]),
    ),
    "normalization.rms_norm_gradient",
    vjp=_no_second("rms_norm"),
    group="network",
)  # fmt: skip
