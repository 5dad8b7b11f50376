"""Functions whose gradient the user writes."""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mindtorch._module_names import is_ours
from mindtorch.engine import dtypes
from mindtorch.engine.autograd import api, inplace, tape
from mindtorch.engine.autograd.saved_tensors import DETACHED, PackedTensor, kept, saved_tensor_hooks
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import alias, full_flat, version_of
from mindtorch.engine.transforms.vmap import innermost, lift
from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons
from mindtorch.torch.autograd._forward_levels import have_tangents

from ._mapped_function import check_function, outputs_of


class FunctionCtx:
    """What ``forward`` keeps for ``backward``."""

    def __init__(self) -> None:
        self.to_save: tuple[Any, ...] = ()
        self.needs_input_grad: tuple[bool, ...] = ()
        self.materialize_grads = True
        self.non_differentiable: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Any, ...] = ()
        self.saved_for_forward: tuple[Any, ...] | None = None
        self._node: Any = None  # a weak reference: the node holds the context
        self._in_jvp = False
        self.passes_on = False  # the results are the inputs, detached
        self._materialize_non_diff_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors; in-place writes to them are noticed."""
        for x in tensors:
            if x is not None and not isinstance(x, EngineTensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument is of type "
                    f"{type(x).__name__}"
                )
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for ``jvp``, whose ``saved_tensors`` they are."""
        self.saved_for_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self._in_jvp:
            return self.saved_for_forward or ()
        if self._node is None:
            return self.to_save
        node = self._node()
        if node is None:
            raise RuntimeError(tape.TWICE)
        unpacked: tuple[Any, ...] = node.unpack()
        return unpacked

    def mark_non_differentiable(self, *outputs: Any) -> None:
        """These outputs have no gradient."""
        self.non_differentiable = outputs

    def mark_dirty(self, *inputs: Any) -> None:
        """These inputs were written in place and are returned."""
        self.dirty_tensors = inputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether missing gradients of outputs arrive as zeros (the default) or None."""
        self.materialize_grads = value


class _Plan(NamedTuple):
    """What the tape asks of a node's plan."""

    in_avals: tuple[Any, ...]


class FunctionNode:
    """The tape's node of one application of a Function.

    Attributes:
        output_views: names of the function by the places of results that are views, or inputs as
            they were given: nothing may be written to them in place.
    """

    output_views: Mapping[int, str] = MappingProxyType({})

    def __init__(
        self, function: Any, ctx: FunctionCtx, edges: Any, inputs: Any, outputs: Any, results: Any
    ) -> None:
        self.function = function
        self.plan = _Plan(tuple(None if x is None else x.aval for x in inputs))
        self.ctx = ctx
        self.edges = edges
        self.out_avals = tuple(x.aval for x in outputs)
        self.are_tensors = [isinstance(x, EngineTensor) for x in results]
        self.hooks: Any = None
        self.metadata: dict[Any, Any] = {}
        self.sequence = next(tape.sequence)
        self.released = False
        self.saved: Any = ()
        self.versions: Any = ()
        self.own: Any = ()
        self.computed: Any = ()
        self.fixed: tuple[int, ...] = ()
        self.pushed: tuple[Any, Any] | None = None
        if tape.anomaly.enabled:
            tape.anomaly.note_node(self)

    def name(self) -> str:
        return self.function._node_name or f"{self.function.__name__}Backward"

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.name()} object at {id(self):#x}>"

    def __getattr__(self, name: str) -> Any:
        """What the function left in its context: torch's node is the context."""
        if name.startswith("__") or name == "ctx":
            raise AttributeError(name)
        return getattr(self.ctx, name)

    @property
    def next_functions(self) -> Any:
        return tuple((None, 0) if e is None else (tape.shown(e[0]), e[1]) for e in self.edges)

    def register_hook(self, hook: Any) -> Any:
        return tape.add_hook(self, "post", hook)

    def register_prehook(self, hook: Any) -> Any:
        return tape.add_hook(self, "pre", hook)

    def keep(self, outputs: Any) -> None:
        """Hold what ``save_for_backward`` was given; outputs without a reference cycle."""
        places = {id(x): index for index, x in enumerate(outputs)}
        self.own = tuple(places.get(id(x)) for x in self.ctx.to_save)
        tensors = [
            x if index is None else self._result(x, index) if saved_tensor_hooks else alias(x)
            for x, index in zip(self.ctx.to_save, self.own, strict=True)
        ]
        self.computed = tuple(x is not None and not tape.is_leaf(x) for x in tensors)
        self.saved = tuple(kept(tensors, [
            (None, 0) if x is None or index is not None else (tape.node_of(x), x._output_index)
            for x, index in zip(tensors, self.own, strict=True)
        ]))  # fmt: skip
        self.versions = tuple(
            x._storage.kept_version if isinstance(x, EngineTensor) and x._storage is not None else 0
            for x in self.saved
        )
        self.ctx.to_save = ()

    def _result(self, x: Any, index: int) -> Any:
        """The result with this number, of which the node holds what has no node."""
        x = alias(x)
        x._node, x._output_index = self, index
        return x

    def unpack(self) -> tuple[Any, ...]:
        if self.released:
            raise RuntimeError(tape.TWICE)
        values = []
        for x, index, version, computed in zip(
            self.saved, self.own, self.versions, self.computed, strict=True
        ):
            if isinstance(x, PackedTensor):
                x = x.unpack()
            elif x is not None and version_of(x) != version:
                producer = None if index is None else self
                raise tape.modified(x, version, producer, index or 0)  # type: ignore[arg-type]
            elif x is not None and computed and x._node is None and index is None:
                raise RuntimeError(DETACHED)
            values.append(x if index is None else self._result(x, index))
        return tuple(values)

    def push(self, inputs: Any) -> None:
        """Call ``jvp`` on tangents that are tracked: its transpose is a backward."""
        with api.grad_mode(True):
            tangents = [
                None if e is None
                else api.track(lift(full_flat(x.aval.shape, x.aval.dtype, 0, x.aval.device)))
                for e, x in zip(self.edges, inputs, strict=True)
            ]  # fmt: skip
            given = [  # results, so that jvp may write to them
                full_flat(x.aval.shape, x.aval.dtype, 0, x.aval.device)
                if t is None and x is not None and x.aval.dtype.category >= dtypes.FLOAT
                and self.ctx.materialize_grads else None if t is None else inplace.same_memory(t)
                for t, x in zip(tangents, inputs, strict=True)
            ]  # fmt: skip
            self.ctx._in_jvp = True
            try:
                results = self.function.jvp(self.ctx, *given)
            finally:
                self.ctx._in_jvp = False
        self.pushed = tangents, results if isinstance(results, tuple) else (results,)

    def _transposed(self, gradients: Any) -> tuple[Any, ...]:
        """J^T g, ``jvp`` having computed J t for tracked t."""
        tangents, results = self.pushed  # type: ignore[misc]
        rows = [(r, g) for r, g in zip(results, gradients, strict=True)
                if r is not None and g is not None and tape.requires_grad(r)]  # fmt: skip
        targets = [t for t in tangents if t is not None]
        found: list[Any] = [None] * len(targets)
        if rows:
            found = api.gradients(
                [r for r, _ in rows], targets, [g for _, g in rows], retain_graph=True,
                create_graph=state.grad_enabled, allow_unused=True,
            )  # fmt: skip
        waiting = iter(found)
        return tuple(None if t is None else next(waiting) for t in tangents)

    def release(self) -> None:
        if self.saved:
            self.saved = ()
            self.released = True

    def apply(self, gradients: Any, needed: Any) -> Any:
        if self.ctx.materialize_grads:
            gradients = [
                full_flat(a.shape, a.dtype, 0) if g is None and index not in self.fixed else g
                for index, (g, a) in enumerate(zip(gradients, self.out_avals, strict=True))
            ]
        if self.pushed is not None:
            results = self._transposed(gradients)
        else:
            given = iter(gradients)  # what is no tensor has None
            results = rule_of(self.function)(
                self.ctx, *[next(given) if each else None for each in self.are_tensors]
            )
        if not isinstance(results, tuple):
            results = (results,)
        count = len(self.edges)
        if len(results) > count and all(r is None for r in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{count}, got {len(results)})"
            )
        for index, (g, wanted) in enumerate(zip(results, self.plan.in_avals, strict=True)):
            if not needed[index] or g is None:
                continue
            if not isinstance(g, EngineTensor):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
            self._check_shape(index, g.aval.shape, wanted.shape)
        return results

    def _check_shape(self, index: int, shape: Any, wanted: Any) -> None:
        """A gradient may be that of the input broadcast: it is summed."""
        tail = shape[len(shape) - len(wanted) :]
        if len(wanted) > len(shape) or any(
            m not in (1, n) for n, m in zip(tail, wanted, strict=True)
        ):
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {index} - got "
                f"{list(shape)} but expected shape compatible with {list(wanted)}"
            )


def rule_of(function: Any) -> Any:
    """The ``backward`` of a function, or its ``vjp``."""
    own = function.vjp is not Function.vjp
    if own and function.backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    return function.vjp if own else function.backward


class _FunctionMeta(type):
    """Functions are used through their class; each has its own class of nodes, for scripts.

    Our own are ``_plain``: what torch has operators for, of which no more is asked.
    """

    def __init__(cls, name: str, bases: Any, fields: Any) -> None:
        super().__init__(name, bases, fields)
        if "_plain" not in fields:
            cls._plain = is_ours(cls.__module__)
        cls._backward_cls = type(f"{name}Backward", (FunctionNode,), {"_forward_cls": cls})


class Function(metaclass=_FunctionMeta):
    """Base of user functions: static ``forward(ctx, ...)`` and ``backward(ctx, *grads)``.

    Attributes:
        generate_vmap_rule: vmap maps forward, ``setup_context`` and backward.
    """

    generate_vmap_rule = False
    _node_name = ""  # of the nodes of our own, where torch has an operator for them

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward  # which functions may define in its place

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """(outputs, their batch axes) for ``args`` whose batch axes are ``in_dims``."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward`` and put ``backward`` on the tape."""
        ctx = FunctionCtx()
        separate = cls.setup_context is not Function.setup_context
        if separate and not kwargs and getattr(cls.forward, "__defaults__", None):
            bound = inspect.signature(cls.forward).bind(*args)
            bound.apply_defaults()
            args = bound.args
        level = innermost()
        if state.level or level is not None:
            check_function(cls, Function, level is not None)
        if level is not None:
            if not any(isinstance(x, EngineTensor) and level.owns(x) for x in args):
                return level.outside(cls.apply, *args, **kwargs)
        tensors = [x if isinstance(x, EngineTensor) else None for x in args]
        if level is not None:
            tensors = [level.lift(x) for x in tensors]
        nodes = [None if x is None else tape.node_of(x) for x in tensors]
        ctx.needs_input_grad = tuple(n is not None for n in nodes)
        outputs = None if level is None else outputs_of(cls, level, args, kwargs)
        with api.grad_mode(False):
            if level is None:
                outputs = (
                    cls.forward(*args, **kwargs) if separate else cls.forward(ctx, *args, **kwargs)
                )
            if separate:
                cls.setup_context(ctx, args, outputs)
        if not state.grad_enabled or not any(ctx.needs_input_grad):
            return outputs
        return _tracked(cls, ctx, tensors, nodes, outputs)


def _tracked(function: Any, ctx: FunctionCtx, tensors: Any, nodes: Any, outputs: Any) -> Any:
    many = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    inputs = {id(x) for x in tensors if x is not None}
    dirty = {id(x) for x in ctx.dirty_tensors}
    for x in ctx.dirty_tensors:
        if isinstance(x, EngineTensor) and tape.requires_grad(x) and tape.is_leaf(x):
            raise RuntimeError(
                "a leaf Variable that requires grad has been used in an in-place operation."
            )
    fixed = {id(x) for x in ctx.non_differentiable}
    views = [
        isinstance(x, EngineTensor) and id(x) not in dirty and id(x) not in fixed
        and (id(x) in inputs or ctx.passes_on or type(x._node) is tape.ViewHistory)
        for x in many if isinstance(x, EngineTensor)
    ]  # fmt: skip
    results = [
        alias(x) if isinstance(x, EngineTensor) and id(x) in inputs and id(x) not in dirty else x
        for x in many
    ]
    produced = [x for x in results if isinstance(x, EngineTensor)]
    edges = tuple(
        None if n is None else (n, x._output_index)
        for n, x in zip(nodes, tensors, strict=True)
    )
    node = function._backward_cls(function, ctx, edges, tensors, produced, results)
    ctx._node = weakref.ref(node)
    if not ctx._materialize_non_diff_grads:
        node.fixed = tuple(i for i, x in enumerate(produced) if id(x) in fixed)
    node.keep(produced)
    if True in views:
        node.output_views = {i: function.__name__ for i, is_view in enumerate(views) if is_view}
    for index, x in enumerate(produced):
        if id(x) in fixed or x.aval.dtype.category < 2:
            continue
        if id(x) in dirty and type(x._node) is tape.ViewHistory:
            value = tape.detached(x)
            value._node, value._output_index = node, index
            inplace.rebase(x, value)  # what x is a view of changes with it
            continue
        x._node = node
        x._output_index = index
    forward_mode = not function._plain and have_tangents([x for x in tensors if x is not None])
    own_jvp = function.jvp is not Function.jvp
    if forward_mode or (own_jvp and rule_of(function) is Function.backward):
        node.push(tensors)
    if isinstance(outputs, (tuple, list)):
        return tuple(results)
    return results[0]


class DelayedError(Function):
    """Its inputs, whose derivative raises RuntimeError with a text."""

    @staticmethod
    def forward(ctx: Any, text: str, *tensors: Any) -> Any:
        ctx.text = text
        return tuple(x.detach() if isinstance(x, EngineTensor) else x for x in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError(ctx.text)


class Underivable(Function):
    """A value that was computed from a tensor: NotImplementedError where backward comes by."""

    @staticmethod
    def forward(ctx: Any, text: str, source: Any, value: Any) -> Any:
        ctx.text = text
        return value.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(ctx.text)


def once_differentiable(backward: Any) -> Any:
    """A ``backward`` whose own result cannot be differentiated: RuntimeError if somebody tries."""

    @functools.wraps(backward)
    def wrapped(ctx: Any, *gradients: Any) -> Any:
        with api.grad_mode(False):
            results = backward(ctx, *gradients)
        if not state.grad_enabled or not any(
            isinstance(g, EngineTensor) and tape.requires_grad(g) for g in gradients
        ):
            return results
        many = results if isinstance(results, tuple) else (results,)
        with api.grad_mode(True):
            tracked = [
                api.track(alias(x)) if isinstance(x, EngineTensor) else x for x in many
            ]
            found = DelayedError.apply(
                "trying to differentiate twice a function that was marked with "
                "@once_differentiable", *tracked,
            )  # fmt: skip
        return found if isinstance(results, tuple) else found[0]

    return wrapped


InplaceFunction = Function


_give_reasons(globals())
