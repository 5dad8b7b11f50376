"""value_and_grad and grad, which know the mode of data parallel training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch import functional

from . import communication, context

__all__ = ["grad", "value_and_grad"]


def _check(weights: Any) -> None:
    """Whole networks over several processes are trained by cells only."""
    mode = context.get_auto_parallel_context("parallel_mode")
    if weights is None or mode not in (
        context.ParallelMode.SEMI_AUTO_PARALLEL, context.ParallelMode.AUTO_PARALLEL
    ):  # fmt: skip
        return
    if context.get_auto_parallel_context("pipeline_stages") > 1:
        return  # nn.PipelineGradReducer reduces
    if communication.is_initialized() and communication.get_group_size() > 1:
        raise NotImplementedError(
            f"parallel_mode={mode!r}: gradients of weights are reduced by nn.TrainOneStepCell and "
            "Model; with value_and_grad use ParallelMode.DATA_PARALLEL and "
            "nn.DistributedGradReducer(optimizer.parameters, mean=True)"
        )


def value_and_grad(
    fn: Callable[..., Any], grad_position: Any = 0, weights: Any = None, has_aux: bool = False,
    return_ids: bool = False, sens_param: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    _check(weights)
    return functional.value_and_grad(fn, grad_position, weights, has_aux, return_ids, sens_param)


def grad(
    fn: Callable[..., Any], grad_position: Any = 0, weights: Any = None, has_aux: bool = False,
    return_ids: bool = False, sens_param: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    _check(weights)
    return functional.grad(fn, grad_position, weights, has_aux, return_ids, sens_param)


value_and_grad.__doc__ = functional.value_and_grad.__doc__
grad.__doc__ = functional.grad.__doc__
