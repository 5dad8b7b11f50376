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


def warn_of_older(name: str, successor: str, how: str) -> None:
    """That a factorisation of torch has a successor in torch.linalg.

    Args:
        how: lines that say how calls are written anew.
    """
    warn_caller_once(
        f"torch.{name} is deprecated in favor of torch.linalg.{successor} will be removed in a "
        f"future PyTorch release.\n{how}"
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
