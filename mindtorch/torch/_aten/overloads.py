"""Operators and their overloads, as ``torch.ops`` has them, and where a call of one goes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch.engine.dispatch import GRAD, state
from mindtorch.engine.interpreter import Interpreter

from ..library._custom_operators import Operator, Schema
from .schemas import bind, lines_of, marks_of, schema_of, shortened, tensors_in

__all__ = [
    "OpOverload", "OpOverloadPacket", "Receiver", "below", "by_its_body", "is_below",
    "is_inside", "is_written", "packet_of", "receiver", "route",
    "wrapped_in",
]  # fmt: skip

# Names of torch's overloads: by the types of what they take. Some operators have others.
_OTHER_OVERLOADS = frozenset({"default", "out", "grad_input", "Tensor_out", "Scalar_out"})

class _Place(threading.local):
    """Where a thread is.

    Attributes:
        below: below autograd, in the code of a mode or of a tensor's class.
        inside: in the body of a function, whose ops of the engine are handed on.
        writing: the overload in place that is computed so.
    """

    below = False
    inside = False
    writing: OpOverload | None = None


_place = _Place()


def is_below() -> bool:
    """Whether autograd has had its turn: calls go to the next mode, and are not recorded."""
    return _place.below


@contextlib.contextmanager
def below() -> Iterator[None]:
    """A block below autograd: nothing is recorded."""
    before, inside, grad = _place.below, _place.inside, state.grad_enabled
    _place.below, _place.inside = True, False
    if grad:
        state.update(grad=False)
    try:
        yield
    finally:
        _place.below, _place.inside = before, inside
        if grad:
            state.update(grad=True)


def is_inside() -> bool:
    """Whether the ops of the engine are handed on, not the functions that call them."""
    return _place.inside


def by_its_body(func: OpOverload, args: Any, kwargs: Any) -> Any:
    """``func``'s kernel, whose ops of the engine are handed on."""
    before = _place.inside, _place.writing
    _place.inside, _place.writing = True, func
    try:
        return func.kernel(*args, **kwargs)
    finally:
        _place.inside, _place.writing = before


def is_written(name: str) -> OpOverload | None:
    """The overload of ``name``, in place, that is computed by its kernel."""
    func = _place.writing
    return func if func is not None and func._opname == name else None


class Receiver(Interpreter):
    """An interpreter that overloads are handed to.

    Attributes:
        entire: whether it takes them before autograd, and those that torch decomposes, too.
    """

    entire = False

    def hand(self, func: OpOverload, args: Any, kwargs: Any) -> Any:
        """What ``func(*args, **kwargs)`` is, below autograd."""
        raise NotImplementedError

    def choose(self, pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
        """What `torch.cond` is; NotImplemented: what one of the functions gives."""
        return NotImplemented

    def repeat(self, cond_fn: Any, body_fn: Any, carried: Any, more: Any = ()) -> Any:
        """What `while_loop` is; NotImplemented: what its rounds give."""
        return NotImplemented


def receiver() -> Receiver | None:
    """The innermost interpreter, where it takes overloads."""
    top = state.interpreters[-1] if state.interpreters else None
    return top if isinstance(top, Receiver) else None


def wrapped_in(args: Any, kwargs: Any) -> list[Any]:
    """Tensors among the arguments whose classes answer for ops, one of each class, subclasses
    before their bases."""
    found: list[Any] = []
    for x in tensors_in((*args, *kwargs.values())):
        if not x.aval.answered or any(type(x) is type(y) for y in found):
            continue
        places = (n for n, y in enumerate(found) if issubclass(type(x), type(y)))
        found.insert(next(places, len(found)), x)
    return found


def ask_classes(func: OpOverload, wrapped: list[Any], args: Any, kwargs: Any) -> Any:
    """What the classes of tensors say; torch's error where all of them say NotImplemented."""
    types = tuple(type(x) for x in wrapped)
    args, kwargs = func.as_passed(args, kwargs)
    for each in types:
        result = each.__torch_dispatch__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    listed = "".join(f"\n  - tensor subclass {each}" for each in types)
    raise TypeError(
        f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented:\n{listed}\n\nFor more information, try re-running with "
        "TORCH_LOGS=not_implemented"
    )


def route(func: OpOverload, args: Any, kwargs: Any) -> Any:
    """A call below autograd: to the innermost mode, else to a class of tensors, else the kernel."""
    top = receiver()
    if top is not None:
        return top.hand(func, args, kwargs)
    wrapped = wrapped_in(args, kwargs)
    if wrapped:
        return ask_classes(func, wrapped, args, kwargs)
    return func.kernel(*args, **kwargs)


class OpOverload:
    """``torch.ops.namespace.name.overload``, which ``__torch_dispatch__`` is given.

    Attributes:
        kernel: what computes it; for an operator of ``aten`` one of our functions.
        composite: whether torch decomposes it into others.
        without_gradient: whether its results follow no gradient.
        above: ``above(overload, args, kwargs)``: a call that autograd has not seen yet, set by the
            module that knows gradients.
    """

    above: Callable[[OpOverload, Any, Any], Any]

    def __init__(
        self, packet: OpOverloadPacket, name: str, line: str | None = None,
        operator: Operator | None = None,
    ) -> None:  # fmt: skip
        self.overloadpacket = packet
        self.namespace, self._opname = packet._qualified_op_name.split("::")
        self._overloadname = name
        self._line = line
        self._operator = operator
        self.composite = "*" in marks_of(line)
        self.without_gradient = "-" in marks_of(line)
        self.__name__ = f"{self._opname}.{name}"
        self.__qualname__ = self.__name__
        self.__module__ = f"torch._ops.{self.namespace}"

    @property
    def kernel(self) -> Callable[..., Any]:
        return self.overloadpacket.kernel

    @property
    def op(self) -> Callable[..., Any]:
        return self.kernel

    @property
    def _schema(self) -> Schema | None:
        if self._operator is not None:
            return self._operator.schema
        return None if self._line is None else schema_of(self._line)

    @property
    def is_view(self) -> bool:
        """Whether a result has the memory of an argument that is not written to."""
        schema = self._schema
        return schema is not None and not schema.is_mutable and any(
            each.alias_info is not None for each in schema.returns
        )

    @property
    def tags(self) -> list[Any]:
        """Empty: what torch notes here for its compiler."""
        return []

    def as_passed(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments as a mode is given them: without those that have their default."""
        if self._line is None:
            return args, kwargs
        schema = schema_of(self._line)
        values = bind(schema, args, kwargs, numbers=True)
        return (args, kwargs) if values is None else shortened(schema, values)

    def name(self) -> str:
        qualified = self.overloadpacket._qualified_op_name
        overload = self._overloadname
        return qualified if overload == "default" else f"{qualified}.{overload}"

    def has_kernel_for_dispatch_key(self, key: Any) -> bool:
        """Whether there is one for the CPU, or, of what torch decomposes, for all."""
        kind = getattr(key, "name", str(key))
        return kind == ("CompositeImplicitAutograd" if self.composite else "CPU")

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """What it is made of in torch, where it is made of others; else NotImplemented."""
        return self(*args, **kwargs) if self.composite else NotImplemented

    def redispatch(self, keys: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The call below autograd; which keys are left makes no difference here."""
        with below():
            return route(self, args, kwargs)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        top = receiver()
        if top is not None and top.entire:
            return top.hand(self, args, kwargs)
        if _place.below and (not self.composite or state.inference):
            if not state.mode & GRAD:
                return route(self, args, kwargs)
            with below():  # the code of a mode has enabled gradients
                return route(self, args, kwargs)
        if top is None and not wrapped_in(args, kwargs):
            return self.kernel(*args, **kwargs)
        return OpOverload.above(self, args, kwargs)

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        name = self.overloadpacket
        return f"<OpOverload(op='{name}', overload='{self._overloadname}')>"

    def __deepcopy__(self, memo: Any = None) -> OpOverload:
        return self


class OpOverloadPacket:
    """``torch.ops.namespace.name``: a call finds the overload by its arguments."""

    def __init__(
        self, qualified: str, kernel: Callable[..., Any], operator: Operator | None = None
    ) -> None:
        self._qualified_op_name = qualified
        self.kernel = kernel
        self._operator = operator
        space, _, self.__name__ = qualified.partition("::")
        self._lines = lines_of(self.__name__) if space == "aten" and operator is None else {}
        self.__module__ = f"torch._ops.{space}"

    def _overload_name(self) -> str:
        schema = self._operator.schema if self._operator else None
        return (schema.overload if schema else "") or "default"

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self._lines) or [self._overload_name()]

    def __getattr__(self, name: str) -> OpOverload:
        if name[:2] == "__":
            raise AttributeError(name)
        known = name in self._lines or (
            name == self._overload_name() if not self._lines else name in _OTHER_OVERLOADS
        )
        if not known:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        made = self.__dict__[name] = OpOverload(
            self, name, self._lines.get(name), self._operator
        )
        return made

    def found(self, args: Any, kwargs: dict[str, Any]) -> tuple[OpOverload, dict[str, Any]] | None:
        """The overload that takes these arguments, and the values of all its arguments."""
        for name, line in self._lines.items():
            values = bind(schema_of(line), args, kwargs, "+" in marks_of(line))
            if values is not None:
                return getattr(self, name), values
        return None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if self._operator is not None:
            return getattr(self, self._overload_name())(*args, **kwargs)
        if receiver() is None and not wrapped_in(args, kwargs):
            return self.kernel(*args, **kwargs)
        found = self.found(args, kwargs)
        if found is None:
            return self.kernel(*args, **kwargs)
        overload, values = found
        args, kwargs = shortened(overload._schema, values)  # type: ignore[arg-type]
        return overload(*args, **kwargs)

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __deepcopy__(self, memo: Any = None) -> OpOverloadPacket:
        return self


def packet_of(operator: Operator) -> OpOverloadPacket:
    """What ``torch.ops`` shows of an operator that a program declared."""
    if operator.packet is None:
        operator.packet = OpOverloadPacket(operator.name, operator, operator)
    found: OpOverloadPacket = operator.packet
    return found


def _handed(operator: Operator, values: Any) -> Any:
    """What a mode, or the class of a tensor, says of a call of a declared operator."""
    if operator.kernels.keys() == {"CompositeImplicitAutograd"} and not state.inference:
        return NotImplemented  # its own calls are seen
    if receiver() is None and not wrapped_in(values, {}):
        return NotImplemented
    packet = packet_of(operator)
    args, kwargs = operator.divide(values)
    with below():
        return route(getattr(packet, packet._overload_name()), args, kwargs)


Operator.hand = _handed
