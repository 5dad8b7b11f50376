"""Transformations of functions: derivatives, and one call over a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch import functional
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.functions.shape import stack, unbind
from mindtorch.torch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["grad", "grad_and_value", "vjp", "vmap"]


class Fallbacks:
    """Counts the calls of ``vmap``: each runs its function once for each example."""

    calls = 0


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives (the gradient for the arguments ``argnums``, the value)."""
    single = isinstance(argnums, int)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        places = (argnums,) if isinstance(argnums, int) else argnums
        chosen = tuple(p + len(args) if p < 0 else p for p in places)
        result = functional.value_and_grad(func, chosen, None, has_aux)(*args, **kwargs)
        value, gradients = result
        loss = value[0] if has_aux else value
        if not isinstance(loss, EngineTensor) or loss.aval.shape:
            shape = tuple(loss.aval.shape) if isinstance(loss, EngineTensor) else type(loss)
            raise RuntimeError(
                "Expected f(*args) to return a scalar tensor, got tensor with "
                f"{len(shape) if isinstance(shape, tuple) else shape} dims. Maybe you wanted to "
                "use the vjp or jacrev APIs instead?"
            )
        if not single and len(chosen) == 1:
            gradients = (gradients,)
        return gradients, value

    return call


def grad(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of ``func``, whose result is one number."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return call


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), a function that multiplies with the transposed Jacobian[, aux])."""
    return functional.vjp(func, *primals, has_aux=has_aux)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """``func`` over a batch: it is called for each example, and the results are stacked.

    Args:
        in_dims: the batch axis of each argument; None for one that is not batched.
        out_dims: where the batch axis goes in each result.
        randomness: "different" lets examples draw one after another; "error" (the default) refuses
            functions that draw; "same" is not supported.
        chunk_size: how many examples are taken together; without effect on the result.

    This is a loop, counted in ``Fallbacks.calls``: correct for every function and differentiable,
    but no faster than writing the loop.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if randomness == "same":
        raise NotImplementedError("vmap(randomness='same') is not supported")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        dims = _dims_of(in_dims, args)
        flats = [tree_flatten(a) for a in args]
        size = _batch_size(flats, dims, in_dims)
        pieces = [
            [_examples(leaf, d, size) for leaf, d in zip(leaves, ds, strict=True)]
            for (leaves, _), ds in zip(flats, dims, strict=True)
        ]
        Fallbacks.calls += 1
        before = _generator_state() if randomness == "error" else None
        results = []
        for i in range(size):
            example = [
                tree_unflatten([p[i] for p in columns], spec)
                for columns, (_, spec) in zip(pieces, flats, strict=True)
            ]
            results.append(func(*example, **kwargs))
        if before is not None and _generator_state() != before:
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use "
                "the 'same' or 'different' randomness flags on vmap or perform the randomness "
                "operation out of vmap"
            )
        return _stacked(results, out_dims)

    return call


def _generator_state() -> bytes:
    from mindtorch.torch._random import get_rng_state

    return bytes(get_rng_state().numpy().tobytes())


def _dims_of(in_dims: Any, args: Any) -> list[list[Any]]:
    """For each argument the batch axis of each of its leaves."""
    if not args:
        raise ValueError(
            "vmap: got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    if isinstance(in_dims, int) or in_dims is None:
        each: list[Any] = [in_dims] * len(args)
    elif isinstance(in_dims, (tuple, list)):
        if len(in_dims) != len(args):
            raise ValueError(
                f"vmap: in_dims is not compatible with the structure of inputs: {len(in_dims)} "
                f"axes for {len(args)} arguments"
            )
        each = list(in_dims)
    else:
        raise ValueError(
            "vmap: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    result = []
    for dim, arg in zip(each, args, strict=True):
        leaves, _ = tree_flatten(arg)
        own = [dim] * len(leaves) if isinstance(dim, int) or dim is None else tree_flatten(dim)[0]
        result.append([d if isinstance(leaf, EngineTensor) else None
                       for d, leaf in zip(own, leaves, strict=True)])  # fmt: skip
    return result


def _batch_size(flats: Any, dims: Any, in_dims: Any) -> int:
    sizes = []
    for (leaves, _), ds in zip(flats, dims, strict=True):
        for leaf, d in zip(leaves, ds, strict=True):
            if d is None:
                continue
            ndim = leaf.aval.ndim
            if not -ndim <= d < ndim:
                raise ValueError(
                    f"vmap: got in_dim={d} for some input, but that input is a Tensor of "
                    f"dimensionality {ndim} so expected in_dim to satisfy -{ndim} <= in_dim < "
                    f"{ndim}."
                )
            sizes.append(leaf.aval.shape[d])
    if not sizes:
        raise ValueError("vmap: at least one input must have a batch axis (in_dims is all None)")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


def _examples(leaf: Any, dim: Any, size: int) -> Any:
    return [leaf] * size if dim is None else unbind(leaf, dim)


def _stacked(results: list[Any], out_dims: Any) -> Any:
    flats = [tree_flatten(r) for r in results]
    spec = flats[0][1]
    count = len(flats[0][0])
    dims = [out_dims] * count if isinstance(out_dims, int) else tree_flatten(out_dims)[0]
    columns = zip(*[leaves for leaves, _ in flats], strict=True)
    stacked = []
    for column, dim in zip(columns, dims, strict=True):
        if not isinstance(column[0], EngineTensor):
            raise ValueError(
                f"vmap: `{type(column[0]).__name__}` must only return Tensors, got type "
                f"{type(column[0])} as a return."
            )
        stacked.append(stack(list(column), dim))
    return tree_unflatten(stacked, spec)

