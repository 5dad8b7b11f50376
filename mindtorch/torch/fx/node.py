"""Nodes: one operation each, with its arguments, the nodes that use it, and its neighbours."""

from __future__ import annotations

import builtins
import math
import operator
import types
from collections.abc import Callable
from typing import Any

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Target = Any
_KINDS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output")
_impure: set[Any] = set()


def has_side_effect(fn: Any) -> Any:
    """Mark a function whose calls are kept though nobody uses their result."""
    _impure.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """``fn`` of everything in nested tuples, lists, dicts and slices."""
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return [map_aggregate(x, fn) for x in a]
    if isinstance(a, dict):
        return {k: map_aggregate(v, fn) for k, v in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(x, fn) for x in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """``fn`` of every node in nested arguments; everything else as it is."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def qualified_name(callable_: Any) -> str:
    """The name by which generated code finds a function: ``torch.relu``, ``operator.add``."""
    from ._namespaces import name_of

    known = name_of(callable_)
    if known is not None:
        return known
    function: Any = callable_
    own = str(getattr(function, "__name__", ""))
    if vars(builtins).get(own) is function:
        return own
    if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        owner = function.__objclass__
        return f"{owner.__module__}.{owner.__name__}.{own}"
    module = getattr(function, "__module__", None) or ""
    module = module.replace("_operator", "operator").removeprefix("mindtorch.")
    return f"{module}.{own}"


def type_name(kind: Any) -> str:
    """A type as code: ``torch.Tensor``, ``int``."""
    if isinstance(kind, str):
        return kind
    if isinstance(kind, type) and not getattr(kind, "__args__", None):
        if kind.__module__ == "builtins":
            return kind.__qualname__
        found = getattr(kind, "__module__", "")
        if found.startswith("mindtorch.torch"):
            return f"torch.{kind.__qualname__}"
        return f"{found}.{kind.__qualname__}"
    return repr(kind).replace("mindtorch.", "")


def argument_text(a: Any) -> str:
    """A constant or a node as code."""
    if isinstance(a, Node):
        return a.name
    if isinstance(a, tuple):
        if hasattr(a, "_fields"):
            inside = ", ".join(f"{k}={argument_text(v)}" for k, v in zip(a._fields, a, strict=True))
            return f"{type(a).__name__}({inside})"
        inside = ", ".join(argument_text(x) for x in a)
        return f"({inside},)" if len(a) == 1 else f"({inside})"
    if isinstance(a, list):
        return f"[{', '.join(argument_text(x) for x in a)}]"
    if isinstance(a, dict):
        return "{" + ", ".join(f"{k!r}: {argument_text(v)}" for k, v in a.items()) + "}"
    if isinstance(a, slice):
        return f"slice({argument_text(a.start)}, {argument_text(a.stop)}, {argument_text(a.step)})"
    if isinstance(a, float) and not math.isfinite(a):
        return repr(a)
    if callable(a) and hasattr(a, "__name__"):
        return qualified_name(a)
    return repr(a)


class Node:
    """One step of a graph.

    Attributes:
        op: placeholder, get_attr, call_function, call_method, call_module or output.
        target: the function, the method's name, or the path of the module or attribute.
        args, kwargs: arguments, nodes among them.
        users: the nodes that use this one, in order.
        meta: whatever passes note.
    """

    def __init__(
        self, graph: Any, name: str, op: str, target: Target, args: Any, kwargs: Any,
        return_type: Any = None,
    ) -> None:  # fmt: skip
        if op not in _KINDS:
            raise AssertionError(f"op {op!r} is not in _legal_ops")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type(target).__name__} but a Callable is expected"
            )
        self.graph, self.name, self.op, self.target = graph, name, op, target
        self.type = return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._inputs: dict[Node, None] = {}
        self._prev = self._next = self
        self._erased = False
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._set_arguments(args, kwargs)

    def _set_arguments(self, args: Any, kwargs: Any) -> None:
        for old in self._inputs:
            old.users.pop(self, None)
        self._inputs = {}
        self._args = map_aggregate(tuple(args), lambda x: x)
        self._kwargs = map_aggregate(dict(kwargs), lambda x: x)

        def note(n: Node) -> Node:
            self._inputs.setdefault(n)
            n.users.setdefault(self)
            return n

        map_arg((self._args, self._kwargs), note)

    @property
    def args(self) -> tuple[Any, ...]:
        return self._args

    @args.setter
    def args(self, value: Any) -> None:
        self._set_arguments(value, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value: Any) -> None:
        self._set_arguments(self._args, value)

    @property
    def all_input_nodes(self) -> list[Node]:
        return list(self._inputs)

    @property
    def next(self) -> Node:
        return self._next

    @property
    def prev(self) -> Node:
        return self._prev

    @property
    def stack_trace(self) -> Any:
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: Any) -> None:
        self.meta["stack_trace"] = trace

    def update_arg(self, idx: int, arg: Any) -> None:
        """Another argument at a position."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """A further argument before a position."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        self.kwargs = {**self._kwargs, key: arg}

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Put ``x`` right before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Put ``x`` right after this node."""
        self._next.prepend(x)

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *,
        propagate_meta: bool = False,
    ) -> list[Node]:  # fmt: skip
        """Put another node in this one's place in its users' arguments; gives those users."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        changed = []
        for user in list(self.users):
            if delete_user_cb(user):
                changed.append(user)
                user.replace_input_with(self, replace_with)
        return changed

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Another node in the place of one of the arguments."""
        self._set_arguments(*map_arg(
            (self._args, self._kwargs), lambda n: new_input if n is old_input else n
        ))  # fmt: skip

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node must stay even when nobody uses it."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _impure
        if self.op == "call_module" and self.graph.owning_module is not None:
            owner = self.graph.owning_module.get_submodule(self.target)
            return bool(getattr(owner, "_is_impure", False))
        return False

    def _target_text(self) -> str:
        if isinstance(self.target, str):
            return self.target
        name = qualified_name(self.target)
        return name if "." in name else f"builtins.{name}"

    def format_node(self, placeholder_names: Any = None, maybe_return_typename: Any = None) -> Any:
        """The node as the graph prints it."""
        if self.op == "output":
            if self.type is not None and maybe_return_typename:
                maybe_return_typename[0] = f" -> {type_name(self.type)}"
            return f"return {self._args[0]}"
        kind = "" if self.type is None else f"{type_name(self.type)} "
        head = f"%{self.name} : {kind}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(self.target + (kind and f" : {kind.strip()}"))
            default = f"(default={self._args[0]})" if self._args else ""
            return f"{head}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{head}[target={self.target}]"
        args, kwargs = (_graph_text(a, "%") for a in (self._args, self._kwargs))
        return f"{head}[target={self._target_text()}](args = {args}, kwargs = {kwargs})"

    def __repr__(self) -> str:
        return self.name


def _graph_text(a: Any, mark: str = "") -> str:
    """Arguments as a graph prints them: nodes with a %, keys without quotes."""
    if isinstance(a, Node):
        return f"{mark}{a.name}"
    if isinstance(a, (tuple, list)):
        inside = ", ".join(_graph_text(x, mark) for x in a)
        if isinstance(a, list):
            return f"[{inside}]"
        return f"({inside},)" if len(a) == 1 else f"({inside})"
    if isinstance(a, dict):
        return "{" + ", ".join(f"{k}: {_graph_text(v, mark)}" for k, v in a.items()) + "}"
    return str(a) if not callable(a) else qualified_name(a)


# how generated code writes Python's operators
MAGIC = {
    operator.eq: "{} == {}", operator.ne: "{} != {}", operator.lt: "{} < {}",
    operator.gt: "{} > {}", operator.le: "{} <= {}", operator.ge: "{} >= {}",
    operator.pos: "+{}", operator.neg: "-{}", operator.invert: "~{}", operator.add: "{} + {}",
    operator.sub: "{} - {}", operator.mul: "{} * {}", operator.matmul: "{} @ {}",
    operator.floordiv: "{} // {}", operator.truediv: "{} / {}", operator.mod: "{} % {}",
    operator.lshift: "{} << {}", operator.rshift: "{} >> {}", operator.and_: "{} & {}",
    operator.or_: "{} | {}", operator.xor: "{} ^ {}", operator.pow: "{} ** {}",
    operator.getitem: "{}[{}]",
}  # fmt: skip
