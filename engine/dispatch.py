"""How an op is called.

``Op.__call__`` looks up a plan for the avals of its inputs, allocates, runs the kernel, and puts a
node on the tape when an input is tracked. Interpreters (captures, lazy mode, vmap, profiles) take
over there while they are active. What an op declares stands in :mod:`.op`.
"""

from __future__ import annotations

import functools
import linecache
import textwrap
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import allocator
from .autograd import tape
from .bounded_cache import Bounded
from .callbacks import callbacks
from .implementations import NO_OTHERS, Implementations
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
KERNEL, VIEW, SEVERAL, SHARDED = range(4)  # kinds of plans; the usual one is 0


def graph_under_way() -> Any:
    """The capture or lazy run that the next op goes to; None outside of all and inside of other
    transformations."""
    top = state.interpreters[-1] if state.interpreters else None
    return top if top is not None and top.is_capture else None


# The text of every call: find the plan, allocate, run the kernel, record. Frames and look-ups are a
# large part of a call on a small tensor, so each way of a call is written out from this text with
# no more than it needs. ``{p}`` is where a plan's facts are found: in the plan, or bound to names
# where the plan is known beforehand.
_RESULT = """\
{name} = new(result_types[0])
{name}.flat = {flat}
{name}.aval = {aval}
{name}._node = {node}
"""
_RECORD = "plan.record(op, plan, {inputs}, params, (result,))"
_RUN = """\
{result}
{run}
if mode:
{record}
return result
"""
_LOOK_UP = """\
mode = state.mode
plan = plans.get(({avals},))
if plan is None or mode > GRAD:
    if others and (found := others.call(({given},), {{}})) is not NotImplemented:
        return found
    return op({given})
"""
_CALL = """\
mode = state.mode
if mode > GRAD:
    return op.in_mode(mode, inputs, params)
try:
    key = tuple([x.aval for x in inputs])
except AttributeError:  # one is None
    return op.evaluate(mode, inputs, params)
if params:
    key = (*key, *params.items())
plan = op._plans.get(key)
if plan is None:
    return op._first(key, mode, inputs, params)
"""
_OTHER_KINDS = """\
if plan.kind:
    if plan.kind == VIEW:
        return op._view(plan, mode, inputs, params, plan.run)
    return op._several(plan, mode, inputs, params)
"""


def _placed(source: str, start: str) -> str:
    """The end of a view's text: ``data`` of ``source``, which begins at ``start``."""
    return f"""\
history = new(ViewHistory)
history.parent, history.op, history.plan, history.params = {source}, op, plan, params
history.stamp = storage.history
{{result}}
result._storage = storage
if offset or {start}:
    result._offset = {start} + offset
above = {source}._node
if above is None:
    history.node = None
else:
    enter_view(history, above, mode)
return result
"""


# kernels take a flat array's length for the number of elements, so it ends with the view
_VIEW_OF = """\
source = inputs[0]
storage = source._storage or source._shared
data = source.flat
start = source._offset
if plan.aval.dtype is not source.aval.dtype:
    data = typed_buffer(storage, plan.aval.dtype)
    start = start * source.aval.dtype.itemsize // plan.aval.dtype.itemsize
    data = data[start + offset : start + offset + plan.size]
elif offset < 0 or offset + plan.size > data.size:
    data = typed_buffer(storage, plan.aval.dtype)
    data = data[start + offset : start + offset + plan.size]
elif offset or plan.size != data.size:
    data = data[offset : offset + plan.size]
""" + _placed("source", "start")
# the same where the plan is known, and the view lies within what its source describes
_PLANNED_VIEW = """\
storage = x._storage or x._shared
data = x.flat
{cut}
""" + _placed("x", "x._offset")
# the same where the type stays
_VIEW_AT = """\
mode = state.mode
plan = None if mode > GRAD else plans.get((x.aval, kind))
if plan is None:
    return op._other_view(mode, x, kind, offset, params)
storage = x._storage or x._shared
data = x.flat
start = x._offset
size = plan.size
if offset < 0 or offset + size > data.size:
    data = typed_buffer(storage, plan.aval.dtype)
    data = data[start + offset : start + offset + size]
elif offset or size != data.size:
    data = data[offset : offset + size]
""" + _placed("x", "start")
_NAMES = {
    "__name__": __name__, "GRAD": GRAD, "VIEW": VIEW, "ViewHistory": tape.ViewHistory, "new": _new,
    "derives": tape.derives, "enter_view": tape.enter_view, "named": tape.named,
    "records_writes": tape.records_writes, "result_types": result_types,
    "several_views": tape.several_views, "state": state, "typed_buffer": typed_buffer,
}  # fmt: skip


def result_text(name: str, flat: str, aval: str, node: str = "None") -> str:
    """The lines that make a tensor."""
    return _RESULT.format(name=name, flat=flat, aval=aval, node=node)


def _run_text(p: str, names: list[str] | None, optional: int = 0) -> str:
    """The lines that run a kernel with one result.

    Args:
        names: of the inputs; None: they are ``inputs``.
        optional: so many of the last ones may be None; of ``inputs`` any, where it is not 0.
    """
    if names is None:
        inputs = "inputs"
        flat, no_none = "x.flat", ""
        if optional:
            flat, no_none = "None if x is None else x.flat", " and inputs[1] is not None"
        run = (
            f"if len(inputs) == 2{no_none}:\n    {p}run(data, inputs[0].flat, inputs[1].flat)\n"
            f"else:\n    {p}run(data, *[{flat} for x in inputs])"
        )
        tracked = "for x in inputs:\n    if x is not None and x._node is not None:\n        "
        after = "\n        break"
    else:
        inputs = f"({', '.join(names)},)"
        run = f"{p}run(data, {', '.join(_attributes('flat', names, optional))})"
        nodes = [f"{x} is not None" for x in _attributes("_node", names, optional)]
        tracked, after = f"if {' or '.join(nodes)}:\n    ", ""
    record = tracked + _RECORD.format(inputs=inputs) + after
    result = result_text("result", f"data = {p}empty({p}size, {p}dtype)", f"{p}aval")
    return _RUN.format(run=run, result=result, record=textwrap.indent(record, "    "))


def _attributes(name: str, inputs: list[str], optional: int) -> list[str]:
    """The texts of an attribute of each input; None for one of the last that is None."""
    certain = len(inputs) - optional
    return [f"{x}.{name}" for x in inputs[:certain]] + [
        f"(None if {x} is None else {x}.{name})" for x in inputs[certain:]
    ]


def compiled(text: str, name: str, what: str) -> Any:
    """The function ``name`` that ``text`` defines; tracebacks show its lines."""
    file = f"{__file__} ({what})"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec"), _NAMES, space)
    return space[name]


def _method(name: str, given: str, *parts: str) -> Callable[..., Any]:
    text = f"def {name}({given}):\n{textwrap.indent(''.join(parts), '    ')}"
    method: Callable[..., Any] = compiled(text, name, name)
    method.__qualname__ = f"Op.{name}"
    return method


_RESULT_OF_VIEW = result_text("result", "data", "plan.aval", "history")


class Dispatch:
    """An op, as it is called."""

    name: str
    _plans: Bounded

    def plan(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Plan:
        """Derive the results' avals and bind the kernel."""
        raise NotImplementedError

    __call__ = _method(
        "__call__", "op, *inputs, **params", _CALL, _OTHER_KINDS, _run_text("plan.", None)
    )
    # :meth:`evaluate`, where the plan is known
    follow = _method(
        "follow", "op, plan, mode, inputs, params", _OTHER_KINDS, _run_text("plan.", None, 1)
    )
    _view = _method(
        "_view", "op, plan, mode, inputs, params, offset",
        _VIEW_OF.format(result=_RESULT_OF_VIEW),
    )

    def in_mode(self, mode: int, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """A call while something else than recording on the tape is done, by the bits of
        ``mode``."""
        if mode & AUTOCAST:
            inputs = state.autocast(self, *inputs)
        if callbacks.call_sharded is not None and holds_sharded(inputs):
            return callbacks.call_sharded(self, mode & GRAD, inputs, params)
        if callbacks.call_answered is not None and not mode & INTERPRETED:
            if holds_answered(inputs):
                return callbacks.call_answered(self, mode & GRAD, inputs, params)
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
        key: Any = tuple([None if x is None else x.aval for x in inputs])
        if params:
            key = (*key, *params.items())
        plan = self._plans.get(key)
        if plan is None:
            return self._first(key, mode, inputs, params)
        return self.follow(plan, mode, inputs, params)

    def _first(
        self, key: Any, mode: int, inputs: tuple[Any, ...], params: dict[str, Any]
    ) -> Any:
        """Make the plan and run it; one that fails is not kept, since 2.0 would stand for 2."""
        if callbacks.call_sharded is not None and holds_sharded(inputs):
            return callbacks.call_sharded(self, mode, inputs, params)
        if callbacks.call_answered is not None and holds_answered(inputs):
            return callbacks.call_answered(self, mode, inputs, params)
        plan = self.plan(inputs, params)
        result = self.follow(plan, mode, inputs, params)
        self._plans.keep(key, plan)
        return result

    def _other_view(
        self, mode: int, x: Tensor, kind: Any, offset: int, params: dict[str, Any]
    ) -> Tensor:
        """:func:`view_call` where no plan is known, or where more than recording is done."""
        result: Tensor
        if mode > GRAD | AUTOCAST or x.aval.sharded or x.aval.answered:
            result = self(x, **params)
            return result
        mode &= GRAD  # views have no policy of autocast
        plan = self._plans.get((x.aval, kind))
        if plan is None:
            plan = self._plans.keep((x.aval, kind), self.plan((x,), params))
            result = self.follow(plan, mode, (x,), params)
        else:
            result = self._view(plan, mode, (x,), params, offset)
        return result

    def _several(self, plan: Plan, mode: int, inputs: Any, params: dict[str, Any]) -> Any:
        results = tuple([make(plan.empty(a.size, a.dtype.np), a) for a in plan.avals])
        plan.run(*[r.flat for r in results], *[None if x is None else x.flat for x in inputs])
        return recorded(self, plan, mode, inputs, params, results)


def holds_sharded(inputs: tuple[Any, ...]) -> bool:
    """Whether one of the inputs lies over several processes."""
    return any(x is not None and x.aval.sharded for x in inputs)


def holds_answered(inputs: tuple[Any, ...]) -> bool:
    """Whether the class of one of the inputs answers for ops."""
    return any(x is not None and x.aval.answered for x in inputs)


def recorded(
    op: Dispatch, plan: Plan, mode: int, inputs: Any, params: dict[str, Any], results: Any
) -> Any:
    """``results``, which have their node where ``mode`` is GRAD and an input is tracked."""
    if mode:
        for x in inputs:
            if x is not None and x._node is not None:
                plan.record(op, plan, inputs, params, results)
                break
    return results


tensor_of: Callable[[Any, Any], Tensor] = compiled(
    f"def tensor_of(data, aval):\n{textwrap.indent(result_text('result', 'data', 'aval'), '    ')}"
    "    return result\n", "tensor_of", "tensor",
)  # fmt: skip


_NO_PARAMS: dict[str, Any] = {}


@functools.cache
def _code_of(name: str, arity: int, known: bool, optional: int = 0) -> Any:
    """The code of an op's calls with that many inputs; what it is bound to are its defaults.

    Args:
        name: of the op; "": the frames are called ``call``.
        known: whether the plan is.
        optional: so many of the last inputs may be None.
    """
    if name:
        code = _code_of("", arity, known, optional)
        return code.replace(co_name=name, co_qualname=name)
    names = [f"x{i}" for i in range(arity)]
    given = ", ".join(names)
    if known:
        head = f"mode, {given}, op, plan, params, empty, size, dtype, aval, run"
        lines = _run_text("", names)
    else:
        head = f"{given}, op, params, plans, others"
        avals = ", ".join(_attributes("aval", names, optional))
        lines = _LOOK_UP.format(avals=avals, given=given) + _run_text("plan.", names, optional)
    text = f"def call({head}):\n{textwrap.indent(lines, '    ')}"
    what = f"{'known plan' if known else 'call'}, {arity} inputs, {optional} optional"
    return compiled(text, "call", what).__code__


def bound(code: Any, *constants: Any) -> Callable[..., Any]:
    """The function with this code whose last arguments are always ``constants``."""
    return types.FunctionType(code, _NAMES, code.co_name, constants)


def call_of(
    op: Dispatch, arity: int, optional: int = 0, others: Implementations = NO_OTHERS
) -> Callable[..., Any]:
    """``op(*inputs)``, with the fewest steps, for an op without params whose kernel has one result.

    Its frame has the op's name.

    Args:
        optional: so many of the last inputs may be None.
        others: what takes the inputs in place of the op, asked where no plan is known: other
            classes' tensors have none.
    """
    return bound(_code_of(op.name, arity, False, optional), op, _NO_PARAMS, op._plans, others)


@functools.cache
def _code_of_view_at() -> Any:
    lines = _VIEW_AT.format(result=_RESULT_OF_VIEW)
    text = f"def view_at(x, kind, offset, params, op, plans):\n{textwrap.indent(lines, '    ')}"
    return compiled(text, "view_at", "view at an offset").__code__


def view_call(op: Dispatch) -> Callable[[Tensor, Any, int, dict[str, Any]], Any]:
    """``call(x, kind, offset, params)``: a view of ``x`` which begins at ``offset``.

    Its aval follows from ``kind`` and that of ``x``, so that views of one kind have one plan,
    wherever they begin.
    """
    code = _code_of_view_at().replace(co_name=op.name, co_qualname=op.name)
    return bound(code, op, op._plans)


def planned_call(op: Dispatch, plan: Plan, params: dict[str, Any]) -> Callable[..., Any]:
    """``call(mode, *inputs)`` of an op whose plan, of a kernel with one result, is known."""
    code = _code_of(op.name, len(plan.in_avals), True)
    return bound(
        code, op, plan, params, plan.empty, plan.size, plan.dtype, plan.aval, plan.run
    )


@functools.cache
def _code_of_several(name: str, given: tuple[bool, ...], results: int) -> Any:
    """The code of calls with several results where the plan is known, and which inputs are None."""
    names = [f"x{i}" if there else "None" for i, there in enumerate(given)]
    inputs = [x for x in names if x != "None"]
    flats = [f"d{i}" for i in range(results)] + [
        x if x == "None" else f"{x}.flat" for x in names
    ]
    made = "".join(f"r{i}, " for i in range(results))
    lines = [f"d{i} = e{i}(s{i}, t{i})" for i in range(results)]
    lines.append(f"run({', '.join(flats)})")
    lines += [result_text(f"r{i}", f"d{i}", f"a{i}") for i in range(results)]
    nodes = " or ".join(f"{x}._node is not None" for x in inputs)
    record = f"plan.record(op, plan, ({', '.join(names)},), params, ({made}))"
    lines += [f"if mode and ({nodes}):\n    {record}", f"return {made}"]
    facts = "".join(f", e{i}, s{i}, t{i}, a{i}" for i in range(results))
    head = f"mode, {', '.join(inputs)}, op, plan, params, run{facts}"
    text = f"def call({head}):\n{textwrap.indent(chr(10).join(lines), '    ')}"
    code = compiled(text, "call", f"known plan, {given}, {results} results").__code__
    return code.replace(co_name=name, co_qualname=name)


def planned_several(
    op: Dispatch, plan: Plan, params: dict[str, Any], given: tuple[bool, ...]
) -> Callable[..., Any]:
    """``call(mode, *inputs)`` of an op with several results whose plan is known, without the inputs
    that are None, which ``given`` says of each."""
    facts: list[Any] = []
    for each in plan.avals:
        facts += plan.empty, each.size, each.dtype.np, each
    code = _code_of_several(op.name, given, len(plan.avals))
    return bound(code, op, plan, params, plan.run, *facts)


@functools.cache
def _code_of_view(name: str, whole: bool) -> Any:
    """The code of a view's calls where the plan is known."""
    cut = "if data.size != end:\n    data = data[:end]" if whole else "data = data[offset:end]"
    lines = _PLANNED_VIEW.format(
        cut=cut, result=result_text("result", "data", "aval", "history")
    )
    head = "mode, x, op, plan, params, aval, offset, end"
    text = f"def call({head}):\n{textwrap.indent(lines, '    ')}"
    code = compiled(text, "call", f"known view{'' if whole else ', a part'}").__code__
    return code.replace(co_name=name, co_qualname=name)


def planned_view(op: Dispatch, plan: Plan, params: dict[str, Any]) -> Callable[..., Any]:
    """``call(mode, x)`` of an op, a view, whose plan is known."""
    begin, end, source = plan.run, plan.run + plan.size, plan.in_avals[0]
    assert source is not None
    if begin < 0 or end > source.extent or source.dtype is not plan.aval.dtype:
        view = op._view
        return lambda mode, x: view(plan, mode, (x,), params, begin)
    code = _code_of_view(op.name, not begin)
    return bound(code, op, plan, params, plan.aval, begin, end)


def in_frames_as(name: str, function: Any) -> Any:
    """``function``, which profiles and tracebacks name so."""
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    function.__name__ = function.__qualname__ = name
    return function
