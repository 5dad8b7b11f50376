"""The nodes of a graph: what is called, with which arguments, and who uses the result."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._names import qualified_name
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target = str | Callable[..., Any]
Argument = Any
OPS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")

_side_effectful_functions: set[Any] = {operator.setitem}


def has_side_effect(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function whose calls stay in a graph though nobody uses the result; gives it back.

    Args:
        fn: the function.
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """``fn`` of every leaf of nested tuples, lists, dicts and slices, in containers alike."""
    if isinstance(a, tuple):
        items = [map_aggregate(each, fn) for each in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(each, fn) for each in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(each, fn) for key, each in a.items()})
    if isinstance(a, slice):
        return slice(*(map_aggregate(each, fn) for each in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """``fn`` of every node in nested containers.

    Args:
        a: containers.
    """
    return map_aggregate(a, lambda each: fn(each) if isinstance(each, Node) else each)


class Node:
    """One step of a graph.

    Args:
        graph: the graph it belongs to.
        name: unique in the graph.
        op: "placeholder" (``target`` is the parameter's name, ``args`` its default), "get_attr"
            (``target`` is a dotted path in the module), "call_function" (``target`` is the
            function), "call_module" (a path), "call_method" (the method's name, ``args[0]`` the
            object) or "output" (``args[0]`` is returned).
        return_type: an annotation, or None.
    """

    def __init__(
        self, graph: Graph, name: str, op: str, target: Target, args: tuple[Argument, ...],
        kwargs: dict[str, Argument], return_type: Any = None,
    ) -> None:  # fmt: skip
        if op not in OPS:
            raise AssertionError(f"Node [graph = {graph}, name = '{name}'] has unknown op {op!r}")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type(target)} but a Callable is expected"
            )
        if op not in ("call_function", "root") and not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{type(target)} but a str is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = (
            graph,
            name,
            op,
            target,
            return_type,
        )
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple[Argument, ...] = ()
        self._kwargs: dict[str, Argument] = {}
        self._next = self._prev = self
        self._erased = False
        self._set(args, kwargs)

    def _set(self, args: Any, kwargs: Any) -> None:
        """Take new arguments, and tell their nodes."""
        for each in self._input_nodes:
            each.users.pop(self, None)
        self._input_nodes = {}

        def note(each: Node) -> Node:
            self._input_nodes.setdefault(each)
            each.users.setdefault(self)
            return each

        self._args = map_arg(tuple(args), note)
        self._kwargs = map_arg(dict(kwargs), note)

    @property
    def args(self) -> tuple[Argument, ...]:
        """The arguments by place; assign a tuple to change them."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        self._set(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by name; assign a dict to change them."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Argument]) -> None:
        self._set(self._args, kwargs)

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def _unlink(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Move ``x`` to the place before this node."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x

    def append(self, x: Node) -> None:
        """Move ``x`` to the place after this node."""
        if x is not self._next:
            self._next.prepend(x)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Change the argument at a place."""
        self.args = (*self._args[:idx], arg, *self._args[idx + 1 :])

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Add an argument before a place."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Change the argument of a name."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take ``new_input`` wherever ``old_input`` is an argument."""

        def changed(each: Node) -> Node:
            return new_input if each is old_input else each

        self._set(map_arg(self._args, changed), map_arg(self._kwargs, changed))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let the users of this node, those that the callback allows, use another; returns them."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, "
                    "propagate_meta=True), but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        users = list(self.users)
        for user in users:
            if delete_user_cb(user):
                user.replace_input_with(self, replace_with)
        return users

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node does more than compute its result; placeholders and outputs count."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            schema = getattr(self.target, "_schema", None)  # of an operator
            return self.target in _side_effectful_functions or bool(
                schema is not None and schema.is_mutable
            )
        if self.op == "call_method":
            name = str(self.target)
            return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            return bool(getattr(owner.get_submodule(str(self.target)), "_is_impure", False))
        return False

    def _pretty_print_target(self, target: Any) -> str:
        return target if isinstance(target, str) else qualified_name(target)

    def format_node(self, *args: Any, **kwargs: Any) -> str | None:
        """One line for the node; None for the root."""
        if self.op == "output":
            return f"return {self._args[0]}"
        head = f"%{self.name} : {_type_text(self.type)}[num_users={len(self.users)}] = "
        target = self._pretty_print_target(self.target)
        if self.op == "placeholder":
            default = f"(default={self._args[0]})" if self._args else ""
            return f"{head}placeholder[target={target}]{default}"
        if self.op == "get_attr":
            return f"{head}get_attr[target={target}]"
        shown = f"(args = {_percent(self._args)}, kwargs = {_percent(self._kwargs)})"
        return f"{head}{self.op}[target={target}]{shown}"

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: Node) -> bool:
        order = list(self.graph.nodes)
        return order.index(self) < order.index(other)


def _type_text(annotation: Any) -> str:
    return "" if annotation is None else f"{qualified_name(annotation)} "


def _percent(value: Any) -> str:
    """Arguments as text, nodes with a percent sign, keys without quotes."""
    if isinstance(value, Node):
        return f"%{value.name}"
    if isinstance(value, tuple):
        inner = ", ".join(_percent(each) for each in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return f"[{', '.join(_percent(each) for each in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_percent(each)}' for key, each in value.items())}}}"
    return str(value) if not callable(value) or isinstance(value, builtins.type) else repr(value)
