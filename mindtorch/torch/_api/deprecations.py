"""PyTorch's warnings of older names, and of calls that lose something, each once in a process."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.autograd import tape
from mindtorch.engine.dispatch import state

from .warn_caller import warn_caller_once

__all__ = [
    "warn_of_create_graph", "warn_of_identity", "warn_of_lost_imaginary_part", "warn_of_number",
    "warn_of_older", "warn_of_reversed_shape",
]  # fmt: skip

_FACTORS = {
    "lu": (
        "torch.linalg.lu_factor / torch.linalg.lu_factor_ex and",
        """LU, pivots = torch.lu(A, compute_pivots)
should be replaced with
LU, pivots = torch.linalg.lu_factor(A, compute_pivots)
and
LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)
should be replaced with
LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)""",
    ),
    "lu_solve": (
        "torch.linalg.lu_solveand",
        """Note that torch.linalg.lu_solve has its arguments reversed.
X = torch.lu_solve(B, LU, pivots)
should be replaced with
X = torch.linalg.lu_solve(LU, pivots, B)""",
    ),
    "cholesky": (
        "torch.linalg.cholesky and",
        """L = torch.cholesky(A)
should be replaced with
L = torch.linalg.cholesky(A)
and
U = torch.cholesky(A, upper=True)
should be replaced with
U = torch.linalg.cholesky(A).mH
This transform will produce equivalent results for all valid \
(symmetric positive definite) inputs.""",
    ),
    "qr": (
        "torch.linalg.qr and",
        """The boolean parameter 'some' has been replaced with a string parameter 'mode'.
Q, R = torch.qr(A, some)
should be replaced with
Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')""",
    ),
    "triangular_solve": (
        "torch.linalg.solve_triangularand",
        """torch.linalg.solve_triangular has its arguments reversed and does not return a copy of \
one of the inputs.
X = torch.triangular_solve(B, A).solution
should be replaced with
X = torch.linalg.solve_triangular(A, B).""",
    ),
}  # fmt: skip


def warn_of_older(name: str) -> None:
    """That a factorisation of torch has a successor in torch.linalg."""
    successor, how = _FACTORS[name]
    warn_caller_once(
        f"torch.{name} is deprecated in favor of {successor} will be removed in a future PyTorch "
        f"release.\n{how}"
    )


def warn_of_lost_imaginary_part() -> None:
    """That complex values become real ones."""
    warn_caller_once("Casting complex values to real discards the imaginary part")


def warn_of_create_graph() -> None:
    """That gradients that are kept in ``grad`` hold the graph that they came from."""
    warn_caller_once(
        "Using backward() with create_graph=True will create a reference cycle between the "
        "parameter and its gradient which can cause a memory leak. We recommend using "
        "autograd.grad when creating the graph to avoid this. If you have to use this function, "
        "make sure to reset the .grad fields of your parameters to None after use to break the "
        "cycle and avoid the leak."
    )


def warn_of_number(x: Any) -> None:
    """That a number taken from a tensor is cut off from its gradients, if it has any."""
    if state.grad_enabled and tape.requires_grad(x):
        warn_caller_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior.\nConsider using tensor.detach() first."
        )


def warn_of_identity(name: str) -> None:
    """That a transposition of no axes is the tensor itself."""
    warn_caller_once(
        f"Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases."
    )


def warn_of_reversed_shape() -> None:
    """That `.T` of other than matrices is to end."""
    warn_caller_once(
        "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
        "deprecated and it will throw an error in a future release. Consider `x.mT` to "
        "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
        "reverse the dimensions of a tensor."
    )
