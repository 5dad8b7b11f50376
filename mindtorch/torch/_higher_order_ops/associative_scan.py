"""Running combinations along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.torch._api.publish import FUNCTIONS
from mindtorch.torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """``y[0] = x[0]``, ``y[i] = combine_fn(y[i - 1], x[i])`` along ``dim``, one after another.

    Args:
        combine_fn: takes and gives trees of slices without ``dim``, like ``xs``.
        xs: tensors in a tree, of one length along ``dim``.
        reverse: from the end.
        combine_mode: "pointwise" or "generic"; how torch would compile, which changes nothing.

    Raises:
        ValueError: another mode, no tensors, or lengths that differ.
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    lengths = {each.shape[dim] for each in leaves}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError("All xs leaves must have the same, positive length along dim")
    steps = range(lengths.pop())
    last: Any = None
    results: list[list[Any]] = []
    for step in reversed(steps) if reverse else steps:
        slices = tree_unflatten([each.select(dim, step) for each in leaves], spec)
        last = slices if last is None else combine_fn(last, slices)
        results.append(tree_flatten(last)[0])
    if reverse:
        results.reverse()
    axes = [dim if dim >= 0 else dim + each.dim() for each in leaves]
    columns = zip(*results, strict=True)
    stacked = [FUNCTIONS["stack"](list(c), a) for c, a in zip(columns, axes, strict=True)]
    return tree_unflatten(stacked, spec)
