"""What the transformations of torch.func take and refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.utils._pytree import tree_leaves

Positions = int | tuple[int, ...]


def positions_of(argnums: Any, count: int) -> tuple[int, ...]:
    """``argnums`` counted from the front; RuntimeError for what is no place of an argument."""
    if isinstance(argnums, int):
        return (_position(argnums, count),)
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    places = tuple(_position(a, count) for a in argnums)
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {places}")
    return places


def _position(argnum: Any, count: int) -> int:
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def output_and_aux(result: Any, has_aux: bool, call: str) -> tuple[Any, Any]:
    """The differentiated result, and what is passed through."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{call}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for leaf in tree_leaves(result[1]):
        if not isinstance(leaf, EngineTensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}")
    return result


def require_tensors(leaves: Sequence[Any], call: str) -> None:
    """The results of a function: some, and tensors all."""
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise RuntimeError(
            f"{call}: Expected f to be a function that has non-empty output (got output = "
            f"{list(leaves)})"
        )
    for leaf in leaves:
        if not isinstance(leaf, EngineTensor):
            raise RuntimeError(
                f"{call}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(leaf)}"
            )


def require_given(leaves: Sequence[Any], call: str, name: str) -> None:
    """The leaves of an argument: some, and tensors all."""
    if not leaves:
        raise RuntimeError(f"{call}: Expected {name} to contain at least one Tensor.")
    for leaf in leaves:
        if not isinstance(leaf, EngineTensor):
            raise RuntimeError(
                f"{call}: Expected {name} to only contain Tensors, got {type(leaf)}"
            )


def require_real(call: str, tree: Any, inputs: bool) -> None:
    """No complex tensors among the leaves."""
    kind = "inputs" if inputs else "outputs"
    for index, leaf in enumerate(tree_leaves(tree)):
        if isinstance(leaf, EngineTensor) and leaf.aval.dtype.is_complex:
            raise RuntimeError(
                f"{call}: Expected all {kind} to be real but received complex tensor at flattened "
                f"input idx: {index}"
            )
