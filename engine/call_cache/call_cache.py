"""Calls that are remembered: a function whose ops follow from what its arguments are, not from
their elements, is run twice for each kind of call; from then on only its ops are.

The second call of a signature is recorded (many signatures occur only once). What
it did is kept as steps with their plans, by the avals of its tensors and its other arguments, so
that a later call goes from the arguments to the kernels. Steps record on the tape as ever.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.tape import Node, ViewHistory, named
from ..bounded_cache import Bounded
from ..dispatch import GRAD, KERNEL, RECORDING_CALL, SEVERAL, VIEW, planned_call, state
from ..interpreter import Interpreter
from ..op import Op, Plan, forget_plans, tables_of_plans
from ..switches import switches, when_changed
from ..tensor import Tensor, alias, captures, make, result_types
from .codegen import lean

__all__ = ["remembered"]

when_changed(forget_plans)  # cached calls and gradient rules are kept with the plans

_new = object.__new__
_MOST_CALLS = 4096  # of one function


class _Full:
    """What stands for the op where a new tensor is full of one value."""

    @staticmethod
    def follow(plan: Plan, mode: int, inputs: Any, params: Any) -> Tensor:
        data = plan.empty(plan.size, plan.dtype)
        plan.run(data)
        return make(data, plan.aval)


def _filling(aval: Any, value: Any) -> Plan:
    """The plan of a new tensor that is full of ``value``."""
    plan = Plan((aval,), ())
    plan.empty = np.zeros if not value else plan.empty
    plan.run = (lambda data: None) if not value else (lambda data: data.fill(value))
    return plan


class CallRecorder(Interpreter):
    """Interpreter that records the ops of a function at its second call with a signature.

    Attributes:
        count: how many tensors were given.
        values: the tensors given, then constants and results as they come.
        steps: the ops called: op, plan, params, where its inputs are among the values (-1: None),
            and where its results begin.
        fits: whether the same steps do the call again.
    """

    def __init__(self, given: list[Any], mode: int) -> None:
        self.mode = mode
        self.count = len(given)
        self.values: list[Any] = list(given)
        self.places = {id(x): i for i, x in enumerate(given)}
        self.constants: dict[int, Tensor] = {}
        self.steps: list[tuple[Any, Plan, dict[str, Any], tuple[int, ...], int]] = []
        self.fits = len(self.places) == len(given)
        self.thread = threading.get_ident()
        self.label: tuple[Tensor, str] | None = None

    def note_full(self, tensor: Tensor, value: Any) -> None:
        """A tensor was made whose elements are all ``value``."""
        if state.mode & RECORDING_CALL:
            self.steps.append((_Full, _filling(tensor.aval, value), {}, (), len(self.values)))
            self._add(tensor)

    def note_named(self, tensor: Tensor, name: str) -> None:
        """A result's node was given the name of torch's op."""
        self.label = tensor, name

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
            plan = op.plan_for(inputs, params)
        finally:
            state.mode = self.mode | RECORDING_CALL
        places = tuple([-1 if x is None else self._place(x) for x in inputs])
        self.steps.append((op, plan, params, places, len(self.values)))
        for each in result if type(result) is tuple else (result,):
            self._add(each)
        return result

    def _add(self, value: Any) -> int:
        place = self.places[id(value)] = len(self.values)
        self.values.append(value)
        return place

    def _place(self, value: Any) -> int:
        place = self.places.get(id(value))
        if place is None:
            if not value.aval.weak or value.aval.shape or value._node is not None:
                self.fits = False  # made of something else than arguments and numbers
            place = self._add(value)
            self.constants[place] = value
        return place

    def call_for(self, result: Any) -> Callable[..., Any] | None:
        """The steps as a function of the mode and the tensors given; None where they are not all
        that the call did."""
        call = self._call(result)
        if call is None or self.label is None:
            return call
        found, name = self.label
        return (lambda *given: named(call(*given), name)) if found is result else None

    def _call(self, result: Any) -> Callable[..., Any] | None:
        several = isinstance(result, tuple)
        places = [self.places.get(id(x), -1) for x in (result if several else (result,))]
        if not self.fits or min(places, default=-1) < 0:
            return None
        wrap = None if type(result) is tuple else type(result)
        if len(self.steps) == 1 and several == (self.steps[0][1].kind == SEVERAL):
            op, plan, params, inputs, start = self.steps[0]
            whole = places == list(range(start, len(self.values)))
            if whole and inputs == tuple(range(start)) and not self.constants:
                if len(inputs) == 1 and plan.kind in (KERNEL, VIEW):
                    return _of_one(op, plan, params)
                return self._lean_or(_one_op(op, plan, params, wrap if several else None), result)
        return self._lean_or(
            _every_step(self, tuple(places) if several else places[0], wrap), result
        )

    def _lean_or(self, recording: Callable[..., Any], result: Any) -> Callable[..., Any]:
        """``recording``, but where there is nothing to record."""
        several = isinstance(result, tuple)
        places = [self.places[id(x)] for x in (result if several else (result,))]
        wrap = None if type(result) is tuple else type(result)
        short = lean(self, tuple(places) if several else places[0], wrap)
        if short is None:
            return recording

        def call(mode: int, *given: Tensor) -> Any:
            if mode:
                for x in given:
                    node = x._node
                    if node is not None and (
                        node.__class__ is not ViewHistory or node.derive() is not None
                    ):
                        return recording(mode, *given)
            return short(*given)

        return call


def _of_one(op: Op, plan: Plan, params: dict[str, Any]) -> Callable[..., Any]:
    """An op with one result on the tensor as it was given."""
    if plan.kind == KERNEL:
        return planned_call(op, plan, params)
    offset = plan.run
    return lambda mode, x: op._view(plan, mode, (x,), params, offset)


def _one_op(op: Op, plan: Plan, params: dict[str, Any], wrap: Any) -> Callable[..., Any]:
    """An op on the tensors as they were given."""
    if wrap is not None:
        return lambda mode, *given: wrap(*op.follow(plan, mode, given, params))
    return lambda mode, *given: op.follow(plan, mode, given, params)


def _every_step(watcher: CallRecorder, places: Any, wrap: Any) -> Callable[..., Any]:
    steps = [(op.follow, plan, params, at, to) for op, plan, params, at, to in watcher.steps]
    held = [watcher.constants.get(i) for i in range(len(watcher.values))]

    def call(mode: int, *given: Tensor) -> Any:
        values: list[Any] = held.copy()
        values[: len(given)] = given
        for follow, plan, params, inputs, start in steps:
            result = follow(
                plan, mode, tuple([None if i < 0 else values[i] for i in inputs]), params
            )
            if type(result) is tuple:
                values[start : start + len(result)] = result
            else:
                values[start] = result
        if places.__class__ is int:
            return values[places]
        found = [values[i] for i in places]
        return tuple(found) if wrap is None else wrap(*found)

    return call


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


def remembered(
    function: Callable[..., Any], check: Callable[[Any, Any], None] | None = None
) -> Callable[..., Any]:
    """``function``, whose calls are remembered. Its first argument is a tensor or has some in it.

    ``check`` is given the arguments of calls of a kind that was not met before, and may raise.

    What it does follows from the shapes, layouts and types of its tensors and from its other
    arguments. Calls that do more than ops (that warn, write, draw, or read elements) are not.
    """
    table = Bounded(_MOST_CALLS)
    tables_of_plans.append(table)
    met = Bounded(_MOST_CALLS)
    get, local = table.get, state

    def meet(mode: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Any call but the simplest, and what was not met before."""
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
            full = tuple(key)
            found = get(full, _UNKNOWN)
        except TypeError:
            return function(*args, **kwargs)
        if found is _UNKNOWN:
            found = None
            if full not in met:
                if check is not None:
                    check(args, kwargs)
                met.keep(full, None)
            elif "out" not in kwargs and switches.call_cache:
                apart = _apart(args, kwargs, given)
                if apart is not None:
                    full = _short_key(*apart) or full
                    return _learn(table, full, function, *apart)
        return function(*args, **kwargs) if found is None else found(mode, *given)

    @functools.wraps(function)
    def call(first: Any = _NOT_GIVEN, /, *args: Any, **kwargs: Any) -> Any:
        mode = local.mode
        if mode > GRAD or captures:
            found = None
        else:
            found = _UNKNOWN
            if first.__class__ is list or first.__class__ is tuple:
                try:
                    found = get(_key_of_list(first, args, kwargs), _UNKNOWN)
                    if found is not _UNKNOWN and found is not None:
                        return found(mode, *first)
                except (AttributeError, TypeError):  # not tensors alone
                    pass
            elif not kwargs:
                try:
                    if args and args[0].__class__ is result_types[0]:
                        found = get((first.aval, *[x.aval for x in args]), _UNKNOWN)
                        if found is not _UNKNOWN and found is not None:
                            return found(mode, first, *args)
                    elif args:
                        found = get((first.aval, *args, *map(type, args)), _UNKNOWN)
                    else:
                        found = get(first.aval, _UNKNOWN)
                except (AttributeError, TypeError):  # no tensor, or a list of lengths
                    pass
            if found is _UNKNOWN and first is not _NOT_GIVEN:
                return meet(mode, (first, *args), kwargs)
        if found is None:
            return function(first, *args, **kwargs)
        if found is _UNKNOWN:
            return function(*args, **kwargs)
        return found(mode, first)

    cached: Any = call  # named in frames as the function is
    cached.__code__ = cached.__code__.replace(co_name=function.__name__)
    return call


def watched(
    given: list[Any], function: Callable[[], Any]
) -> tuple[Any, CallRecorder | None]:
    """``function()``, and who watched it do no more than ops, on ``given``; None otherwise."""
    mode = state.mode
    watcher = state.recorder = CallRecorder(given, mode)
    state.mode = mode | RECORDING_CALL
    captures.append(watcher)
    try:
        result = function()
        seen = state.mode == mode | RECORDING_CALL
    finally:
        captures.remove(watcher)
        state.recorder = None
        state.update()
    return result, watcher if seen and state.mode == mode else None


def _apart(args: Any, kwargs: Any, given: list[Any]) -> Any:
    """The arguments, and the tensors ``given`` in them: of one that is there more than once each
    is an object of its own. None where it may not be: views derive anew, leaves are objects."""
    if len(set(map(id, given))) == len(given):
        return args, kwargs, given
    seen: set[int] = set()
    found: list[Any] = []

    def other(value: Any) -> Any:
        if value.__class__ is list or value.__class__ is tuple:
            return value.__class__(map(other, value))
        if isinstance(value, Tensor):
            if id(value) in seen and (value._node is None or value._node.__class__ is Node):
                double = alias(value)
                double._node, double._output_index = value._node, value._output_index
                value = double
            seen.add(id(value))
            found.append(value)
        return value

    args, kwargs = other(args), dict(zip(kwargs, other(tuple(kwargs.values())), strict=True))
    return (args, kwargs, found) if len(seen) == len(given) else None


def _learn(
    table: Bounded, key: Any, function: Callable[..., Any], args: Any, kwargs: Any, given: list[Any]
) -> Any:
    """Call ``function``, and remember how."""
    result, watcher = watched(given, lambda: function(*args, **kwargs))
    if watcher is None or any(x.aval.weak for x in given):
        table.keep(key, None)
    else:
        table.keep(key, watcher.call_for(result))
    return result
