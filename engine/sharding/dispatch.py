"""How an op is called on tensors that lie over several processes.

The op's shape rule says what the whole result is; its sharding rule (:mod:`.rules`) says, for each
axis of the mesh, how inputs may lie and how the results lie then. Of these ways the one is taken
that moves the fewest bytes. Inputs are redistributed, the op runs on the local parts, and the tape
records it on the tensors as wholes, so that vjp rules are ops on such tensors again.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..autograd import tape
from ..aval import Aval, aval
from ..bounded_cache import Bounded
from ..callbacks import callbacks
from ..dispatch import SHARDED, recorded, state
from ..op import Op, Plan, tables_of_plans
from ..ops.copies import copy_data
from ..tensor import Tensor, akin, full_flat, make
from . import class_parallel, rules, rules_layers, rules_movement
from .across import from_local
from .placements import Partial, Replicate
from .redistribute import cost, redistribute_local
from .rules import Call, Way
from .sharded import (
    LocalPart,
    ShardedAval,
    Sharding,
    is_sharded,
    local_part,
    result_kind,
    sharded_aval,
    sharded_tensor,
)

_SUBJECTS = (rules_layers, rules_movement)  # which register their rules
__all__ = ["MIXED", "ShardedPlan", "plan_for"]

MIXED = (
    "{} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before "
    "calling distributed operators!"
)
_gathered: set[str] = set()
_plans = Bounded(4096)
tables_of_plans.append(_plans)


class ShardedPlan(Plan):
    """How to run an op on inputs that lie in known ways.

    Attributes:
        ins: how each input is to lie; None: as it does.
        local_params: the params of the call on local parts.
        run_local: what makes the local results in place of the op.
    """

    __slots__ = ("ins", "local_params", "op", "run_local")
    ins: tuple[Sharding | None, ...]
    local_params: dict[str, Any]
    run_local: Callable[..., Any] | None

    def __init__(self, op: Op, avals: Any, in_avals: Any) -> None:
        super().__init__(avals, in_avals)
        self.op = op
        self.kind = SHARDED
        self.run = self.write

    def local_input(self, place: int, flat: Any) -> Any:
        """The input's part, as the call on local parts takes it; ``flat`` is the data of it."""
        described, wanted = self.in_avals[place], self.ins[place]
        if described is None:
            return None
        if not isinstance(described, ShardedAval):
            plain = make(flat, described)
            if wanted is None:
                return plain
            whole = Sharding(wanted.mesh, (Replicate(),) * len(wanted.placements))
            return redistribute_local(plain, described.shape, whole, wanted)
        if wanted is None:
            return flat.tensor
        return redistribute_local(flat.tensor, described.shape, described.sharding, wanted)

    def compute(self, flats: Any) -> tuple[Tensor, ...]:
        """The local results for the data of the inputs."""
        local = [self.local_input(i, flat) for i, flat in enumerate(flats)]
        if self.run_local is not None:
            found = self.run_local(local, self.local_params)
        else:
            found = self.op(*local, **self.local_params)
        return found if isinstance(found, tuple) else (found,)

    def write(self, target: LocalPart, *flats: Any) -> None:
        """Overwrite a local part of the result's sharding."""
        copy_data(target.tensor, self.compute(flats)[0])


def plan_for(op: Op, inputs: Any, params: dict[str, Any]) -> ShardedPlan:
    """The plan of a call of which some inputs lie over several processes."""
    avals = tuple([None if x is None else x.aval for x in inputs])
    key = (op, class_parallel.setting.active, avals, *params.items())
    found = _plans.get(key)
    if found is None:
        found = _plans.keep(key, _derive(op, avals, params))
    return found


def _derive(op: Op, in_avals: Any, params: dict[str, Any]) -> ShardedPlan:
    shardings = [a.sharding for a in in_avals if is_sharded(a)]
    mesh = shardings[0].mesh
    if any(s.mesh != mesh for s in shardings):
        meshes = list(dict.fromkeys(repr(s.mesh) for s in shardings))
        raise RuntimeError(
            f"Cannot run {op.name} on inputs with different meshes: got {' and '.join(meshes)}"
        )
    wholes = tuple([a.whole if is_sharded(a) else a for a in in_avals])
    derived = op.aval(*wholes, **params)
    op.check_dtypes(*wholes)
    outs = derived if isinstance(derived, tuple) else (derived,)
    call = Call(op, wholes, outs, params, [a.sharding if is_sharded(a) else None for a in in_avals])
    ways = [_choose(call, axis) for axis in range(len(mesh.shape))]
    results = tuple([
        sharded_aval(_whole(a), Sharding(mesh, tuple([w.outs[i] for w in ways])))
        for i, a in enumerate(outs)
    ])
    plan = ShardedPlan(op, results, in_avals)
    wanted = [
        None if a is None else Sharding(mesh, tuple([w.ins[i] for w in ways]))
        for i, a in enumerate(wholes)
    ]
    plan.ins = tuple([
        None if w is None or w == (a.sharding if is_sharded(a) else None)
        or (not is_sharded(a) and w.replicated()) else w
        for w, a in zip(wanted, in_avals, strict=True)
    ])
    plan.local_params = rules.local_params(call, wanted, [r.sharding for r in results])
    run = rules.run_local(ways)
    plan.run_local = None if run is None else functools.partial(run, wanted)
    return plan


def _whole(described: Any) -> Aval:
    """A shape rule may give an input's own aval, which is then one of the whole already."""
    whole: Aval = described.whole if is_sharded(described) else described
    return whole


def _choose(call: Call, axis: int) -> Way:
    """The way that moves the fewest bytes along an axis of the mesh; the first one of several."""
    now = call.now(axis)
    count = call.mesh.shape[axis]
    ways = rules.ways(call, axis)
    if ways is None:
        if any(not isinstance(p, Replicate) for p in now) and call.op.name not in _gathered:
            _gathered.add(call.op.name)
            warnings.warn(
                f"{call.op.name} has no sharding rule: its inputs are gathered in every process",
                stacklevel=2,
            )
        ways = []
    best, least = rules.everywhere(call), float("inf")
    for way in (*ways, best):
        total = sum(
            cost(a, b, described.size * described.dtype.itemsize, count)
            for a, b, described in zip(now, way.ins, call.ins, strict=True)
            if described is not None
        )
        if total < least:
            best, least = way, total
    return best


def call(op: Op, mode: int, inputs: Any, params: dict[str, Any]) -> Any:
    """``op(*inputs, **params)``, recorded on the tape where ``mode`` is GRAD."""
    if state.recorder is not None:
        state.recorder.repeatable = False
    plan = plan_for(op, inputs, params)
    if mode and any(
        x is not None and x._node is not None and not is_sharded(x.aval) for x in inputs
    ):
        mesh = plan.avals[0].sharding.mesh  # type: ignore[attr-defined]
        everywhere = Sharding(mesh, (Replicate(),) * len(mesh.shape))
        inputs = tuple([
            x if x is None or x._node is None or is_sharded(x.aval)
            else from_local(x, whole=x.aval, sharding=everywhere, grad_placements=None)
            for x in inputs
        ])
        return call(op, mode, inputs, params)
    local = plan.compute([None if x is None else x.flat for x in inputs])
    if op.view is not None and plan.ins[0] is None:
        return _view(op, plan, mode, inputs, params, local[0])
    described: Any = plan.avals
    made = tuple([sharded_tensor(part, a) for part, a in zip(local, described, strict=True)])
    results = recorded(op, plan, mode, inputs, params, made)
    several = len(plan.avals) > 1 or isinstance(local, list)
    return results if several else results[0]


def _view(
    op: Op, plan: ShardedPlan, mode: int, inputs: Any, params: Any, local: Tensor
) -> Tensor:
    """The result of an op that is a view of its first input, in every process."""
    source = inputs[0]
    offset = source._offset + op.view(source.aval, **params)  # type: ignore[misc]
    made = make(LocalPart(local), plan.aval, source._shared, offset)
    tape.record_view(op, plan, mode, inputs, params, made)
    return akin(made, result_kind)


def copy(target: Tensor, source: Tensor) -> None:
    """``copy_data`` where one of the two lies over several processes."""
    if not is_sharded(target.aval) or (not is_sharded(source.aval) and source.aval.ndim):
        raise RuntimeError(MIXED.format("aten.copy_.default"))
    if not is_sharded(source.aval):
        copy_data(local_part(target), source)
        return
    wanted: Any = target.aval
    have: Any = source.aval
    if have.shape != wanted.shape:
        source = rules.expanded(source, wanted.shape)
        have = source.aval
    part = redistribute_local(local_part(source), have.shape, have.sharding, wanted.sharding)
    copy_data(local_part(target), part)


def full(described: ShardedAval, value: Any) -> Tensor:
    """A tensor that lies so, with every element ``value``; what are terms there is everywhere."""
    sharding = described.sharding
    lies = Sharding(sharding.mesh, tuple([
        Replicate() if isinstance(p, Partial) else p for p in sharding.placements
    ]))
    shape = lies.local_shape(described.shape)
    part = full_flat(shape, described.dtype, value, described.device)
    whole = aval(described.shape, described.dtype, None, described.device)
    return sharded_tensor(part, sharded_aval(whole, lies))


callbacks.full_sharded = full
callbacks.call_sharded = call
callbacks.plan_sharded = plan_for
callbacks.copy_sharded = copy
