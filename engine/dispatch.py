"""How an op is called.

``Op.__call__`` looks up a plan for the avals of its inputs, allocates, runs the kernel, and puts a
node on the tape when an input is tracked. Interpreters (captures, lazy mode, vmap, profiles) take
over there while they are active. What an op declares stands in :mod:`.op`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import allocator
from .autograd import tape
from .bounded_cache import Bounded
from .state import AUTOCAST as AUTOCAST
from .state import GRAD as GRAD
from .state import INFERENCE as INFERENCE
from .state import INTERPRETED as INTERPRETED
from .state import NO_GRAD as NO_GRAD
from .state import RECORDING_CALL as RECORDING_CALL
from .state import TRANSFORM as TRANSFORM
from .state import state as state
from .tensor import InferenceStorage, InnerStorage, Tensor, make, result_types, typed_buffer

if TYPE_CHECKING:
    from .op import Plan

allocator.keep_freed_memory()
_new = object.__new__
KERNEL, VIEW, SEVERAL = range(3)  # kinds of plans


def graph_under_way() -> Any:
    """The capture or lazy run that the next op goes to; None outside of all and inside of other
    transformations."""
    top = state.interpreters[-1] if state.interpreters else None
    return top if top is not None and top.is_capture else None


class Dispatch:
    """An op, as it is called."""

    name: str
    _plans: Bounded

    def plan(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Plan:
        """Derive the results' avals and bind the kernel."""
        raise NotImplementedError

    def __call__(self, *inputs: Any, **params: Any) -> Any:
        mode = state.mode
        if mode > GRAD:
            return self.in_mode(mode, inputs, params)
        try:  # :meth:`evaluate`, written out since this is where small tensors' time goes
            key: Any = tuple([x.aval for x in inputs])
            if params:
                key = (*key, *params.items())
        except AttributeError:
            return self.evaluate(mode, inputs, params)
        plan = self._plans.get(key)
        if plan is None:
            return self._first(key, mode, inputs, params)
        return self.follow(plan, mode, inputs, params)

    def in_mode(self, mode: int, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """A call while something else than recording on the tape is done, by the bits of
        ``mode``."""
        if mode & AUTOCAST:
            inputs = state.autocast(self, *inputs)
        if mode & RECORDING_CALL:
            return state.recorder.apply(self, inputs, params)
        if mode & INTERPRETED:
            return state.interpreters[-1].apply(self, inputs, params)
        result = self.evaluate(mode & GRAD, inputs, params)
        if mode & (INFERENCE | TRANSFORM):
            self._mark(result)
        return result

    def _mark(self, result: Any) -> None:
        """Note that inference mode or a transformation made it; :func:`make` marks several."""
        if result.__class__ is not tuple and result._storage is None:
            if state.inference:
                result._storage = InferenceStorage(result.flat, result.aval.device)
            else:
                result._storage = InnerStorage(result.flat, result.aval.device)
                result._storage.level = state.level

    def evaluate(self, mode: int, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run on real data; record on the tape when ``mode`` is GRAD and an input is tracked."""
        try:
            if params:
                key: Any = (*[x.aval for x in inputs], *params.items())
            else:
                key = tuple([x.aval for x in inputs])
        except AttributeError:
            key = (*[None if x is None else x.aval for x in inputs], *params.items())
        plan = self._plans.get(key)
        if plan is None:
            return self._first(key, mode, inputs, params)
        return self.follow(plan, mode, inputs, params)

    def follow(
        self, plan: Plan, mode: int, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        """:meth:`evaluate`, where the plan is known."""
        if plan.kind == KERNEL:
            result = _new(result_types[0])
            result.flat = data = plan.empty(plan.size, plan.dtype)
            result.aval = plan.aval
            result._node = None
            if len(inputs) == 2 and inputs[1] is not None:
                plan.run(data, inputs[0].flat, inputs[1].flat)
            else:
                plan.run(data, *[None if x is None else x.flat for x in inputs])
            if mode:
                for x in inputs:
                    if x is not None and x._node is not None:
                        tape.record(self, plan, inputs, params, (result,))
                        break
            return result
        if plan.kind == VIEW:
            return self._view(plan, mode, inputs, params, plan.run)
        return self._several(plan, mode, inputs, params)

    def _first(
        self, key: Any, mode: int, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        """Make the plan and run it; one that fails is not kept, since 2.0 would stand for 2."""
        plan = self.plan(inputs, params)
        result = self.follow(plan, mode, inputs, params)
        self._plans.keep(key, plan)
        return result

    def view_at(self, x: Tensor, kind: Any, offset: int, params: dict[str, Any]) -> Tensor:
        """The op, a view at ``offset``, of ``x``; the result's aval follows from ``kind`` and
        ``x``'s, so that views of one kind have one plan, wherever they begin."""
        mode = state.mode
        if mode > GRAD:
            if mode > GRAD | AUTOCAST:
                result: Tensor = self(x, **params)
                return result
            mode &= GRAD  # views have no policy of autocast
        plan = self._plans.get((x.aval, kind))
        if plan is None:
            plan = self._plans.keep((x.aval, kind), self.plan((x,), params))
            first: Tensor = self.follow(plan, mode, (x,), params)
            return first
        return self._view(plan, mode, (x,), params, offset)

    def _view(
        self, plan: Plan, mode: int, inputs: Any, params: dict[str, Any], offset: int
    ) -> Tensor:
        source = inputs[0]
        storage = source._storage or source._shared
        result = _new(result_types[0])
        result.aval = plan.aval
        result._storage = storage
        # kernels take a flat array's length for the number of elements, so it ends with the view
        flat = source.flat
        start = source._offset
        if plan.aval.dtype is not source.aval.dtype:
            flat = typed_buffer(storage, plan.aval.dtype)
            start = start * source.aval.dtype.itemsize // plan.aval.dtype.itemsize
            flat = flat[start + offset : start + offset + plan.size]
        elif offset < 0 or offset + plan.size > flat.size:
            flat = typed_buffer(storage, plan.aval.dtype)
            flat = flat[start + offset : start + offset + plan.size]
        elif offset or plan.size != flat.size:
            flat = flat[offset : offset + plan.size]
        result.flat = flat
        if offset or start:
            result._offset = start + offset
        result._node = history = _new(tape.ViewHistory)
        history.parent, history.op, history.plan, history.params = source, self, plan, params
        history.stamp = storage.history
        above = source._node
        if above is None:
            history.node = None
        else:
            tape.enter_view(history, above, mode)
        return result

    def _several(self, plan: Plan, mode: int, inputs: Any, params: dict[str, Any]) -> Any:
        results = tuple([make(plan.empty(a.size, a.dtype.np), a) for a in plan.avals])
        plan.run(*[r.flat for r in results], *[None if x is None else x.flat for x in inputs])
        if mode:
            for x in inputs:
                if x is not None and x._node is not None:
                    tape.record(self, plan, inputs, params, results)
                    break
        return results


_NO_PARAMS: dict[str, Any] = {}

# The quickest ways of a call: allocate, run the kernel, record. ``{p}`` is where the plan's facts
# are found: in the plan that was looked up, or bound to names where the plan is known beforehand.
_LOOK_UP = """
    def call({given}):
        mode = state.mode
        plan = plans.get(({avals},))
        if plan is None or mode > GRAD:
            return op({given})"""
_KNOWN = """
    def call(mode, {given}):"""
_CALL = """
def bind(op, plan, params, plans, empty, size, dtype, aval, run):{head}
        result = new(result_types[0])
        result.flat = data = {p}empty({p}size, {p}dtype)
        result.aval = {p}aval
        result._node = None
        {p}run(data, {flats})
        if mode and ({tracked}):
            record(op, plan, ({given},), params, (result,))
        return result
    return call
"""
_BOUND = {
    "__name__": __name__, "GRAD": GRAD, "new": _new, "record": tape.record,
    "result_types": result_types, "state": state,
}  # fmt: skip


@functools.cache
def _bind(arity: int, known: bool) -> Callable[..., Any]:
    names = [f"x{i}" for i in range(arity)]
    words = {
        "given": ", ".join(names),
        "avals": ", ".join(f"{x}.aval" for x in names),
        "flats": ", ".join(f"{x}.flat" for x in names),
        "tracked": " or ".join(f"{x}._node is not None" for x in names),
        "p": "" if known else "plan.",
    }
    head = (_KNOWN if known else _LOOK_UP).format(**words)
    space: dict[str, Any] = {}
    text = _CALL.format(head=head, **words)
    exec(compile(text, f"{__file__} (generated)", "exec"), _BOUND, space)
    bind: Callable[..., Any] = space["bind"]
    return bind


def call_of(op: Dispatch, arity: int) -> Callable[..., Any]:
    """``op(*inputs)``, with the fewest steps, for an op without params whose kernel has one result.

    Its frame has the op's name.
    """
    bind = _bind(arity, False)
    return in_frames_as(op.name, bind(op, None, _NO_PARAMS, op._plans, *[None] * 5))


def planned_call(op: Dispatch, plan: Plan, params: dict[str, Any]) -> Callable[..., Any]:
    """``call(mode, *inputs)`` of an op whose plan, of a kernel with one result, is known."""
    facts = plan.empty, plan.size, plan.dtype, plan.aval, plan.run
    bind = _bind(len(plan.in_avals), True)
    return in_frames_as(op.name, bind(op, plan, params, None, *facts))


def in_frames_as(name: str, function: Any) -> Any:
    """``function``, which profiles and tracebacks name so."""
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    function.__name__ = function.__qualname__ = name
    return function
