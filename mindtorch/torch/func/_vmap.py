"""vmap: axes of arguments and results; the function runs in :mod:`engine.transforms.vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.transforms.vmap import Vmap
from mindtorch.torch._tensor.generator import get_rng_state, set_rng_state
from mindtorch.torch.utils._pytree import (
    LeafSpec,
    TreeSpec,
    tree_flatten,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)

Axis = int | None


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """``func`` over a batch: ``result[i] = func(*(x[i] for x in args))``, in one run of ``func``.

    ``func`` sees one example and its ops run on all of them. An op without a rule runs on one
    example after another, as do user-defined ops.

    Args:
        in_dims: the batch axis of each argument; None for one that all examples share. An int, or
            a tree that is a prefix of the arguments'.
        out_dims: where the batch axis goes in each result; None for one without batch.
        randomness: "error" refuses functions that draw, "same" draws once for all examples,
            "different" for each.
        chunk_size: how many examples run together; None for all.

    Raises:
        ValueError: no batched argument, different batch sizes, axes that do not fit.
        RuntimeError: an unknown ``randomness``; control flow that depends on an example's values.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        leaves, axes, spec = _arguments(func, in_dims, args)
        size = _batch_size(leaves, axes)

        def run(chosen: list[Any], count: int) -> tuple[list[Any], list[Axis], TreeSpec]:
            level = Vmap(count, randomness)
            with level.active():
                entered = [x if a is None else level.enter_argument(x, a)
                           for x, a in zip(chosen, axes, strict=True)]  # fmt: skip
                result = func(*tree_unflatten(entered, spec), **kwargs)
            return _left(func, level, result, out_dims)

        if chunk_size is None:
            results, _, out_spec = run(leaves, size)
        else:
            results, out_spec = _in_chunks(run, leaves, axes, size, chunk_size, randomness)
        return tree_unflatten(results, out_spec)

    return call


def name_of(func: Any) -> str:
    """What errors call the function."""
    if hasattr(func, "__name__"):
        return str(func.__name__)
    if isinstance(func, functools.partial):
        return f"functools.partial({name_of(func.func)}, ...)"
    return repr(func)


def _spread(tree: Any, spec: TreeSpec) -> list[Any] | None:
    """A leaf of ``tree`` for each leaf of ``spec``, which ``tree`` is a prefix of; else None."""
    own = tree_structure(tree)
    if isinstance(own, LeafSpec):
        return [tree] * spec.num_leaves
    if own.type is not spec.type or own.context != spec.context or (
        own.num_children != spec.num_children
    ):
        return None
    children = tree.values() if isinstance(tree, dict) else tree
    if isinstance(tree, dict):
        children = [tree[key] for key in spec.context]
    found: list[Any] = []
    for child, child_spec in zip(children, spec.children_specs, strict=True):
        part = _spread(child, child_spec)
        if part is None:
            return None
        found += part
    return found


# --- arguments ----------------------------------------------------------------------------------


def _arguments(
    func: Any, in_dims: Any, args: tuple[Any, ...]
) -> tuple[list[Any], list[Axis], TreeSpec]:
    """The leaves of the arguments with the batch axis of each."""
    where = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or "
            "you are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    axes = _spread(in_dims, spec)
    if axes is None:
        raise ValueError(
            f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {tree_structure(in_dims)} but inputs has structure {spec}."
        )
    return leaves, [_axis(where, x, a) for x, a in zip(leaves, axes, strict=True)], spec


def _axis(where: str, leaf: Any, axis: Any) -> Axis:
    if axis is None:
        return None
    if not isinstance(axis, int):
        raise ValueError(
            f"{where}Got in_dim={axis} for an input but in_dim must be either an integer dimension "
            "or None."
        )
    if not isinstance(leaf, EngineTensor):
        raise ValueError(
            f"{where}Got in_dim={axis} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    ndim = leaf.aval.ndim
    if not -ndim <= axis < ndim:
        raise ValueError(
            f"{where}Got in_dim={axis} for some input, but that input is a Tensor of "
            f"dimensionality {ndim} so expected in_dim to satisfy -{ndim} <= in_dim < {ndim}."
        )
    return axis % ndim


def _batch_size(leaves: list[Any], axes: list[Axis]) -> int:
    sizes = [x.aval.shape[a] for x, a in zip(leaves, axes, strict=True) if a is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


# --- results ------------------------------------------------------------------------------------


def _check_out_dims(func: Any, out_dims: Any) -> None:
    for axis in tree_leaves(out_dims):
        if axis is not None and not isinstance(axis, int):
            raise ValueError(
                f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None "
                "or a python collection of ints representing where in the outputs the vmapped "
                "dimension should appear."
            )


def _out_axes(func: Any, result: Any, out_dims: Any, spec: TreeSpec) -> list[Axis]:
    if isinstance(result, EngineTensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return list(out_dims)
    axes = _spread(out_dims, spec)
    if axes is None:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
            f"compatible with the structure of `outputs`. out_dims has structure "
            f"{tree_structure(out_dims)} but outputs has structure {spec}."
        )
    return axes


def _left(
    func: Any, level: Vmap, result: Any, out_dims: Any
) -> tuple[list[Any], list[Axis], TreeSpec]:
    """The results with the batch axis where ``out_dims`` wants it."""
    leaves, spec = tree_flatten(result)
    axes = _out_axes(func, result, out_dims, spec)
    name = name_of(func)
    left = []
    for x, axis in zip(leaves, axes, strict=True):
        tensor = isinstance(x, EngineTensor)
        if axis is None:
            if tensor and level.batched(x):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is "
                    "None"
                )
            left.append(level.whole(x) if tensor else x)
        elif tensor:
            left.append(level.leave_result(x, axis))
        else:
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did "
                "you mean to set out_dims= to None for output?"
            )
    return left, axes, spec


# --- chunks -------------------------------------------------------------------------------------


def _pieces(x: Any, axis: Axis, bounds: list[tuple[int, int]]) -> Iterator[Any]:
    for start, stop in bounds:
        if axis is None:
            yield x
        else:
            yield movement.slice_(x, axis=axis, start=start, length=stop - start, step=1)


def _in_chunks(
    run: Any, leaves: list[Any], axes: list[Axis], size: int, chunk: int, randomness: str
) -> tuple[list[Any], TreeSpec]:
    """The results of ``chunk`` examples at a time, put together along their batch axes."""
    bounds = [(i, min(i + chunk, size)) for i in range(0, size, chunk)] or [(0, 0)]
    columns = [_pieces(x, a, bounds) for x, a in zip(leaves, axes, strict=True)]
    before = get_rng_state() if randomness == "same" else None
    parts = []
    for (start, stop), *chosen in zip(bounds, *columns, strict=True):
        if before is not None:
            set_rng_state(before)
        results, out_axes, out_spec = run(chosen, stop - start)
        parts.append(results)
    joined = []
    for column, axis in zip(zip(*parts, strict=True), out_axes, strict=True):
        if axis is None or len(column) == 1:
            joined.append(column[0])
        else:
            joined.append(movement.cat(*column, axis=axis % column[0].aval.ndim))
    return joined, out_spec
