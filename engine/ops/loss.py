"""The negative log likelihood of classes, and cross entropy."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..aval import Aval, Shape, aval
from ..dispatch import state
from ..dtype_support import require_floats
from ..tensor import constant
from ..transforms.batch import detach
from .base import Elementwise
from .comparison import less, not_equal, where
from .convolution import NetworkOp
from .elementwise import absolute, add, divide, multiply, negative, subtract
from .index_bounds import of_classes
from .movement import expand, reshape, unsqueeze
from .reduction import scaled
from .softmax import log_softmax, log_softmax_gradient, require_float


def _require_scores(x: Aval, *rest: Aval | None) -> None:
    require_floats(x, "nll_loss_out_frame" if x.ndim < 3 else "nll_loss2d_forward_out_frame")


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
    "nll_cross_entropy.nll",
    vjp=(
        lambda g, target, weight, avals, ignore_index: nll_gradient(
            g, target, weight, shape=avals[0].shape, ignore_index=ignore_index
        ),
        None,
        None,
    ),
    grad_name="NllLossBackward0",
    autocast_cuda="full",
    dtypes=_require_scores,
    index_bounds=of_classes,
    asked=(1, 0, 2),
)


def _gradient_aval(
    y: Aval, target: Aval, weight: Aval | None, *, shape: Shape, ignore_index: int
) -> Aval:
    return aval(shape, y.dtype, None, y.device)


nll_gradient = NetworkOp(
    "nll_loss_backward",
    _gradient_aval,
    "nll_cross_entropy.nll_gradient",
    vjp=(
        lambda g, target, weight, ignore_index: nll(
            g, target, weight, ignore_index=ignore_index
        ),
        None,
        None,
    ),
)


# --- cross entropy -------------------------------------------------------------------------------


def _cross_entropy_aval(
    x: Aval, target: Aval, weight: Aval | None,
    *, ignore_index: int, reduction: str, smoothing: float,
) -> tuple[Aval, ...]:  # fmt: skip
    require_float(x, "log_softmax", min(x.ndim - 1, 1))
    _require_scores(x)
    each = _nll_aval(x, target, weight, ignore_index=ignore_index)
    one = aval((), x.dtype, None, x.device)
    return each if reduction == "none" else one, each, each, one


def _cross_entropy_vjp(
    g: Any, out1: Any, out2: Any, out3: Any, x: Any, target: Any, weight: Any, ignore_index: int,
    reduction: str, smoothing: float, needs: Any,
) -> list[Any]:  # fmt: skip
    if not state.grad_enabled:
        return [
            cross_entropy_gradient(
                g[0], x, out1, out2, out3, target, weight, ignore_index=ignore_index,
                reduction=reduction, smoothing=smoothing,
            ),
            None, None,
        ]  # fmt: skip
    slope = divide(g[0], detach(out3)) if reduction == "mean" else g[0]
    slope = expand(slope, shape=target.aval.shape)
    logs = nll_gradient(
        scaled(slope, 1 - smoothing), target, weight, shape=x.aval.shape, ignore_index=ignore_index
    )
    if smoothing:
        known = not_equal(target, constant(ignore_index))
        even = where(known, scaled(slope, -smoothing / x.aval.shape[1]), constant(0.0))
        even = expand(unsqueeze(even, axis=1), shape=x.aval.shape)
        if weight is not None:
            even = multiply(even, reshape(weight, (x.aval.shape[1], *[1] * (x.aval.ndim - 2))))
        logs = add(logs, even)
    return [log_softmax_gradient(logs, log_softmax(x, axis=1), axis=1), None, None]


def _cross_entropy_name(avals: Any, params: Any) -> str:
    if params.get("smoothing"):
        return "AddBackward0"
    return "NllLoss2DBackward0" if len(avals[0].shape) > 2 else "NllLossBackward0"


# nll of log_softmax(x), reduced; with ``smoothing`` s: (1 - s) nll + s sum(-weight log_softmax) / C
# (loss, maxima, log(sum(exp(x - maximum))), sum of the targets' weights)
cross_entropy = NetworkOp(
    "cross_entropy_loss",
    _cross_entropy_aval,
    "nll_cross_entropy.cross_entropy",
    vjp=_cross_entropy_vjp,
    grad_name=_cross_entropy_name,
    autocast_cuda="full",
    index_bounds=of_classes,
)
cross_entropy_gradient = NetworkOp(
    "cross_entropy_loss_backward",
    lambda y, x, shifts, logs, count, target, weight, *, ignore_index, reduction, smoothing: aval(
        x.shape, x.dtype, None, x.device
    ),
    "nll_cross_entropy.cross_entropy_gradient",
)


# --- parabolas with straight ends ----------------------------------------------------------------


def _bent(
    name: str, grad_name: str, scalar: str, curvature: Any
) -> tuple[Elementwise, Elementwise]:
    """A loss of (x, target, where the parabola ends), elementwise, with its slope as a second op.

    Args:
        curvature: ``curvature(g, bound)``: the slope's derivative within the bounds, times ``g``.
    """

    def bend(g: Any, x: Any, y: Any, z: Any, w: Any) -> Any:
        near = less(absolute(subtract(y, z)), w)
        return where(near, curvature(multiply(g, x), w), constant(0.0))

    slope = Elementwise(
        f"{name}_backward",
        (
            lambda g, y, z, w: slope(g, y, z, w),
            bend,
            lambda g, x, y, z, w: negative(bend(g, x, y, z, w)),
            None,
        ),
        scalar=f"{scalar}_slope",
    )

    def back(g: Any, x: Any, y: Any, z: Any) -> Any:
        return negative(slope(g, x, y, z))

    loss = Elementwise(
        name,
        (lambda g, x, y, z: slope(g, x, y, z), back, None),
        scalar=scalar,
        grad_name=grad_name,
    )
    return loss, slope


smooth_l1, smooth_l1_gradient = _bent(
    "smooth_l1_loss", "SmoothL1LossBackward0", "smooth_l1", divide
)
huber, huber_gradient = _bent(
    "huber_loss", "HuberLossBackward0", "huber", lambda g, bound: g
)
