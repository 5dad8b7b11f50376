"""Operators that users declare: their schemas, their kernels, and the table that holds them.

`torch.library` fills the table, `torch.ops` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from mindtorch import torch

from .._tensor.tensor import Tensor
from ..amp.autocast_mode import is_autocast_enabled
from ..autograd.function import Function
from ..autograd.grad_mode import is_grad_enabled

__all__ = [
    "AUTOCAST_KEYS", "OPERATORS", "AliasInfo", "Argument", "Operator", "Returned", "Schema",
    "excluded", "operator_named", "parse_schema",
]  # fmt: skip

_SCHEMA = re.compile(r"\s*(?:(\w+)::)?(\w+)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.+?)\s*$", re.DOTALL)
_TYPE = r"(\w+)(?:\((\w+)(!?)([^)]*)\))?(\??\[\d*\])?(\?)?"
_ARGUMENT = re.compile(rf"{_TYPE}\s+(\w+)(?:\s*=\s*(.+))?$")
_RETURN = re.compile(rf"{_TYPE}(?:\s+(\w+))?$")


# The key of what casts the arguments on a device while autocast is on.
AUTOCAST_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "xpu": "AutocastXPU"}
_excluded: ContextVar[frozenset[str]] = ContextVar("excluded dispatch keys", default=frozenset())


@contextmanager
def excluded(keys: Iterable[str]) -> Iterator[None]:
    """Calls of operators in this block pass over the kernels of these keys."""
    token = _excluded.set(_excluded.get() | frozenset(keys))
    try:
        yield
    finally:
        _excluded.reset(token)


@dataclass(frozen=True)
class AliasInfo:
    """Which argument's memory a value has: both have the same names in their sets."""

    before_set: frozenset[str]
    after_set: frozenset[str]
    is_write: bool


@dataclass(frozen=True)
class Returned:
    """One result of a schema."""

    name: str
    type: str
    alias_info: AliasInfo | None = None


@dataclass(frozen=True)
class Argument:
    """One argument of a schema. `type` is without the marks of aliasing; `length` is that of a
    list which one number may stand for."""

    name: str
    type: str
    default: Any = None
    has_default: bool = False
    keyword_only: bool = False
    is_mutable: bool = False
    alias_info: AliasInfo | None = None
    length: int | None = None

    @property
    def kwarg_only(self) -> bool:
        return self.keyword_only

    @property
    def default_value(self) -> Any:
        return self.default

    def has_default_value(self) -> bool:
        return self.has_default

    def accepts(self, value: Any) -> bool:
        """Whether `value` may stand here; only tensors are looked at."""
        if value is None and self.type.endswith("?"):
            return True
        kind = self.type.removesuffix("?")
        if kind == "Tensor":
            return isinstance(value, Tensor)
        if kind == "Tensor[]":
            return isinstance(value, (list, tuple)) and all(isinstance(x, Tensor) for x in value)
        return True


@dataclass(frozen=True)
class Schema:
    """`namespace::name.overload(arguments) -> returns`, as it was written."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Returned, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def overload_name(self) -> str:
        return self.overload

    @property
    def is_mutable(self) -> bool:
        return any(each.is_mutable for each in self.arguments)


def _split(text: str) -> Iterator[str]:
    """The parts of a list between its commas, but for those within brackets or quotes."""
    part, depth, quote = "", 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        depth += (sign in "([") - (sign in ")]") if not quote else 0
        if sign == "," and depth == 0 and not quote:
            yield part.strip()
            part = ""
        else:
            part += sign
    if part.strip():
        yield part.strip()


def _default(text: str) -> Any:
    """The value of a default as a schema writes it."""
    words = {"None": None, "True": True, "False": False}
    if text in words:
        return words[text]
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] == "[":
        return [_default(part) for part in _split(text[1:-1])]
    try:
        return float(text) if re.search(r"[.e]|inf|nan", text) else int(text)
    except ValueError:
        return getattr(torch, text)


def _argument(text: str, keyword_only: bool, schema: str) -> Argument:
    match = _ARGUMENT.match(text)
    if match is None:
        raise RuntimeError(f"cannot read {text!r} in the schema {schema!r}")
    *kind, name, default = match.groups()
    value = None if default is None else _default(default.strip())
    info, length = _alias_of(kind), (kind[4] or "").strip("?[]")
    mutable = info is not None and info.is_write
    return Argument(
        name, _written(kind), value, default is not None, keyword_only, mutable, info,
        int(length) if length else None,
    )  # fmt: skip


def _written(kind: Sequence[str]) -> str:
    """A type without the marks of aliasing and the lengths of lists."""
    return kind[0] + re.sub(r"\d", "", kind[4] or "") + (kind[5] or "")


def _alias_of(kind: Sequence[str]) -> AliasInfo | None:
    if kind[1] is None:
        return None
    before, after = frozenset({kind[1]}), kind[3].replace("->", "").split("|")
    return AliasInfo(before, frozenset(x.strip() for x in after if x.strip()) or before,
                     kind[2] == "!")  # fmt: skip


def _returned(text: str, schema: str) -> tuple[Returned, ...]:
    listed = text.startswith("(") and text.endswith(")")
    found = []
    for part in _split(text[1:-1]) if listed else [text]:
        match = _RETURN.match(part)
        if match is None:
            raise RuntimeError(f"cannot read {part!r} in the schema {schema!r}")
        *kind, name = match.groups()
        found.append(Returned(name or "", _written(kind), _alias_of(kind)))
    return tuple(found)


def parse_schema(text: str, namespace: str = "") -> Schema:
    """Read `name(Tensor x, int n=1) -> Tensor`.

    Raises:
        RuntimeError: the text is no schema.
    """
    match = _SCHEMA.match(text)
    if match is None:
        raise RuntimeError(f"cannot read the schema {text!r}")
    space, name, overload, inside, returns = match.groups()
    arguments, keyword_only = [], False
    for part in _split(inside):
        if part == "*":
            keyword_only = True
        else:
            arguments.append(_argument(part, keyword_only, text))
    qualified = f"{space or namespace}::{name}"
    shown = f"{qualified}{'.' + overload if overload else ''}({inside}) -> {returns}"
    return Schema(qualified, overload or "", tuple(arguments), _returned(returns, text), shown)


def _no_formula(operator: Operator) -> Callable[..., Any]:
    def backward(ctx: Any, *gradients: Any) -> Any:
        name = operator.name.replace("::", ".")
        raise RuntimeError(
            f"Trying to backward through {name}.default but no autograd formula was registered. "
            "Please use register_autograd to add one."
        )

    return backward


@dataclass
class Operator:
    """An operator and what was registered for it. Without a schema it cannot be called yet.

    `kernels` are by torch's dispatch keys: "CPU", "CUDA", "CompositeImplicitAutograd",
    "CompositeExplicitAutograd", "Autograd", and those of :data:`AUTOCAST_KEYS`. `opaque` says
    that autograd must not look inside. `packet` is what `torch.ops` shows of it, `hand(operator,
    values)` what a mode says of a call, NotImplemented where there is none; `sharded(values)` what
    it computes of tensors over several processes.
    """

    hand: ClassVar[Callable[[Operator, Sequence[Any]], Any] | None] = None
    name: str
    schema: Schema | None = None
    origin: str = ""
    kernels: dict[str, Callable[..., Any]] = field(default_factory=dict)
    fake: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None
    setup_context: Callable[..., Any] | None = None
    opaque: bool = False
    packet: Any = None
    sharded: Callable[[Sequence[Any]], Any] | None = None

    @cached_property
    def function(self) -> type[_OperatorFunction]:
        """The function whose nodes have torch's name for this operator's."""
        space, _, name = self.name.partition("::")
        name, _, overload = name.partition(".")
        parts = ("GeneratedBackwardFor", space, name, overload or "default")
        return type("_".join(parts), (_OperatorFunction,), {})

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The values of all arguments in the schema's order.

        Raises:
            RuntimeError: an argument is missing, unknown, given twice or of a wrong kind.
        """
        assert self.schema is not None
        given = dict(kwargs)
        positional = [each for each in self.schema.arguments if not each.keyword_only]
        if len(args) > len(positional):
            raise RuntimeError(
                f"{self.name}() expected at most {len(positional)} argument(s) but received "
                f"{len(args) + len(kwargs)} argument(s). Declaration: {self.schema}"
            )
        values = []
        for at, argument in enumerate(self.schema.arguments):
            if at < len(args) and not argument.keyword_only:
                value = args[at]
            elif argument.name in given:
                value = given.pop(argument.name)
            elif argument.has_default:
                value = argument.default
            else:
                raise RuntimeError(
                    f"{self.name}() is missing value for argument '{argument.name}'. "
                    f"Declaration: {self.schema}"
                )
            self._check(at, argument, value)
            values.append(value)
        if given:
            raise RuntimeError(
                f"Unknown keyword argument '{next(iter(given))}' for operator '{self.name}'. "
                f"Schema: {self.schema}"
            )
        return values

    def _check(self, position: int, argument: Argument, value: Any) -> None:
        if argument.accepts(value):
            return
        raise RuntimeError(
            f"{self.name}() Expected a value of type '{argument.type}' for argument "
            f"'{argument.name}' but instead found type '{type(value).__name__}'.\n"
            f"Position: {position}\nValue: {value}\nDeclaration: {self.schema}\n"
            f"Cast error details: Unable to cast {value} to Tensor"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self.bind(args, kwargs)
        tensors = list(_tensors(values))
        casting = self._casting_kernel(tensors)
        if casting is not None:
            return self.call_kernel(casting, values)
        if is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            by_hand = self.kernels.get("Autograd")
            if by_hand is not None:
                return self.call_kernel(by_hand, values)
            if self.backward is not None or self.opaque:
                return _apply(self, values)
        return self.run(values)

    def _casting_kernel(self, tensors: Sequence[Tensor]) -> Callable[..., Any] | None:
        """What stands before the operator while autocast is on for a device of its tensors."""
        for tensor in tensors:
            key = AUTOCAST_KEYS.get(tensor.device.type, "")
            if key in self.kernels and key not in _excluded.get():
                if is_autocast_enabled(tensor.device.type):
                    return self.kernels[key]
        return None

    def run(self, values: Sequence[Any]) -> Any:
        """Call the kernel for the device of the tensors.

        Raises:
            NotImplementedError: there is none.
        """
        if Operator.hand is not None:
            found = Operator.hand(self, values)
            if found is not NotImplemented:
                return found
        tensors = list(_tensors(values))
        if self.sharded is not None and any(t.aval.sharded for t in tensors):
            return self.sharded(values)
        device = next((t.device.type for t in tensors), "cpu")
        if device == "meta" and self.fake is not None:
            return self.call_kernel(self.fake, values)
        keys = (device.upper(), "CompositeExplicitAutograd", "CompositeImplicitAutograd")
        for key in keys:
            if key in self.kernels:
                return self.call_kernel(self.kernels[key], values)
        raise NotImplementedError(
            f"Could not run '{self.name}' with arguments from the '{keys[0]}' backend. "
            f"'{self.name}' is only available for these backends: [{', '.join(self.kernels)}]."
        )

    def call_kernel(self, kernel: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Call with the arguments as the schema passes them."""
        positional, named = self.divide(values)
        return kernel(*positional, **named)

    def divide(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional values, and the keyword-only ones by name."""
        assert self.schema is not None
        pairs = list(zip(self.schema.arguments, values, strict=True))
        positional = tuple(value for argument, value in pairs if not argument.keyword_only)
        return positional, {arg.name: value for arg, value in pairs if arg.keyword_only}


def _tensors(values: Sequence[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (each for each in value if isinstance(each, Tensor))


class _OperatorFunction(Function):
    """Runs an operator with the gradient that was registered for it.

    Lists of tensors are passed flat; `lengths` says how long each was, None for what is no list.
    """

    @staticmethod
    def forward(ctx: Any, operator: Operator, lengths: Sequence[int | None], *flat: Any) -> Any:
        values = _gather(flat, lengths)
        output = operator.run(values)
        ctx._operator, ctx._lengths = operator, lengths
        if operator.setup_context is not None:
            positional, named = operator.divide(values)
            extra = {"keyword_only_inputs": named} if named else {}
            operator.setup_context(ctx=ctx, inputs=positional, output=output, **extra)
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        formula = ctx._operator.backward or _no_formula(ctx._operator)
        given = formula(ctx, *gradients)
        given = list(given) if isinstance(given, (tuple, list)) else [given]
        given += [None] * (len(ctx._lengths) - len(given))
        flat: list[Any] = []
        for gradient, length in zip(given, ctx._lengths, strict=True):
            if length is None:
                flat.append(gradient)
            else:
                flat.extend(gradient if gradient is not None else [None] * length)
        return (None, None, *flat)


def _gather(flat: Sequence[Any], lengths: Sequence[int | None]) -> list[Any]:
    rest = iter(flat)
    return [next(rest) if n is None else [next(rest) for _ in range(n)] for n in lengths]


def _apply(operator: Operator, values: Sequence[Any]) -> Any:
    lengths: list[int | None] = []
    flat: list[Any] = []
    for value in values:
        is_list = isinstance(value, (list, tuple)) and any(isinstance(x, Tensor) for x in value)
        lengths.append(len(value) if is_list else None)
        flat.extend(value if is_list else [value])
    return operator.function.apply(operator, lengths, *flat)


OPERATORS: dict[str, Operator] = {}


def operator_named(name: str) -> Operator:
    """The operator of a qualified name, made (without a schema) if it is not there.

    Raises:
        ValueError: the name has no namespace.
    """
    if name.count("::") != 1 or not all(name.split("::")):
        raise ValueError(f"Expected qualname to be of the form `namespace::name`, but got {name!r}")
    return OPERATORS.setdefault(name, Operator(name))
