"""ExportedProgram: a forward as a graph, with its parameters, buffers and constants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from mindtorch.engine.tensor import Tensor
from mindtorch.lite.graph import LiteGraph, Size
from mindtorch.torch._compat.unsupported_names import refuse
from mindtorch.torch.nn import Module, Parameter
from mindtorch.torch.utils._pytree import TreeSpec

from ._module import ExportedModule
from ._tracing import Traced
from .dynamic_shapes import ValueRange
from .graph_signature import ExportGraphSignature

__all__ = ["CallSpec", "ExportedProgram"]


class CallSpec(NamedTuple):
    """How arguments and results are put together."""

    in_spec: TreeSpec | None
    out_spec: TreeSpec | None


class ExportedProgram:
    """What :func:`torch.export.export` and :func:`torch.export.load` give.

    Args:
        traced: what the forward computes.
        state_dict: parameters and buffers by name.
        constants: other tensors that the forward reads, by name.
        example_inputs: (args, kwargs) that it was exported with.
    """

    def __init__(
        self, traced: Traced, state_dict: dict[str, Tensor], constants: dict[str, Tensor],
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        self._traced = traced
        self._state_dict = state_dict
        self._constants = constants
        self._example_inputs = example_inputs

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What the graph's inputs and outputs are."""
        return self._traced.signature

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by name: the exported module's own."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Tensor]:
        """Tensors that are not in the ``state_dict``, by name."""
        return self._constants

    @property
    def tensor_constants(self) -> dict[str, Tensor]:
        """The same as `constants`."""
        return self._constants

    @property
    def example_inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """(args, kwargs) that it was exported with."""
        return self._example_inputs

    @property
    def call_spec(self) -> CallSpec:
        """How arguments and results are put together."""
        return CallSpec(self._traced.in_spec, self._traced.out_spec)

    @property
    def range_constraints(self) -> dict[str, ValueRange]:
        """What open lengths may be, by their names."""
        return self._traced.ranges

    def open_axes(self) -> dict[str, dict[int, str]]:
        """For each input of the graph its axes whose lengths are open, with their names."""
        graph = self._traced.graph
        names = list(self._traced.ranges)
        return {
            graph.tensors[place].name: {
                axis: names[n.place] for axis, n in enumerate(graph.tensors[place].shape)
                if isinstance(n, Size)
            }
            for place in graph.inputs
        }  # fmt: skip

    @property
    def dialect(self) -> str:
        """What the nodes are: ops of this library."""
        return "MINDTORCH"

    @property
    def graph(self) -> NoReturn:
        """Not available: the graph's nodes are no calls of torch's operators.

        Raises:
            NotImplementedError: always.
        """
        refuse(
            "ExportedProgram.graph", "its nodes are the engine's ops, print(program) shows them; "
            "torch.fx.symbolic_trace makes graphs of torch.fx"
        )  # fmt: skip

    graph_module = graph

    def module(self, check_guards: bool = True) -> Module:
        """A module that computes the same, with the same parameters and buffers. It can be
        trained, compiled and exported again.

        Args:
            check_guards: must be True: lengths are always checked.
        """
        if not check_guards:
            refuse("ExportedProgram.module(check_guards=False)", "lengths are always checked")
        return ExportedModule(self._traced, self._state_dict, self._constants)

    def parameters(self) -> Iterator[Parameter]:
        """The parameters."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter) of all."""
        for name in self.graph_signature.parameters:
            yield name, self._state_dict[name]  # type: ignore[misc]

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        for _, buffer in self.named_buffers():
            yield buffer

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) of all, those that are not in the ``state_dict`` too."""
        aside = set(self.graph_signature.non_persistent_buffers)
        for name in self.graph_signature.buffers:
            yield name, (self._constants if name in aside else self._state_dict)[name]

    def run_decompositions(
        self, decomp_table: Any = None, decompose_custom_triton_ops: bool = False
    ) -> ExportedProgram:
        """The program: its nodes are the engine's ops already, into which torch's are decomposed.

        Args:
            decomp_table, decompose_custom_triton_ops: must not be set: ops cannot be exchanged.
        """
        if decomp_table or decompose_custom_triton_ops:
            refuse("ExportedProgram.run_decompositions(decomp_table)", "ops cannot be exchanged")
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` "
            "instead."
        )

    def __str__(self) -> str:
        lines = "\n".join(f"    {line}" for line in _lines(self._traced.graph))
        return (
            f"ExportedProgram:\n{lines}\n\nGraph signature: {self.graph_signature}\n"
            f"Range constraints: {self.range_constraints}\n"
        )

    __repr__ = __str__


def _lines(graph: LiteGraph) -> Iterator[str]:
    """The graph as text."""

    def number(value: Any) -> str:
        if isinstance(value, Size):
            return f"s{value.place}"
        if isinstance(value, tuple):
            return f"({', '.join(map(number, value))}{',' if len(value) == 1 else ''})"
        return str(value)

    names = [
        str(t.data) if t.data is not None and t.data.ndim == 0 else t.name.removesuffix(":0")
        for t in graph.tensors
    ]
    for place in graph.inputs:
        tensor = graph.tensors[place]
        yield f"{names[place]}: {tensor.dtype}[{', '.join(map(number, tensor.shape))}]"
    for place, text in enumerate(graph.sizes[len(graph.lengths) :], len(graph.lengths)):
        yield f"s{place} = {text.replace('v', 's')}"
    for node in graph.nodes:
        given = ["None" if i is None else names[i] for i in node.inputs]
        given += [f"{name}={number(value)}" for name, value in node.params.items()]
        yield f"{', '.join(names[i] for i in node.outputs)} = {node.op}({', '.join(given)})"
    yield f"return ({', '.join(names[i] for i in graph.outputs)})"
