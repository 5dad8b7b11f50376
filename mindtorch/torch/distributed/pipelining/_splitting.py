"""A module cut into stages: its graph is traced, and each part becomes a module of its own."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable
from enum import Enum
from typing import Any

from ...fx._symbolic_trace import is_fx_tracing
from ...fx.graph import Graph
from ...fx.graph_module import GraphModule
from ...fx.node import Node, map_arg
from ...nn.modules.module import Module
from ._pipe_info import PipeInfo, stage_name
from ._value_tracer import ValueTracer, has_tensors, marker
from .stage import TracedStage, build_stage

__all__ = ["Pipe", "SplitPoint", "pipe_of", "pipe_split", "pipeline"]

_tracers: list[ValueTracer] = []


class SplitPoint(Enum):
    """Where a stage ends: before a submodule is called, or after it has returned."""

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """Written in a module's ``forward``: :func:`pipeline` ends a stage here. Otherwise nothing."""
    if _tracers and is_fx_tracing():
        _tracers[-1].mark()


class Pipe(Module):
    """A module in stages; calling it runs all of them in this process.

    Args:
        split_gm: a GraphModule that calls ``submod_0``, ``submod_1`` and so on.
        num_stages: how many there are.
        has_loss_and_backward, loss_spec: False and None; losses are the schedules'.

    Attributes:
        replicated_params: for each parameter that several stages use: its name, by stage.
    """

    def __init__(
        self, split_gm: GraphModule, num_stages: int, has_loss_and_backward: bool = False,
        loss_spec: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.split_gm = split_gm
        self.num_stages = num_stages
        self.has_loss_and_backward = has_loss_and_backward
        self.loss_spec = loss_spec
        self.replicated_params: list[dict[str, str]] = []

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.split_gm(*args, **kwargs)

    def get_stage_module(self, stage_idx: int) -> Module:
        """The module of a stage.

        Args:
            stage_idx: which stage.

        Raises:
            ValueError: there is no such stage.
        """
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        found: Module = getattr(self.split_gm, stage_name(stage_idx))
        return found

    def print_readable(self) -> None:
        """Print the code that calls the stages."""
        self.split_gm.print_readable()

    def info(self) -> PipeInfo:
        """What :func:`build_stage` needs to know beside a stage's module."""
        return PipeInfo(self.split_gm.graph, self.num_stages, self.has_loss_and_backward)

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> TracedStage:
        """This process's stage, for a schedule.

        Args:
            stage_index: which one.
            device: where it runs; its module is moved there.
            group: the processes of the pipeline; the default group when None.
        """
        module = self.get_stage_module(stage_index)
        return build_stage(module, stage_index, self.info(), device, group)

    def __str__(self) -> str:
        return str(self.split_gm)

    __repr__ = __str__


def pipeline(
    module: Module, mb_args: tuple[Any, ...], mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[GraphModule], GraphModule] | None = None,
) -> Pipe:  # fmt: skip
    """Cut a module into stages, by a trace of one call.

    Sizes are those of the example, and branches those that it takes. The stages have the module's
    own parameters, under their names. A value goes from the stage that computes it to those that
    use it; the model's inputs go to the first stage.

    Args:
        module: what is cut.
        mb_args, mb_kwargs: arguments of one microbatch.
        split_spec: paths of submodules, and on which side of their call a stage ends. Without it
            stages end where ``forward`` calls :func:`pipe_split`.
        split_policy: is given the traced GraphModule and returns it with calls of ``pipe_split``.

    Raises:
        ValueError: both ``split_spec`` and ``split_policy``.
        AttributeError: there is no submodule of a path.
        TraceError: the module branches on the value of a tensor.
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError("Cannot specify both `split_spec` and `split_policy`. Please use only one")
    for path in split_spec or {}:
        functools.reduce(getattr, path.split("."), module)
    places = {path: at is SplitPoint.BEGINNING for path, at in (split_spec or {}).items()}
    return pipe_of(module, ValueTracer(places, mb_args, mb_kwargs or {}), split_policy)


def pipe_of(
    module: Module, tracer: ValueTracer,
    split_policy: Callable[[GraphModule], GraphModule] | None = None,
) -> Pipe:  # fmt: skip
    """A module cut where a tracer marks it.

    Args:
        module: what is cut.
        tracer: knows an example.
        split_policy: as of :func:`pipeline`.
    """
    _tracers.append(tracer)
    try:
        graph = tracer.trace(module)
    finally:
        _tracers.pop()
    traced = GraphModule(module, graph)
    if split_policy is not None:
        traced = split_policy(traced)
    made = _Cut(module, traced.graph, tracer).pipe()
    tracer.remove_constants()
    return made


def _is_end(node: Node) -> bool:
    return node.op == "call_function" and node.target in (marker, pipe_split)


class _Cut:
    """A graph taken apart.

    Args:
        module: what was traced.
        graph: its graph, with markers where stages end.
        tracer: knows the values of the example.
    """

    def __init__(self, module: Module, graph: Graph, tracer: ValueTracer) -> None:
        self.module = module
        self.tracer = tracer
        self.nodes = [node for node in graph.nodes if not _is_end(node)]
        self.stage_of = self._stages(graph)
        self.count = max(self.stage_of.values()) + 1
        self.received: list[list[Node]] = [[] for _ in range(self.count)]
        self.sent: list[list[Node]] = [[] for _ in range(self.count)]
        for node in self.nodes:
            self._connect(node)

    def _stages(self, graph: Graph) -> dict[Node, int]:
        """The stage of every node; what takes a tensor out of a tuple is where the tuple is."""
        found: dict[Node, int] = {}
        stage = 0
        for node in graph.nodes:
            if _is_end(node):
                stage += 1
                continue
            found[node] = 0 if node.op == "placeholder" else stage
            if node.op == "call_function" and node.target is operator.getitem:
                holder = node.args[0]
                if isinstance(holder, Node) and not is_tensor(self.tracer.value(holder)):
                    found[node] = found[holder]
        return found

    def _connect(self, node: Node) -> None:
        """Note what the node's stage needs of earlier ones."""
        stage = self.stage_of[node]
        for source in node.all_input_nodes:
            if source.op == "get_attr" or self.stage_of[source] == stage:
                continue
            value = self.tracer.value(source)
            if not is_tensor(value):
                raise NotImplementedError(
                    f"pipeline: {source.name} is used in a later stage and is {type(value)}; only "
                    "tensors go between stages"
                )
            if source not in self.received[stage]:
                self.received[stage].append(source)
            if source not in self.sent[self.stage_of[source]]:
                self.sent[self.stage_of[source]].append(source)

    def pipe(self) -> Pipe:
        """The stages, and a graph that calls them."""
        whole, calls = Graph(), Module()
        values: dict[Node, Any] = {
            node: whole.placeholder(str(node.target))
            for node in self.nodes if node.op == "placeholder"
        }  # fmt: skip
        inputs = list(values.values())
        result: Any = None
        for stage in range(self.count):
            setattr(calls, stage_name(stage), self._module(stage))
            given = inputs if stage == 0 else [values[node] for node in self.received[stage]]
            result = whole.call_module(stage_name(stage), tuple(given))
            for place, node in enumerate(self.sent[stage]):
                values[node] = whole.call_function(operator.getitem, (result, place))
        whole.output(result)
        made = Pipe(GraphModule(calls, whole), self.count)
        made.replicated_params = self._shared()
        return made

    def _module(self, stage: int) -> GraphModule:
        graph = Graph()
        copies: dict[Node, Node] = {}
        if stage:
            copies = {node: graph.placeholder(node.name) for node in self.received[stage]}

        def copied(node: Node) -> Node:
            if node not in copies and node.op == "get_attr":
                copies[node] = graph.node_copy(node, copied)
            return copies[node]

        last = stage == self.count - 1
        for node in self.nodes:
            if node.op == "output" and last:
                graph.output(map_arg(node.args[0], copied))
            elif node.op not in ("output", "get_attr") and self.stage_of[node] == stage:
                copies[node] = graph.node_copy(node, copied)
        if not last:
            graph.output(tuple(copies[node] for node in self.sent[stage]))
        made = GraphModule(self.module, graph, f"Stage{stage}")
        # what the trace has kept is part of the code, not of the state
        made._non_persistent_buffers_set |= {*self.tracer.constants}
        return made

    def _shared(self) -> list[dict[str, str]]:
        """Parameters of several stages; in several processes each has its own copy of them."""
        users: dict[str, set[int]] = {}
        for node in self.nodes:
            stages = {self.stage_of[user] for user in node.users if user in self.stage_of}
            if node.op == "get_attr":
                users.setdefault(str(node.target), set()).update(stages)
            elif node.op == "call_module":
                for name, _ in self.module.get_submodule(str(node.target)).named_parameters():
                    path = f"{node.target}.{name}"
                    users.setdefault(path, set()).add(self.stage_of[node])
        by_parameter: dict[int, dict[str, str]] = {}
        known = dict(self.module.named_parameters(remove_duplicate=False))
        for path, stages in users.items():
            if path in known:
                names = by_parameter.setdefault(id(known[path]), {})
                names.update({stage_name(stage): path for stage in stages})
        shared = [names for names in by_parameter.values() if len(names) > 1]
        for names in shared:
            warnings.warn(
                f"a parameter is used in several stages ({names}): in different processes each "
                "stage has a copy of its own, and their gradients are not added",
                stacklevel=4,
            )
        return shared


def is_tensor(value: Any) -> bool:
    return has_tensors((value,)) and not isinstance(value, (tuple, list, dict))
