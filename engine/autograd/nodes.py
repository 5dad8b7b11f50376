"""What produced a tensor: the nodes of the define-by-run graph, its leaves, and views' histories.

A node keeps only what its op's rules name. A view's place on the tape is a :class:`ViewHistory`:
it is derived again from the base when a write in place has changed the base's derivation.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from .. import dtypes
from ..state import state
from ..tensor import Tensor, again, alias, change_class, version_of
from .hooks import add_hook, kept_hooks, tensor_type_name
from .rules import Rule
from .saved_tensors import DETACHED, PackedTensor, names_shown, order_of, saved_value

# the numbers of nodes: a backward pass visits the latest first
sequence = itertools.count(1)


class Anomaly:
    """Whether backward checks what rules return, and for NaN.

    Attributes:
        note_node: called, while it is enabled, with each new node.
    """

    enabled = False
    check_nan = True
    note_node: Callable[[Any], None]


anomaly = Anomaly()


TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)


class Released:
    """Stands for the saved tensors of a node whose backward has run."""


RELEASED = Released()
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

    output_views: ClassVar[dict[int, str]] = {}  # of users' functions alone
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
        self.sequence = next(sequence)
        if anomaly.enabled:
            anomaly.note_node(self)

    def __repr__(self) -> str:
        return f"<{self.name().rpartition(':')[2]} object at {id(self):#x}>"

    @property
    def out_avals(self) -> Any:
        return self.plan.avals

    def name(self) -> str:
        label: str | None = getattr(self, "label", None)
        return label or self.op.node_name(self.plan.in_avals, self.params)

    @property
    def next_functions(self) -> tuple[Any, ...]:
        return tuple(
            (None, 0) if edge is None else (shown(edge[0]), edge[1]) for edge in self.edges
        )

    @property
    def requires_grad(self) -> bool:
        return any(edge is not None for edge in self.edges)

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
        count = len(self.out_avals)
        if len(gradients) != count:
            raise TypeError(f"expected {count} arguments, got {len(gradients)} instead")
        found = self.apply_observed(gradients, [edge is not None for edge in self.edges])
        return found[0] if len(found) == 1 else tuple(found)

    def release(self) -> None:
        if self.saved:
            self.saved = RELEASED

    def apply(self, gradients: Sequence[Tensor | None], needed: Sequence[bool]) -> Sequence[Any]:
        """Gradients of the inputs that are ``needed``."""
        return self.ruled(gradients, needed, *self._unpack())

    def apply_observed(
        self, gradients: Sequence[Tensor | None], needed: Sequence[bool]
    ) -> Sequence[Any]:
        """:meth:`apply`, of which the interpreters are told that observe nodes."""
        with contextlib.ExitStack() as blocks:
            for interpreter in state.interpreters:
                if interpreter.observes_nodes:
                    blocks.enter_context(interpreter.around_node(self))
            if state.interpreters and state.interpreters[-1].observes_nodes:
                found: Any = state.interpreters[-1].gradients_of(self, gradients, needed)
                if found is not None:
                    return found
            return self.apply(gradients, needed)

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
        if self.saved is RELEASED:
            raise RuntimeError(TWICE)
        if not self.saved:
            return None, _NOTHING
        inputs: dict[int, Any] = {}
        outs: dict[int, Any] = {}
        items: Any = zip(self.kept, self.saved, self.versions, strict=True)
        if -1 in self.versions:  # some are packed
            every = list(items)
            items = [every[at] for at in order_of(self)]
        for (kind, index), item, version in items:
            tensor = item
            if isinstance(item, PackedTensor):
                tensor = item.unpack()
            elif tensor is not None:
                if version_of(tensor) != version:
                    raise modified(tensor, version, self if kind == "out" else None, index)
                if kind == "in" and tensor._node is None and was_computed(self.edges[index]):
                    raise RuntimeError(DETACHED)
            if kind == "out":
                tensor = again(tensor) if tensor.aval.answered else alias(tensor)
                tensor._node = self
                if index:
                    tensor._output_index = index
                outs[index] = tensor
            else:
                inputs[index] = tensor
        return inputs, outs


def was_computed(edge: Any) -> bool:
    return edge is not None and type(edge[0]) is not AccumulateGrad


def modified(tensor: Tensor, version: int, node: Node | None, index: int) -> RuntimeError:
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


_shown_kinds: dict[str, type[Node]] = {}


def shown(node: Any) -> Any:
    """The node itself, its class being named after the op from now on, as scripts expect."""
    if type(node) is Node:
        name = node.name().rpartition(":")[2]
        kind = _shown_kinds.get(name)
        if kind is None:
            kind = _shown_kinds[name] = type(
                name, (Node,),
                {"__slots__": (), "__getattr__": saved_value, "__dir__": names_shown,
                 "__module__": "builtins"},
            )
        change_class(node, kind)
    return node


class LeafReference(weakref.ref["Tensor"]):
    """How the tape refers to a leaf; Python gives others a weak reference of their own."""

    __slots__ = ()


class AccumulateGrad:
    """The end of a path: adds to the ``grad`` of a leaf.

    Attributes:
        had_hooks: of the class: whether any leaf ever had hooks.
        view: what the leaf is a view of, where it is one of a tensor without gradients.
    """

    had_hooks = False
    output_views: ClassVar[dict[int, str]] = {}
    __slots__ = ("__weakref__", "hooks", "metadata", "variable_reference", "view")
    edges: tuple[Any, ...] = ()
    sequence = 0
    next_functions: tuple[Any, ...] = ()

    def __init__(self, variable: Tensor, view: ViewHistory | None = None) -> None:
        self.variable_reference = LeafReference(variable)
        self.view = view
        self.hooks: dict[Any, Any] | None = None
        if anomaly.enabled:
            anomaly.note_node(self)

    def __getattr__(self, name: str) -> Any:
        if name == "metadata":
            self.metadata: dict[Any, Any] = {}
            return self.metadata
        raise AttributeError(f"'AccumulateGrad' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"

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
        parent = self.parent
        stamp = (parent._storage or parent._shared).history
        if stamp != self.stamp:
            self.stamp = stamp
            source = node_of(parent)
            before, self.node = self.node, None
            if self.one_of is not None and source is not None:
                raise multiple_views(self, "its base or another view of its base has been")
            if source is not None and self.op.rules is not None:
                self.node = Node(
                    self.op, self.plan, self.params, ((source, parent._output_index),)
                )
                if self.plan.avals[0].dtype is self.plan.in_avals[0].dtype:
                    self.node.label = "AsStridedBackward0"  # torch's for it, whatever view it is
                if before is not None and before.hooks:
                    self.node.hooks = kept_hooks(before)
        return self.node


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


def view_of_function(target: Tensor) -> RuntimeError | None:
    """torch's error for a write in place to a result of a user's function that is a view, or that
    is an input as it was given; None for others."""
    history = target._node
    base = history.base if type(history) is ViewHistory else target
    place: Any = base._node
    if place is None or base._output_index not in place.output_views:
        return None
    which, name = base._output_index, place.output_views[base._output_index]
    if type(history) is ViewHistory:
        which, name = 0, history.op.grad_name.removesuffix("Backward0")
    what = f"Output {which} of {name} is a view and is being modified inplace."
    if len(place.output_views) > 1:
        return RuntimeError(
            f"{what} This view is the output of a function that returns multiple views. Such "
            "functions do not allow the output views to be modified inplace. You should replace "
            "the inplace operation by an out-of-place one."
        )
    return RuntimeError(
        f"{what} This view was created inside a custom Function (or because an input was returned "
        "as-is) and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function."
    )


def node_of(tensor: Tensor) -> Node | AccumulateGrad | None:
    """What produced the tensor, None when it is not tracked."""
    node = tensor._node
    if type(node) is ViewHistory:
        return node.derive()
    return node  # type: ignore[return-value]
