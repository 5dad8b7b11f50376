"""Gradients as functions of functions, with MindSpore's conventions, over the tape.

Gradients never touch ``.grad``. An inner call records what an outer one differentiates, so calls
nest to any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import api, inplace, tape
from mindtorch.engine.dispatch import state
from mindtorch.engine.ops.movement import alias_view
from mindtorch.engine.tensor import DetachedStorage, Tensor, akin, alias, full_flat
from mindtorch.engine.transforms.vmap import lift, tracked_below
from mindtorch.torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

__all__ = ["get_grad", "grad", "jvp", "value_and_grad", "vjp"]


def _differentiable(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.aval.dtype.category >= dtypes.FLOAT


def _tracked(leaf: Tensor) -> Tensor:
    """A view of ``leaf`` that gradients stop at: of its own when it has no history."""
    given, leaf = leaf, lift(leaf)
    if tape.requires_grad(leaf):
        return akin(alias_view(leaf), given)
    own = alias(leaf)
    if own._shared.inference:
        own._storage = DetachedStorage(own._shared)  # which may be kept for the derivative
    return akin(api.track(own), given)


def _same(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor) or type(leaf._node) is not tape.AccumulateGrad:
        return leaf
    return akin(inplace.same_memory(leaf), leaf)


def _zeros(like: Tensor) -> Tensor:
    return akin(full_flat(like.aval.shape, like.aval.dtype, 0), like)


def _ones(like: Tensor) -> Tensor:
    return full_flat(like.aval.shape, like.aval.dtype, 1)


def _plain(tree: Any) -> Any:
    return tree_map(lambda x: akin(alias(x), x) if isinstance(x, Tensor) else x, tree)


def _followed(tensor: Any) -> bool:
    """Whether somebody differentiates ``tensor``, at the level of a vmap or around it."""
    return _differentiable(tensor) and (tape.requires_grad(tensor) or tracked_below(tensor))


def _reaches_other_leaves(outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
    """Whether the graph of ``outputs`` has leaves besides ``inputs``."""
    own = {id(tape.node_of(x)) for x in inputs if _differentiable(x)}
    stack = [tape.node_of(o) for o in outputs if _differentiable(o)]
    done: set[int] = set(own)
    while stack:
        node = stack.pop()
        if node is None or id(node) in done:
            continue
        done.add(id(node))
        if type(node) is tape.AccumulateGrad:
            return True
        stack.extend(e[0] for e in node.edges if e is not None)
    return False


class Linearised:
    """``function`` run once with the leaves of ``inputs`` tracked, ready to be pulled back.

    Attributes:
        result: of ``function``.
        keep: somebody outside differentiates the result, so gradients are recorded too.
    """

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
        positions: Sequence[int], weights: Sequence[Tensor] = (), closures: bool = False,
        writable: bool = False,
    ) -> None:  # fmt: skip
        """``closures``: tracked tensors that ``function`` closes over count as outside, and
        ``function`` runs on a level of its own, which refuses writes to what it closes over.
        ``writable``: it may write to the inputs, as where torch pushes forward."""
        given, self.spec = tree_flatten(tuple(args[p] for p in positions))
        self.leaves = [_differentiable(x) for x in given]
        enabled = state.grad_enabled
        self.followed = state.differentiating > 0 or any(
            d and _followed(x) for x, d in zip(given, self.leaves, strict=True)
        )
        self.keep = enabled and self.followed
        self.weights = list(weights)
        state.differentiating += 1
        try:
            with api.grad_mode(True):
                self.inputs = [
                    _tracked(x) if d else x for x, d in zip(given, self.leaves, strict=True)
                ]
                passed = list(args)
                seen = [_same(x) for x in self.inputs] if writable else self.inputs
                for p, value in zip(positions, tree_unflatten(seen, self.spec), strict=True):
                    passed[p] = value
                if closures:
                    leaves = tree_leaves((passed, kwargs))
                    pushed = [
                        tape.node_of(x)
                        for x in self.inputs if writable and _differentiable(x)
                    ]  # fmt: skip
                    with state.inside([x for x in leaves if isinstance(x, Tensor)], pushed):
                        self.result = function(*passed, **kwargs)
                else:
                    self.result = function(*passed, **kwargs)
        finally:
            state.differentiating -= 1
        if enabled and not self.keep:
            outputs = tree_flatten(self.result)[0]
            self.keep = any(tracked_below(o) for o in outputs) or (
                closures and _reaches_other_leaves(outputs, self.inputs)
            )

    def value(self, result: Any) -> Any:
        """``result`` as the outside sees it."""
        return result if self.keep else _plain(result)

    def pull(self, outputs: Sequence[Any], cotangents: Sequence[Any], retain: bool) -> Any:
        """(gradients like the inputs, gradients of the weights); zeros for what is unused."""
        keep = state.grad_enabled and (
            self.keep or self.followed or any(_followed(c) for c in cotangents)
        )
        rows = [
            (o, c) for o, c in zip(outputs, cotangents, strict=True)
            if _differentiable(o) and tape.requires_grad(o)
        ]  # fmt: skip
        targets = [x for x in (*self.inputs, *self.weights)
                   if _differentiable(x) and tape.requires_grad(x)]  # fmt: skip
        found: list[Any] = [None] * len(targets)
        for o, c in rows:
            if c.aval.shape != o.aval.shape:
                raise ValueError(
                    f"the cotangent of an output of shape {o.aval.shape} has shape {c.aval.shape}"
                )
        if rows and targets:
            found = api.gradients(
                [o for o, _ in rows], targets, [c for _, c in rows],
                retain_graph=retain or keep, create_graph=keep, allow_unused=True,
            )  # fmt: skip
        of = {id(x): g for x, g in zip(targets, found, strict=True)}

        def gradient(x: Any) -> Any:
            if not isinstance(x, Tensor):
                return ()
            g = of.get(id(x))
            return _zeros(x) if g is None else akin(g, x)

        inputs = tree_unflatten([gradient(x) for x in self.inputs], self.spec)
        return inputs, tuple(gradient(w) for w in self.weights)

    def push(self, outputs: Sequence[Any]) -> Callable[[Sequence[Any]], list[Any]]:
        """``tangents of the inputs -> tangents of outputs``: the transposed product's transpose."""
        state.differentiating += 1
        try:
            with api.grad_mode(True):
                # ones: rules that take the product's logarithm know no derivative at zero
                probes = [api.track(lift(akin(_ones(o), o))) if _differentiable(o) else None
                          for o in outputs]  # fmt: skip
                kept, self.keep = self.keep, True
                pulled = tree_flatten(self.pull(outputs, probes, retain=True)[0])[0]
                self.keep = kept
        finally:
            state.differentiating -= 1
        targets = [p for p in probes if p is not None]

        def of_tangents(tangents: Sequence[Any]) -> list[Any]:
            rows = [(p, t) for p, t in zip(pulled, tangents, strict=True)
                    if isinstance(p, Tensor) and tape.requires_grad(p)]  # fmt: skip
            found: list[Any] = [None] * len(targets)
            if rows and targets:
                keep = kept or (state.grad_enabled and any(_followed(t) for _, t in rows))
                found = api.gradients(
                    [p for p, _ in rows], targets, [t for _, t in rows], retain_graph=True,
                    create_graph=keep, allow_unused=True,
                )  # fmt: skip
            of = {id(p): g for p, g in zip(targets, found, strict=True)}
            return [
                None if not isinstance(o, Tensor) else _zeros(o) if of.get(id(p)) is None
                else akin(of[id(p)], o)
                for o, p in zip(outputs, probes, strict=True)
            ]  # fmt: skip

        return of_tangents


def _positions_of(grad_position: Any, weights: Any) -> tuple[int, ...]:
    if grad_position is None:
        if weights is None:
            raise ValueError("`grad_position` and `weight` can not be None at the same time.")
        return ()
    several = isinstance(grad_position, tuple)
    given = grad_position if several else (grad_position,)
    if any(not isinstance(p, int) or isinstance(p, bool) for p in given):
        wrong = "element in 'grad_position' must be int" if several else (
            "'grad_position' must be int or tuple"
        )
        raise TypeError(f"For 'F.grad', the {wrong}.")
    if not given:
        raise RuntimeError("grad_position should not be empty when grad by position!")
    if any(p < 0 for p in given):
        raise ValueError("grad_position must be >= 0.")
    if len(set(given)) != len(given):
        raise ValueError("There are duplicate positions in `grad_position`, please check it")
    return given


def _listed(weights: Any) -> list[Any]:
    """The weights one by one: a tensor, or a sequence or generator of tensors."""
    if isinstance(weights, Tensor):
        return [weights]
    if weights is None:
        return []
    several = hasattr(weights, "__iter__") and not isinstance(weights, (str, dict, set))
    listed = list(weights) if several else [None]
    if any(not isinstance(w, Tensor) for w in listed):
        raise TypeError(
            "The weights you provided is expected to be a tensor, or a list or tuple of tensors, "
            f"but got {weights!r}"
        )
    return listed


def _check_flags(fn: Any, **flags: Any) -> None:
    if not callable(fn):
        raise TypeError(f"The fn should be callable, but got {type(fn).__name__}")
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"the {name!r} should be bool, but got {type(value).__name__}")


def split_aux(result: Any, has_aux: bool) -> tuple[Sequence[Any], tuple[Any, ...]]:
    """What is differentiated, and the rest."""
    if not has_aux:
        return tree_flatten(result)[0], ()
    if not isinstance(result, (tuple, list)) or len(result) < 2:
        raise ValueError("When has_aux is True, origin fn requires more than one outputs.")
    return tree_flatten(result[0])[0], tuple(result[1:])


def _label(weight: Tensor) -> Any:
    """A parameter's name; the parameter itself when it has none."""
    return getattr(weight, "name", None) or weight


def cotangents_apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """(the function's own arguments, the cotangents): the keyword ``sens``, or the last one."""
    if "sens" in kwargs:
        return args, kwargs.pop("sens")
    if not args:
        raise ValueError("with sens_param the last argument is the sensitivity of the outputs")
    return args[:-1], args[-1]


def sensitivities_at(outputs: Sequence[Any], given: Any) -> list[Any]:
    """What is pulled back: ones, or what the caller gave."""
    if given is None:
        return [_ones(o) if isinstance(o, Tensor) else None for o in outputs]
    listed: list[Any] = tree_flatten(given)[0]
    if len(listed) != len(outputs):
        raise ValueError(f"expected {len(outputs)} sensitivities, got {len(listed)}")
    return [
        c if isinstance(c, Tensor) or not isinstance(o, Tensor)
        else full_flat(o.aval.shape, o.aval.dtype, c)
        for o, c in zip(outputs, listed, strict=True)
    ]


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """A function that returns ``(fn(*args), gradients)``.

    The gradient is that of the sum of all elements of all outputs (of the first output only with
    ``has_aux``). An unused input or weight has a gradient of zeros.

    Args:
        grad_position: which arguments to differentiate by. An int or a tuple of one gives a bare
            gradient, more give a tuple, None gives none.
        weights: a parameter (bare gradient) or a sequence of them (a tuple of gradients).
            With both kinds the gradients are ``(of the arguments, of the weights)``.
        has_aux: outputs after the first are passed through.
        return_ids: each gradient becomes ``(position, gradient)`` or ``(name, gradient)``,
            a parameter without name standing for itself.
        sens_param: the last positional argument is not given to ``fn``: it takes the place of the
            ones that are pulled back, a tensor or one for each differentiated output.

    Raises:
        ValueError: nothing to differentiate by; a negative or repeated position; a single output
            with ``has_aux``.
        TypeError: ``grad_position`` is neither int nor tuple of ints; ``weights`` that are no
            tensors; a flag that is no bool.
        RuntimeError: a position beyond the arguments, or an empty tuple of them.
    """
    _check_flags(fn, has_aux=has_aux, return_ids=return_ids, sens_param=sens_param)
    positions = _positions_of(grad_position, weights)
    single = isinstance(weights, Tensor)
    listed = _listed(weights)

    @functools.wraps(fn, updated=())
    def evaluate(*args: Any, **kwargs: Any) -> Any:
        given = None
        if sens_param:
            args, given = cotangents_apart(args, kwargs)
        for p in positions:
            if p >= len(args):
                raise RuntimeError(f"Position index {p} is exceed input size.")
        run = Linearised(fn, args, kwargs, positions, listed)
        outputs, aux = split_aux(run.result, has_aux)
        sensitivities = sensitivities_at(outputs, given)
        of_inputs, of_weights = run.pull(outputs, sensitivities, retain=False)
        if return_ids:
            of_inputs = tuple(zip(positions, of_inputs, strict=True))
            of_weights = tuple(
                (_label(w), g) for w, g in zip(listed, of_weights, strict=True)
            )
        value = (run.result[0], *aux) if has_aux else run.result
        inputs = of_inputs[0] if len(positions) == 1 else of_inputs
        parameters = of_weights[0] if single else of_weights
        if grad_position is None:
            return run.value(value), parameters
        return run.value(value), inputs if weights is None else (inputs, parameters)

    return evaluate


def grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """The gradients of :func:`value_and_grad`; with ``has_aux``, ``(gradients, (aux, ...))``.

    Args:
        fn, grad_position, weights, return_ids, sens_param: as of :func:`value_and_grad`.
    """
    both = value_and_grad(fn, grad_position, weights, has_aux, return_ids, sens_param)

    @functools.wraps(fn, updated=())
    def evaluate(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1:]) if has_aux else gradients

    return evaluate


def get_grad(gradients: Any, identifier: Any) -> Any:
    """The gradient by position, or by a parameter (or its name), among those with ids.

    Args:
        gradients: with ids, as ``return_ids`` gives them.
        identifier: a position, a parameter or its name.

    Raises:
        RuntimeError: there is none.
    """
    wanted = _label(identifier) if isinstance(identifier, Tensor) else identifier
    pending = [gradients]
    while pending:
        entry = pending.pop()
        if not isinstance(entry, tuple):
            continue
        if len(entry) == 2 and entry[0] is wanted:
            return entry[1]
        if len(entry) == 2 and isinstance(wanted, (int, str)) and entry[0].__class__ in (int, str):
            if entry[0] == wanted:
                return entry[1]
        pending.extend(entry)
    raise RuntimeError(f"can not find gradient of {wanted!r}: was it made with return_ids=True?")


def vjp(
    fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False
) -> Any:
    """``(fn(*inputs), pull)``: ``pull(*cotangents)`` is the cotangents times the Jacobian.

    ``pull`` takes one cotangent for each output and returns a tuple of gradients, one for each
    input. With ``has_aux`` the result is ``(value, pull, aux)``.

    Args:
        weights: a parameter or a sequence of them, by which ``fn`` is differentiated as well:
            ``pull`` then returns ``(of the inputs, of the weights)``.
    """
    single = isinstance(weights, Tensor)
    listed = _listed(weights)
    run = Linearised(fn, inputs, {}, range(len(inputs)), listed)
    outputs, aux = split_aux(run.result, has_aux)

    def pull(*cotangents: Any) -> Any:
        given = tree_flatten(cotangents)[0]
        if len(given) != len(outputs):
            raise ValueError(f"expected {len(outputs)} cotangents, got {len(given)}")
        of_inputs, of_weights = run.pull(outputs, given, retain=True)
        if weights is None:
            return of_inputs
        return of_inputs, of_weights[0] if single else of_weights

    if not has_aux:
        return run.value(run.result), pull
    rest = aux[0] if len(aux) == 1 else aux
    return run.value(run.result[0]), pull, run.value(rest)


def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> Any:
    """``(fn(*inputs), Jacobian times v)``: the transpose of the transposed product.

    With ``has_aux`` the result is ``(value, product, aux)``, of the first output.

    Args:
        inputs, v: a tensor each, or tuples of as many, of equal shapes.
    """
    primals = inputs if isinstance(inputs, tuple) else (inputs,)
    tangents = v if isinstance(v, tuple) else (v,)
    if len(primals) != len(tangents):
        raise ValueError(f"expected {len(primals)} tangents, got {len(tangents)}")
    run = Linearised(fn, primals, {}, range(len(primals)))
    differentiated, aux = run.result, ()
    if has_aux:
        _, aux = split_aux(run.result, True)
        differentiated = run.result[0]
    outputs, spec = tree_flatten(differentiated)
    columns = run.push(outputs)(tree_flatten(tangents)[0])
    product = tree_unflatten(columns, spec)
    if not has_aux:
        return run.value(run.result), product
    return run.value(differentiated), product, run.value(aux[0] if len(aux) == 1 else aux)
