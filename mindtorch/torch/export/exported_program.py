"""ExportedProgram: a forward as a graph, with its parameters, buffers and constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, NoReturn

from mindtorch.engine.tensor import Tensor
from mindtorch.torch.fx.graph import Graph
from mindtorch.torch.fx.graph_module import GraphModule
from mindtorch.torch.nn import Module, Parameter
from mindtorch.torch.utils._pytree import TreeSpec

from ._decomposition import decomposed
from ._module import ExportedModule
from ._printing import readable
from ._symbols import Expression, SymInt
from ._tracing import Traced
from .dynamic_shapes import ValueRange
from .graph_signature import ExportGraphSignature, InputKind, TensorArgument

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
        dialect: what the nodes are, as :attr:`dialect` says.
    """

    def __init__(
        self, traced: Traced, state_dict: dict[str, Tensor], constants: dict[str, Tensor],
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
        dialect: str = "TRAINING",
    ) -> None:  # fmt: skip
        self._traced = traced
        self._state_dict = state_dict
        self._constants = constants
        self._example_inputs = example_inputs
        self._dialect = dialect

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
    def range_constraints(self) -> dict[Expression, ValueRange]:
        """What open lengths may be; the keys are shown by their names."""
        return self._traced.ranges

    def open_axes(self) -> dict[str, dict[int, str]]:
        """For each tensor among the arguments its axes whose lengths are open, with their names."""
        named = {node.name: node for node in self.graph.find_nodes(op="placeholder")}
        tensors = [
            spec.arg.name for spec in self.graph_signature.input_specs
            if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument)
        ]  # fmt: skip
        return {
            name: {
                axis: str(n) for axis, n in enumerate(named[name].meta["val"].shape)
                if isinstance(n, SymInt)
            }
            for name in tensors
        }  # fmt: skip

    @property
    def dialect(self) -> str:
        """What the nodes are: torch's operators ("TRAINING"), or after
        :meth:`run_decompositions` such as write nothing ("ATEN")."""
        return self._dialect

    @property
    def graph(self) -> Graph:
        """The graph: calls of torch's operators; see :attr:`graph_module`."""
        return self._traced.graph_module.graph

    @property
    def graph_module(self) -> GraphModule:
        """What runs the graph. It takes all parameters, buffers, constants and arguments, in the
        order of :attr:`graph_signature`, and gives a flat tuple. :meth:`module` runs the graph as
        it is when it is called."""
        return self._traced.graph_module

    def module(self, check_guards: bool = True) -> Module:
        """A module that computes the same, with the same parameters and buffers. It can be
        trained, compiled and exported again.

        Args:
            check_guards: whether it checks at each call that it is made for the lengths.
        """
        return ExportedModule(self._traced, self._state_dict, self._constants, check_guards)

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
        self, decomp_table: dict[Any, Callable[..., Any]] | None = None,
        decompose_custom_triton_ops: bool = False,
    ) -> ExportedProgram:  # fmt: skip
        """The same program in fewer operators, none of which writes to a tensor: what buffers and
        arguments are afterwards are further outputs, see :attr:`graph_signature`. Where the forward
        ended gradients is not kept, as in torch.

        Args:
            decomp_table: functions that operators are replaced by, in calls of others; those that
                torch decomposes always are, too. None: all but Core ATen.
            decompose_custom_triton_ops: must be False.

        Raises:
            ExportError: an operator writes to a tensor, and none has the value alone.
        """
        if decompose_custom_triton_ops:
            raise NotImplementedError("run_decompositions: there are no operators of Triton")
        table = None if decomp_table is None else dict(decomp_table)
        traced = decomposed(self._traced, table)
        return ExportedProgram(
            traced, self._state_dict, self._constants, self._example_inputs, "ATEN"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` "
            "instead."
        )

    def __str__(self) -> str:
        code = readable(self.graph_module)
        shown = "".join(f"    {line}\n" for line in code.splitlines())
        signature = "".join(f"    {line}\n" for line in str(self.graph_signature).splitlines())
        spans = ", ".join(f"{name}: {span}" for name, span in self.range_constraints.items())
        return (
            f"ExportedProgram:\n{shown}\nGraph signature: {signature.lstrip(' ')}"
            f"Range constraints: {{{spans}}}\n"
        )

    __repr__ = __str__
