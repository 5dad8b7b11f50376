"""What the inputs and outputs of an exported graph stand for."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ArgumentSpec", "ConstantArgument", "ExportGraphSignature", "InputKind", "InputSpec",
    "OutputKind", "OutputSpec", "SymIntArgument", "TensorArgument",
]  # fmt: skip


@dataclass
class TensorArgument:
    """A tensor of the graph.

    Attributes:
        name: in the graph.
    """

    name: str


@dataclass
class ConstantArgument:
    """A value that is no tensor: the one that the program was exported with.

    Attributes:
        name: of the argument, "" for an output.
        value: the value.
    """

    name: str
    value: Any


@dataclass
class SymIntArgument:
    """A length of the graph that is open.

    Attributes:
        name: in the graph.
    """

    name: str


ArgumentSpec = TensorArgument | SymIntArgument | ConstantArgument


class InputKind(enum.Enum):
    """Where an input of the graph comes from."""

    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    """What becomes of an output of the graph."""

    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclass
class InputSpec:
    """One input of the graph.

    Attributes:
        kind: where it comes from.
        arg: its name in the graph.
        target: of a parameter, buffer or constant, its name in the module.
        persistent: of a buffer, whether it is in the ``state_dict``.
    """

    kind: InputKind
    arg: ArgumentSpec
    target: str | None
    persistent: bool | None = None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        kept = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{kept}"


@dataclass
class OutputSpec:
    """One output of the graph.

    Attributes:
        kind: what becomes of it.
        arg: its name in the graph, or the value.
        target: of what is written to, the name: of a buffer or parameter in the module, of an
            argument in the graph.
    """

    kind: OutputKind
    arg: ArgumentSpec
    target: str | None

    def __str__(self) -> str:
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{self.arg.name}: {self.kind.name}{target}"


def _shown(arg: ArgumentSpec) -> Any:
    return arg.value if isinstance(arg, ConstantArgument) else arg.name


@dataclass
class ExportGraphSignature:
    """The inputs of an exported graph (parameters, buffers, constants, then the user's) and its
    outputs (what buffers and arguments are afterwards, then the user's).

    Attributes:
        input_specs, output_specs: one for each, in order.
    """

    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]

    def _inputs(self, kind: InputKind) -> Iterator[InputSpec]:
        return (spec for spec in self.input_specs if spec.kind is kind)

    def _targets(self, kind: InputKind) -> tuple[str, ...]:
        return tuple(str(spec.target) for spec in self._inputs(kind))

    def _by_name(self, kind: InputKind) -> Mapping[str, str]:
        return {spec.arg.name: str(spec.target) for spec in self._inputs(kind)}

    def _written(self, kind: OutputKind) -> Mapping[str, str]:
        found = (spec for spec in self.output_specs if spec.kind is kind)
        return {spec.arg.name: str(spec.target) for spec in found}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of parameters, in the module."""
        return self._targets(InputKind.PARAMETER)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of buffers, in the module."""
        return self._targets(InputKind.BUFFER)

    @property
    def non_persistent_buffers(self) -> tuple[str, ...]:
        """The names of buffers that are not in the ``state_dict``."""
        found = self._inputs(InputKind.BUFFER)
        return tuple(str(spec.target) for spec in found if not spec.persistent)

    @property
    def lifted_tensor_constants(self) -> tuple[str, ...]:
        """The names of tensors that are neither parameters nor buffers."""
        return self._targets(InputKind.CONSTANT_TENSOR)

    @property
    def user_inputs(self) -> tuple[Any, ...]:
        """The names of the arguments' tensors, and the values of the others."""
        return tuple(_shown(spec.arg) for spec in self._inputs(InputKind.USER_INPUT))

    @property
    def user_outputs(self) -> tuple[Any, ...]:
        """The names of the results' tensors, and the values of the others."""
        found = (s for s in self.output_specs if s.kind is OutputKind.USER_OUTPUT)
        return tuple(_shown(spec.arg) for spec in found)

    @property
    def inputs_to_parameters(self) -> Mapping[str, str]:
        """{name in the graph: name in the module} of parameters."""
        return self._by_name(InputKind.PARAMETER)

    @property
    def inputs_to_buffers(self) -> Mapping[str, str]:
        """{name in the graph: name in the module} of buffers."""
        return self._by_name(InputKind.BUFFER)

    @property
    def inputs_to_lifted_tensor_constants(self) -> Mapping[str, str]:
        """{name in the graph: name in the module} of constants."""
        return self._by_name(InputKind.CONSTANT_TENSOR)

    @property
    def buffers_to_mutate(self) -> Mapping[str, str]:
        """{output: name of the buffer that it becomes}."""
        return self._written(OutputKind.BUFFER_MUTATION)

    @property
    def user_inputs_to_mutate(self) -> Mapping[str, str]:
        """{output: name of the argument that it becomes}."""
        return self._written(OutputKind.USER_INPUT_MUTATION)

    def __str__(self) -> str:
        given = "\n".join(str(spec) for spec in self.input_specs)
        made = "\n".join(str(spec) for spec in self.output_specs)
        return f"\n# inputs\n{given}\n\n# outputs\n{made}\n"
