"""The tape: nodes of the define-by-run graph, views' histories, and hooks.

A node keeps only what its op's rules name. A view's place on the tape is a :class:`ViewHistory`:
it is derived again from the base when a write in place has changed the base's derivation.
"""

from __future__ import annotations

import inspect
import itertools
import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..state import apply_node
from ..tensor import Tensor, alias, capturing, make, version_of
from .saved_tensors import (
    DETACHED,
    PackedTensor,
    hooks_of_thread,
    kept,
    saved_tensor_hooks,
    saved_value,
)
from .torch_node_names import name_of

_sequence = itertools.count(1)


class Anomaly:
    """Whether backward checks what rules return, and for NaN.

    Attributes:
        note_node: called, while it is enabled, with each new node.
    """

    enabled = False
    check_nan = True
    note_node: Callable[[Any], None]


anomaly = Anomaly()


class Rule:
    """A vjp rule with the names of what it uses, resolved to places.

    Attributes:
        arguments: (kind, place) for each argument; kind is g, out, in, param, needs.
        inputs: indices of the inputs it uses.
        results: indices of the results it uses; None for all of them.
    """

    __slots__ = ("arguments", "function", "inputs", "results")

    def __init__(self, op: Any, function: Callable[..., Any]) -> None:
        self.function = function
        self.arguments: list[tuple[str, Any]] = []
        self.inputs: list[int] = []
        self.results: set[int] | None = set()
        for name in _argument_names(function):
            if name in ("g", "needs"):
                self.arguments.append((name, None))
            elif name == "out":
                self.results = None
                self.arguments.append(("out", None))
            elif re.fullmatch(r"out\d", name) and self.results is not None:
                self.results.add(int(name[3:]))
                self.arguments.append(("result", int(name[3:])))
            elif name in op.input_names:
                index = op.input_names.index(name)
                self.inputs.append(index)
                self.arguments.append(("in", index))
            elif name == "inputs" and op.variadic:
                self.arguments.append(("all", None))
            elif name == "avals":
                self.arguments.append(("avals", None))
            elif name in op.defaults:
                self.arguments.append(("param", name))
            else:
                raise TypeError(f"rule of {op.name}: nothing is called {name!r}")


def _argument_names(rule: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a rule's arguments, from its code: hundreds are read when ops are declared."""
    code = inspect.unwrap(rule).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def bind_rules(op: Any, vjp: Any) -> Any:
    """Rules of an op: a tuple (one for each input), one joint rule, or None."""
    if vjp is None:
        return None
    if callable(vjp):
        if "needs" in _argument_names(vjp) or op.variadic or len(op.input_names) != 1:
            return Rule(op, vjp)
        vjp = (vjp,)
    if len(vjp) != len(op.input_names):
        raise TypeError(f"{op.name} has {len(op.input_names)} inputs but {len(vjp)} rules")
    return tuple(None if rule is None else Rule(op, rule) for rule in vjp)


TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)


class Released:
    """Stands for the saved tensors of a node whose backward has run."""


_RELEASED = Released()
_NOTHING: dict[int, Any] = {}


class Node:
    """One application of an op.

    Attributes:
        edges: for each input None or (node, index of the node's result).
        kept: what the rules name: ("in" or "out", index).
        saved: those tensors.
        versions: their version counters when they were saved.
        hooks: functions on the gradient of a result, by result index.
        label: the name that scripts see, where it is not that of the op.
    """

    __slots__ = (
        "__weakref__", "edges", "hooks", "kept", "label", "metadata", "op", "params", "plan",
        "saved", "sequence", "versions",
    )  # fmt: skip

    versions: tuple[int, ...]
    label: str
    metadata: dict[str, Any]

    def __init__(self, op: Any, plan: Any, params: Any, edges: Any, kept: Any = ()) -> None:
        self.op = op
        self.plan = plan
        self.params = params
        self.edges = edges
        self.kept = kept
        self.hooks: dict[Any, Any] | None = None
        self.saved: Any = ()
        self.sequence = next(_sequence)
        if anomaly.enabled:
            anomaly.note_node(self)

    def __repr__(self) -> str:
        return f"<{self.name().rpartition(':')[2]} object at {id(self):#x}>"

    @property
    def out_avals(self) -> Any:
        return self.plan.avals

    def name(self) -> str:
        label: str | None = getattr(self, "label", None)
        return label or name_of(self.op, self.plan.in_avals, self.params)

    @property
    def next_functions(self) -> tuple[Any, ...]:
        return tuple(
            (None, 0) if edge is None else (shown(edge[0]), edge[1]) for edge in self.edges
        )

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        return add_hook(self, "post", hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        return add_hook(self, "pre", hook)

    def place_of_saved(self, at: int) -> tuple[Any, int]:
        """(node, index) of what this saved input is a result of; of its own results none."""
        if self.kept[at][0] == "out":
            return None, 0
        tensor = self.saved[at]
        return node_of(tensor), tensor._output_index

    def _sequence_nr(self) -> int:
        return self.sequence

    def __call__(self, *gradients: Tensor | None) -> Any:
        """The gradients of the inputs for those of the results."""
        found = apply_node(self, gradients, [edge is not None for edge in self.edges])
        return found[0] if len(found) == 1 else tuple(found)

    def release(self) -> None:
        if self.saved:
            self.saved = _RELEASED

    def apply(self, gradients: Sequence[Tensor | None], needed: Sequence[bool]) -> Sequence[Any]:
        """Gradients of the inputs that are ``needed``."""
        return self.ruled(gradients, needed, *self._unpack())

    def ruled(
        self, gradients: Sequence[Tensor | None], needed: Sequence[bool], inputs: Any, outs: Any
    ) -> Sequence[Any]:
        """:meth:`apply` to what was saved, by index."""
        several = len(self.out_avals) > 1
        g = tuple(gradients) if several else gradients[0]
        out = tuple(outs.values()) if several else outs.get(0)
        rules = self.op.rules
        if isinstance(rules, Rule):
            values = self._arguments(rules, g, out, outs, inputs, needed)
            results = rules.function(*values)
            return results if isinstance(results, (tuple, list)) else (results,)
        return [
            rule.function(*self._arguments(rule, g, out, outs, inputs, needed))
            if need and rule is not None
            else None
            for rule, need in zip(rules, needed, strict=True)
        ]

    def _arguments(
        self, rule: Rule, g: Any, out: Any, outs: Any, inputs: Any, needed: Any
    ) -> list[Any]:
        values: list[Any] = []
        params = self.params
        for kind, place in rule.arguments:
            if kind == "g":
                values.append(g)
            elif kind == "in":
                values.append(inputs[place])
            elif kind == "out":
                values.append(out)
            elif kind == "result":
                values.append(outs[place])
            elif kind == "needs":
                values.append(needed)
            elif kind == "avals":
                values.append(self.plan.in_avals)
            elif kind == "all":
                values.append(inputs)
            else:
                values.append(params[place] if place in params else self.op.defaults[place])
        return values

    def _unpack(self) -> tuple[Any, Any]:
        """Saved inputs and saved results by index; checks that nobody wrote to them."""
        if self.saved is _RELEASED:
            raise RuntimeError(TWICE)
        if not self.saved:
            return None, _NOTHING
        inputs: dict[int, Any] = {}
        outs: dict[int, Any] = {}
        for (kind, index), item, version in zip(
            self.kept, self.saved, self.versions, strict=True
        ):
            tensor = item
            if isinstance(item, PackedTensor):
                tensor = item.unpack()
            elif tensor is not None:
                if version_of(tensor) != version:
                    raise _modified(tensor, version, self if kind == "out" else None, index)
                if kind == "in" and tensor._node is None and was_computed(self.edges[index]):
                    raise RuntimeError(DETACHED)
            if kind == "out":
                tensor = alias(tensor)
                tensor._node = self
                if index:
                    tensor._output_index = index
                outs[index] = tensor
            else:
                inputs[index] = tensor
        return inputs, outs


def was_computed(edge: Any) -> bool:
    return edge is not None and type(edge[0]) is not AccumulateGrad


def _modified(tensor: Tensor, version: int, node: Node | None, index: int) -> RuntimeError:
    """The error for a saved tensor that was written to; ``node`` is what it is a result of."""
    kind, dtype = tensor_type_name(tensor), tensor.aval.dtype
    if dtype.is_complex or dtype is dtypes.bfloat16:  # which have no type of the old kind
        kind = f"{tensor.aval.device.type.upper()}{dtypes.scalar_type_name(dtype)}Type"
    producer = tensor._node
    made_by = ""
    if node is not None:
        made_by = f", which is output {index} of {short_name(node)},"
    elif producer is not None and not isinstance(producer, AccumulateGrad):
        source = node_of(tensor)
        if source is not None:
            made_by = f", which is output {tensor._output_index} of {short_name(source)},"
    now = version_of(tensor)
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{kind} {list(tensor.aval.shape)}]{made_by} is at version {now}; "
        f"expected version {version} instead. Hint: enable anomaly detection to find the "
        "operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def short_name(node: Any) -> str:
    """A node's name as error messages have it, without Backward0."""
    return re.sub(r"Backward\d*$", "", node.name())


def tensor_type_name(tensor: Tensor) -> str:
    place = "" if tensor.aval.device.type == "cpu" else f"{tensor.aval.device.type}."
    return f"torch.{place}{dtypes.scalar_type_name(tensor.aval.dtype)}Tensor"


_shown_kinds: dict[str, type[Node]] = {}


def named(result: Any, name: str) -> Any:
    """``result``, whose node has the name of the one op that computes it in torch."""
    node = getattr(result, "_node", None)
    if type(node) is ViewHistory:
        node = node.node
    if type(node) is Node:
        node.label = name
    capture = capturing()
    if capture is not None:
        capture.note_named(result, name)
    return result


def shown(node: Any) -> Any:
    """The node itself, its class being named after the op from now on, as scripts expect."""
    if type(node) is Node:
        name = node.name().rpartition(":")[2]
        kind = _shown_kinds.get(name)
        if kind is None:
            kind = _shown_kinds[name] = type(
                name, (Node,), {"__slots__": (), "__getattr__": saved_value}
            )
        node.__class__ = kind
    return node


class LeafReference(weakref.ref["Tensor"]):
    """How the tape refers to a leaf; Python gives others a weak reference of their own."""

    __slots__ = ()


class AccumulateGrad:
    """The end of a path: adds to the ``grad`` of a leaf. ``watched``: whether any had hooks yet."""

    watched = False
    __slots__ = ("__weakref__", "hooks", "metadata", "variable_reference")
    edges: tuple[Any, ...] = ()
    sequence = 0
    next_functions: tuple[Any, ...] = ()

    def __init__(self, variable: Tensor) -> None:
        self.variable_reference = LeafReference(variable)
        self.hooks: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "metadata":
            self.metadata: dict[Any, Any] = {}
            return self.metadata
        raise AttributeError(f"'AccumulateGrad' object has no attribute '{name}'")

    @property
    def variable(self) -> Tensor | None:
        return self.variable_reference()

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def register_hook(self, hook: Callable[..., Any]) -> Any:
        return add_hook(self, "post", hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Any:
        return add_hook(self, "pre", hook)

    def release(self) -> None:
        """It saves nothing."""


class ViewHistory:
    """A view's place on the tape: how it is derived from its parent, and the node for it."""

    __slots__ = ("__dict__", "node", "op", "params", "parent", "plan", "stamp")
    parent: Tensor
    op: Any
    plan: Any
    params: Any
    node: Node | None
    stamp: int
    # of few views another
    in_grad_mode = True
    one_of: str | None = None

    @property
    def base(self) -> Tensor:
        """The tensor that is no view, at the other end of the chain of parents."""
        parent = self.parent
        while type(parent._node) is ViewHistory:
            parent = parent._node.parent
        return parent

    def derive(self) -> Node | None:
        """The node, derived again when the base was written to since."""
        stamp = self.parent._shared.history
        if stamp != self.stamp:
            self.stamp = stamp
            source = node_of(self.parent)
            before, self.node = self.node, None
            if self.one_of is not None and source is not None:
                raise multiple_views(self, "its base or another view of its base has been")
            if source is not None and self.op.rules is not None:
                self.node = Node(
                    self.op, self.plan, self.params, ((source, self.parent._output_index),)
                )
                if before is not None and before.hooks:
                    self.node.hooks = _kept_hooks(before)
        return self.node


def _kept_hooks(node: Node) -> dict[Any, Any]:
    """Those hooks of a view's node that go on to its next one: what ``retain_grad`` has put."""
    found: dict[Any, Any] = {}
    for place, hooks in (node.hooks or {}).items():
        kept = [key for key, hook in hooks.items() if hasattr(hook, "runs_last")]
        found[place] = {key: hooks.pop(key) for key in kept}
    return found


def mark_outputs(views: Sequence[Tensor], name: str) -> None:
    """Note that ``views`` are the results of one function, so that writes to them are refused."""
    capture = capturing()
    if capture is not None:
        capture.note_views()
    for index, view in enumerate(views):
        if type(view._node) is ViewHistory:
            view._node.one_of = f"Output {index} of {name}"


def share_node(views: Sequence[Tensor], op: Any, source: Tensor, params: Any) -> None:
    """Make views of one function the results of one node, whose rule sees all their gradients."""
    histories = [view._node for view in views]
    if not views or any(type(h) is not ViewHistory or h.node is None for h in histories):
        return
    edges = histories[0].node.edges  # type: ignore[union-attr]
    node = Node(op, op.plan_for((source,), params), params, edges)
    for index, (view, history) in enumerate(zip(views, histories, strict=True)):
        history.node = node  # type: ignore[union-attr]
        view._output_index = index


def multiple_views(history: ViewHistory, modified: str) -> RuntimeError:
    """torch's error for a write in place to one of several views that one function made."""
    what = f"{history.one_of} is a view and {modified} modified inplace."
    if (history.node is None and modified == "is being") or not history.in_grad_mode:
        what = (
            "A view was created in no_grad mode and is being modified inplace with grad mode "
            "enabled."
        )
    return RuntimeError(
        f"{what} This view is the output of a function that returns multiple views. Such "
        "functions do not allow the output views to be modified inplace. You should replace the "
        "inplace operation by an out-of-place one."
    )


def node_of(tensor: Tensor) -> Node | AccumulateGrad | None:
    """What produced the tensor, None when it is not tracked."""
    node = tensor._node
    if type(node) is ViewHistory:
        return node.derive()
    return node  # type: ignore[return-value]


def requires_grad(tensor: Tensor) -> bool:
    node = tensor._node
    if type(node) is ViewHistory and node.one_of is not None:
        return requires_grad(node.parent)  # without an error for a base that was written to
    return node is not None and node_of(tensor) is not None


def is_leaf(tensor: Tensor) -> bool:
    node = node_of(tensor)
    return node is None or type(node) is AccumulateGrad


def record(op: Any, plan: Any, inputs: Any, params: Any, results: Any) -> Node | None:
    """Make the node of an application and give it to the results."""
    edges: list[Any] = []
    mask = 0
    for x in inputs:
        mask += mask
        source = None if x is None else x._node
        if type(source) is ViewHistory:
            source = source.derive()
        if source is None:
            edges.append(None)
        else:
            edges.append((source, x._output_index))
            mask += 1
    if not mask or not plan.tracks:
        return None
    keep = plan.keep.get(mask)
    if keep is None:
        keep = plan.keep[mask] = _what_to_keep(op, edges, len(results))
    node = Node(op, plan, params, edges, keep)
    if keep:
        saved = [
            inputs[index] if kind == "in" else _detached(results[index]) for kind, index in keep
        ]
        if saved_tensor_hooks and hooks_of_thread():
            _pack(node, saved)
        else:
            node.versions = tuple([
                -1 if t is None else 0 if t._storage is None else t._storage.kept_version
                for t in saved
            ])  # fmt: skip
        node.saved = saved
    if len(results) == 1:
        result = results[0]
        if type(result._node) is not ViewHistory:
            result._node = node
        return node
    for index, result in enumerate(results):
        if plan.differentiable[index]:
            result._node = node
            result._output_index = index
    return node


def _pack(node: Node, saved: list[Any]) -> None:
    """Replace what ``node`` saves, in place, by what this thread's hooks make of it."""
    node.saved = saved
    for (kind, index), tensor in zip(node.kept, saved, strict=True):
        if kind == "out":
            tensor._node, tensor._output_index = node, index
    places = [(None, 0) if t is None else node.place_of_saved(at) for at, t in enumerate(saved)]
    saved[:] = kept(saved, places)
    node.versions = tuple([
        version_of(t) if isinstance(t, Tensor) else -1 for t in saved
    ])


def _detached(tensor: Tensor) -> Tensor:
    return make(tensor.flat, tensor.aval, tensor._shared, tensor._offset)


def _what_to_keep(op: Any, edges: Any, results: int) -> tuple[tuple[str, int], ...]:
    """What the rules name that those inputs need which have edges."""
    rules = op.rules
    mask = [e is not None for e in edges]
    if rules is None:
        raise NotImplementedError(f"derivative for {op.name} is not implemented")
    if isinstance(rules, Rule):
        used: Any = [rules]
        if ("all", None) in rules.arguments:
            return tuple(("in", i) for i in range(op.keeps_from, len(mask)))
    else:
        used = [rule for rule, need in zip(rules, mask, strict=True) if need and rule is not None]
    inputs = sorted({i for rule in used for i in rule.inputs})
    kept = [("in", i) for i in inputs]
    places: set[int] = set()
    for rule in used:
        places |= set(range(results)) if rule.results is None else rule.results
    return tuple(kept + [("out", i) for i in sorted(places)])


def record_view(
    op: Any, plan: Any, mode: int, inputs: Any, params: Any, result: Tensor
) -> None:
    """Give a view its history; it has one even when nothing is tracked yet."""
    history = result._node = object.__new__(ViewHistory)
    history.parent, history.op, history.plan, history.params = inputs[0], op, plan, params
    history.stamp = inputs[0]._storage.history
    enter_view(history, inputs[0]._node, mode)


def enter_view(history: ViewHistory, above: Any, mode: int) -> None:
    """Enter what a view of a tensor with the place ``above`` on the tape derives from."""
    op, source = history.op, history.parent
    if above.__class__ is ViewHistory:
        if above.one_of is not None:
            history.one_of = f"Output 0 of {re.sub('Backward0$', '', op.grad_name)}"
        above = above.derive()
    history.node = None
    if above is not None and history.plan.differentiable[0] and op.rules is not None:
        if mode:
            history.node = Node(op, history.plan, history.params, ((above, source._output_index),))
        else:
            history.in_grad_mode = False


class HookHandle:
    """Removes a hook. Usable as a context."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any]) -> None:
        self.id = next(HookHandle._ids)
        self._hooks = weakref.ref(hooks) if hasattr(hooks, "__weakref__") else (lambda: hooks)

    def remove(self) -> None:
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def add_hook(node: Any, place: Any, hook: Callable[..., Any]) -> HookHandle:
    """Register ``hook`` on a node: "pre" and "post", or the index of a result.

    One that has an attribute ``runs_last`` stays behind those that are registered later.
    """
    if node.hooks is None:
        node.hooks = {}
    if type(node) is AccumulateGrad:
        AccumulateGrad.watched = True
    hooks = node.hooks.setdefault(place, {})
    handle = HookHandle(hooks)
    hooks[handle.id] = hook
    for key in [key for key, each in hooks.items() if hasattr(each, "runs_last")]:
        hooks[key] = hooks.pop(key)
    return handle


def note_leaf(leaf: Tensor, read: bool) -> None:
    """Tell the capture under way, if any, that ``leaf.grad`` is read, or replaced."""
    capture = capturing()
    if capture is not None:
        capture.note_leaf(leaf, read)


def has_hooks(node: Any) -> bool:
    """Whether functions wait for the gradients that arrive at a node.

    A hook with the attribute ``in_captures`` does not count: it knows how to be traced.
    """
    hooks = getattr(node, "hooks", None) or {}
    return any(
        not getattr(hook, "in_captures", False)
        for placed in hooks.values()
        for hook in placed.values()
    )
