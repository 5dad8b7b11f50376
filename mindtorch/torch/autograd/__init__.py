"""Gradients: ``backward``, ``grad``, grad modes, and functions with rules of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindtorch.engine import autodiff
from mindtorch.engine.tensor import Tensor as EngineTensor

from . import forward_ad as forward_ad
from . import functional as functional
from . import graph as graph
from . import profiler as profiler
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .variable import Variable

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "grad_mode",
    "graph",
    "inference_mode",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
]


def _as_list(value: Any) -> list[Any]:
    return [value] if isinstance(value, EngineTensor) else list(value)


def _gradients_for(outputs: list[Any], given: Any) -> list[Any]:
    if given is None:
        return [None] * len(outputs)
    listed = _as_list(given)
    if len(listed) != len(outputs):
        raise RuntimeError(
            f"Mismatch in length: got {len(listed)} gradients for {len(outputs)} tensors"
        )
    return listed


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add to ``grad`` of every leaf (or of ``inputs``) the gradient of ``tensors``."""
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "'grad_tensors' and 'grad_variables' (deprecated) arguments both passed to "
                "backward(). Please only use 'grad_tensors'."
            )
        grad_tensors = grad_variables
    outputs = _as_list(tensors)
    chosen = None if inputs is None else _as_list(inputs)
    if chosen is not None and not chosen:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    autodiff.backward(
        outputs, _gradients_for(outputs, grad_tensors), retain_graph, create_graph, chosen
    )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` (weighted by ``grad_outputs``) for each of ``inputs``."""
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if is_grads_batched:
        raise NotImplementedError("autograd.grad(is_grads_batched=True) is not supported yet")
    results = autodiff.gradients(
        _as_list(outputs),
        _as_list(inputs),
        _gradients_for(_as_list(outputs), grad_outputs),
        retain_graph,
        create_graph,
        bool(allow_unused) or materialize_grads,
        materialize_grads,
    )
    return tuple(results)


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)
