"""Running a graph node by node, with methods for each kind that a subclass may change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mindtorch.torch.nn.modules.module import Module

from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_arg
from .proxy import GraphAppendingTracer, Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs the nodes of a GraphModule one after another.

    Args:
        module: whose attributes and parts the nodes name.
        garbage_collect_values: forget results after their last use.
        graph: another graph than the module's own.
    """

    def __init__(
        self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph: Graph = module.graph if graph is None else graph
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.args_iter: Iterator[Any] = iter(())
        last: dict[Node, Node] = {}
        for node in self.graph.nodes:
            last.update(dict.fromkeys(node.all_input_nodes, node))
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        for used, user in last.items():
            self.user_to_last_uses.setdefault(user, []).append(used)

    def run(
        self, *args: Any, initial_env: dict[Node, Any] | None = None,
        enable_io_processing: bool = True,
    ) -> Any:  # fmt: skip
        """What the graph returns for these arguments; ``initial_env`` has results already known."""
        self.env = {} if initial_env is None else dict(initial_env)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node not in self.env:
                self.env[node] = self.run_node(node)
            if node.op == "output":
                return self.env[node]
            if self.garbage_collect_values:
                for each in self.user_to_last_uses.get(node, ()):
                    del self.env[each]
        return None

    def run_node(self, n: Node) -> Any:
        """The result of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def fetch_attr(self, target: str) -> Any:
        """What stands at a dotted path in the module."""
        found: Any = self.module
        for number, part in enumerate(target.split(".")):
            if not hasattr(found, part):
                path = ".".join(target.split(".")[: number + 1])
                raise RuntimeError(f"Node referenced nonexistent target {path}")
            found = getattr(found, part)
        return found

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a node, with results in the places of nodes."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Arguments with results in the places of nodes."""

        def value_of(node: Node) -> Any:
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose "
                    "such issues"
                )
            return self.env[node]

        return map_arg(args, value_of)

    def placeholder(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The next argument of `run`, or the default."""
        if target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(
            f"Expected positional argument for parameter {target}, but one was not passed in!"
        )

    def get_attr(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What stands at a path."""
        return self.fetch_attr(target)

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a function."""
        return target(*args, **kwargs)

    def call_method(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What is returned."""
        return args[0]


class _TransformTracer(GraphAppendingTracer):
    def create_arg(self, a: Any) -> Any:
        return a.node if isinstance(a, Proxy) else super().create_arg(a)


class Transformer(Interpreter):
    """An interpreter whose values are proxies: running it makes a changed graph.

    Args:
        module: the module that is changed.
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.tracer = _TransformTracer(self.new_graph)

    def _node(self, kind: str, target: Any, args: Any, kwargs: Any) -> Any:
        return self.tracer.create_proxy(kind, target, args, kwargs)

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self._node("placeholder", target, args, {})

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self._node("get_attr", target, (), {})

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self._node("call_function", target, args, kwargs)

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self._node("call_method", target, args, kwargs)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        return self._node("call_module", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the changed graph."""
        result = super().run()
        if result is not None:
            self.new_graph.output(self.tracer.create_arg(result))
        return GraphModule(self.module, self.new_graph)
