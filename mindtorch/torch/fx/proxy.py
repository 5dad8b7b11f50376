"""Stand-ins for values while a function is traced: what is done to them becomes nodes."""

from __future__ import annotations

import dis
import enum
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch.engine.devices.device import Device
from mindtorch.engine.dtypes import DType
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch._api import torch_function
from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons
from mindtorch.torch._tensor import size_and_formats

from .graph import Graph
from .node import Argument, Node, Target

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]

base_types = (
    str, int, float, bool, complex, DType, EngineTensor, Device, size_and_formats.memory_format,
    size_and_formats.layout, type(None), type(Ellipsis), range, slice, enum.Enum,
)  # fmt: skip


class TraceError(ValueError):
    """The function does what a trace cannot follow, such as branching on a value."""

    __module__ = "torch.fx.proxy"


class TracerBase:
    """Makes the nodes of a graph, and the proxies for them."""

    graph: Graph
    trace_asserts = False
    proxy_buffer_attributes = False

    def create_node(
        self, kind: str, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Argument],
        name: str | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Add a node; for tracers that want to see each."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """The stand-in for a node's value."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any],
        name: str | None = None, type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Any:  # fmt: skip
        """Add a node for a call with proxies among its arguments; gives the proxy of its value."""
        args_, kwargs_ = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args_, dict(kwargs_), name, type_expr)
        return self.proxy(node) if proxy_factory_fn is None else proxy_factory_fn(node)

    def create_arg(self, a: Any) -> Argument:
        """A value as an argument of a node: proxies become their nodes.

        Raises:
            NotImplementedError: a value that no node can hold.
            RuntimeError: a proxy among the keys of a dict.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(each) for each in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(each) for each in a]
        if isinstance(a, dict):
            if any(isinstance(key, Proxy) for key in a):
                raise RuntimeError(
                    "Keys for dictionaries used as an argument cannot contain a Node"
                )
            return {key: self.create_arg(each) for key, each in a.items()}
        if isinstance(a, slice):
            return slice(*(self.create_arg(each) for each in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(each) for each in (a.start, a.stop, a.step)))
        if isinstance(a, base_types) or (callable(a) and hasattr(a, "__qualname__")):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """What `bool(proxy)` is: an error, since the value is not known."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """What a loop over a proxy is: an error, since the length is not known."""
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a "
            "loop or as a *args or **kwargs function argument. See the torch.fx docs on "
            "pytorch.org for a more detailed explanation of what types of control flow can be "
            "traced, and check out the Proxy docstring for help troubleshooting Proxy iteration "
            "errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """What `**proxy` asks for."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Adds to a graph that is there."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        # made by hand: no trace puts functions that record in the place of torch's
        torch_function.answer_for(Proxy, Attribute)


class Proxy:
    """The stand-in for the value of ``node``: operators, methods, attributes and torch's functions
    add nodes. Its truth, length and number are not known while tracing.

    Args:
        tracer: what records.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        if k.startswith("__") and k.endswith("__"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __deepcopy__(self, memo: Any) -> Proxy:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        at = frame.f_lasti
        found = next((i for i in dis.get_instructions(frame.f_code) if i.offset == at), None)
        if found is not None and found.opname == "UNPACK_SEQUENCE":
            return (self[index] for index in range(found.argval))
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be "
            "recorded, please call torch.fx.wrap('len') at module scope"
        )

    def __getitem__(self, key: Any) -> Any:
        return self.tracer.create_proxy("call_function", operator.getitem, (self, key), {})

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(f"'{type(self).__name__}' object does not support item assignment")

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """A call of a function of a library, seen by `torch.overrides.handle_torch_function`."""
        found = next(iter(proxies_in((args, kwargs or {}))))
        return found.tracer.create_proxy("call_function", orig_method, args, kwargs or {})


class Attribute(Proxy):
    """`proxy.name`: a method when it is called, else the attribute's value."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._node is None:
            args = (self.root, self.attr)
            self._node = self.tracer.create_proxy("call_function", getattr, args, {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def proxies_in(value: Any) -> Iterator[Proxy]:
    """The proxies in nested containers."""
    if isinstance(value, Proxy):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from proxies_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from proxies_in(each)
    elif isinstance(value, slice):
        yield from proxies_in((value.start, value.stop, value.step))


def _operator(function: Callable[..., Any], swapped: bool = False) -> Callable[..., Any]:
    def method(self: Proxy, *others: Any) -> Any:
        args = (*others, self) if swapped else (self, *others)
        return self.tracer.create_proxy("call_function", function, args, {})

    return method


for _name in (
    "add and_ eq floordiv ge gt invert le lshift lt matmul mod mul ne neg or_ pos pow rshift sub "
    "truediv xor"
).split():
    setattr(Proxy, f"__{_name.rstrip('_')}__", _operator(getattr(operator, _name)))
for _name in "add and_ floordiv lshift matmul mod mul or_ pow rshift sub truediv xor".split():
    _method = _operator(getattr(operator, _name), swapped=True)
    setattr(Proxy, f"__r{_name.rstrip('_')}__", _method)
Proxy.__abs__ = _operator(abs)  # type: ignore[attr-defined]
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]


_give_reasons(globals())
