"""The calls of overloads in a forward as nodes of a graph, written down while it is traced."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from typing import Any, Self

from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.compile.capture.tracer import TracingError
from mindtorch.engine.compile.ir.ir import Value, waits
from mindtorch.engine.dispatch import GRAD, state
from mindtorch.engine.op import Op
from mindtorch.engine.symbolic_sizes import KINDS, plain
from mindtorch.engine.tensor import Tensor
from mindtorch.torch._aten.lowerings import described, overload
from mindtorch.torch._aten.overloads import OpOverload, Receiver
from mindtorch.torch._aten.schemas import tensors_in
from mindtorch.torch._subclasses.fake_tensor import fake
from mindtorch.torch.fx.node import Node

from ._control_flow import ControlFlow
from ._symbols import Expression, SymInt

__all__ = ["Recorder"]

_OPERATORS: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod,
}  # fmt: skip


class Recorder(ControlFlow, Receiver):
    """Writes overloads down and lets the tracer around it go on.

    Args:
        program: an `Inputs` with `constant`, which gets the nodes.
    """

    entire = True
    draws = True

    def __init__(self, program: Any) -> None:
        super().__init__()
        self.graph, self.root = program.graph, program.root
        self.constant = program.constant
        self.length = program.length
        self.sizing = program.sizing
        self.thread = threading.get_ident()
        self._nodes: dict[int, tuple[Any, Node]] = {}
        self._values: dict[int, tuple[Value, Node]] = {}
        self._numbers: dict[int, Node] = {}
        self._ended: dict[Node, Node] = {}
        for tensor, node in program.traced:
            self.note(tensor, node)

    def __enter__(self) -> Self:
        self.outer = state.interpreters
        state.update(interpreters=(*self.outer, self))
        return self

    def __exit__(self, *exception: Any) -> None:
        state.update(interpreters=self.outer)

    # --- tensors and numbers as nodes -----------------------------------------------------------

    def note(self, tensor: Tensor, node: Node) -> None:
        """Let ``node`` stand for a tensor from now on."""
        self._nodes[id(tensor)] = tensor, node
        if isinstance(tensor.flat, Value):
            self._values[id(tensor.flat)] = tensor.flat, node

    def node_of(self, tensor: Tensor) -> Node:
        """The node that stands for a tensor."""
        found = self._nodes.get(id(tensor))
        if found is not None:
            return found[1]
        of_value = self._values.get(id(tensor.flat))
        if of_value is not None:
            return of_value[1]
        if self.within():
            node = self.tensor_from_around(tensor, lambda: self.node_of(tensor))
        elif waits(tensor):
            raise TracingError("a tensor that no operator made is in the forward")
        else:
            node = self.constant(tensor)
        self.note(tensor, node)
        return node

    def value(self, each: Any) -> Any:
        """An argument as nodes have it."""
        if isinstance(each, Tensor):
            node = self.node_of(each)
            return node if state.mode & GRAD or not tape.requires_grad(each) else self._end(node)
        if type(each) in KINDS:
            return self._number(each.sizes, each.place)
        if isinstance(each, (list, tuple)):
            return [self.value(x) for x in each]
        return each

    def _end(self, node: Node) -> Node:
        """The value without its history: gradients end where the forward ends them."""
        found = self._ended.get(node)
        if found is None:
            found = self.emit(overload("detach.default"), (node,), {})
            found.meta["val"] = node.meta["val"]
            self._ended[node] = found
        return found

    def _number(self, sizes: Any, place: int) -> Node:
        found = self._numbers.get(place)
        if found is None and self.within():
            found = self._numbers[place] = self.from_around(lambda: self._number(sizes, place))
        if found is None:
            expression = self.sizing.expression(sizes, place)
            hint = int(plain(sizes.values[place]))
            found = self._computed(expression, SymInt(expression, hint), sizes)
            self._numbers[place] = found
        return found

    def _computed(self, expression: Expression, value: Any, sizes: Any) -> Any:
        """The node of a length: `operator` on nodes of open lengths."""
        if expression.kind == "number":
            return expression.value
        if expression in self.sizing.names:
            return self.length(self.sizing.names.index(expression))
        function = _OPERATORS.get(expression.kind)
        if function is None:
            raise TracingError(f"the length {expression} is computed in a way that no node has")
        known = zip(self.sizing.names, sizes.values, strict=False)
        hints = {name.value: int(plain(n)) for name, n in known}
        left, *rest = expression.operands
        if expression.kind in "+*" and left.kind == "number":
            left, *rest = (*rest, left)
        made = self._computed(left, None, sizes)
        for each in rest:
            left = Expression(expression.kind, None, (left, each))
            given = (made, self._computed(each, None, sizes))
            made = self.graph.call_function(function, given)
            made.meta["val"] = SymInt(left, left.number(hints))
        if value is not None:
            made.meta["val"] = value
        return made

    # --- calls ------------------------------------------------------------------------------------

    def emit(self, func: OpOverload, args: Any, kwargs: Any) -> Node:
        """A node without a value."""
        return self.graph.call_function(func, tuple(args), dict(kwargs), name=func._opname)

    def hand(self, func: OpOverload, args: Any, kwargs: Any) -> Any:
        args, kwargs = func.as_passed(args, kwargs)
        if func._opname in ("lift_fresh", "lift_fresh_copy"):
            return self._lifted(args[0])
        given = [self.value(x) for x in args], {k: self.value(x) for k, x in kwargs.items()}
        result = self.outside(func.kernel, *args, **kwargs)
        schema = func._schema
        written = schema is not None and schema.is_mutable
        if written and self.within() and args and isinstance(args[0], Tensor):
            self.check_write(args[0])
        made = list(tensors_in(result if isinstance(result, (list, tuple)) else (result,)))
        if not made and not written:
            return result
        if len(made) == 1 and made[0] is result and not written and result is args[:1]:
            return result
        node = self.emit(func, *given)
        if isinstance(result, (list, tuple)):
            self._name_parts(node, result)
        elif made:
            self._describe(node, result)
            if not (written and self._is_ended(args)):
                self.note(result, node)
                if written and args and isinstance(args[0], Tensor):
                    self.note(args[0], node)
        self._read_again(written, args)
        return result

    def _is_ended(self, args: Any) -> bool:
        """Whether a write is to the value of a tensor without its history."""
        return bool(not state.mode & GRAD and args and tape.requires_grad(args[0]))

    def _read_again(self, written: bool, args: Any) -> None:
        """What was detached before a write is detached again."""
        if written:
            self._ended.clear()

    def _name_parts(self, node: Node, results: Any) -> None:
        node.meta["val"] = type(results)(
            [self._fake(x) if isinstance(x, Tensor) else x for x in results]
        ) if not hasattr(results, "_fields") else tuple(map(self._fake, results))
        for at, each in enumerate(results):
            if isinstance(each, Tensor):
                part = self.graph.call_function(operator.getitem, (node, at))
                self._describe(part, each)
                self.note(each, part)

    def _lifted(self, tensor: Tensor) -> Tensor:
        """A tensor of numbers that the forward has just made: a constant of the program, copied."""
        node = self.emit(overload("lift_fresh_copy.default"), (self._constant(tensor),), {})
        self._describe(node, tensor)
        ended = self.emit(overload("detach_.default"), (node,), {})
        self._describe(ended, tensor)
        self.note(tensor, ended)
        return tensor

    def _constant(self, tensor: Tensor) -> Any:
        if self.within():
            return self.from_around(lambda: self._constant(tensor))
        return self.constant(tensor)

    def _fake(self, tensor: Any) -> Any:
        a, shown = tensor.aval, self.sizing.shown
        return fake(
            [shown(n) for n in a.shape], a.dtype, [shown(n) for n in a.strides], a.device,
            tape.requires_grad(tensor),
        )  # fmt: skip

    def _describe(self, node: Node, tensor: Tensor) -> None:
        node.meta["val"] = self._fake(tensor)

    # --- the engine's ops, where no public function stands for them -------------------------------

    def apply(self, op: Op, inputs: Any, params: Any) -> Any:
        return self.hand(*described(op, inputs, params))

    def apply_in_place(self, op: Op, target: Tensor, inputs: Any, params: Any) -> Tensor:
        func, args, kwargs = described(op, inputs, params, target)
        self.hand(func, args, kwargs)
        return target

    def copy_into(self, target: Tensor, source: Tensor) -> Tensor:
        inplace.check_writable(target)
        if source.aval.weak and not source.aval.shape:
            self.hand(overload("fill_.Scalar"), (target, source.flat[0].item()), {})
        else:
            self.hand(overload("copy_.default"), (target, source), {})
        return target

    def item(self, tensor: Tensor) -> Any:
        return self.outer[-1].item(tensor)

    def draw(self, described: Any, fill: Callable[..., Any], inputs: Any) -> Tensor:
        raise TracingError("random numbers are drawn in a way that no operator has")

    def redraw(self, target: Tensor, fill: Callable[..., Any], inputs: Any) -> None:
        self.draw(target.aval, fill, inputs)


