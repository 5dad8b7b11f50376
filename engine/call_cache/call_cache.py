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

from ..autograd.tape import Node as TapeNode
from ..bounded_cache import Bounded
from ..dispatch import GRAD, RECORDING_CALL, state
from ..implementations import NO_OTHERS, Implementations
from ..interpreter import Interpreter
from ..op import Op, Plan, forget_plans, tables_of_plans
from ..op_nodes import Node, NodeValue
from ..switches import switches, when_changed
from ..tensor import Tensor, alias, captures, make, result_types
from .codegen import cached_call

__all__ = ["cached"]

when_changed(forget_plans)  # cached calls and gradient rules are kept with the plans

_MOST_CALLS = 4096  # of one function
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


class CallRecorder(Interpreter):
    """Interpreter that records the ops of a function called with certain tensors.

    Attributes:
        name: of the function.
        count: how many tensors were given.
        avals: theirs.
        values: of the tensors given, of constants and results as they come, by the tensors' ids.
        constants: numbers that the function made itself, by the numbers of their values.
        nodes: the ops called.
        repeatable: whether the same nodes do the call again.
    """

    def __init__(self, name: str, given: list[Tensor], mode: int) -> None:
        self.name = name
        self.mode = mode
        self.count = len(given)
        self.avals = [x.aval for x in given]
        self.values: dict[int, NodeValue] = {}
        self.constants: dict[int, Tensor] = {}
        self.nodes: list[Node] = []
        self.thread = threading.get_ident()
        self.named: tuple[Tensor, str] | None = None
        self._tensors: list[Tensor] = []  # whose ids stay theirs
        for x in given:
            self._value(x)
        self.repeatable = len(self.values) == len(given)

    def note_full(self, tensor: Tensor, value: Any) -> None:
        """A tensor was made whose elements are all ``value``."""
        if state.mode & RECORDING_CALL:
            params = {"aval": tensor.aval, "value": value}
            self.nodes.append(Node(_Full, (), params, (self._value(tensor),)))

    def note_named(self, tensor: Tensor, name: str) -> None:
        """A result's node was given the name of torch's op."""
        self.named = tensor, name

    def _stop(self, *about: Any) -> Any:
        """What is asked beyond ops, elements first of all, the ops alone do not repeat."""
        state.stop_recording_call()

    _ends: Any = _stop
    data_needed = memory_needed = needed = raw_write = identity_needed = _ends
    note_views = note_leaf = walk = break_graph = materialise = thread_starts = _ends
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
        self.nodes.append(Node(op, values, params, tuple([self._value(x) for x in results])))
        return result

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
        if not self.repeatable or -1 in wanted:
            return None
        if self.named is not None and self.named[0] is not result:
            return None
        name = "" if self.named is None else self.named[1]
        kind = type(result) if several and type(result) is not tuple else None
        return cached_call(self, wanted, kind, several, name)


_UNKNOWN: Any = object()
_NOT_GIVEN: Any = object()
_PLAIN = {int, bool, str, type(None)}


def _describe(value: Any, key: list[Any], given: list[Any]) -> None:
    """Add what an argument is to ``key``, and the tensors in it to ``given``.

    Raises:
        TypeError: calls with such an argument are not told apart by it.
    """
    if isinstance(value, Tensor):
        key.append(value.aval)
        given.append(value)
        return
    kind = value.__class__
    if kind is int:
        key.append(value)
        return
    if kind is list or isinstance(value, tuple):
        key.append((kind, len(value)))
        for each in value:
            if isinstance(each, Tensor):
                key.append(each.aval)
                given.append(each)
            else:
                _describe(each, key, given)
        return
    if kind is float and (not value or value != value):
        value = repr(value)  # zeros have signs, and nan is equal to nothing
    key.append(value)
    key.append(kind)


def _short_key(args: tuple[Any, ...], kwargs: dict[str, Any], given: list[Any]) -> Any:
    """What the quick way makes of the most common calls; None of others."""
    first, rest = args[0], args[1:]
    plain = (*rest, *kwargs.values())
    if not _PLAIN.issuperset(map(type, plain)):
        return None
    if first.__class__ in (list, tuple) and len(first) == len(given):
        return _key_of_list(first, rest, kwargs)
    if len(given) != 1 or kwargs:
        return None
    return (given[0].aval, *rest, *map(type, rest)) if rest else given[0].aval


def _key_of_list(first: Any, rest: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    key = (first.__class__, *[x.aval for x in first], *rest, *map(type, rest))
    return (*key, *kwargs.items(), *map(type, kwargs.values())) if kwargs else key


def cached(
    function: Callable[..., Any],
    check: Callable[[Any, Any], None] | None = None,
    others: Implementations = NO_OTHERS,
) -> Callable[..., Any]:
    """``function``, whose calls are cached. Its first argument is a tensor or has some in it.

    What it does follows from the shapes, layouts and types of its tensors and from its other
    arguments. Calls that do more than ops (that warn, write, draw, or read elements) are not
    cached.

    Args:
        check: ``check(args, kwargs)`` of calls with a signature that is not known, may raise.
        others: asked about calls with a signature that is not known. That of other classes' tensors
            never becomes known: their avals are equal to no plain tensor's.
    """
    table = Bounded(_MOST_CALLS)
    tables_of_plans.append(table)
    met = Bounded(_MOST_CALLS)
    get, local = table.get, state

    def look_up(mode: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Any call but the simplest, and one with a signature that is not known."""
        key: list[Any] = []
        given: list[Any] = []
        try:
            for value in args:
                if isinstance(value, Tensor):
                    key.append(value.aval)
                    given.append(value)
                elif value.__class__ is int:
                    key.append(value)
                else:
                    _describe(value, key, given)
            for name, value in kwargs.items():
                key.append(name)
                _describe(value, key, given)
            signature = tuple(key)
            known = get(signature, _UNKNOWN)
        except TypeError:
            if others and (found := others.call(args, kwargs)) is not NotImplemented:
                return found
            return function(*args, **kwargs)
        if known is _UNKNOWN:
            known = None
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
            else:
                distinct = _distinct(args, kwargs, given)
                if distinct is not None:
                    signature = _short_key(*distinct) or signature
                    return _record(table, signature, function, *distinct)
        return function(*args, **kwargs) if known is None else known(mode, *given)

    @functools.wraps(function)
    def call(first: Any = _NOT_GIVEN, /, *args: Any, **kwargs: Any) -> Any:
        mode = local.mode
        if mode > GRAD or captures:
            known = None
        else:
            known = _UNKNOWN
            if first.__class__ is list or first.__class__ is tuple:
                try:
                    known = get(_key_of_list(first, args, kwargs), _UNKNOWN)
                    if known is not _UNKNOWN and known is not None:
                        return known(mode, *first)
                except (AttributeError, TypeError):  # not tensors alone
                    pass
            elif not kwargs:
                try:
                    if args and args[0].__class__ is result_types[0]:
                        known = get((first.aval, *[x.aval for x in args]), _UNKNOWN)
                        if known is not _UNKNOWN and known is not None:
                            return known(mode, first, *args)
                    elif args:
                        known = get((first.aval, *args, *map(type, args)), _UNKNOWN)
                    else:
                        known = get(first.aval, _UNKNOWN)
                except (AttributeError, TypeError):  # no tensor, or a list of lengths
                    pass
            if known is _UNKNOWN and first is not _NOT_GIVEN:
                return look_up(mode, (first, *args), kwargs)
        if known is not None and known is not _UNKNOWN:
            return known(mode, first)
        given = args if first is _NOT_GIVEN else (first, *args)
        if others and (found := others.call(given, kwargs)) is not NotImplemented:
            return found
        return function(*given, **kwargs)

    named: Any = call  # in frames as the function is
    named.__code__ = named.__code__.replace(co_name=function.__name__)
    return call


def record_call(
    name: str, given: list[Any], function: Callable[[], Any]
) -> tuple[Any, CallRecorder | None]:
    """``function()``, and what it did with ``given``; None where that is more than ops.

    ``name``: of the frames of what is made of it.
    """
    mode = state.mode
    recorder = state.recorder = CallRecorder(name, given, mode)
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
    table: Bounded, key: Any, function: Callable[..., Any], args: Any, kwargs: Any, given: list[Any]
) -> Any:
    """Call ``function``, and keep what repeats the call."""
    result, recorder = record_call(
        function.__name__, given, lambda: function(*args, **kwargs)
    )
    repeatable = recorder is not None and not any(x.aval.weak for x in given)
    table.keep(key, recorder.call_for(result) if repeatable else None)  # type: ignore[union-attr]
    return result
