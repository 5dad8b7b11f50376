"""torch's TypeErrors for calls whose arguments fit none of a function's signatures.

Nothing is looked at before a call: where one failed, :func:`wrong_call` reads the function's
signatures (`signatures.txt`, as torch prints them) and says what torch would have said first.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.allocator import refusal
from mindtorch.engine.devices.device import Device
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._tensor.generator import Generator
from .._tensor.size_and_formats import layout, memory_format
from .invalid_arguments import listed, type_name
from .meta_kernels import without_elements
from .python_methods import does_not_fit, is_written_in_python

__all__ = [
    "arguments_of", "by_torchs_names", "each_kind_once", "every_form_of", "has_method",
    "has_signature", "is_number", "kind_check", "misapplied", "takes_nothing", "wrong_call",
]  # fmt: skip

_FILE = Path(__file__).with_name("signatures.txt")
_PARAMETER = re.compile(r"(?P<kind>.+?)(?P<size>\[\d*\])?(?P<none>\?)? (?P<name>\w+)(?: = (.+))?$")
NUMPY_NAMES = {
    "dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",),
}  # fmt: skip
_MOST_KINDS = 256
_HIDDEN = "|"


class _WrongError(Exception):
    """A call does not fit a signature; the text is torch's, without the function's name."""


class Parameter(NamedTuple):
    kind: str
    name: str
    keyword_only: bool
    optional: bool
    none: bool  # None may be given
    sized: bool  # a list for which one number may stand
    text: str  # as torch prints it


class Form:
    """One signature: parameters, and its text; ``hidden``: an older one that torch takes."""

    def __init__(
        self, parameters: tuple[Parameter, ...], numbers_too: bool, hidden: bool = False
    ) -> None:
        self.parameters = parameters
        self.numbers_too = numbers_too
        self.hidden = hidden

    @functools.cached_property
    def parts(self) -> list[str]:
        """The parameters' texts, with the star before those that have to be named."""
        parts = []
        for each in self.parameters:
            if each.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(each.text)
        return parts

    @functools.cached_property
    def positional(self) -> int:
        return sum(not each.keyword_only for each in self.parameters)

    @functools.cached_property
    def least(self) -> int:
        return sum(not each.optional for each in self.parameters)

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise _WrongError where the call does not fit."""
        spread = self.positional == 1 and self.parameters[0].kind == "tuple of ints" and (
            len(args) < 2 or (_is_int(args[0]) and not self.parameters[0].none)
        )  # fmt: skip
        if len(args) > self.positional and not spread:
            raise self._too_many(len(args))
        at, left = 0, len(kwargs)
        for place, parameter in enumerate(self.parameters):
            named = at >= len(args)
            if not named and parameter.keyword_only:
                raise self._too_many(len(args))
            found, value = (True, args[at]) if not named else _by_name(parameter, kwargs)
            if not found:
                if not parameter.optional:
                    raise self._missing(place)
                continue
            if spread and not at and not named and _is_int(value):
                at = len(args)
                continue
            if not (value is None and parameter.none):
                self._check_value(parameter, value, None if named else at, place)
            at, left = (at, left - 1) if named else (at + 1, left)
        if left:
            raise self._unknown(kwargs, len(args))

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments of a call by their names; None where they do not fit."""
        try:
            self.check(args, kwargs)
        except _WrongError:
            return None
        if len(args) > self.positional:
            args = (args,)
        values = {}
        for place, each in enumerate(self.parameters):
            found, value = (True, args[place]) if place < len(args) else _by_name(each, kwargs)
            if found:
                values[each.name] = value
        return values

    def _check_value(self, parameter: Parameter, value: Any, at: int | None, place: int) -> None:
        if parameter.kind == "tuple of Tensors" and isinstance(value, (list, tuple)):
            skipping = parameter.name == "indices"  # whole axes: None is among them
            for n, each in enumerate(value):
                if not isinstance(each, EngineTensor) and not (each is None and skipping):
                    raise _WrongError(
                        f"!expected Tensor as element {n} in argument {place}, but got "
                        f"{type_name(each)}"
                    )
        if accepts(parameter, value, self.numbers_too):
            return
        where = "" if at is None else f" (position {at + 1})"
        start = f"(): argument '{parameter.name}'{where} must be {parameter.kind}, "
        if at is not None and start.endswith("ints, ") and isinstance(value, (list, tuple)):
            raise _WrongError(f"{start}but found element of type {type_name(value[0])} at pos 0")
        raise _WrongError(f"{start}not {type_name(value)}")

    def _too_many(self, given: int) -> _WrongError:
        if self.least != self.positional:
            takes = f"from {self.least} to {self.positional} positional arguments"
            return _WrongError(f"() takes {takes} but {given} were given")
        takes = f"{self.positional} positional argument{'s' * (self.positional != 1)}"
        return _WrongError(f"() takes {takes} but {given} {'was' if given == 1 else 'were'} given")

    def _missing(self, place: int) -> _WrongError:
        names = [f'"{each.name}"' for each in self.parameters[place:] if not each.optional]
        plural = "s" * (len(names) == 1)  # the wrong way round, as torch has it
        return _WrongError(
            f"() missing {len(names)} required positional argument{plural}: {', '.join(names)}"
        )

    def _unknown(self, kwargs: dict[str, Any], given: int) -> _WrongError:
        names = [each.name for each in self.parameters]
        for key in kwargs:
            if key not in names:
                return _WrongError(f"() got an unexpected keyword argument '{key}'")
            if names.index(key) < given:
                return _WrongError(f"() got multiple values for argument '{key}'")
        return _WrongError("() got invalid keyword arguments")


def _by_name(parameter: Parameter, kwargs: dict[str, Any]) -> tuple[bool, Any]:
    for name in (parameter.name, *NUMPY_NAMES.get(parameter.name, ())):
        if name in kwargs:
            return True, kwargs[name]
    return False, None


def _is_int(value: Any) -> bool:
    if isinstance(value, EngineTensor):
        return value.aval.size == 1 and value.aval.dtype.category < dtypes.FLOAT
    if isinstance(value, (bool, np.bool_)):
        return False
    return isinstance(value, int) or (hasattr(value, "__index__") and not np.ndim(value))


def _is_long(value: Any) -> bool:
    """Whether it is a whole number; other objects with an index may only be lengths."""
    if isinstance(value, EngineTensor):
        return _is_int(value)
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    if isinstance(value, EngineTensor):
        return not value.aval.shape and not value.requires_grad
    return isinstance(value, (int, float, complex, np.number, np.bool_))


def _is_real(value: Any) -> bool:
    if isinstance(value, (complex, np.complexfloating)):
        return False
    return is_number(value)


def _is_type(value: Any) -> bool:
    return isinstance(value, dtypes.DType) or value in (float, int, bool, complex)


_KINDS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, EngineTensor),
    "Number": is_number,
    "float": _is_real,
    "int": _is_long,
    "bool": lambda value: isinstance(value, bool),
    "torch.device": lambda value: isinstance(value, (str, int, Device)),
    "str": lambda value: isinstance(value, str),
    "torch.dtype": _is_type,
    "tuple of Tensors": lambda value: isinstance(value, (list, tuple)),
    "torch.Generator": lambda value: isinstance(value, Generator),
    "torch.layout": lambda value: isinstance(value, layout),
    "torch.memory_format": lambda value: isinstance(value, memory_format),
}


def accepts(parameter: Parameter, value: Any, numbers_too: bool) -> bool:
    """Whether a value may stand for a parameter; anything where the kind is an object's."""
    if parameter.kind == "tuple of ints":
        if parameter.sized and _is_int(value):
            return True
        if isinstance(value, EngineTensor) or not isinstance(value, (list, tuple)):
            return False
        return not value or _is_int(value[0])
    if parameter.kind == "Tensor" and numbers_too and is_number(value):
        return True
    if parameter.name == "dim" and isinstance(value, EngineTensor) and value.aval.shape:
        return False  # a length may be a tensor of one element, an axis one of none
    known = _KINDS.get(parameter.kind)
    return known is None or known(value)


# --- the table ------------------------------------------------------------------------------------


@functools.cache
def _table() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Marks and signatures by name; a method's has a dot before it where it is another.

    The mark after the name: a blank where torch has one signature, and says what does not fit it;
    ``=`` where it has several, which stand here between semicolons; ``~`` where it has several and
    lists this one. A plus before it: it takes a number where its signature has a tensor.
    A bar in front of a signature: an older one, which torch takes and does not list.
    """
    found = {}
    for line in _FILE.read_text().splitlines():
        start, bracket, rest = line.partition("(")
        name = start[:-1].removesuffix("+")
        found[name] = start[len(name) :], tuple(f"{bracket}{rest}".split(";"))
    return found


def forms_of(name: str, method: bool) -> tuple[tuple[Form, ...], bool]:
    """A function's signatures, and whether torch looks for more than it lists."""
    every, more = _forms(name, method)
    return tuple(form for form in every if not form.hidden), more


def every_form_of(name: str, method: bool) -> tuple[Form, ...]:
    """A function's signatures, with the older ones that torch takes and does not list."""
    return _forms(name, method)[0]


@functools.cache
def _forms(name: str, method: bool) -> tuple[tuple[Form, ...], bool]:
    table, own = _table(), name
    if method:
        own = next((n for n in (f".{name}", f".{name.removesuffix('_')}") if n in table), name)
    if own not in table:
        own = name.removesuffix("_")
    if own not in table:
        return (), False
    mark, texts = table[own]
    forms = []
    for text in texts:
        parameters = _parameters(text.removeprefix(_HIDDEN))
        plain = method and not own.startswith(".")
        if plain:
            first = next((p for p in parameters if p.name == "input"), parameters[0])
            parameters = tuple(p for p in parameters if p is not first)
        if plain or name.endswith("_") > own.endswith("_"):
            parameters = tuple(p for p in parameters if p.name != "out")
        forms.append(Form(parameters, "+" in mark, text.startswith(_HIDDEN)))
    return tuple(forms), mark[-1] != " "


def _parameters(text: str) -> tuple[Parameter, ...]:
    found, keyword_only = [], False
    for part in text[1:-1].split(", ") if text != "()" else ():
        if part == "*":
            keyword_only = True
            continue
        match = _PARAMETER.match(part)
        assert match is not None, part
        kind, size, none, name, default = match.groups()
        shown = f"{kind} {name}" + ("" if default is None else f" = {default}")
        optional = default is not None
        found.append(
            Parameter(
                kind, name, keyword_only, optional, bool(none) or default == "None",
                size not in (None, "[]"), shown,
            )
        )  # fmt: skip
    return tuple(found)


# --- what torch says ------------------------------------------------------------------------------


def wrong_call(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], method: bool = False
) -> TypeError | RuntimeError | None:
    """torch's error where the arguments fit no signature of the function; None where they do.

    Where numpy had no memory, or a tensor no elements, it is torch's error for that.

    Args:
        args: without the tensor whose method it is.
    """
    error = sys.exception()
    if isinstance(error, MemoryError) and hasattr(error, "shape"):
        return refusal(math.prod(error.shape), error.dtype)  # type: ignore[attr-defined]
    if (lacking := without_elements(name, error, kwargs)) is not None:
        return lacking
    forms, more = forms_of(name, method)
    errors = []
    for form in forms:
        try:
            form.check(args, kwargs)
        except _WrongError as error:
            if str(error).startswith("!"):
                return TypeError(str(error)[1:])  # which ends torch's search
            errors.append(str(error))
        else:
            return _not_unpacked(name, form.bound(args, kwargs) or {})
    if not forms or any(
        form.hidden and form.bound(args, kwargs) is not None for form in every_form_of(name, method)
    ):
        return None
    count = len(args) + len(kwargs)
    plausible = [
        error for form, error in zip(forms, errors, strict=True)
        if form.least <= count <= len(form.parameters)
    ]  # fmt: skip
    if method and not (more or forms[0].parameters):
        return takes_nothing(name, args, kwargs)
    if not more or len(plausible) == 1:
        return TypeError(f"{name}{(plausible or errors)[0]}")
    return TypeError(listed(name, [form.parts for form in forms], args, kwargs))


def _not_unpacked(name: str, values: dict[str, Any]) -> TypeError | None:
    """torch's error for a list that begins with a whole number, and holds something else."""
    for each, value in values.items():
        if isinstance(value, (list, tuple)) and value and _is_int(value[0]):
            for place, n in enumerate(value):
                if not hasattr(n, "__index__"):
                    why = f"type must be tuple of ints,but got {type_name(n)}"
                    return TypeError(
                        f"{name}(): argument '{each}' failed to unpack the object at pos "
                        f'{place + 1} with error "{why}"'
                    )
    return None


def unbound(name: str, args: Any) -> TypeError | None:
    """torch's error for a method of the class that gets no tensor; None where it got one."""
    if (args and isinstance(args[0], EngineTensor)) or is_written_in_python(name):
        return None
    if not args:
        return TypeError(f"unbound method TensorBase.{name}() needs an argument")
    return TypeError(
        f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
        f"'{type_name(args[0])}' object"
    )


def misapplied(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError | None:
    """:func:`unbound`, or what Python says where torch writes the method in Python.

    Args:
        args: with the tensor whose method it is.
    """
    return unbound(name, args) or does_not_fit(name, args, kwargs)


def takes_nothing(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    """torch's error for arguments of a method that has none."""
    start = f"TensorBase.{name}() takes no"
    if kwargs:
        return TypeError(f"{start} keyword arguments")
    return TypeError(f"{start} arguments ({len(args)} given)")


def arguments_of(body: Any) -> tuple[str, ...]:
    """The names of a function's arguments."""
    code = getattr(inspect.unwrap(body), "__code__", None)
    return () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def by_torchs_names(
    body: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """A call, some of whose arguments have numpy's names, by those of ``body``; None without
    such."""
    known = arguments_of(body)
    names = {
        other: name for name, others in NUMPY_NAMES.items() if name in known for other in others
        if other in kwargs and other not in known
    }  # fmt: skip
    return (args, {names.get(k, k): v for k, v in kwargs.items()}) if names else None


def has_signature(name: str) -> bool:
    """Whether the table has a function of the namespace."""
    return name in _table() or name.removesuffix("_") in _table()


def has_method(name: str) -> bool:
    """Whether the table has a method of the tensor that is no function."""
    return f".{name}" in _table()


def kind_check(name: str, method: bool) -> Callable[[Any, Any], None] | None:
    """A check of the calls of a function or method by the kinds of their arguments; None where
    the table has no such function."""
    if not (has_signature(name) or f".{name}" in _table()):
        return None
    return call_check(name, method)


def call_check(name: str, method: bool) -> Callable[[Any, Any], None]:
    """:func:`kind_check` of a function that the table has, without a look at the table."""

    def error_of(args: Any, kwargs: Any) -> Exception | None:
        bare = misapplied(name, args, kwargs) if method else None
        return bare or wrong_call(name, args[1:] if method else args, kwargs, method)

    return each_kind_once(error_of)


def each_kind_once(error_of: Callable[[Any, Any], Exception | None]) -> Callable[[Any, Any], None]:
    """Raise ``error_of(args, kwargs)``; asked once for all calls with arguments of such kinds."""
    fine: set[Any] = set()

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        kinds = (*map(_kind_of, args), *kwargs, *map(_kind_of, kwargs.values()))
        if kinds in fine:
            return
        wrong = error_of(args, kwargs)
        if wrong is not None:
            raise wrong
        if len(fine) < _MOST_KINDS:
            fine.add(kinds)

    return check


def _kind_of(value: Any) -> Any:
    """What a signature asks of a value."""
    kind = value.__class__
    if kind is list or kind is tuple:
        return (kind, len(value), *map(type, value))
    if isinstance(value, EngineTensor):
        return (kind, is_number(value), _is_int(value))
    return kind
