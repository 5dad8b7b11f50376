"""The negative log likelihood of classes."""

from __future__ import annotations

from .. import dtypes
from ..aval import Aval, Shape, aval
from .convolution import NetworkOp


def _nll_aval(x: Aval, target: Aval, weight: Aval | None, *, ignore_index: int) -> Aval:
    if target.dtype not in (dtypes.int64, dtypes.uint8):
        raise RuntimeError(
            "expected target dtype to be Long or Byte, but got "
            f"{dtypes.scalar_type_name(target.dtype)}"
        )
    if weight is not None and weight.shape != (x.shape[1],):
        raise RuntimeError(
            f"weight tensor should be defined either for all {x.shape[1]} classes or no classes "
            f"but got weight tensor of shape: {list(weight.shape)}"
        )
    return aval(target.shape, x.dtype, None, x.device)


# -weight[t] * x[n, t, ...] where t = target[n, ...]; 0 where the target is ignored
nll = NetworkOp(
    "nll_loss_forward",
    _nll_aval,
    "loss.nll",
    vjp=(
        lambda g, target, weight, avals, ignore_index: nll_gradient(
            g, target, weight, shape=avals[0].shape, ignore_index=ignore_index
        ),
        None,
        None,
    ),
    grad_name="NllLossBackward0",
    group="network",
)


def _gradient_aval(
    y: Aval, target: Aval, weight: Aval | None, *, shape: Shape, ignore_index: int
) -> Aval:
    return aval(shape, y.dtype, None, y.device)


nll_gradient = NetworkOp(
    "nll_loss_backward",
    _gradient_aval,
    "loss.nll_gradient",
    vjp=(
        lambda g, target, weight, ignore_index: nll(
            g, target, weight, ignore_index=ignore_index
        ),
        None,
        None,
    ),
    group="network",
)
