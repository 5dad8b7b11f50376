"""``backward`` and ``grad``: gradients of outputs, into the leaves or handed back."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from mindtorch.engine.autograd import api
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import full_flat
from mindtorch.engine.transforms.vmap import Vmap
from mindtorch.torch._api.deprecations import warn_of_create_graph

from .._tensor.autograd import retain_grads
from .graph import GradientEdge, tensor_at

__all__ = ["backward", "grad"]


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, (EngineTensor, GradientEdge)):
        value = [value]
    return [tensor_at(x) if isinstance(x, GradientEdge) else x for x in value]


def _gradients_for(outputs: list[Any], given: Any) -> list[Any]:
    if given is None:
        return [None] * len(outputs)
    listed = _as_list(given)
    if len(listed) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(listed)} gradients")
    return listed[: len(outputs)]  # torch takes no notice of the others


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add to ``grad`` of every leaf (or of ``inputs``) the gradient of ``tensors``.

    Args:
        grad_tensors: a gradient for each of ``tensors``; None for 1.
        retain_graph: keep what was saved, for another backward pass; None for ``create_graph``.
        create_graph: record the pass itself.
        grad_variables: the older name of ``grad_tensors``.
    """
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    outputs = _as_list(tensors)
    chosen = None if inputs is None else _as_list(inputs)
    if chosen is not None and not chosen:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs, weights = _stored(outputs, _gradients_for(outputs, grad_tensors))
    if create_graph:
        warn_of_create_graph()
    retain_grads(chosen)
    api.backward(outputs, weights, retain_graph, create_graph, chosen)


def _gradients_of(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of ``outputs`` (weighted by ``grad_outputs``) for each of ``inputs``.

    With ``is_grads_batched`` axis 0 of each of ``grad_outputs`` is a batch, and so it is of each
    result: one backward pass, mapped, for all of them.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    listed, leaves = _as_list(outputs), _as_list(inputs)
    weights = _gradients_for(listed, grad_outputs)
    sparse = {i: x for i, x in enumerate(leaves) if hasattr(x, "held")}
    listed, weights = _stored(listed, weights)
    leaves = [getattr(x, "held", x) for x in leaves]
    unused = bool(allow_unused) or materialize_grads
    if is_grads_batched:
        found = _mapped_gradients(listed, leaves, weights, retain_graph, create_graph, unused)
    else:
        found = api.gradients(listed, leaves, weights, retain_graph, create_graph, unused)
    if materialize_grads:
        found = [
            _zeros_for(x, create_graph) if g is None else g
            for g, x in zip(found, leaves, strict=True)
        ]
    for i, x in sparse.items():
        found[i] = None if found[i] is None else x.gradient(found[i])
    return tuple(found)


def _zeros_for(leaf: Any, create_graph: bool) -> Any:
    """The gradient of what takes no part: zeros, which a graph may follow."""
    zeros = full_flat(leaf.aval.shape, leaf.aval.dtype, 0)
    return api.track(zeros) if create_graph else zeros


def _stored(outputs: list[Any], weights: list[Any]) -> tuple[list[Any], list[Any]]:
    """For each sparse tensor its stored values, and the weights of these."""
    for i, (x, weight) in enumerate(zip(outputs, weights, strict=True)):
        if hasattr(x, "held"):
            outputs[i] = x.held
            if weight is not None:
                dense = weight.to_dense() if hasattr(weight, "held") else weight
                weights[i] = dense[tuple(x.places.unbind(0))]
    return outputs, weights


def _mapped_gradients(
    outputs: list[Any], inputs: list[Any], weights: list[Any], retain_graph: bool | None,
    create_graph: bool, unused: bool,
) -> list[Any]:  # fmt: skip
    """The gradients for each of a batch of weights, by vmap over the pass."""
    sizes = set()
    for position, (output, weight) in enumerate(zip(outputs, weights, strict=True)):
        if weight is None:
            continue
        if weight.aval.shape[1:] != output.aval.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{position}] has a shape of torch.Size({list(weight.aval.shape[2:])})"
                f" and output[{position}] has a shape of torch.Size({list(output.aval.shape)}). If "
                "you only want some tensors in `grad_output` to be considered batched, consider "
                "using vmap."
            )
        sizes.add(weight.aval.shape[0])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(sizes) > 1:
        given = [w.aval.shape[0] for w in weights if w is not None]
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{given} for the mapped dimension"
        )
    level = Vmap(sizes.pop())
    with level.active():
        entered = [None if w is None else level.enter_argument(w, 0) for w in weights]
        found = api.gradients(
            outputs, inputs, entered, retain_graph, create_graph, unused
        )
    return [None if g is None else level.leave_result(g, 0) for g in found]


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of ``outputs`` (weighted by ``grad_outputs``) for each of ``inputs``.

    A tuple; for a dict of inputs a dict with the same keys. ``only_inputs`` is always true.

    Args:
        retain_graph: keep what was saved, for another backward pass; None for ``create_graph``.
        create_graph: record the pass itself.
        allow_unused: None for inputs that take no part, not an error.
        is_grads_batched: ``grad_outputs`` have a first axis, of as many passes.
        materialize_grads: zeros in place of None.
    """
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise TypeError(
            f"`inputs` argument to `grad()` must be a dict, not {type(inputs).__name__}. "
            "Other Mapping types are not supported."
        )
    sources = list(inputs.values()) if type(inputs) is dict else _as_list(inputs)
    if not sources:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use "
            "torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    results = _gradients_of(
        outputs, sources, grad_outputs, retain_graph, create_graph, allow_unused,
        is_grads_batched, materialize_grads,
    )  # fmt: skip
    if type(inputs) is dict:
        return dict(zip(inputs, results, strict=True))
    return results


for _function in (backward, grad):  # pickles name the module that publishes them
    _function.__module__ = "mindtorch.torch.autograd"
