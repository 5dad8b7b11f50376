"""A function applied to each slice along the first axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.torch._api.publish import FUNCTIONS
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["map"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:  # noqa: A001
    """``y[i] = f(x[i], *args)``, stacked.

    Args:
        f: takes a tree of slices like ``xs``, and gives a tree of tensors.
        xs: tensors in a tree, of one length along their first axis.
        *args: handed to each call.

    Raises:
        RuntimeError: ``xs`` holds something else, nothing, or lengths that differ.
    """
    leaves, spec = tree_flatten(xs)
    if not all(isinstance(each, Tensor) for each in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    shapes = [each.shape for each in leaves]
    length = shapes[0][0]
    if length == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(shape[0] != length for shape in shapes):
        raise RuntimeError(
            f"Leading dimensions of mapped xs must be consistent. Got shapes {shapes}."
        )
    found = [
        tree_flatten(f(tree_unflatten([each.select(0, i) for each in leaves], spec), *args))
        for i in range(length)
    ]
    columns = zip(*(each for each, _ in found), strict=True)
    return tree_unflatten([FUNCTIONS["stack"](list(c)) for c in columns], found[0][1])
