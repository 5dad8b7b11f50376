"""Derivatives as functions of functions, with torch's conventions."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import full_flat
from mindtorch.functional import Linearised
from mindtorch.torch.autograd.graph import disable_saved_tensors_hooks
from mindtorch.torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from ._arguments import (
    Positions,
    output_and_aux,
    positions_of,
    require_given,
    require_real,
    require_tensors,
)
from ._captured import refuse_writes
from ._vmap import vmap

_JVP = "jvp(f, primals, tangents)"
_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an "
    "issue with your use case."
)


def _run(
    func: Callable[..., Any], args: Any, kwargs: Any, places: Any, writable: bool = False
) -> Linearised:
    """One run of ``func``, which may not write to what it closes over."""
    refuse_writes()
    for leaf in (leaf for place in places for leaf in tree_leaves(args[place])):
        if isinstance(leaf, EngineTensor) and leaf.aval.dtype.category < dtypes.FLOAT:
            if not writable:
                raise RuntimeError(
                    "only Tensors of floating point dtype can require gradients"
                )
            raise ValueError(
                f"Expected primal to be floating point or complex, but got: {leaf.aval.dtype}"
            )
    with contextlib.nullcontext() if writable else disable_saved_tensors_hooks(_HOOKS):
        return Linearised(func, args, kwargs, places, closures=True, writable=writable)


def _require_tensors(args: Any, places: Any) -> None:
    """torch's error for a number in the place of a differentiated argument."""
    for leaf in (leaf for place in places for leaf in tree_leaves(args[place])):
        if leaf is not None and not isinstance(leaf, EngineTensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")


def grad_and_value(
    func: Callable[..., Any], argnums: Positions = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives (d func / d args[argnums], func(*args)), or (.., (value, aux)).

    Args:
        argnums: an int gives a bare gradient (a tree like the argument), a tuple gives a tuple.
        has_aux: ``func`` returns (value, aux) and aux is passed through.

    Raises:
        RuntimeError: the value is no 0-d tensor; ``argnums`` names no argument.
        ValueError: the argument is no tensor, nor a tree of them.
    """
    call = "grad_and_value(f)(*args)"

    @functools.wraps(func, updated=())
    def evaluate(*args: Any, **kwargs: Any) -> Any:
        places = positions_of(argnums, len(args))
        _require_tensors(args, places)
        run = _run(func, args, kwargs, places)
        output, aux = output_and_aux(run.result, has_aux, call)
        if not isinstance(output, EngineTensor):
            raise RuntimeError(f"{call}: Expected f(*args) to return a Tensor, got {type(output)}")
        if output.aval.shape:
            raise RuntimeError(
                f"{call}: Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{output.aval.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        found, _ = run.pull([output], [full_flat((), output.aval.dtype, 1)], retain=False)
        gradients = found[0] if isinstance(argnums, int) else found
        value = run.value(output)
        return gradients, (value, run.value(aux)) if has_aux else value

    return evaluate


def grad(
    func: Callable[..., Any], argnums: Positions = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The gradients of :func:`grad_and_value`; with ``has_aux``, (gradients, aux).

    Args:
        argnums: which argument, or several.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func, updated=())
    def evaluate(*args: Any, **kwargs: Any) -> Any:
        gradients, value = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return evaluate


def _vjp(func: Callable[..., Any], primals: Any, argnums: Any, has_aux: bool) -> Any:
    """(value, pull, aux); ``argnums`` None stands for all arguments."""
    every = tuple(range(len(primals)))
    places = every if argnums is None else positions_of(argnums, len(primals))
    _require_tensors(primals, places)
    run = _run(func, primals, {}, places)
    output, aux = output_and_aux(run.result, has_aux, "vjp(f, *primals)")
    outputs, spec = tree_flatten(output)
    require_tensors(outputs, "vjp(f, *primals)")
    for each in outputs:
        if each.aval.dtype.category < dtypes.FLOAT:
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got "
                f"Tensor with dtype {each.aval.dtype!r}"
            )

    def pull(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        given, given_spec = tree_flatten(cotangents)
        if given_spec != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                f"outputs to the function. cotangents: {_shown(given_spec)}, primal output: "
                f"{_shown(spec)}"
            )
        for i, (o, c) in enumerate(zip(outputs, given, strict=True)):
            if isinstance(c, EngineTensor) and c.aval.shape != o.aval.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {c.shape} and "
                    f"output[{i}] has a shape of {o.shape}."
                )
        if create_graph:
            run.keep = True
        gradients, _ = run.pull(outputs, given, retain=retain_graph)
        return gradients[0] if isinstance(argnums, int) else gradients

    return run.value(output), pull, run.value(aux)


def _shown(spec: Any) -> str:
    return str(tree_unflatten(["*"] * spec.num_leaves, spec)).replace("'*'", "*")


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(func(*primals), pull[, aux]): ``pull(cotangents)`` is the tuple of cotangents' J.

    ``pull`` takes a tree like the output of ``func`` and returns one tree for each primal.

    Args:
        has_aux: ``func`` returns (output, aux).

    Raises:
        RuntimeError: results that are no floating-point tensors; cotangents of another structure.
    """
    value, pull, aux = _vjp(func, primals, None, has_aux)
    return (value, pull, aux) if has_aux else (value, pull)


def _linear(
    func: Callable[..., Any], primals: tuple[Any, ...], places: tuple[int, ...], has_aux: bool
) -> tuple[Linearised, Any, Any, list[Any], Any]:
    """One run of ``func`` ready to be pushed forward, with its output and aux."""
    run = _run(func, primals, {}, places, writable=True)
    output, aux = output_and_aux(run.result, has_aux, _JVP)
    outputs, spec = tree_flatten(output)
    require_tensors(outputs, _JVP)
    return run, output, aux, outputs, spec


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False,
    has_aux: bool = False,
) -> Any:  # fmt: skip
    """(func(*primals), J tangents[, aux]): the transpose of the transposed product.

    Args:
        primals, tangents: tuples of one structure.
        strict: refuse outputs that do not depend on the primals.
        has_aux: ``func`` returns (output, aux).
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{_JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    return _jvp(func, primals, tangents, tuple(range(len(primals))), strict, has_aux)


def _jvp(
    func: Any, primals: tuple[Any, ...], tangents: Any, places: tuple[int, ...], strict: bool,
    has_aux: bool,
) -> Any:  # fmt: skip
    given, spec = tree_flatten(tuple(primals[p] for p in places))
    directions, directions_spec = tree_flatten(tangents)
    if spec != directions_spec:
        raise RuntimeError(
            f"{_JVP}: Expected primals and tangents to have the same python structure. For "
            "example, if primals is a tuple of 3 tensors, tangents also must be. Got primals with "
            f"structure {spec} and tangents with structure {directions_spec}"
        )
    require_given(given, _JVP, "primals")
    require_given(directions, _JVP, "tangents")
    run, output, aux, outputs, out_spec = _linear(func, primals, places, has_aux)
    if strict and any(o._node is None for o in outputs):
        raise RuntimeError(
            f"{_JVP[:-1]}, strict=True): The output of f is independent of the inputs. This is not "
            "allowed with strict=True."
        )
    pushed = tree_unflatten(run.push(outputs)(directions), out_spec)
    value = run.value(output)
    return (value, pushed, run.value(aux)) if has_aux else (value, pushed)


def linearize(func: Callable[..., Any], *primals: Any) -> Any:
    """(func(*primals), push): ``push(*tangents)`` is J tangents, ``func`` not being run again.

    Raises:
        RuntimeError: tangents of another structure, shape, device or type than the primals.
    """
    given, spec = tree_flatten(primals)
    require_given(given, "linearize(f, *primals)", "primals")
    run, output, _, outputs, out_spec = _linear(func, primals, tuple(range(len(primals))), False)
    of_tangents = run.push(outputs)

    def push(*tangents: Any) -> Any:
        directions, directions_spec = tree_flatten(tangents)
        if directions_spec != spec:
            raise RuntimeError(
                f"Expected the tangents {directions_spec} to have the same argspec as the primals "
                f"{spec}"
            )
        for index, (t, p) in enumerate(zip(directions, given, strict=True)):
            for what in ("shape", "device", "dtype"):
                if getattr(t, what) != getattr(p, what):
                    raise RuntimeError(
                        f"tangent:{index} with {what} {getattr(t, what)} in flattened pytree "
                        f"doesn't match the {what} {getattr(p, what)} of the corresponding primal."
                    )
        return tree_unflatten(of_tangents(directions), out_spec)

    return run.value(output), push


# --- Jacobians ----------------------------------------------------------------------------------


def standard_basis(leaves: list[Any]) -> list[Any]:
    """For each leaf (n, *its shape): row k is 1 at the k-th element of all leaves together."""
    sizes = [x.aval.size for x in leaves]
    total = sum(sizes)
    rows, before = [], 0
    for x, size in zip(leaves, sizes, strict=True):
        block = full_flat((total, size), x.aval.dtype, 0)
        block.array()[before : before + size] = _unit(size, x.aval.dtype.np)
        rows.append(movement.reshape(block, (total, *x.aval.shape)))
        before += size
    return rows


def _unit(size: int, dtype: Any) -> Any:
    import numpy as np

    return np.eye(size, dtype=dtype)


def split_rows(stacked: Any, leaves: list[Any], axis: int) -> list[Any]:
    """``stacked`` cut along ``axis`` as :func:`standard_basis` laid the leaves out."""
    pieces, before = [], 0
    shape = stacked.aval.shape
    for x in leaves:
        size = x.aval.size
        piece = movement.slice_(stacked, axis=axis, start=before, length=size, step=1)
        pieces.append(
            movement.reshape(piece, (*shape[:axis], *x.aval.shape, *shape[axis + 1 :]))
        )
        before += size
    return pieces


def jacrev(
    func: Callable[..., Any], argnums: Positions = 0, *, has_aux: bool = False,
    chunk_size: int | None = None, _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that gives d func / d args[argnums], of shape (output shape, argument shape).

    The rows of the identity are pulled back together, by ``vmap``.

    Args:
        argnums: an int gives the Jacobian for that argument, a tuple gives a tuple; trees of
            outputs hold trees of arguments.
        has_aux: ``func`` returns (output, aux); the result is (Jacobian, aux).
        chunk_size: how many rows are pulled back together; None for all.
        _preallocate_and_copy: accepted as torch does; the chunks are joined either way.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func, updated=())
    def evaluate(*args: Any) -> Any:
        require_real("jacrev", args, True)
        value, pull, aux = _vjp(func, args, argnums, has_aux)
        outputs, out_spec = tree_flatten(value)
        require_real("jacrev", outputs, False)
        basis = tree_unflatten(standard_basis(outputs), out_spec)
        pulled, spec = tree_flatten(vmap(pull, chunk_size=chunk_size)(basis))
        columns = [split_rows(x, outputs, 0) for x in pulled]
        jacobians = [tree_unflatten(row, spec) for row in zip(*columns, strict=True)]
        result = tree_unflatten(jacobians, out_spec)
        return (result, aux) if has_aux else result

    return evaluate


def jacfwd(
    func: Callable[..., Any], argnums: Positions = 0, has_aux: bool = False, *,
    randomness: str = "error",
) -> Callable[..., Any]:  # fmt: skip
    """:func:`jacrev` by columns: the directions are pushed forward together, by ``vmap``.

    Args:
        randomness: whether ``func`` may draw, as in ``vmap``.
        argnums, has_aux: as of :func:`jacrev`.
    """

    @functools.wraps(func, updated=())
    def evaluate(*args: Any) -> Any:
        require_real("jacfwd", args, True)
        places = positions_of(argnums, len(args))
        chosen = args[places[0]] if isinstance(argnums, int) else tuple(args[p] for p in places)
        leaves, spec = tree_flatten(chosen)

        def push(basis: Any) -> Any:
            tangents = (basis,) if isinstance(argnums, int) else basis
            value, pushed, *aux = _jvp(func, args, tangents, places, False, has_aux)
            require_real("jacfwd", tree_leaves(value), False)
            return (pushed, *aux)

        basis = tree_unflatten(standard_basis(leaves), spec)
        out_dims = (-1, None) if has_aux else (-1,)
        pushed, *aux = vmap(push, out_dims=out_dims, randomness=randomness)(basis)
        columns, out_spec = tree_flatten(pushed)
        rows = [tree_unflatten(split_rows(x, leaves, x.aval.ndim - 1), spec) for x in columns]
        result = tree_unflatten(rows, out_spec)
        return (result, aux[0]) if has_aux else result

    return evaluate


def hessian(func: Callable[..., Any], argnums: Positions = 0) -> Callable[..., Any]:
    """The second derivatives: the Jacobian of the Jacobian.

    Args:
        func: a function of tensors.
        argnums: which argument, or several.
    """
    of_rows = jacrev(jacrev(func, argnums), argnums)

    @functools.wraps(func, updated=())
    def evaluate(*args: Any) -> Any:
        require_real("jacfwd", args, True)
        places = positions_of(argnums, len(args))
        inner = tree_leaves(tuple(args[p] for p in places))
        found, spec = tree_flatten(of_rows(*args))
        laid = [_columns_first(x, inner[i % len(inner)].aval.ndim) for i, x in enumerate(found)]
        return tree_unflatten(laid, spec)

    return evaluate


def _columns_first(x: Any, count: int) -> Any:
    """``x`` with its last ``count`` axes outermost in memory, where :func:`jacfwd` has them."""
    ndim = x.aval.ndim
    inner = tuple(range(ndim - count, ndim))
    outer = tuple(range(ndim - count))
    moved = movement.contiguous(movement.permute(x, axes=inner + outer))
    back = (*range(count, ndim), *range(count))
    return movement.permute(moved, axes=back)
