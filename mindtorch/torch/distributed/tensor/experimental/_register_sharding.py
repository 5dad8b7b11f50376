"""register_sharding: how an operator's inputs may lie over processes, as a user's function says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mindtorch.engine.sharding.placements import Partial, Replicate, Shard
from mindtorch.engine.sharding.redistribute import cost

from ...._api.public import record_of
from ...._aten.overloads import OpOverload
from ....utils._pytree import tree_flatten, tree_map, tree_unflatten
from .._tensor import DTensor

__all__ = ["register_sharding"]

Strategy = tuple[Sequence[Any], Sequence[Any]]
Rule = Callable[..., Sequence[Strategy]]


def register_sharding(op: Any) -> Callable[[Rule], Rule]:
    """A decorator of a function that says how the inputs of ``op`` may lie, and its results then.

    The function is called with the operator's arguments, a description (``shape``, ``ndim``,
    ``placements``) in the place of each DTensor. It returns pairs: placements of the results along
    one axis of the mesh, and of the arguments, None for those that are no tensors. Of these the one
    is taken for each axis of the mesh that moves the fewest bytes; a cut that leaves pieces of
    different lengths is left out, and where nothing is left, everything is gathered.

    Args:
        op: an overload such as ``torch.ops.mylib.scale.default``, or several. Of ``aten`` those
            that a public function has under the same name, which is changed for DTensors.

    Raises:
        TypeError: no overload.
        NotImplementedError: an overload of ``aten`` that no public function has.
    """
    overloads = list(op) if isinstance(op, (list, tuple)) else [op]
    for each in overloads:
        if not isinstance(each, OpOverload):
            raise TypeError(f"register_sharding() takes overloads of operators, got {type(each)}")
        if each._operator is None and record_of(each.kernel) is None:
            raise NotImplementedError(
                f"register_sharding({each}): no public function has this name in mindtorch; "
                "register the overload of the function that is called"
            )

    def register(rule: Rule) -> Rule:
        for each in overloads:
            if each._operator is not None:
                each._operator.sharded = _of_operator(each._operator, rule)
            else:
                _change_function(each, rule)
        return rule

    return register


def _of_operator(operator: Any, rule: Rule) -> Callable[[Any], Any]:
    """What an operator does below autograd, with values of which some are DTensors."""

    def run(values: Any) -> Any:
        args, kwargs = operator.divide(values)
        return _computed(operator, rule, tuple(args), kwargs)

    return run


def _change_function(overload: OpOverload, rule: Rule) -> None:
    record: Any = record_of(overload.kernel)
    before = record.implementations.get(DTensor)

    def run(*args: Any, **kwargs: Any) -> Any:
        found = overload.overloadpacket.found(args, kwargs)
        if found is not None and found[0] is overload:
            given, named = overload.as_passed(args, kwargs)
            return _computed(overload.kernel, rule, tuple(given), named)
        return NotImplemented if before is None else before(*args, **kwargs)

    record.implementations[DTensor] = run


def _computed(function: Callable[..., Any], rule: Rule, args: Any, kwargs: Any) -> Any:
    """The function of the local parts, after the exchange that the rule's cheapest way asks for."""
    flat, structure = tree_flatten(args)
    places = [i for i, x in enumerate(flat) if isinstance(x, DTensor)]
    mesh = flat[places[0]].device_mesh
    described = tree_unflatten(
        [x._spec if isinstance(x, DTensor) else x for x in flat], structure
    )
    named = {key: x._spec if isinstance(x, DTensor) else x for key, x in kwargs.items()}
    ways = list(rule(*described, **named))
    chosen = [_choose(ways, flat, places, mesh, axis) for axis in range(mesh.ndim)]
    for i in places:
        wanted = [way[1][i] or Replicate() for way in chosen]
        moved = flat[i].redistribute(mesh, wanted)
        flat[i] = moved.to_local(grad_placements=[
            _of_gradient(place, way[0]) for place, way in zip(wanted, chosen, strict=True)
        ])
    result = function(*tree_unflatten(flat, structure), **kwargs)
    number = iter(range(len(chosen[0][0])))

    def whole(local: Any) -> Any:
        place = next(number)
        return DTensor.from_local(local, mesh, [way[0][place] for way in chosen])

    return tree_map(whole, result)


def _of_gradient(placement: Any, results: Sequence[Any]) -> Any:
    """How the gradient of an input lies: a whole one has a term from each process whose results are
    its own."""
    if isinstance(placement, Replicate) and any(not isinstance(p, Replicate) for p in results):
        return Partial()
    return Replicate() if isinstance(placement, Partial) else placement


def _choose(ways: list[Strategy], flat: Any, places: list[int], mesh: Any, axis: int) -> Strategy:
    count = mesh.size(axis)
    best, least = None, float("inf")
    for way in ways:
        if len(way[1]) != len(flat):
            raise ValueError(
                f"a strategy has placements of {len(way[1])} arguments, the call has {len(flat)}"
            )
        wanted = [way[1][i] or Replicate() for i in places]
        if any(
            isinstance(p, Shard) and flat[i].shape[p.dim] % mesh.size()
            for i, p in zip(places, wanted, strict=True)
        ):
            continue
        total = sum(
            cost(flat[i].placements[axis], p, flat[i].nbytes, count)
            for i, p in zip(places, wanted, strict=True)
        )
        if total < least:
            best, least = way, total
    if best is None:
        results = len(ways[0][0]) if ways else 1
        return [Replicate()] * results, [Replicate()] * len(flat)
    return best
