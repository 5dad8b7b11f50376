"""Cached calls: where the ops of a function follow from what its arguments are, not from their
elements, only the ops are run.

The first call with a signature is recorded: the ops that it calls, by the avals of its tensors and
its other arguments. Later calls go from the arguments to the kernels, by generated code
(:mod:`.codegen`), and record on the tape as ever.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..allocator import address_of, empty
from ..autograd.tape import AccumulateGrad, derives, records_writes
from ..autograd.tape import Node as TapeNode
from ..bounded_cache import Bounded
from ..callbacks import callbacks
from ..devices.device import cpu
from ..dispatch import GRAD, RECORDING_CALL, state
from ..implementations import NO_OTHERS, Implementations
from ..interpreter import Interpreter
from ..op import Op, Plan, forget_plans, tables_of_plans
from ..op_nodes import Node, NodeValue
from ..switches import switches, when_changed
from ..tensor import Tensor, alias, as_array, captures, make, result_types
from .codegen import cached_call, cached_write, kept_result
from .keys import key_of, lookup_for

__all__ = ["cached"]

when_changed(forget_plans)  # cached calls and gradient rules are kept with the plans

_MOST_CALLS = 4096  # of one function
_FEW_BYTES, _FEW_PLACES = 8192, 32768  # bytes of what is kept
_MOST_VIEWS = 64
_FEW = 64  # so many signatures are recorded at their first call; of more, many have only one


class _Full:
    """What stands for the op where a new tensor is full of one value."""

    name = "full"

    @staticmethod
    def plan_for(inputs: Any, params: dict[str, Any]) -> Plan:
        value = params["value"]
        plan = Plan((params["aval"],), ())
        plan.empty = np.zeros if not value else plan.empty
        plan.run = (lambda data: None) if not value else (lambda data: data.fill(value))
        return plan

    @staticmethod
    def follow(plan: Plan, mode: int, inputs: Any, params: Any) -> Tensor:
        data = plan.empty(plan.size, plan.dtype)
        plan.run(data)
        return make(data, plan.aval)


def on_flat(fill: Callable[..., Any], described: Any, avals: Any) -> Callable[..., None]:
    """``fill(array, *arrays)`` on flat arrays."""
    if not avals and described.contiguous:
        shape = described.shape
        return lambda data: fill(data.reshape(shape))

    def run(data: Any, *given: Any) -> None:
        arrays = [as_array(x, a) for x, a in zip(given, avals, strict=True)]
        fill(as_array(data, described), *arrays)

    return run


class _Drawn:
    """What stands for the op where a new tensor is filled with random numbers."""

    name = "draw"

    @staticmethod
    def plan_for(inputs: Any, params: dict[str, Any]) -> Plan:
        plan = Plan((params["aval"],), ())
        plan.run = params["run"]
        return plan

    follow = _Full.follow


class CallRecorder(Interpreter):
    """Interpreter that records the ops of a function called with certain tensors.

    Attributes:
        name: of the function.
        count: how many tensors were given.
        avals: theirs.
        named: the numbers of the values whose nodes have names of torch's, and these.
        values: of the tensors given, of constants and results as they come, by the tensors' ids.
        constants: numbers and places that the function made itself, by the numbers of their values.
        places: the numbers of these places, and of views of them.
        nodes: the ops called.
        views: the numbers of the results that were made those of one node, and of which.
        repeatable: whether the same nodes do the call again.
    """

    def __init__(self, name: str, given: list[Tensor], mode: int) -> None:
        self.name = name
        self.mode = mode
        self.count = len(given)
        self.avals = [x.aval for x in given]
        self.values: dict[int, NodeValue] = {}
        self.constants: dict[int, Tensor] = {}
        self.places: set[int] = set()
        self.nodes: list[Node] = []
        self.thread = threading.get_ident()
        self.named: list[tuple[int, str]] = []
        self._draws: list[Any] = []
        self.views: tuple[Any, ...] | None = None
        self._tensors: list[Tensor] = []  # whose ids stay theirs
        for x in given:
            self._value(x)
        self.repeatable = len(self.values) == len(given)

    def note_full(self, tensor: Tensor, value: Any) -> None:
        """A tensor was made whose elements are all ``value``."""
        if state.mode & RECORDING_CALL:
            params = {"aval": tensor.aval, "value": value}
            self.nodes.append(Node(_Full, (), params, (self._value(tensor),)))

    def note_places(self, tensor: Tensor) -> None:
        """A few places follow from the signature, and are kept; no result may be a view of them."""
        if state.mode & RECORDING_CALL and tensor.flat.nbytes <= _FEW_PLACES:
            number = self._value(tensor).number
            self.constants[number] = tensor
            self.places.add(number)

    def note_named(self, tensor: Tensor, name: str) -> None:
        """The node of a value was given the name of torch's op."""
        number = self.number_of(tensor)
        if number < 0:
            state.stop_recording_call()
        self.named.append((number, name))

    def note_views(self, views: Any, name: str, op: Op, params: dict[str, Any]) -> None:
        """The results were made those of one node."""
        numbers = [self.number_of(view) for view in views]
        if self.views is not None or -1 in numbers or len(numbers) > _MOST_VIEWS:
            state.stop_recording_call()
        self.views = numbers, name, op, params

    def _stop(self, *about: Any) -> Any:
        """What is asked beyond ops, elements first of all, the ops alone do not repeat."""
        state.stop_recording_call()

    _ends: Any = _stop
    data_needed = memory_needed = needed = raw_write = identity_needed = _ends
    note_leaf = walk = break_graph = materialise = thread_starts = _ends
    is_from_outside = _ends

    def apply(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run an op as ever, and note it."""
        state.mode = self.mode
        try:
            result = op.evaluate(self.mode, inputs, params)
        finally:
            state.mode = self.mode | RECORDING_CALL
        values = tuple([None if x is None else self._input(x) for x in inputs])
        results = result if result.__class__ is tuple else (result,)
        made = tuple([self._value(x) for x in results])
        self.nodes.append(Node(op, values, params, made))
        viewed = values[0] if self.places and op.view is not None else None
        if viewed is not None and viewed.number in self.places:
            self.places.update([each.number for each in made])
        return result

    def apply_in_place(self, op: Op, target: Tensor, inputs: Any, params: Any) -> Tensor:
        """An op whose result is written over a tensor: more than what is repeated."""
        state.stop_recording_call()
        result: Tensor = callbacks.apply_in_place(op, target, *inputs, **params)
        return result

    def copy_into(self, target: Tensor, source: Tensor, filling: bool = False) -> Tensor:
        """A copy into a tensor."""
        state.stop_recording_call()
        result: Tensor = callbacks.copy_into(target, source, filling)
        return result

    def draw(self, described: Any, fill: Callable[..., Any], inputs: Any) -> Tensor:
        """A new tensor of random numbers, which later calls draw as well, unless they depend on
        tensors: what is made of these is tracked with them."""
        state.mode = self.mode
        try:
            data = empty(described.extent, described.dtype.np)
            run = self._filled(data, described, fill, inputs)
            made = make(data, described)
        finally:
            state.mode = self.mode | RECORDING_CALL
        if inputs:
            state.stop_recording_call()
        params = {"aval": described, "run": run}
        self.nodes.append(Node(_Drawn, (), params, (self._value(made),)))
        return made

    def note_drawn(self, array: Any, again: Callable[[Any], None]) -> None:
        """A generator filled a flat array."""
        self._draws.append((again, array, array.copy()))

    def _filled(
        self, data: Any, described: Any, fill: Callable[..., Any], inputs: Any
    ) -> Callable[..., None]:
        """Fill ``data`` with random numbers; what does so again, to flat arrays.

        That is the generator's kernel alone, where the elements are what one call of it has left.
        """
        self._draws.clear()
        fill(as_array(data, described), *[as_array(x.flat, x.aval) for x in inputs])
        if not inputs and len(self._draws) == 1 and described.contiguous:
            again, array, drawn = self._draws[0]
            same = array.dtype == data.dtype and array.size == data.size == described.extent
            if same and address_of(array) == address_of(data) and (
                array.tobytes() == drawn.tobytes()
            ):
                return again
        return on_flat(fill, described, [x.aval for x in inputs])

    def redraw(self, target: Tensor, fill: Callable[..., Any], inputs: Any) -> None:
        """Random numbers over a tensor's elements: more than what is repeated."""
        state.stop_recording_call()
        fill(as_array(target.flat, target.aval), *[as_array(x.flat, x.aval) for x in inputs])

    def _value(self, tensor: Tensor) -> NodeValue:
        value = self.values[id(tensor)] = NodeValue(len(self._tensors), tensor.aval)
        self._tensors.append(tensor)
        return value

    def _input(self, tensor: Tensor) -> NodeValue:
        value = self.values.get(id(tensor))
        if value is None:
            if not tensor.aval.weak or tensor.aval.shape or tensor._node is not None:
                self.repeatable = False  # made of something else than arguments and numbers
            value = self._value(tensor)
            self.constants[value.number] = tensor
        return value

    def number_of(self, tensor: Tensor) -> int:
        """The number of a tensor's value; -1: it is no result of what was recorded."""
        value = self.values.get(id(tensor))
        return -1 if value is None else value.number

    def call_for(self, result: Any) -> Callable[..., Any] | None:
        """The nodes as a function of the mode and the tensors given; None where they are not all
        that the call did."""
        several = isinstance(result, tuple)
        wanted = tuple([self.number_of(x) for x in (result if several else (result,))])
        if not self.repeatable or -1 in wanted or not self.places.isdisjoint(wanted):
            return None
        if not several and result._node.__class__ is AccumulateGrad and wanted[0] >= self.count:
            return None  # a new leaf
        kind = type(result) if several and type(result) is not tuple else None
        return cached_call(self, wanted, kind, several)


class WriteRecorder(CallRecorder):
    """Recorder of a function that ends with one write to the first tensor it is given.

    Attributes:
        write: the kernel, and the values on whose arrays it runs: the one written to, then what is
            read; None before the write.
    """

    write: tuple[Callable[..., None], NodeValue, tuple[NodeValue | None, ...]] | None = None

    def apply(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Run an op as ever, and note it, where it comes before the write."""
        result = super().apply(op, inputs, params)
        if self.write is not None:
            state.stop_recording_call()
        return result

    def apply_in_place(self, op: Op, target: Tensor, inputs: Any, params: Any) -> Tensor:
        """Run an op whose result is written over a tensor, and note its kernel."""
        state.mode = self.mode
        try:
            result: Tensor = callbacks.apply_in_place(op, target, *inputs, **params)
            run = callbacks.kernel_in_place(op, target, inputs, params)
        finally:
            state.mode = self.mode | RECORDING_CALL
        values = [None if x is None else self._input(x) for x in inputs]
        if run is None and target.aval.device is cpu:  # computed elsewhere, and copied
            plan = op.plan_for(inputs, params)
            made = NodeValue(len(self._tensors), plan.aval)
            self._tensors.append(target)
            self.nodes.append(Node(op, tuple(values), params, (made,)))
            run, values = callbacks.kernel_of_copy(target.aval, plan.aval), [made]
        self._note_write(run, target, values)
        return result

    def copy_into(self, target: Tensor, source: Tensor, filling: bool = False) -> Tensor:
        """Copy, and note the kernel."""
        state.mode = self.mode
        try:
            result: Tensor = callbacks.copy_into(target, source, filling)
            on_cpu = target.aval.device is cpu is source.aval.device
            run = callbacks.kernel_of_copy(target.aval, source.aval) if on_cpu else None
        finally:
            state.mode = self.mode | RECORDING_CALL
        self._note_write(run, target, [self._input(source)])
        return result

    def redraw(self, target: Tensor, fill: Callable[..., Any], inputs: Any) -> None:
        """Draw, and note it as the write."""
        state.mode = self.mode
        try:
            run = self._filled(target.flat, target.aval, fill, inputs)
        finally:
            state.mode = self.mode | RECORDING_CALL
        self._note_write(run, target, [self._input(x) for x in inputs])

    def _note_write(self, run: Any, target: Tensor, values: list[Any]) -> None:
        written = self.values.get(id(target))
        if self.write is not None or written is None or run is None:
            state.stop_recording_call()
        else:
            self.write = run, written, tuple(values)

    def call_for(self, result: Any) -> Callable[..., Any] | None:
        """The nodes and the write as a function of the mode and the tensors given."""
        if not self.repeatable or self.write is None or result is not self._tensors[0]:
            return None
        return cached_write(self, *self.write)


def _copies_of(name: str, count: int, made: Any) -> Callable[..., Any] | None:
    """``call(mode, *tensors)``, so many, that makes a copy of a small tensor; None of others."""
    if made.__class__ is not result_types[0] or made._node is not None:
        return None
    data, described = made.flat, made.aval
    if described.device is not cpu or data.size != described.extent or data.nbytes > _FEW_BYTES:
        return None
    return kept_result(name, count, described, data.copy().copy)


def _memory_of(name: str, count: int, made: Any) -> Callable[..., Any] | None:
    """``call(mode, *tensors)``, so many, that makes such a tensor; None where one is no new memory
    without a history."""
    if made.__class__ is not result_types[0] or made._node is not None:
        return None
    described = made.aval
    if described.device is not cpu or made.flat.size != described.extent or described.weak:
        return None
    return kept_result(name, count, described, empty, described.extent, described.dtype.np)


def apart(given: list[Any], mode: int) -> bool:
    """Whether a write to the first tensor changes nothing but its elements: no other one is in its
    memory, and none is tracked."""
    target, *others = given
    if mode and any(x._node is not None and derives(x._node) for x in others):
        return False
    if any(x.aval.sharded or x.aval.answered for x in given):
        return False
    memory = None if target._storage is None else target._storage.memory
    return not any(
        x is target or (x._storage is not None and x._storage.memory is memory) for x in others
    )


_UNKNOWN: Any = object()
_NOT_GIVEN: Any = object()
_USES = 32  # of the general way to a known call, before it is written out for calls of that form
_MOST_FORMS = 4


def cached(
    function: Callable[..., Any],
    check: Callable[[Any, Any], None] | None = None,
    others: Implementations = NO_OTHERS,
    writes: bool = False,
    constant: bool | str = False,
) -> Callable[..., Any]:
    """``function``, whose calls are cached. Its first argument is a tensor or has some in it.

    What it does follows from the shapes, layouts and types of its tensors and from its other
    arguments. Calls that do more than ops (warn, write, draw, read elements) are not cached.

    Args:
        check: ``check(args, kwargs)`` of calls with a signature that is not known, may raise.
        others: asked about calls with a signature that is not known. That of other classes' tensors
            never becomes known: their avals are equal to no plain tensor's.
        writes: it ends with one write to its first argument, which it returns. Where something is
            tracked, or two arguments share memory, it is called as it is.
        constant: the elements of its result follow, too: a small one is kept, and later calls copy.
            "memory": they are what memory holds, and later calls take memory.
    """
    table = Bounded(_MOST_CALLS)
    tables_of_plans.append(table)
    met = Bounded(_MOST_CALLS)
    get, local = table.get, state

    def first_call(signature: Any, given: list[Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """A call with a signature that is not known."""
        if others and (found := others.call(args, kwargs)) is not NotImplemented:
            return found
        if signature not in met:
            if check is not None:
                check(args, kwargs)
            met.keep(signature, None)
            if len(table) >= _FEW:
                return function(*args, **kwargs)
        if "out" in kwargs or not switches.call_cache:
            table.keep(signature, None)
            return function(*args, **kwargs)
        if constant:
            name, run = function.__name__, functools.partial(function, *args, **kwargs)
            # of a tensor that stands for a number the elements are read
            result, follows = record_call(name, given, run) if given else (run(), True)
            keep = _memory_of if constant == "memory" else _copies_of
            table.keep(signature, keep(name, len(given), result) if follows else None)
            return result
        if writes:
            if not given or args[0] is not given[0] or not apart(given, local.mode):
                return function(*args, **kwargs)
            return _record(table, signature, function, WriteRecorder, args, kwargs, given)
        distinct = _distinct(args, kwargs, given)
        if distinct is None:
            return function(*args, **kwargs)
        return _record(table, signature, function, CallRecorder, *distinct)

    lookups: list[Callable[..., Any]] = []  # for calls of the forms that are usual
    uses = 0

    def note_use(first: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """A known call was found without a lookup: have one for the next of this form."""
        nonlocal uses
        uses += 1
        if uses % _USES == 0 and len(lookups) < _MOST_FORMS:
            found = lookup_for(function.__name__, writes, first, args, kwargs)
            if found is not None:
                lookups.append(found)

    @functools.wraps(function)
    def call(first: Any = _NOT_GIVEN, /, *args: Any, **kwargs: Any) -> Any:
        mode = local.mode
        if mode <= GRAD and not captures and first is not _NOT_GIVEN:
            for lookup in lookups:
                found = lookup(mode, get, first, args, kwargs)
                if found is not NotImplemented:
                    return found
            known = None
            recorded = writes and mode and (node := getattr(first, "_node", None)) is not None and (
                records_writes(node)
            )
            if not recorded:
                try:
                    signature, given = key_of(first, args, kwargs)
                    known = get(signature, _UNKNOWN)
                except TypeError:  # calls with such arguments are not told apart
                    known = None
                    if check is not None:
                        check((first, *args), kwargs)
            if known is _UNKNOWN:
                return first_call(signature, given, (first, *args), kwargs)
            if known is not None:
                found = known(mode, *given)
                if found is not NotImplemented:
                    note_use(first, args, kwargs)
                    return found
        if first is not _NOT_GIVEN:
            args = (first, *args)
        elif check is not None:
            check(args, kwargs)
        if others and (found := others.call(args, kwargs)) is not NotImplemented:
            return found
        return function(*args, **kwargs)

    named: Any = call  # in frames as the function is
    named.__code__ = named.__code__.replace(co_name=function.__name__)
    return call


def record_call(
    name: str, given: list[Any], function: Callable[[], Any],
    kind: type[CallRecorder] = CallRecorder,
) -> tuple[Any, CallRecorder | None]:
    """``function()``, and what it did with ``given``; None where that is more than ops.

    ``name``: of the frames of what is made of it.
    """
    mode = state.mode
    recorder = state.recorder = kind(name, given, mode)
    state.mode = mode | RECORDING_CALL
    captures.append(recorder)
    try:
        result = function()
        ops_only = state.mode == mode | RECORDING_CALL
    finally:
        captures.remove(recorder)
        state.recorder = None
        state.update()
    return result, recorder if ops_only and state.mode == mode else None


def _distinct(args: Any, kwargs: Any, given: list[Any]) -> Any:
    """The arguments, and the tensors ``given`` in them: of one that is there more than once each
    is an object of its own. None where it may not be: views derive anew, leaves are objects."""
    if len(set(map(id, given))) == len(given):
        return args, kwargs, given
    seen: set[int] = set()
    tensors: list[Any] = []

    def other(value: Any) -> Any:
        if value.__class__ is list or value.__class__ is tuple:
            return value.__class__(map(other, value))
        if isinstance(value, Tensor):
            if id(value) in seen and (value._node is None or value._node.__class__ is TapeNode):
                double = alias(value)
                double._node, double._output_index = value._node, value._output_index
                value = double
            seen.add(id(value))
            tensors.append(value)
        return value

    args, kwargs = other(args), dict(zip(kwargs, other(tuple(kwargs.values())), strict=True))
    return (args, kwargs, tensors) if len(seen) == len(given) else None


def _record(
    table: Bounded, key: Any, function: Callable[..., Any], kind: type[CallRecorder],
    args: Any, kwargs: Any, given: list[Any],
) -> Any:  # fmt: skip
    """Call ``function``, and keep what repeats the call."""
    result, recorder = record_call(
        function.__name__, given, lambda: function(*args, **kwargs), kind
    )
    repeatable = recorder is not None and not any(x.aval.weak for x in given)
    table.keep(key, recorder.call_for(result) if repeatable else None)  # type: ignore[union-attr]
    return result
