"""Tracing with example values: sizes and other plain values are those of the example."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch._api import torch_function

from ...fx._symbolic_trace import Tracer
from ...fx.graph import Graph
from ...fx.proxy import Attribute, Proxy, TraceError
from ...nn.modules.module import Module
from ...utils._pytree import tree_leaves

__all__ = ["SplitPlaces", "ValueTracer", "marker"]


def marker() -> None:
    """Where a stage ends; a call of it is a node of the graph, and does nothing."""


SplitPlaces = dict[str, bool]


class ValueProxy(Proxy):
    """A proxy that knows what its value is for the example."""

    def __init__(self, node: Any, tracer: Any, value: Any) -> None:
        super().__init__(node, tracer)
        self.value = value

    def __getattr__(self, k: str) -> Any:
        if k == "value" or (k.startswith("__") and k.endswith("__")):
            raise AttributeError(k)
        known = getattr(self.value, k)
        return Attribute(self, k) if callable(known) or has_tensors(known) else known

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self.value)))

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        raise TraceError(
            "the module branches on the value of a tensor, so it cannot be cut into stages by "
            "pipeline(); cut it by hand and give the parts to PipelineStage"
        )


def has_tensors(value: Any) -> bool:
    return any(isinstance(leaf, EngineTensor) for leaf in tree_leaves(value))


class ValueTracer(Tracer):
    """Records a module called with example arguments; what depends on no tensor is computed.

    Args:
        places: paths of submodules before (True) or after (False) whose call a stage ends.
        args, kwargs: the example.
    """

    def __init__(self, places: SplitPlaces, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        self._places = places
        self._example = args, kwargs
        self._values: dict[Any, Any] = {}
        self._computing = False
        self.constants: list[str] = []

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """As in the base, but modules are opened that a stage may end in."""
        prefix = f"{module_qualified_name}."
        opened = any(place.startswith(prefix) for place in self._places)
        return not opened and super().is_leaf_module(m, module_qualified_name)

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """As in the base, with a marker where a stage ends."""
        if self._computing:
            return forward(*args, **kwargs)
        before = self._places.get(self.path_of_module(m))
        if before is True:
            self.mark()
        result = super().call_module(m, forward, args, kwargs)
        if before is False:
            self.mark()
        return result

    def mark(self) -> None:
        """Record that a stage ends here."""
        self.create_node("call_function", marker, (), {})

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """As in the base, but nothing while a node is computed."""
        if self._computing:
            return attr_val
        return super().getattr(attr, attr_val, parameter_proxy_cache)

    def create_proxy(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any],
        name: str | None = None, type_expr: Any = None, proxy_factory_fn: Any = None,
    ) -> Any:  # fmt: skip
        """A node and its value; the value alone where no tensor is in it."""
        proxy = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        node = proxy.node
        value = self._compute(node)
        self._values[node] = value
        if value is not None and not has_tensors(value):
            self.graph.erase_node(node)
            return value
        return None if value is None else ValueProxy(node, self, value)

    def _compute(self, node: Any) -> Any:
        args = torch.fx.node.map_arg(node.args, self._value_of)
        kwargs = torch.fx.node.map_arg(node.kwargs, self._value_of)
        self._computing = True
        try:
            with torch.no_grad():
                if node.op == "get_attr":
                    return _at(self.root, node.target)
                if node.op == "call_module":
                    return _at(self.root, node.target)(*args, **kwargs)
                if node.op == "call_method":
                    return getattr(args[0], node.target)(*args[1:], **kwargs)
                return node.target(*args, **kwargs)
        finally:
            self._computing = False

    def _value_of(self, node: Any) -> Any:
        if node not in self._values:  # made without a proxy: a tensor of the module
            self._values[node] = _at(self.root, node.target)
        return self._values[node]

    def _keep_constant(self, value: Any) -> str:
        path = super()._keep_constant(value)
        self.constants.append(path)
        return path

    def remove_constants(self) -> None:
        """Take the tensors off the module that the trace has put there for its graph."""
        for path in self.constants:
            delattr(self.root, path)

    def value(self, node: Any) -> Any:
        """What a node gave for the example."""
        return self._values.get(node)

    def _placeholders(self, fn: Any, concrete: dict[str, Any]) -> list[Any]:
        """A placeholder for each argument of the example; defaults for the others."""
        args, kwargs = self._example
        bound = inspect.signature(fn).bind(*args, **kwargs)
        given = dict(bound.arguments)
        bound.apply_defaults()
        values: list[Any] = []
        kinds = inspect.Parameter
        starred = (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
        # in the order in which the code has its variables
        for parameter in sorted(
            bound.signature.parameters.values(), key=lambda p: p.kind in starred
        ):
            name, value = parameter.name, bound.arguments[parameter.name]
            if parameter.kind is kinds.VAR_POSITIONAL:
                values.append(tuple(self._input(f"{name}_{i}", v) for i, v in enumerate(value)))
            elif parameter.kind is kinds.VAR_KEYWORD:
                values.append({key: self._input(key, v) for key, v in value.items()})
            else:
                values.append(self._input(name, value) if name in given else value)
        return values

    def _input(self, name: str, value: Any) -> Any:
        node = self.create_node("placeholder", name, (), {})
        self._values[node] = value
        return ValueProxy(node, self, value) if has_tensors(value) else value

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """As in the base; buffers and the generator are afterwards as they were."""
        buffers = [(b, b.clone()) for b in root.buffers()]
        generator = torch.get_rng_state()
        torch_function.answer_for(ValueProxy)  # to whom holds a function that is patched elsewhere
        try:
            return super().trace(root, concrete_args)
        finally:
            torch.set_rng_state(generator)
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)


def _at(root: Any, path: Any) -> Any:
    for part in str(path).split("."):
        root = getattr(root, part)
    return root
