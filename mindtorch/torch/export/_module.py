"""The module that an exported program is run by."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NoReturn

from mindtorch.engine.symbolic_sizes import plain
from mindtorch.engine.tensor import Tensor
from mindtorch.exporting.replay import Replay
from mindtorch.torch import no_grad
from mindtorch.torch.nn import Module
from mindtorch.torch.utils._pytree import tree_flatten

from ._tracing import Guard, Traced
from .graph_signature import InputKind, OutputKind, TensorArgument

__all__ = ["COMPARISONS", "ExportedModule"]

COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip


def _place(root: Module, name: str) -> tuple[Module, str]:
    """The module that holds what has a dotted name, made where it is missing, and the last part."""
    *parts, last = name.split(".")
    for part in parts:
        if part not in root._modules:
            root.add_module(part, Module())
        root = root._modules[part]
    return root, last


class ExportedModule(Module):
    """A program as a module: parameters and buffers of the exported one, and its forward.

    Args:
        traced: the program.
        state: parameters and buffers by name, used as they are; constants: the other tensors.
    """

    def __init__(
        self, traced: Traced, state: dict[str, Tensor], constants: dict[str, Tensor]
    ) -> None:
        super().__init__()
        self._traced = traced
        self._replay = Replay(traced.graph)
        self._constants = {}
        for spec in traced.signature.input_specs:
            name = str(spec.target)
            if spec.kind is InputKind.CONSTANT_TENSOR:
                self._constants[name] = constants[name]
                continue
            if spec.kind is InputKind.USER_INPUT:
                continue
            held = state[name] if name in state else constants[name]
            module, last = _place(self, name)
            if spec.kind is InputKind.PARAMETER:
                module.register_parameter(last, held)
            else:
                module.register_buffer(last, held, persistent=bool(spec.persistent))

    def train(self, mode: bool = True) -> NoReturn:
        """The mode is the one that the program was exported in."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self) -> NoReturn:
        """The mode is the one that the program was exported in."""
        raise NotImplementedError("Calling eval() is not supported yet.")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the exported forward computes, for arguments like those it was exported with.

        Raises:
            ValueError: the arguments are put together in another way.
            AssertionError: a length or a constant is not one that the program is for.
        """
        traced = self._traced
        leaves = self._leaves(args, kwargs)
        held: dict[str, Any] = {**dict(self.named_parameters()), **dict(self.named_buffers())}
        given = iter(leaves)
        inputs: list[Tensor] = []
        named: dict[str, Tensor] = {}
        for spec in traced.signature.input_specs:
            if spec.kind is InputKind.USER_INPUT:
                leaf = next(given)
                if isinstance(spec.arg, TensorArgument):
                    leaf.size()  # an AttributeError for what is no tensor
                    named[spec.arg.name] = leaf
                    inputs.append(leaf)
                elif type(leaf) is not type(spec.arg.value) or leaf != spec.arg.value:
                    raise AssertionError(f"Guard failed: {spec.arg.name} == {spec.arg.value!r}")
            elif spec.kind is InputKind.CONSTANT_TENSOR:
                inputs.append(self._constants[str(spec.target)])
            else:
                inputs.append(held[str(spec.target)])
        numbers = self._checked(inputs)
        made = iter(self._replay(inputs, numbers))
        return self._results(made, held, named)

    def _leaves(self, args: Any, kwargs: dict[str, Any]) -> list[Any]:
        spec = self._traced.in_spec
        names = spec.children_specs[1].context
        if set(names) != set(kwargs):
            raise ValueError(
                "Ran into a kwarg keyword mismatch: Got the following keywords "
                f"{list(kwargs)} but expected {list(names)}"
            )
        leaves, found = tree_flatten((tuple(args), {name: kwargs[name] for name in names}))
        if found != spec:
            raise ValueError(
                f"Trying to flatten user inputs with exported input tree spec: \n{spec}\nbut "
                f"actually got inputs with tree spec of: \n{found}.\nPlease check that the inputs "
                "have the same number and type of args and kwargs as the ones you used when "
                "tracing."
            )
        return leaves

    def _checked(self, inputs: list[Tensor]) -> list[Any]:
        """The numbers that follow from the lengths, once these are found right."""
        traced, graph = self._traced, self._traced.graph
        opened = {at: i for i, at in enumerate(traced.lengths)}
        numbers = self._replay.numbers([_length(inputs[i], axis) for i, axis in traced.lengths])
        ranges = list(traced.ranges.values())
        for i, (place, x) in enumerate(zip(graph.inputs, inputs, strict=True)):
            tensor = graph.tensors[place]
            if x.ndim != len(tensor.shape):
                raise AssertionError(f"Guard failed: {tensor.name}.dim() == {len(tensor.shape)}")
            for axis, wanted in enumerate(tensor.shape):
                length, shown = x.shape[axis], f"{tensor.name}.size()[{axis}]"
                if type(wanted) is int:
                    if length != wanted:
                        raise AssertionError(f"Guard failed: {shown} == {wanted}")
                elif (i, axis) in opened:
                    span = ranges[opened[i, axis]]
                    if length < span.lower:
                        raise AssertionError(f"Guard failed: {shown} >= {span.lower}")
                    if span.upper is not None and length > span.upper:
                        raise AssertionError(f"Guard failed: {shown} <= {span.upper}")
                elif length != numbers[wanted.place]:
                    raise AssertionError(f"Guard failed: {shown} == {numbers[wanted.place]}")
        for guard in traced.guards:
            if not self._holds(guard, numbers):
                raise AssertionError(f"Guard failed: {self._shown(guard)}")
        return numbers

    @staticmethod
    def _holds(guard: Guard, numbers: list[Any]) -> bool:
        left, right = [
            plain(numbers[int(side[1:])] if isinstance(side, str) else side)
            for side in (guard.left, guard.right)
        ]
        return bool(COMPARISONS[guard.comparison](left, right)) is guard.holds

    def _shown(self, guard: Guard) -> str:
        def side(value: Any) -> str:
            if not isinstance(value, str):
                return str(value)
            place = int(value[1:])
            if place >= len(self._traced.lengths):
                return f"({self._traced.graph.sizes[place]})"
            i, axis = self._traced.lengths[place]
            return f"{self._traced.graph.tensors[self._traced.graph.inputs[i]].name}.size()[{axis}]"

        said = f"{side(guard.left)} {guard.comparison} {side(guard.right)}"
        return said if guard.holds else f"not {said}"

    def _results(
        self, made: Iterator[Tensor], held: dict[str, Any], named: dict[str, Tensor]
    ) -> Any:
        """Write to what the forward wrote to, and put the result together."""
        leaves = []
        for spec in self._traced.signature.output_specs:
            value = next(made) if isinstance(spec.arg, TensorArgument) else spec.arg.value
            if spec.kind is OutputKind.USER_OUTPUT:
                leaves.append(value)
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                named[str(spec.target)].copy_(value)
            else:
                with no_grad():
                    held[str(spec.target)].copy_(value)
        return self._traced.out_spec.unflatten(leaves)


def _length(x: Tensor, axis: int) -> int:
    shape = x.aval.shape
    return shape[axis] if axis < len(shape) else 0
