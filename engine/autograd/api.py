"""backward, grad, and the functional transformations that read the same rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..aval import Aval
from ..bounded_cache import Bounded
from ..callbacks import callbacks
from ..devices.device import cpu
from ..dispatch import state
from ..ops.movement import cast, full_like_aval
from ..state import grad_mode as grad_mode
from ..symbolic_sizes import open_sizes
from ..tensor import Tensor, captures, full_flat, make
from ..transforms import vmap
from . import tape
from .backward import Pass

# what makes an array of the number 1, by the avals of plain scalars on the CPU
_known_ones = Bounded(16)


def _ones(described: Aval) -> Tensor:
    if described.shape or described.weak or described.device is not cpu or captures or (
        open_sizes or described.sharded
    ):
        return full_like_aval(described, 1)
    one = _known_ones.keep(described, np.ones(1, described.dtype.np).copy)
    return make(one(), described)


def _root_gradient(output: Tensor, gradient: Tensor | None, position: int) -> Tensor:
    if gradient is None:
        one = _known_ones.get(output.aval)
        if one is not None and not (state.interpreters or captures or open_sizes):
            return make(one(), output.aval)
        if output.aval.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if output.aval.dtype.category == dtypes.COMPLEX:
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"{output.aval.dtype!r}"
            )
        if state.interpreters and state.interpreters[-1].observes_nodes:
            made: Tensor | None = state.interpreters[-1].root_gradient(output)
            if made is not None:
                return made
        if output.aval.answered:
            answer: Tensor = callbacks.root_gradient_answered(output)
            return answer
        return _ones(output.aval)
    if gradient.aval.shape != output.aval.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{position}] has a shape of "
            f"torch.Size({list(gradient.aval.shape)}) and output[{position}] has a shape of "
            f"torch.Size({list(output.aval.shape)})."
        )
    if gradient.aval.dtype.is_complex != output.aval.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{position}] has a dtype of {gradient.aval.dtype!r} "
            "and "
            f"output[{position}] has a dtype of {output.aval.dtype!r}."
        )
    if gradient.aval.dtype is not output.aval.dtype:
        gradient = cast(gradient, dtype=output.aval.dtype)
    return gradient


def _roots(
    outputs: Sequence[Tensor], gradients: Sequence[Tensor | None]
) -> list[tuple[Any, int, Tensor]]:
    roots = []
    for position, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        node = output._node
        if node.__class__ is not tape.Node:
            node = tape.node_of(output)
        if node is None:
            raise RuntimeError(
                f"element {position} of tensors does not require grad and does not have a grad_fn"
            )
        roots.append(
            (node, output._output_index, _root_gradient(output, gradient, position))
        )
    return roots


def backward(
    outputs: Sequence[Tensor],
    gradients: Sequence[Tensor | None],
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Add to ``grad`` of each leaf, or of ``inputs``, the gradient of the ``outputs``' sum."""
    if state.level or (state.interpreters and vmap.innermost() is not None):
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
            "transforms."
        )
    roots = _roots(outputs, gradients)
    targets = None
    if inputs is not None:
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        targets = _targets(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    Pass(create_graph, keep, targets, accumulate=True).run(roots)


def _targets(inputs: Sequence[Tensor]) -> list[tuple[Any, int]]:
    targets = []
    for x in inputs:
        node = tape.node_of(x)
        if node is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        targets.append((node, x._output_index))
    return targets


_UNUSED = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. Set "
    "allow_unused=True if this is the desired behavior."
)


def gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Tensor | None],
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
    materialize: bool = False,
) -> list[Tensor | None]:
    """The gradient of the ``outputs``' (weighted) sum for each input, ``grad`` left alone."""
    roots = _roots(outputs, grad_outputs)
    targets = _targets(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    run = Pass(create_graph, keep, targets, accumulate=False)
    run.run(roots)
    results: list[Tensor | None] = []
    for (node, index), x in zip(targets, inputs, strict=True):
        found = run.captured.get((id(node), index))
        if found is None:
            if materialize:
                found = full_flat(x.aval.shape, x.aval.dtype, 0, x.aval.device)
            elif not allow_unused:
                raise RuntimeError(_UNUSED.format(len(results)))
        results.append(found)
    return results


def track(tensor: Tensor) -> Tensor:
    """Make ``tensor`` a leaf that collects gradients."""
    if tensor.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    if tensor._node is None or type(tensor._node) is tape.ViewHistory:
        history = tensor._node
        view = history if type(history) is tape.ViewHistory else None
        tensor._node = tape.AccumulateGrad(tensor, view)
        tensor._output_index = 0
    return tensor


callbacks.gradients = gradients
