"""Connectionist temporal classification."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..aval import Aval, aval
from .convolution import NetworkOp


def _ctc_aval(
    x: Aval, targets: Aval, lengths: Aval, counts: Aval, *, blank: int, zero_infinity: bool,
    longest: int,
) -> tuple[Aval, Aval]:  # fmt: skip
    if x.dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(
            f"\"ctc_loss_cpu\" not implemented for '{dtypes.scalar_type_name(x.dtype)}'"
        )
    steps, batch, _ = x.shape
    table = (batch, steps, 2 * longest + 1)
    return aval((batch,), x.dtype, None, x.device), aval(table, x.dtype, None, x.device)


def _ctc_vjp(
    g: Any, out0: Any, out1: Any, x: Any, targets: Any, lengths: Any, counts: Any, blank: int,
    zero_infinity: bool, needs: Any,
) -> list[Any]:  # fmt: skip
    gradient = ctc_loss_gradient(
        g[0], x, targets, lengths, counts, out0, out1, blank=blank, zero_infinity=zero_infinity
    )
    return [gradient, None, None, None]


# -log of the sum over alignments of ``targets`` with the steps of exp(sum of x along each);
# x [step, sample, class] holds log probabilities
ctc_loss = NetworkOp(
    "ctc_loss", _ctc_aval, "ctc_loss.ctc_loss", vjp=_ctc_vjp, grad_name="CtcLossBackward0",
    checks_values=True,
)  # fmt: skip


def _no_second(g: Any, needs: Any) -> Any:
    raise RuntimeError("derivative for aten::_ctc_loss_backward is not implemented")


ctc_loss_gradient = NetworkOp(
    "ctc_loss_backward",
    lambda y, x, targets, lengths, counts, loss, alpha, *, blank, zero_infinity: aval(
        x.shape, x.dtype, None, x.device
    ),
    "ctc_loss.ctc_loss_gradient",
    vjp=_no_second,
)
