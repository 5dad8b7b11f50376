"""Modules and objects whose methods are functions of a program of TorchScript."""

from __future__ import annotations

import ast
import copy
import enum
import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine.tensor import Tensor, change_class

from ...nn.parameter import Parameter
from ...serialization import writable_archive
from .._script_module import ScriptModule
from .declared_types import Type, annotation_text, converted, type_text
from .source import ScriptClass
from .writer import archive_of

__all__ = ["RecursiveScriptModule", "ScriptObject", "attribute_of", "method_of", "set_attribute"]

class ScriptObject:
    """An object of a class of the program that is no module.

    Args:
        script_class: its class.
    """

    def __init__(self, script_class: ScriptClass) -> None:
        self.__dict__["_script_class"] = script_class
        self.__dict__["_values"] = {}

    def _set_state(self, state: dict[str, Any]) -> None:
        self._values.update(state)

    def _kept_value(self, name: str) -> Any:
        return self._values.get(name)

    def __getattr__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if not name.startswith("__") and name in self._script_class.methods:
            return _called_from_python(self, name)
        raise AttributeError(f"'{self._script_class.name}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptObject:
        made = memo[id(self)] = ScriptObject(self._script_class)
        made._values.update(copy.deepcopy(self._values, memo))
        return made


class RecursiveScriptModule(ScriptModule):
    """A module read from an archive of TorchScript; see :func:`torch.jit.load`."""

    def __init__(self) -> None:
        raise TypeError("a RecursiveScriptModule is made by torch.jit.load")

    @classmethod
    def _of(cls, script_class: ScriptClass) -> RecursiveScriptModule:
        made = cls.__new__(cls)
        ScriptModule.__init__(made)
        made.__dict__["_script_class"] = script_class
        return made

    def _set_state(self, state: dict[str, Any]) -> None:
        own = self._script_class
        if "__setstate__" in own.methods:
            own.function("__setstate__")(self, state)
            return
        for name, value in state.items():
            self._set_value(name, value)

    def _set_value(self, name: str, value: Any) -> None:
        """Give an attribute its value, as what the class declares it to be."""
        own = self._script_class
        if name in own.parameters:
            if isinstance(value, Tensor) and not isinstance(value, Parameter):
                change_class(value, Parameter)
            self._parameters[name] = value
        elif name in own.buffers:
            self._buffers[name] = value
        elif isinstance(value, RecursiveScriptModule):
            self._modules[name] = value
        else:
            self.__dict__[name] = value

    @property
    def original_name(self) -> str:
        return self._script_class.name.rpartition(".")[2]

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        return f"original_name={self.original_name}"

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if "forward" not in self._script_class.methods:
            raise AttributeError("'RecursiveScriptModule' object has no attribute 'forward'")
        return _called_from_python(self, "forward")(*args, **kwargs)

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return int(_own_method(self, "__len__")())

    def __iter__(self) -> Any:
        return _own_method(self, "__iter__")()

    def __getitem__(self, place: Any) -> Any:
        return _own_method(self, "__getitem__")(place)

    def __contains__(self, item: Any) -> bool:
        return bool(_own_method(self, "__contains__")(item))

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__.get("_script_class")
        if own is not None and not name.startswith("__"):
            if name in own.methods:
                return _called_from_python(self, name)
            if name in own.constants:
                return constant_of(own, name)
        return super().__getattr__(name)

    def _kept_value(self, name: str) -> Any:
        """The value of an attribute, as an archive keeps it."""
        for space in (self._parameters, self._buffers, self._modules, self.__dict__):
            if name in space:
                return space[name]
        return None

    def _save_archive(self, f: Any, extra: dict[str, bytes]) -> None:
        """Write an archive, whose code is that of the one this module was read from."""
        with writable_archive(f) as (file, folder):
            archive_of(self, file, folder, extra)

    @property
    def code(self) -> str:
        """The text of `forward`, as the archive has it."""
        return self._script_class.program.text_of(self._script_class, "forward")

    def __getstate__(self) -> Any:
        raise RuntimeError(
            f"Tried to serialize object {self._script_class.name} which does not have a "
            "__getstate__ method defined!"
        )

    def __copy__(self) -> RecursiveScriptModule:
        made = RecursiveScriptModule._of(self._script_class)
        for name, value in self.__dict__.items():
            held = isinstance(value, dict)
            made.__dict__[name] = copy.copy(value) if held else value
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> RecursiveScriptModule:
        made = memo[id(self)] = RecursiveScriptModule._of(self._script_class)
        for name, value in self.__dict__.items():
            if name != "_script_class":
                made.__dict__[name] = copy.deepcopy(value, memo)
        return made


def _own_method(module: RecursiveScriptModule, name: str) -> Callable[..., Any]:
    if name not in module._script_class.methods:
        raise NotImplementedError
    return _called_from_python(module, name)


def constant_of(own: ScriptClass, name: str) -> Any:
    """The value of a `Final` attribute."""
    node = own.constants[name]
    try:
        return ast.literal_eval(node)
    except ValueError:
        text = ast.unparse(node)
        try:
            return float(text)  # inf, -inf, nan
        except ValueError:
            raise RuntimeError(f"{own.name}.{name} = {text} is no constant") from None


# ------------------------------------------------ what the code of a program reads and writes


def attribute_of(holder: Any, name: str) -> Any:
    """`holder.name` in the code: of a module, an object, a named tuple, a member of an enum."""
    if isinstance(holder, RecursiveScriptModule):
        own = holder.__dict__
        for space in (own["_parameters"], own["_modules"], own["_buffers"]):
            if name in space:
                return space[name]
        made = own["_script_class"]
        if name in made.constants:
            return constant_of(made, name)
        if name in made.attributes and name in own:
            return own[name]
    elif isinstance(holder, ScriptObject):
        if name in holder._values:
            return holder._values[name]
    elif isinstance(holder, tuple):
        if name in getattr(holder, "_fields", ()):
            return getattr(holder, name)
    elif isinstance(holder, enum.Enum) and name in ("name", "value"):
        return getattr(holder, name)
    raise AttributeError(f"'{_type_name(holder)}' has no attribute '{name}'")


def set_attribute(holder: Any, name: str, value: Any) -> None:
    """`holder.name = value` in the code."""
    if isinstance(holder, ScriptObject):
        holder._values[name] = value
    elif isinstance(holder, RecursiveScriptModule) and (
        name in holder._script_class.attributes and name not in holder._script_class.constants
    ):
        holder._set_value(name, value)
    else:
        raise AttributeError(f"'{_type_name(holder)}' has no attribute '{name}' to set")


def method_of(holder: Any, name: str) -> Callable[..., Any]:
    """`holder.name(...)` in the code."""
    if isinstance(holder, (RecursiveScriptModule, ScriptObject)):
        own = holder._script_class
        if name in own.methods:
            return functools.partial(own.function(name), holder)
    raise AttributeError(f"'{_type_name(holder)}' has no method '{name}'")


def _type_name(holder: Any) -> str:
    own = getattr(holder, "_script_class", None)
    return type(holder).__name__ if own is None else own.name


# --------------------------------------------------------------------------- calls from Python code


def _called_from_python(holder: Any, name: str) -> Callable[..., Any]:
    function = holder._script_class.function(name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(holder, **_bound(function, args, kwargs))

    call.__name__ = name
    return call


def _bound(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, as values of their declared types; torch's errors if they are not."""
    names, kinds = function.parameters[1:], function.types[1:]
    if len(args) > len(names):
        raise RuntimeError(
            f"{function.name}() expected at most {len(names) + 1} argument(s) but received "
            f"{len(args) + 1} argument(s). Declaration: {declaration(function)}"
        )
    given = {**dict(zip(names, args, strict=False))}
    for name, value in kwargs.items():
        if name not in names:
            raise RuntimeError(
                f"Unknown keyword argument '{name}' for operator '{function.name}'. Schema: "
                f"{declaration(function)}"
            )
        if name in given:
            raise RuntimeError(
                f"Argument '{name}' specified both as positional and keyword argument. Schema: "
                f"{declaration(function)}"
            )
        given[name] = value
    for place, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if name in given:
            given[name] = _argument(function, place + 1, name, kind, given[name])
        elif place + 1 < function.required:
            raise RuntimeError(
                f"{function.name}() is missing value for argument '{name}'. Declaration: "
                f"{declaration(function)}"
            )
    return given


def _argument(function: Any, place: int, name: str, kind: Type, value: Any) -> Any:
    try:
        return converted(value, kind)
    except TypeError as error:
        raise RuntimeError(
            f"{function.name}() Expected a value of type '{annotation_text(kind)}' for argument "
            f"'{name}' but instead found type '{type(value).__name__}'.\nPosition: {place}\n"
            f"Value: {value!r}\nDeclaration: {declaration(function)}\nCast error details: Unable "
            f"to cast {error} to {annotation_text(kind)}"
        ) from None


def declaration(function: Any) -> str:
    """``forward(__torch__.A self, Tensor x, int n=3) -> Tensor``."""
    shown = []
    for place, (kind, name) in enumerate(zip(function.types, function.parameters, strict=True)):
        text = f"{type_text(kind)} {name}"
        if place >= function.required:
            default = function.defaults[place - function.required]({})
            text += f"={default!r}"
        shown.append(text)
    returns = function.returns
    if returns is None:
        return f"{function.name}({', '.join(shown)})"
    result = type_text(returns)
    result = f"({result})" if returns.name == "Tuple" else result
    return f"{function.name}({', '.join(shown)}) -> {result}"
