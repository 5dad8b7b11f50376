"""Running a function along an axis, with a state handed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.torch._api.publish import FUNCTIONS
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["scan"]


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    *,
    dim: int = 0,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """``state, y[i] = combine_fn(state, x[i])`` along ``dim``; the last state, and all ``y``.

    Args:
        combine_fn: takes and gives trees; the state keeps its structure.
        init: the first state.
        xs: tensors in a tree, of one length along ``dim``.
        reverse: from the end; results stand at their inputs' places.

    Returns:
        The state, and a tree of tensors with the results along their first axis.

    Raises:
        RuntimeError: arguments of other kinds, or lengths that differ.
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise RuntimeError("Dim must be an int, but got " + str(type(dim)))
    if not isinstance(reverse, bool):
        raise RuntimeError("Reverse must be a bool, but got " + str(type(reverse)))
    leaves, spec = tree_flatten(xs)
    if not leaves:
        return init, []
    if not tree_flatten(init)[0]:
        raise RuntimeError("scan() operator requires init leaves.")
    for each in leaves:
        if not isinstance(each, Tensor):
            raise RuntimeError(f"All xs leaves must be a Tensor but got {each}")
    lengths = {each.shape[dim] for each in leaves}
    if len(lengths) != 1:
        raise RuntimeError("All xs leaves must have the same length along dim")
    steps = range(lengths.pop())
    state, found = init, []
    for step in reversed(steps) if reverse else steps:
        slices = tree_unflatten([each.select(dim, step) for each in leaves], spec)
        state, made = combine_fn(state, slices)
        found.append(tree_flatten(made))
    if reverse:
        found.reverse()
    columns = zip(*(each for each, _ in found), strict=True)
    return state, tree_unflatten([FUNCTIONS["stack"](list(c)) for c in columns], found[0][1])
