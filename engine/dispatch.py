"""The op: declared once, called through one door.

``Op.__call__`` looks up a plan for the avals of its inputs, allocates, runs the kernel, and puts a
node on the tape when an input is tracked. Interpreters (captures, lazy mode, vmap, profiles) take
over at the same door while they are active.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from . import allocator, dtype_support, dtypes, kernel_gaps
from .autograd import tape
from .aval import Aval, dense_like, is_channels_last
from .bounded_cache import Bounded
from .devices.device import backend_of, cpu, empty_on, meta
from .result_strides import Rule, with_layout
from .state import AUTOCAST as AUTOCAST
from .state import GRAD as GRAD
from .state import INFERENCE as INFERENCE
from .state import INTERPRETED as INTERPRETED
from .state import NO_GRAD as NO_GRAD
from .state import RECORDING_CALL as RECORDING_CALL
from .state import TRANSFORM as TRANSFORM
from .state import state as state
from .tensor import InferenceStorage, InnerStorage, Tensor, make, result_types, typed_buffer
from .tensor import as_array as host_view

allocator.keep_freed_memory()
_new = object.__new__
KERNEL, VIEW, SEVERAL, NOTHING = range(4)


def graph_under_way() -> Any:
    """The capture or lazy run that the next op goes to; None outside of all and inside of other
    transformations."""
    top = state.interpreters[-1] if state.interpreters else None
    return top if top is not None and top.is_capture else None


class Plan:
    """How to run an op on inputs of known avals.

    Attributes:
        avals: those of the results.
        kind: KERNEL (one result), SEVERAL, VIEW (of input 0), NOTHING (an empty result).
        run: ``run(*flat outs, *flat ins)``; for a view, the offset of its first element.
        rules: how the op's gradients were computed before (:mod:`.call_cache.vjp_cache`).
    """

    __slots__ = (
        "aval", "avals", "differentiable", "dtype", "empty", "in_avals", "keep", "kind", "rules",
        "run", "size", "tracks",
    )  # fmt: skip

    def __init__(self, avals: tuple[Aval, ...], in_avals: tuple[Aval | None, ...]) -> None:
        self.avals = avals
        self.aval = avals[0]
        self.in_avals = in_avals
        self.size = avals[0].extent
        self.dtype = avals[0].dtype.np
        self.empty = empty_on(avals[0].device)
        self.keep: dict[int, Any] = {}
        self.rules: Bounded | None = None
        self.differentiable = tuple(a.dtype.category >= dtypes.FLOAT for a in avals)
        self.tracks = any(self.differentiable)
        self.kind = KERNEL
        self.run: Any = None


class Moved:
    """A kernel that writes C order, and copies of its results to where they are to lie.

    Attributes:
        scratch: what the results are that are computed first; a program plans their memory.
    """

    def __init__(
        self, run: Callable[..., Any], copies: Sequence[Any], made: Sequence[Aval]
    ) -> None:
        self._run = run
        self._copies = copies
        self.scratch = [a for a, copy in zip(made, copies, strict=True) if copy is not None]

    def __call__(self, *flat: Any) -> None:
        self.planned(*flat, *[empty_on(a.device)(a.size, a.dtype.np) for a in self.scratch])

    def planned(self, *flat: Any) -> None:
        """``run(*flat outs, *flat ins, *memory of the scratch)``."""
        count, end = len(self._copies), len(flat) - len(self.scratch)
        scratch = iter(flat[end:])
        outs = [
            target if copy is None else next(scratch)
            for target, copy in zip(flat[:count], self._copies, strict=True)
        ]
        self._run(*outs, *flat[count:end])
        for target, copy, out in zip(flat, self._copies, outs, strict=False):
            if copy is not None:
                copy(target, out)


_MOST_PLANS = 2048  # of one op


class Op:
    """A primitive operation.

    Args:
        name: as torch names it; the tape's node is ``<Name>Backward0``.
        aval: ``aval(*input avals, **params)``: shape, dtype and layout of the result (a tuple for
            several results). The only shape rule: it raises torch's errors.
        kernel: ``"module.function"`` under ``mindtorch.kernels.<device>``.
        vjp: one rule for each input (None where the derivative is zero), or one function with an
            argument ``needs`` that returns a gradient for each input. Arguments are found by name:
            ``g``, ``out``, and the inputs and params as ``aval`` names them. None for an op
            without derivative.
        view: ``view(aval, **params)`` -> offset of the result's first element within input 0.
        grad_name: the name of the tape's node, where it is another.
        in_place_safe: the result may be written over an input that lies as it does.
        keeps_from: a rule that asks for all ``inputs`` gets those from this place on.
        layout: of :mod:`.layouts`, where the results' elements lie, for an op whose kernel writes C
            order only; None for C order, or for an op whose kernel writes what ``aval`` says.
        scalar_step: of an op that computes each element by itself: ``scalar_step(aval, in_avals)``
            is the scalar function, its operands as places among the inputs, and numpy's type of
            the arithmetic; None where there is no such function.
        compiled: ``"module.function"``, what makes plans for compiled functions on the CPU: the
            same results but for rounding (:mod:`.compile.passes.kernel_substitution`).

    Attributes:
        on_device: the inputs up to here lie on one device; the others may lie on the host.
        updates: the result is the first input with some places written (``families.Update``).
    """

    on_device: int | None = None
    updates = False

    def __init__(
        self,
        name: str,
        aval: Callable[..., Any],
        kernel: str | None = None,
        *,
        vjp: Any = None,
        view: Callable[..., int] | None = None,
        grad_name: str | None = None,
        in_place_safe: bool = False,
        keeps_from: int = 0,
        layout: Rule | None = None,
        scalar_step: Callable[..., Any] | None = None,
        compiled: str | None = None,
    ) -> None:
        self.name = name
        self.layout = layout
        self.aval = aval if layout is None else with_layout(aval, layout)
        self.kernel = kernel
        self.compiled = compiled
        self.view = view
        self.in_place_safe = in_place_safe
        self.keeps_from = keeps_from
        self._scalar_step = scalar_step
        words = name.strip("_").split("_")
        camel = "".join(w[:1].upper() + w[1:] for w in words)
        self.grad_name = grad_name or f"{camel}Backward0"
        self.input_names, self.variadic, self.defaults = _signature_of(aval)
        self.rules = tape.bind_rules(self, vjp)
        self._plans = Bounded(_MOST_PLANS)
        if name in OPS:
            raise ValueError(f"op {name} is declared twice")
        OPS[name] = self

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def scalar_step(self, aval: Aval, in_avals: Any) -> Any:
        """How the op is a step of a larger loop; None for one that is not."""
        return None if self._scalar_step is None else self._scalar_step(aval, in_avals)

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
            inputs = state.autocast(self.name, *inputs)
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

    def plan_for(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Plan:
        """The plan for these inputs, made if it is not known yet."""
        key: Any = tuple([None if x is None else x.aval for x in inputs])
        if params:
            key = (*key, *params.items())
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans.keep(key, self.plan(inputs, params))
        return plan

    def plan(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Plan:
        """Derive the results' avals and bind the kernel."""
        in_avals = tuple(None if x is None else x.aval for x in inputs)
        check_devices(in_avals[: self.on_device])
        avals = self.aval(*in_avals, **params)
        dtype_support.check(self.name, in_avals)
        several = isinstance(avals, tuple)
        plan = Plan(avals if several else (avals,), in_avals)
        if self.view is not None:
            plan.kind = VIEW
            plan.run = self.view(*in_avals, **params)
            return plan
        if several:
            plan.kind = SEVERAL
        if all(a.size == 0 or a.device is meta for a in plan.avals):
            plan.run = _run_nothing
        else:
            plan.run = self.bound(plan.avals, in_avals, params)
        return plan

    def bound(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
        """The callable on flat arrays, on whatever devices these lie."""
        if self.layout is not None and not all(a.contiguous for a in avals):
            if not self._writes_as_they_lie(avals, in_avals):
                return self._moved(avals, in_avals, params)
            return self.bind(avals, in_avals, params)
        elsewhere = backend_of(*avals, *in_avals)
        if elsewhere is not None:
            return elsewhere.bind(self, avals, in_avals, params)
        return self.bind(avals, in_avals, params)

    def _writes_as_they_lie(self, avals: Any, in_avals: Any) -> bool:
        """Whether the kernel itself writes results whose channels lie last."""
        if any(a is not None and a.device is not cpu for a in (*avals, *in_avals)):
            return False
        marked = getattr(find_kernel(self, "cpu"), "writes_channels_last", False)
        return marked and all(a.contiguous or is_channels_last(a.shape, a.strides) for a in avals)

    def _moved(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
        """The same for results that do not lie in C order: computed so, then copied."""
        made = tuple(dense_like(a) for a in avals)
        copies = [
            None if to.contiguous else OPS["clone"].bound((to,), (a,), {"strides": to.strides})
            for to, a in zip(avals, made, strict=True)
        ]
        return Moved(self.bound(made, in_avals, params), copies, made)

    def bind(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
        """The callable on flat arrays for these avals."""
        function = find_kernel(self, avals[0].device.type)
        make_plan = getattr(function, "plan", None)
        if make_plan is not None:
            run = make_plan(layouts(avals), layouts(in_avals), **params)
            if run is not None:
                return run
        if not any(a is not None and a.dtype.np.itemsize == 2 for a in (*avals, *in_avals)):
            function = getattr(function, "of_wide", function)
        return array_form(function, avals, in_avals, params)

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


OPS: dict[str, Op] = {}


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


def call_of(op: Op, arity: int) -> Callable[..., Any]:
    """``op(*inputs)``, with the fewest steps, for an op without params whose kernel has one result.

    Its frame has the op's name.
    """
    bind = _bind(arity, False)
    return in_frames_as(op.name, bind(op, None, _NO_PARAMS, op._plans, *[None] * 5))


def planned_call(op: Op, plan: Plan, params: dict[str, Any]) -> Callable[..., Any]:
    """``call(mode, *inputs)`` of an op whose plan, of a kernel with one result, is known."""
    facts = plan.empty, plan.size, plan.dtype, plan.aval, plan.run
    bind = _bind(len(plan.in_avals), True)
    return in_frames_as(op.name, bind(op, plan, params, None, *facts))


def in_frames_as(name: str, function: Any) -> Any:
    """``function``, which profiles and tracebacks name so."""
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    function.__name__ = function.__qualname__ = name
    return function


# further tables whose entries hold plans
tables_of_plans: list[Bounded] = []


def forget_plans() -> None:
    """Drop all plans: they depend on the default type."""
    for table in (*[op._plans for op in OPS.values()], *tables_of_plans):
        table.clear()


dtypes.when_default_changes.append(forget_plans)


def _signature_of(function: Callable[..., Any]) -> tuple[tuple[str, ...], bool, dict[str, Any]]:
    """Names of inputs, whether their number is open, and the params with their defaults."""
    function = inspect.unwrap(function)
    code, given = function.__code__, function.__kwdefaults__ or {}
    inputs = code.co_argcount
    names = code.co_varnames[: inputs + code.co_kwonlyargcount]
    params = {name: given.get(name, inspect.Parameter.empty) for name in names[inputs:]}
    return names[:inputs], bool(code.co_flags & inspect.CO_VARARGS), params


class Layout:
    """What a kernel may know of an array: shape, strides in elements, numpy dtype, whether the
    host holds it."""

    __slots__ = ("dtype", "on_host", "shape", "strides")

    def __init__(self, shape: Any, strides: Any, dtype: Any, on_host: bool = True) -> None:
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.on_host = on_host

    def __repr__(self) -> str:
        return f"Layout({self.shape}, {self.strides}, {self.dtype})"


def layouts(avals: Any) -> tuple[Any, ...]:
    return tuple(
        None if a is None else Layout(a.shape, a.strides, a.dtype.np, a.device is cpu)
        for a in avals
    )


def _run_nothing(*arrays: Any) -> None:
    """There are no elements to compute."""


def array_form(function: Any, avals: Any, in_avals: Any, params: dict[str, Any]) -> Any:
    """Call ``function(out, *ins, **params)`` on N-d views of flat arrays."""
    count = len(avals)
    elsewhere = backend_of(avals[0])
    if elsewhere is not None:
        array_of = elsewhere.array_of
        shapes: Any = [a and functools.partial(_form_of, array_of, a) for a in (*avals, *in_avals)]
    else:
        shapes = [None if a is None else _form(a) for a in (*avals, *in_avals)]
    if params:
        function = functools.partial(function, **params)

    def run(*flat: Any) -> None:
        arrays = [d if shape is None else shape(d) for d, shape in zip(flat, shapes, strict=True)]
        if count == 1:
            function(*arrays)
        else:
            function(tuple(arrays[:count]), *arrays[count:])

    return run


def _form_of(array_of: Callable[..., Any], aval: Aval, data: Any) -> Any:
    return array_of(data, aval)


def _form(aval: Aval) -> Callable[[Any], Any]:
    """:func:`host_view` for one aval."""
    shape, size = aval.shape, aval.size
    if not aval.contiguous:
        return lambda data: host_view(data, aval)
    if aval.ndim == 1:
        return lambda data: data if data.size == size else data[:size]
    return lambda data: (data if data.size == size else data[:size]).reshape(shape)


def find_kernel(op: Op, device: str) -> Any:
    """The kernel function of ``op`` for a device type; NotImplementedError with the gap's
    reason."""
    if op.kernel is None:
        raise NotImplementedError(f"{op.name} has no kernel")
    module, _, function = op.kernel.partition(".")
    try:
        found = importlib.import_module(f"mindtorch.kernels.{device}.{module}")
        return getattr(found, function)
    except (ModuleNotFoundError, AttributeError) as error:
        stated = kernel_gaps.reason_for(op.kernel, device) or kernel_gaps.on_host(op.kernel)
        reason = stated or f"it has no kernel {op.kernel}"
        raise NotImplementedError(
            f"Could not run '{op.name}' on the '{device}' device: {reason}"
        ) from error


def check_devices(avals: tuple[Aval | None, ...]) -> None:
    """All tensors are on one device; a 0-d tensor of the CPU goes with any."""
    devices = {a.device for a in avals if a is not None and not (a.device is cpu and not a.shape)}
    if len(devices) > 1:
        first, second = sorted((str(d) for d in devices), reverse=True)[:2]
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{first} and {second}!"
        )
