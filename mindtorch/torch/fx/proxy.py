"""Proxies: values that write down what is done to them."""

from __future__ import annotations

import dis
import inspect
import operator
from typing import Any

from .node import MAGIC, Node, map_aggregate

__all__ = ["Attribute", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """What is done to a proxy cannot be written down."""


class Proxy:
    """Stands for the result of a node while a function is traced."""

    def __init__(self, node: Node, tracer: Any = None) -> None:
        self.node = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self.tracer.proxy_attribute(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Any:
        frame = inspect.currentframe()
        caller = None if frame is None else frame.f_back
        if caller is not None:
            for step in dis.get_instructions(caller.f_code):
                if step.offset == caller.f_lasti and step.opname == "UNPACK_SEQUENCE":
                    own: Any = self
                    return iter([own[i] for i in range(step.argval)])
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    def __contains__(self, item: Any) -> bool:
        return self.tracer.to_bool(self)

    __hash__ = object.__hash__


class Attribute(Proxy):
    """``proxy.name``: a node of its own only when it is used otherwise than by calling it."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._node is None:
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            self._node = made.node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _define_operators() -> None:
    def forward(function: Any) -> Any:
        def method(self: Any, *others: Any) -> Any:
            return self.tracer.create_proxy("call_function", function, (self, *others), {})

        return method

    def backward(function: Any) -> Any:
        def method(self: Any, other: Any) -> Any:
            return self.tracer.create_proxy("call_function", function, (other, self), {})

        return method

    for function in MAGIC:
        name = function.__name__.strip("_")
        setattr(Proxy, f"__{name}__", forward(function))
        if name not in ("eq", "ne", "lt", "gt", "le", "ge", "pos", "neg", "invert", "getitem"):
            setattr(Proxy, f"__r{name}__", backward(function))
    own: Any = Proxy
    own.__abs__ = forward(operator.abs)


_define_operators()


class TracerBase:
    """Makes nodes from calls whose arguments have proxies in them.

    Attributes:
        graph: what nodes are added to.
    """

    graph: Any = None
    record_stack_traces = False

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        made: Node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        return made

    def proxy(self, node: Node) -> Proxy:
        return Proxy(node, self)

    def proxy_attribute(self, root: Proxy, name: str) -> Attribute:
        return Attribute(root, name)

    def create_proxy(
        self, kind: str, target: Any, args: Any, kwargs: Any, name: str | None = None,
        type_expr: Any = None, proxy_factory_fn: Any = None,
    ) -> Any:  # fmt: skip
        """A node for a call, as a proxy."""
        plain_args, plain_kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, plain_args, plain_kwargs, name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Any:
        """Nested arguments with nodes in the place of proxies."""
        return map_aggregate(a, self._one_argument)

    def _one_argument(self, a: Any) -> Any:
        return a.node if isinstance(a, Proxy) else a

    def to_bool(self, obj: Proxy) -> bool:
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow"
        )

    def iter(self, obj: Proxy) -> Any:
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument. See the torch.fx docs on "
            "pytorch.org for a more detailed explanation of what types of control flow can be "
            "traced, and check out the Proxy docstring for help troubleshooting Proxy iteration "
            "errors"
        )


class GraphAppendingTracer(TracerBase):
    """Adds nodes to a graph that is there already."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
