"""The op: what it declares, and the plans of its calls.

How it is called stands in :mod:`.dispatch`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal

from mindtorch.kernels.support.first_use_clock import clock as first_use

from . import dtypes, kernel_gaps, stored_types
from .autograd import tape
from .aval import Aval, dense_like, is_channels_last, unanswered
from .bounded_cache import Bounded
from .callbacks import callbacks
from .devices.device import backend_of, cpu, empty_on, meta
from .dispatch import (
    KERNEL,
    SEVERAL,
    VIEW,
    Dispatch,
    bound,
    compiled,
    holds_answered,
    holds_sharded,
)
from .kernel_modules import kernel_module
from .mixed_devices import on_one_device
from .result_strides import Rule, with_layout
from .tensor import as_array as host_view


class Plan:
    """How to run an op on inputs of known avals.

    Attributes:
        avals: those of the results.
        kind: KERNEL (one result), SEVERAL, VIEW (of input 0), SHARDED (over several processes).
        run: ``run(*flat outs, *flat ins)``; for a view, the offset of its first element.
        rules: how the op's gradients were computed before (:mod:`.call_cache.vjp_cache`).
        record: makes a node for results that are tracked (:func:`.autograd.tape.record`).
        passes: the backward passes from such a result on (:mod:`.call_cache.pass_cache`).
    """

    __slots__ = (
        "aval", "avals", "differentiable", "dtype", "empty", "in_avals", "keep", "kind",
        "passes", "record", "rules", "run", "size", "tracks",
    )  # fmt: skip

    def __init__(self, avals: tuple[Aval, ...], in_avals: tuple[Aval | None, ...]) -> None:
        self.avals = avals
        self.aval = avals[0]
        self.in_avals = in_avals
        self.size = avals[0].extent
        self.dtype = avals[0].dtype.np
        sizes = [a.extent * a.dtype.itemsize for a in avals]
        known = all(type(each) is int for each in sizes)  # and none that may be another
        self.empty = empty_on(avals[0].device, max(sizes) if known else None)
        self.keep: dict[int, Any] = {}
        self.rules: Bounded | None = None
        self.passes: Any = None
        self.record: Callable[..., Any] = tape.record
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
# of autocast: the lower precision, float32, the widest of the inputs' types; "quotient" is float32
# where the dividend is a number
Policy = Literal["lower", "full", "widest", "quotient"]


class Op(Dispatch):
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
        grad_name: the name of the tape's node, where it is another; a function of the inputs' avals
            and the params where torch has several names for what is one op here.
        in_place_safe: the result may be written over an input that lies as it does.
        keeps_from: a rule that asks for all ``inputs`` gets those from this place on.
        layout: of :mod:`.layouts`, where the results' elements lie, for an op whose kernel writes C
            order only; None for C order, or for an op whose kernel writes what ``aval`` says.
        scalar_step: of an op that computes each element by itself: ``scalar_step(aval, in_avals)``
            is the scalar function, its operands as places among the inputs, and numpy's type of
            the arithmetic; None where there is no such function.
        compiled: ``"module.function"`` of what makes plans for compiled functions on the CPU, the
            first that suits: the same results but for rounding
            (:mod:`.compile.passes.kernel_substitution`).
        autocast, autocast_cuda: in which precision an autocast block computes it, on the CPU and on
            CUDA, by torch's two lists (:data:`Policy`); None for that of its inputs.
        dtypes: ``dtypes(*input avals)`` raises torch's error for element types that torch's kernel
            does not take where ours would (:mod:`.dtype_support`).
        index_bounds: ``index_bounds(inputs, params)``: the inputs that are indices, with the sizes
            that they index (:mod:`.ops.index_bounds`).
        inner: ``inner(*input avals)``: the op that torch computes it by, and the shapes that that
            one is given; profilers show it.
        checks_values: the kernel may refuse the numbers that it finds in its inputs; so it may
            where there are ``index_bounds``.
        leading: the input that alone tells where the result is described (:mod:`.mixed_devices`).
        asked: in which order torch compares the inputs' devices, which errors show.
        writes_unrecorded: the tape does not see it where it writes in place, as torch's does not.

    Attributes:
        on_device: the inputs up to here lie on one device; the others may lie on the host.
        updates: the result is the first input with some places written (``families.Update``).
        stored: what types that are stored alone have of it (:mod:`.stored_types`).
        saves_second_first: hooks see the second of two saved inputs before the first, since the
            derivative by the first reads it.
    """

    on_device: int | None = None
    updates = False
    stored = ""
    saves_second_first = False

    def __init__(
        self,
        name: str,
        aval: Callable[..., Any],
        kernel: str | None = None,
        *,
        vjp: Any = None,
        view: Callable[..., int] | None = None,
        grad_name: str | Callable[[Any, Any], str] | None = None,
        in_place_safe: bool = False,
        keeps_from: int = 0,
        layout: Rule | None = None,
        scalar_step: Callable[..., Any] | None = None,
        compiled: tuple[str, ...] = (),
        autocast: Policy | None = None,
        autocast_cuda: Policy | None = None,
        dtypes: Callable[..., None] | None = None,
        index_bounds: Callable[[Any, Any], Any] | None = None,
        inner: Callable[..., tuple[str, list[Any]]] | None = None,
        checks_values: bool = False,
        leading: int | None = None,
        asked: tuple[int, ...] = (),
        writes_unrecorded: bool = False,
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
        self.autocast = autocast
        self.autocast_cuda = autocast_cuda
        self.dtypes = dtypes
        self.index_bounds = index_bounds
        self.inner = inner
        self.checks_values = checks_values or index_bounds is not None
        self.leading, self.asked = leading, asked
        self.writes_unrecorded = writes_unrecorded
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

    def node_name(self, avals: Any, params: Any) -> str:
        """The name of its node on the tape, applied to inputs of these avals."""
        name = self.grad_name
        return name if isinstance(name, str) else name(avals, params)

    def check_dtypes(self, *avals: Aval | None) -> None:
        """Raise torch's error where torch's kernel does not take the inputs' types."""
        if self.dtypes is not None:
            self.dtypes(*avals)

    def scalar_step(self, aval: Aval, in_avals: Any) -> Any:
        """How the op is a step of a larger loop; None for one that is not."""
        if self._scalar_step is None or any(map(stored_types.is_stored, (aval, *in_avals))):
            return None
        return self._scalar_step(aval, in_avals)

    def plan_for(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Plan:
        """The plan for these inputs, made if it is not known yet."""
        key: Any = tuple([None if x is None else x.aval for x in inputs])
        if params:
            key = (*key, *params.items())
        plan = self._plans.get(key)
        if plan is None:
            if callbacks.plan_sharded is not None and holds_sharded(inputs):
                sharded: Plan = callbacks.plan_sharded(self, inputs, params)
                return sharded
            if callbacks.call_answered is not None and holds_answered(inputs):
                raise TypeError(f"{self.name}: the class of a tensor answers for ops")
            plan = self._plans.keep(key, self.plan(inputs, params))
        return plan

    def plan_without_kernel(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Plan:
        """The results' avals alone, where something else computes them."""
        in_avals = tuple(None if x is None else unanswered(x.aval) for x in inputs)
        avals = self.aval(*in_avals, **params)
        return Plan(avals if isinstance(avals, tuple) else (avals,), in_avals)

    def plan(self, inputs: tuple[Any, ...], params: dict[str, Any]) -> Plan:
        """Derive the results' avals and bind the kernel."""
        in_avals = tuple(None if x is None else x.aval for x in inputs)
        in_avals = on_one_device(self, in_avals)
        avals = self.aval(*in_avals, **params)
        self.check_dtypes(*in_avals)
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
            with first_use:
                plan.run = self.bound(plan.avals, in_avals, params)
        return plan

    def bound(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
        """The callable on flat arrays, on whatever devices these lie."""
        if any(map(stored_types.is_stored, (*avals, *in_avals))):
            return stored_types.bound(self, avals, in_avals, params)
        if self.layout is not None and not all(a.contiguous for a in avals):
            if not self._writes_as_they_lie(avals, in_avals):
                return self._moved(avals, in_avals, params)
            return self.bind(avals, in_avals, params)
        elsewhere = backend_of(*avals, *in_avals)
        if elsewhere is not None:
            return elsewhere.bind(self, avals, in_avals, params)
        return self.bind(avals, in_avals, params)

    def _writes_as_they_lie(self, avals: Any, in_avals: Any) -> bool:
        """Whether the kernel itself writes results whose channels lie last, or in columns."""
        if any(a is not None and a.device is not cpu for a in (*avals, *in_avals)):
            return False
        kernel = find_kernel(self, "cpu")
        if getattr(kernel, "writes_columns", False):
            return True
        marked = getattr(kernel, "writes_channels_last", False)
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


OPS: dict[str, Op] = {}


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
    elsewhere = backend_of(avals[0])
    forms: list[str] = []
    facts: list[Any] = []
    fact: tuple[Any, ...]
    for each in (*avals, *in_avals):
        if each is None:
            form, fact = _NONE, ()
        elif elsewhere is not None:
            form, fact = _OTHER, (functools.partial(_form_of, elsewhere.array_of, each),)
        elif not each.contiguous:
            form, fact = _OTHER, (functools.partial(_host_form, each),)
        elif each.ndim == 1:
            form, fact = _FLAT, (each.size,)
        else:
            form, fact = _SHAPED, (each.size, each.shape)
        forms.append(form)
        facts += fact
    if params:
        function = functools.partial(function, **params)
    return bound(_code_of_form(len(avals), tuple(forms)), function, *facts)


# the texts of an operand as an array, and the facts of its aval that they name
_NONE, _OTHER = "None", "{a}({f})"
_FLAT = "({f} if {f}.size == {a} else {f}[:{a}])"
_SHAPED = "({f} if {f}.size == {a} else {f}[:{a}]).reshape({b})"


@functools.cache
def _code_of_form(count: int, forms: tuple[str, ...]) -> Any:
    """The code that calls a function with so many results, on flat arrays of these forms."""
    flats, names, texts = [], ["function"], []
    for i, form in enumerate(forms):
        flats.append(f"f{i}")
        texts.append(form.format(f=f"f{i}", a=f"a{i}", b=f"b{i}"))
        names += [f"{n}{i}" for n in "ab" if f"{{{n}}}" in form]
    outs = texts[0] if count == 1 else f"({', '.join(texts[:count])})"
    call = f"function({', '.join([outs, *texts[count:]])})"
    text = f"def run({', '.join([*flats, *names])}):\n    {call}\n"
    return compiled(text, "run", f"arrays, {count} of {forms}").__code__


def _form_of(array_of: Callable[..., Any], aval: Aval, data: Any) -> Any:
    return array_of(data, aval)


def _host_form(aval: Aval, data: Any) -> Any:
    return host_view(data, aval)


def find_kernel(op: Op, device: str) -> Any:
    """The kernel function of ``op`` for a device type; NotImplementedError with the gap's
    reason."""
    if op.kernel is None:
        raise NotImplementedError(f"{op.name} has no kernel")
    module, _, function = op.kernel.partition(".")
    try:
        return getattr(kernel_module(device, module), function)
    except (ModuleNotFoundError, AttributeError) as error:
        stated = kernel_gaps.reason_for(op.kernel, device) or kernel_gaps.on_host(op.kernel)
        reason = stated or f"it has no kernel {op.kernel}"
        raise NotImplementedError(
            f"Could not run '{op.name}' on the '{device}' device: {reason}"
        ) from error
