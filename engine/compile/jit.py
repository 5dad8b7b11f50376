"""``jit``: capture a call for each kind of arguments, and run what was captured."""

from __future__ import annotations

import copy
import functools
import gc
import math
import sys
import time
import types
import weakref
from collections.abc import Callable
from typing import Any

from ..autograd import backward, tape
from ..autograd.saved_tensors import saved_tensor_hooks
from ..dispatch import state
from ..settings import policy
from ..switches import switches, variable
from ..tensor import Tensor, captures
from ..transforms import autocast
from .capture.capture import Capture
from .capture.live_objects import live_objects
from .capture.pytree import NOTHING, Flattened, rebuild
from .capture.side_effects import (
    changed_arguments,
    effects,
    entangled,
    impure,
    unknown_result,
)
from .capture.symbolic_tracer import by_library
from .capture.tracer import TracingError
from .decision import (
    CAPTURE,
    FAILED,
    HELD,
    LAZY,
    NESTED,
    OBSERVED,
    RARE,
    RESIZED,
    RUN,
    STANCE,
    UNSAFE,
    Decision,
    capturing,
    eagerly,
    lazily,
    raising,
)
from .dynamic_shapes.leaked_sizes import replace_leaked_sizes
from .dynamic_shapes.shape_families import DynamicShapes, ShapeFamily, with_numbers
from .dynamic_shapes.specialize import Specialization
from .guards import global_state
from .guards.recorder import GuardRecorder
from .lazy.lazy_tracer import run_lazily
from .lazy.trace_tree import TraceTree
from .runtime import cuda_graph
from .runtime.compiled_call import CompiledCall, finish_capture, repeatable

_TOO_OFTEN = "it was traced too often because of "


every: weakref.WeakSet[Jitted] = weakref.WeakSet()


class Jitted:
    """A function that is captured at its first call and runs as kernels from then on.

    Attributes:
        compiled: the captures, by the structure of their arguments.
        eager: why the function runs op by op, "" when it does not.
        decision: how the last call was run, and why.
        traces: how often the function's body was traced.
        whole: raised where a part of the function would run op by op.
        recorded: whether what runs on CUDA is recorded as CUDA graphs.
        limit: how often it may be traced for one structure of arguments; None leaves it to
            :data:`policy`.
        dynamic_shapes: what it knows of sizes; ``dynamic`` is of
            :class:`.dynamic_shapes.shape_families.DynamicShapes`.
    """

    def __init__(
        self, function: Callable[..., Any], whole: type[Exception] | None = None,
        recorded: bool = False, limit: int | None = None, dynamic: bool | None = None,
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self.whole = whole
        self.recorded = recorded
        self.limit = limit
        self.dynamic_shapes = DynamicShapes(dynamic)
        every.add(self)
        self.compiled: dict[Any, list[CompiledCall]] = {}
        self.eager = ""
        self.trace_tree = TraceTree()
        self.decision: Decision | None = None
        self.traces = 0
        self.misses: list[str] = []
        self._running = False
        self._called = False
        self._price = math.inf  # seconds of the quickest capture
        self._spent: dict[Any, float] = {}  # seconds op by op, by structure of arguments
        self._raising: set[Any] = set()  # arguments with which the last capture raised
        # whether a call has changed its state once, as a first call does that makes buffers
        self._spared = False

    def alike(self, function: Callable[..., Any]) -> Jitted:
        """Another function with the same options."""
        dynamic = self.dynamic_shapes.dynamic
        return Jitted(function, self.whole, self.recorded, self.limit, dynamic)

    def forget(self) -> None:
        """Drop what was captured."""
        self.compiled.clear()
        self.dynamic_shapes.clear()
        self._spent.clear()
        self._raising.clear()
        self.eager = ""
        self.trace_tree = TraceTree()
        self.misses.clear()

    def __deepcopy__(self, memo: Any) -> Jitted:
        function = copy.deepcopy(self.function, memo)
        options = self.whole, self.recorded, self.limit, self.dynamic_shapes.dynamic
        return type(self)(function, *options)

    def __reduce__(self) -> Any:
        return type(self), (
            self.function, self.whole, self.recorded, self.limit, self.dynamic_shapes.dynamic
        )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        """What else the function carries: its code, defaults and the user's attributes."""
        function = self.__dict__.get("function")
        if isinstance(function, types.FunctionType):
            return getattr(function, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        decision, flattened, key = self.decide(args, kwargs)
        self.decision = decision
        kind = decision.kind
        if kind is RUN:
            try:
                return key.run(flattened.leaves)
            except Exception:
                if not key.untouched():
                    raise
            return self.function(*args, **kwargs)  # raises where eager code does
        if kind is CAPTURE:
            return self._first_run(key, flattened, args, kwargs)
        if kind is LAZY:
            return self._lazily(args, kwargs)
        if decision.error is not None:
            self.decision = Decision(kind, decision.reason)  # an error would hold its frames
            raise decision.error
        began = time.perf_counter()
        result = self.function(*args, **kwargs)
        if decision is RARE:
            self._spent[key] = self._spent.get(key, 0.0) + time.perf_counter() - began
        elif decision is FAILED:  # captured again once it goes through
            self._raising.discard(key)
        return result

    def decide(self, args: Any, kwargs: Any) -> tuple[Decision, Flattened, Any]:
        """How a call is run, its flattened arguments, and the capture that is to be run or else
        the structure of the arguments."""
        flattened, given = NOTHING
        if (
            state.interpreters or backward.running() or saved_tensor_hooks
            or global_state.intercepting or tape.anomaly.enabled
        ):
            return OBSERVED, flattened, None
        if policy.eager:
            return eagerly(policy.eager), flattened, None
        if self.eager:
            return self._lazy_if_on(self.eager), flattened, None
        try:
            if args or kwargs:
                flattened = Flattened()
                given = flattened.describe((args, kwargs))
            key = (given, global_state.current())
            found = self.compiled.get(key, ())
        except (TypeError, RecursionError) as error:
            reason = f"an argument cannot be compared: {error}"
            return self._complaint(reason), flattened, None
        broken = ""
        for place, compiled in enumerate(found):
            broken = compiled.broken(flattened.leaves)
            if not broken:
                if place:
                    found.insert(0, found.pop(place))  # type: ignore[union-attr]
                return HELD, flattened, compiled
            self._note(broken)
        fitting = self.dynamic_shapes.fitting(key, flattened.leaves)
        if fitting is not None:
            self.dynamic_shapes.keep(key, fitting, self.compiled)
            if fitting.backward is not None and repeatable(fitting.steps):
                fitting.backward.recompute = self._recompute(fitting, key)
            return RESIZED, flattened, fitting
        return self._decide_anew(key, flattened, len(found), broken), flattened, key

    def _decide_anew(self, key: Any, flattened: Flattened, found: int, broken: str) -> Decision:
        """How a call is run that no capture fits; ``found``: of how many for its structure."""
        if self._running:
            return NESTED
        if policy.stance == "fail_on_recompile":
            return raising(RuntimeError(
                "Detected recompile when torch.compile stance is 'fail_on_recompile'. "
                + self._place()
            ))  # fmt: skip
        if policy.stance != "default":
            first, self._called = not self._called, True
            if policy.stance == "eager_on_recompile" or first:
                return STANCE
        if policy.recompiled is not None and self.traces:
            return raising(
                policy.recompiled(f"{self._place()} was compiled for {self.misses or 'other'}")
            )
        limit = policy.limit if self.limit is None else self.limit
        met = sum(map(len, self.compiled.values())) + len(self._spent.keys() - {key})
        met -= len(self.dynamic_shapes.bound)
        if found >= limit or met > 4 * limit:
            causes = [each for each in self.misses if not each.startswith(_TOO_OFTEN)]
            return self._complaint(_TOO_OFTEN + (causes[-1] if causes else "its arguments"))
        if entangled(flattened.leaves) or sys.getprofile() is not None:
            return UNSAFE
        if self._too_rare(key, flattened.leaves):
            return RARE
        self._spent.pop(key, None)
        return FAILED if key in self._raising else capturing(broken)

    def _first_run(self, key: Any, flattened: Flattened, args: Any, kwargs: Any) -> Any:
        """Capture a call."""
        self._running = True
        began = time.perf_counter()
        found = self.compiled.get(key, [])
        try:
            with cuda_graph.wanting(self.recorded):
                return self._capture(key, flattened, found, args, kwargs)
        except Exception:
            if len(self._raising) > 64:
                self._raising.clear()
            self._raising.add(key)
            raise
        finally:
            self._running = False
            self._price = min(self._price, time.perf_counter() - began)

    def _too_rare(self, key: Any, leaves: list[Tensor]) -> bool:
        """Whether arguments of further sizes run op by op until that took as long as a capture.

        With many sizes, each rarely met, captures would take more time than they save.
        """
        if leaves and self.dynamic_shapes.may_generalize(key, leaves):
            return False
        others = sum(1 for _, each in self.compiled if each == key[1])
        return others >= 2 and key not in self.compiled and (
            self._spent.get(key, 0.0) < self._price
        )

    def _place(self) -> str:
        code = getattr(self.function, "__code__", None)
        name = getattr(self, "__name__", type(self.function).__name__)
        if code is None:
            return f"function name: '{name}'"
        return (
            f"filename: '{code.co_filename}', function name: '{name}', "
            f"line number: {code.co_firstlineno}"
        )

    def _recompute(self, compiled: CompiledCall, key: Any) -> Callable[[Any], list[Tensor] | None]:
        """How to compute the results once more with their whole history on the tape."""
        given, before = key

        def retry(leaves: Any) -> list[Tensor] | None:
            if global_state.current() != before or compiled.guards.broken():
                return None
            args, kwargs = rebuild(given, iter(leaves), [])
            outputs = Flattened()
            outputs.describe(self.function(*args, **kwargs))
            return [outputs.leaves[i] for i in compiled.backward.order]  # type: ignore[union-attr]

        return retry

    def _lazily(self, args: Any, kwargs: Any) -> Any:
        """Run the function's Python code in lazy mode: what its ops do runs compiled."""
        if not self.trace_tree.lock.acquire(blocking=False):
            return self.function(*args, **kwargs)
        try:
            if not self.recorded:
                return run_lazily(self.trace_tree, self.function, args, kwargs)
            with cuda_graph.wanting():
                return run_lazily(self.trace_tree, self.function, args, kwargs)
        finally:
            if self.trace_tree.lock.locked():  # a forked child that goes on here found it open
                self.trace_tree.lock.release()

    def _refuse(self, reason: str) -> None:
        self.eager = reason
        if self.whole is not None:
            raise self.whole(f"{reason}; fullgraph=True wants one graph")

    def _lazy_if_on(self, reason: str) -> Decision:
        """Lazy mode, because of ``reason``, unless that is off or does not pay."""
        if not switches.lazy:
            return eagerly(f"{reason}; {variable('lazy')}=0")
        if self.trace_tree.never_repeats:
            return eagerly(f"{reason}; its ops do not repeat")
        return lazily(reason)

    def _note(self, reason: str) -> bool:
        new = reason not in self.misses and len(self.misses) < 64
        if new:
            self.misses.append(reason)
        return new

    def _complaint(self, reason: str) -> Decision:
        """The call cannot be captured: warn once for each reason, or raise where one graph is
        wanted."""
        if self._note(reason):
            import logging

            logging.getLogger("mindtorch.graph").warning(
                "%s is not compiled as a whole: its Python code runs at each call, and its ops run "
                "in lazy mode, because %s", getattr(self, "__name__", self.function), reason,
            )  # fmt: skip
        if self.whole is None:
            return self._lazy_if_on(reason)
        self.eager = reason
        return raising(self.whole(f"{reason}; fullgraph=True wants one graph"))

    def _capture(
        self, key: Any, flattened: Flattened, found: list[CompiledCall], args: Any, kwargs: Any,
        sized: bool = True,
    ) -> Any:  # fmt: skip
        """Trace the call, run it, and keep how; ``sized``: for more sizes, where they change."""
        self.traces += 1
        before = global_state.current()
        family = self.dynamic_shapes.begin(key, flattened.leaves) if sized else None
        capture, recorder = _prepared(flattened, family)
        for each in (self.function, *flattened.objects):
            recorder.argument(each)
        given = (args, kwargs) if family is None else with_numbers(args, kwargs, family.numbers)
        retry = eager = False
        casts = autocast.state.cache

        def changed() -> str:
            return changed_arguments(key, flattened, args, kwargs)

        def restore_state() -> None:
            autocast.state.cache = casts
            capture.remove_boundary_hooks()
            if capture in captures:
                captures.remove(capture)
            if capture.around_collection in gc.callbacks:
                gc.callbacks.remove(capture.around_collection)
            capture.exit()

        try:
            captures.append(capture)
            gc.callbacks.insert(0, capture.around_collection)
            capture.enter()
            autocast.state.cache = {}  # casts belong to this capture
            result = self.function(*given[0], **given[1])
            sys.setprofile(None)
            capture.remove_boundary_hooks()
            with capture.concrete_shapes():
                refused = capture.graph_break or changed()
            refused = refused or impure(capture, recorder, before)
            made = refused or _compiled(capture, recorder, flattened, family, result)
            if isinstance(made, str) and not capture.graph_break:
                capture.finish_failed()
                capture.make_concrete()
                capture.materialise()
        except BaseException as error:
            sys.setprofile(None)
            pure = isinstance(error, Exception) and not effects(capture, recorder, before, changed)
            retry, eager = _after_error(error, pure, capture, family)
            if not (retry or eager):
                raise
        finally:
            try:
                restore_state()
            except BaseException:  # of a signal
                restore_state()
                raise
        if retry:  # something of ours cannot work with sizes that stand for many
            return self._capture(key, flattened, found, args, kwargs, sized=False)
        if eager:  # a kernel has failed: raise where eager code does, with what it leaves
            return self.function(*args, **kwargs)
        if isinstance(made, str):
            if family is not None:
                result = Specialization(family.sizes).thing(result)
                del given
                replace_leaked_sizes(family.sizes)
            self._not_kept(made, bool(capture.graph_break) or made == recorder.impure)
            return result
        del result  # and with it the call's own tape: what is returned is the compiled call's
        return self._keep(key, flattened, found, capture, recorder, made)

    def _keep(
        self, key: Any, flattened: Flattened, found: list[CompiledCall], capture: Capture,
        recorder: GuardRecorder, compiled: CompiledCall,
    ) -> Any:  # fmt: skip
        """Keep how the call that was traced is run; its result."""
        if compiled.backward is not None and repeatable(compiled.steps):
            compiled.backward.recompute = self._recompute(compiled, key)
        made = compiled.finished(capture.made, flattened.leaves)
        refused = recorder.impure or recorder.guards.broken()
        if not refused and capture.outlived():
            refused = "a tensor that it made is kept somewhere"
        if refused:
            self._not_kept(refused, refused == recorder.impure)
            return made
        found.append(compiled)
        self.compiled[key] = found
        if compiled.family is not None:
            self.dynamic_shapes.note(key, flattened.leaves, compiled.family)
        return made

    def _not_kept(self, reason: str, always: bool) -> None:
        """Run eagerly from now on; but a first call may change its state unless that is so
        ``always``."""
        if always or self._spared:
            self._refuse(reason)
        self._spared = True


def _prepared(
    flattened: Flattened, family: ShapeFamily | None
) -> tuple[Capture, GuardRecorder]:
    """A capture that is about to begin, and what looks at the functions that it calls."""
    tensors, functions = live_objects(Tensor, types.FunctionType)
    recorder = GuardRecorder(functions)
    capture = Capture(tensors, recorder.profile)
    for each in flattened.leaves:
        capture.add_argument(each)
    if family is not None:
        capture.take_sizes(family.sizes, family.avals)
    return capture, recorder


def _compiled(
    capture: Capture, recorder: GuardRecorder, flattened: Flattened, family: ShapeFamily | None,
    result: Any,
) -> CompiledCall | str:  # fmt: skip
    """Run what was traced: how a later run makes the result, or why it cannot."""
    outputs = Flattened()
    try:
        returned = outputs.describe(result)
        refused = unknown_result(outputs, flattened, recorder, capture)
        if refused:
            return refused
        results, backward = finish_capture(capture, outputs.leaves)
        if family is not None and capture.sizes is not None:
            results, backward = family.close(capture, results, backward)
        else:
            family = None
    except (TypeError, RecursionError, TracingError) as error:
        return str(error)
    # of one tensor nothing is to be put together
    whole = next if returned[0] == "tensor" else lambda leaves: rebuild(returned, leaves, [])
    return CompiledCall(capture, recorder.guards, results, whole, backward, family)


def _after_error(
    error: BaseException, pure: bool, capture: Capture, family: ShapeFamily | None
) -> tuple[bool, bool]:
    """Leave what eager code leaves: whether the call is traced again with plain sizes, and whether
    it is run eagerly.

    ``pure``: whether it has done nothing besides to tensors."""
    if pure and family is not None and by_library(error) and capture.discard():
        return True, False
    eager = (
        pure and capture.unfinished is not None and not capture.graph_break and not capture.steps
    )
    try:
        if not eager:
            capture.end()
    finally:
        if family is not None:
            replace_leaked_sizes(family.sizes)
    return False, eager


def jit(
    function: Callable[..., Any], whole: type[Exception] | None = None, recorded: bool = False,
    limit: int | None = None, dynamic: bool | None = None,
) -> Jitted:  # fmt: skip
    """``function``, captured once for each structure of arguments and then run as kernels.

    What it does to tensors is captured: forward, ``backward()``, writes in place, random numbers
    and optimizers' steps. Python values that it reads are guards; where one has changed, the call
    is captured again. A function that asks for data (``item()``, ``print``) or changes Python
    objects runs in lazy mode; ``jitted.eager`` says why. The arguments are attributes of
    :class:`Jitted`.
    """
    return Jitted(function, whole, recorded, limit, dynamic)
