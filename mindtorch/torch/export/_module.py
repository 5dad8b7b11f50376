"""The module that an exported program is run by."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterator
from typing import Any, NoReturn

from mindtorch.engine.symbolic_sizes import plain
from mindtorch.engine.tensor import Tensor
from mindtorch.torch import no_grad
from mindtorch.torch.nn import Module
from mindtorch.torch.utils._pytree import tree_flatten

from ._symbols import Expression, SymInt
from ._tracing import Guard, Traced
from .graph_signature import ConstantArgument, InputKind, OutputKind, TensorArgument

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
        check_guards: whether lengths are checked.

    Attributes:
        graph_module: what computes; its graph may be changed.
    """

    def __init__(
        self, traced: Traced, state: dict[str, Tensor], constants: dict[str, Tensor],
        check_guards: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self._traced = traced
        self._check_guards = check_guards
        self._modules["graph_module"] = copy.copy(traced.graph_module)
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
        self._tensors = [
            (place, spec.arg.name) for place, spec in enumerate(traced.signature.input_specs)
            if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, TensorArgument)
        ]  # fmt: skip
        values = [n.meta["val"] for n in traced.graph_module.graph.find_nodes(op="placeholder")]
        self._shapes = [tuple(values[place].shape) for place, _ in self._tensors]

    @property
    def graph(self) -> Any:
        """The graph that is run."""
        return self.graph_module.graph

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
        given = iter(self._leaves(args, kwargs))
        held: dict[str, Any] = {
            **dict(self.named_parameters(remove_duplicate=False)),
            **dict(self.named_buffers(remove_duplicate=False)),
        }
        inputs: list[Any] = []
        named: dict[str, Tensor] = {}
        for spec in traced.signature.input_specs:
            if spec.kind is InputKind.USER_INPUT:
                leaf = next(given)
                if isinstance(spec.arg, TensorArgument):
                    leaf.size()  # an AttributeError for what is no tensor
                    named[spec.arg.name] = leaf
                elif isinstance(spec.arg, ConstantArgument) and (
                    type(leaf) is not type(spec.arg.value) or leaf != spec.arg.value
                ):
                    raise AssertionError(f"Guard failed: {spec.arg.name} == {spec.arg.value!r}")
                inputs.append(leaf)
            elif spec.kind is InputKind.CONSTANT_TENSOR:
                inputs.append(self._constants[str(spec.target)])
            else:
                inputs.append(held[str(spec.target)])
        if self._check_guards:
            self._check(inputs)
        return self._results(iter(self.graph_module(*inputs)), held, named)

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

    # --- lengths ----------------------------------------------------------------------------------

    def _check(self, inputs: list[Any]) -> None:
        """Raise where a length is none that the program is for."""
        traced = self._traced
        lengths: dict[str, Any] = {}
        shown = {name: source[3:].replace("']", "", 1) for name, source in traced.sources.items()}
        derived: list[tuple[str, Any, Expression]] = []
        for (place, name), shape in zip(self._tensors, self._shapes, strict=True):
            x = inputs[place]
            if x.ndim != len(shape):
                raise AssertionError(f"Guard failed: {name}.dim() == {len(shape)}")
            for axis, wanted in enumerate(shape):
                length, text = x.shape[axis], f"{name}.size()[{axis}]"
                if not isinstance(wanted, SymInt):
                    if length != wanted:
                        raise AssertionError(f"Guard failed: {text} == {wanted}")
                elif wanted.expression.kind != "symbol":
                    derived.append((text, length, wanted.expression))
                elif wanted.expression.value not in lengths:
                    lengths[wanted.expression.value] = length
                    shown[wanted.expression.value] = text
                elif length != lengths[wanted.expression.value]:
                    found = lengths[wanted.expression.value]
                    raise AssertionError(f"Guard failed: {text} == {plain(found)}")
        for text, length, expression in derived:
            if length != expression.number(lengths):
                raise AssertionError(f"Guard failed: {text} == {_shown(expression, shown)}")
        self._check_relations(lengths, shown)

    def _check_relations(self, lengths: dict[str, Any], shown: dict[str, str]) -> None:
        for expression, span in self._traced.ranges.items():
            length, text = expression.number(lengths), _shown(expression, shown)
            if length < span.lower:
                raise AssertionError(f"Guard failed: {text} >= {span.lower}")
            if span.upper is not None and length > span.upper:
                raise AssertionError(f"Guard failed: {text} <= {span.upper}")
        for guard in self._traced.guards:
            if not _holds(guard, lengths):
                sides = _shown(guard.left, shown), _shown(guard.right, shown)
                raise AssertionError(f"Guard failed: {sides[0]} {guard.comparison} {sides[1]}")

    def _results(
        self, made: Iterator[Any], held: dict[str, Any], named: dict[str, Tensor]
    ) -> Any:
        """Write to what the forward wrote to, and put the result together."""
        leaves = []
        for spec in self._traced.signature.output_specs:
            value = next(made)
            if spec.kind is OutputKind.USER_OUTPUT:
                leaves.append(value)
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                named[str(spec.target)].copy_(value)
            else:
                with no_grad():
                    held[str(spec.target)].copy_(value)
        return self._traced.out_spec.unflatten(leaves)


def _holds(guard: Guard, lengths: dict[str, Any]) -> bool:
    sides = [plain(side.number(lengths)) for side in (guard.left, guard.right)]
    return bool(COMPARISONS[guard.comparison](*sides))


def _shown(expression: Expression, names: dict[str, str]) -> str:
    """An expression with the places of lengths."""
    if expression.kind == "symbol":
        return names.get(expression.value, expression.value)
    operands = tuple(
        Expression("symbol", _shown(x, names)) if x.operands or x.kind == "symbol" else x
        for x in expression.operands
    )
    return str(Expression(expression.kind, expression.value, operands))
