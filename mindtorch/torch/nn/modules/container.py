"""Modules that hold other modules, or parameters."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from mindtorch.engine.compile.guards.module_changes import module_changed
from mindtorch.engine.tensor import Tensor as EngineTensor

from ..parameter import Parameter
from .module import Module, _addindent

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """A module with submodules given by keyword."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


def _place(index: Any, length: int) -> int:
    """``index`` counted from the front."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length if length else index


class _Row(Module):
    """What Sequential and ModuleList share: modules in a row, under their places as names."""

    def _key(self, index: Any) -> str:
        return list(self._modules)[_place(index, len(self))]

    def __getitem__(self, idx: Any) -> Any:
        return self._modules[self._key(idx)]

    def __setitem__(self, idx: Any, module: Any) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: Any) -> None:
        keys = list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]
        for key in keys:
            delattr(self, key)
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def pop(self, key: Any) -> Any:
        """Take out a module."""
        module = self[key]
        del self[key]
        return module

    def append(self, module: Any) -> Any:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self


class Sequential(_Row):
    """Modules one after another: the output of each is the input of the next.

    ``Sequential(a, b)`` or ``Sequential(OrderedDict(first=a, second=b))``.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for place, module in enumerate(args):
                self.add_module(str(place), module)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return super().__getitem__(idx)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Any:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return self.extend(list(other))

    def __mul__(self, other: int) -> Any:
        _require_repeats(other)
        return Sequential(*[module for _ in range(other) for module in self])

    def __rmul__(self, other: int) -> Any:
        return self * other

    def __imul__(self, other: int) -> Any:
        _require_repeats(other)
        return self.extend([module for _ in range(other - 1) for module in list(self)])

    def insert(self, index: int, module: Any) -> Any:
        """Put a module before place ``index``."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        listed = list(self)
        listed.insert(index, module)
        self._modules = {str(i): m for i, m in enumerate(listed)}
        return self

    def extend(self, sequential: Any) -> Any:
        """Add several modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Each module in turn."""
        for module in self:
            input = module(input)  # noqa: A001
        return input


def _require_repeats(count: Any) -> None:
    if not isinstance(count, int):
        raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(count)}")
    if count <= 0:
        raise ValueError(
            f"Non-positive multiplication factor {count} for {Sequential}"
        )


class ModuleList(_Row):
    """A list of modules."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _key(self, index: Any) -> str:
        return str(_place(index, len(self)))

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(list(self._modules.values())[idx])
        return super().__getitem__(idx)

    def __iadd__(self, modules: Any) -> Any:
        return self.extend(modules)

    def __add__(self, other: Any) -> Any:
        combined = ModuleList()
        for i, module in enumerate(chain(self, other)):
            combined.add_module(str(i), module)
        return combined

    def insert(self, index: int, module: Any) -> None:
        """Put a module before place ``index``."""
        listed = list(self)
        listed.insert(index, module)
        self._modules = {str(i): m for i, m in enumerate(listed)}

    def extend(self, modules: Any) -> Any:
        """Add several modules at the end."""
        if not hasattr(modules, "__iter__"):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        offset = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(offset + i), module)
        return self

    def __repr__(self) -> str:
        """Equal modules in a row are written once, with their places."""
        texts = [repr(item) for item in self]
        if not texts:
            return self._get_name() + "()"
        groups: list[list[Any]] = []
        for i, text in enumerate(texts):
            if groups and groups[-1][2] == text:
                groups[-1][1] = i
            else:
                groups.append([i, i, text])
        lines = []
        for first, last, text in groups:
            if first == last:
                lines.append(f"({first}): {_addindent(text, 2)}")
            else:
                lines.append(
                    f"({first}-{last}): {_addindent(f'{last - first + 1} x {text}', 2)}"
                )
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


def _pairs_of(name: str, values: Any) -> Iterator[tuple[Any, Any]]:
    """The key-value pairs of a mapping, or of a list of pairs."""
    if hasattr(values, "items"):
        yield from values.items()
        return
    if not hasattr(values, "__iter__"):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got "
            f"{type(values).__name__}"
        )
    for j, pair in enumerate(values):
        if not hasattr(pair, "__iter__"):
            raise TypeError(
                f"{name} update sequence element #{j} should be Iterable; is"
                f"{type(pair).__name__}"
            )
        if not len(pair) == 2:
            raise ValueError(
                f"{name} update sequence element #{j} has length {len(pair)}; 2 is required"
            )
        yield pair[0], pair[1]


class ModuleDict(Module):
    """Modules by name.

    Args:
        modules: a mapping, or pairs, of names and modules.
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        module_changed()  # what was compiled looks again
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take out all modules."""
        module_changed()
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take out a module."""
        module_changed()
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Pairs of name and module."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a mapping or from pairs."""
        for key, module in _pairs_of("ModuleDict", modules):
            self[key] = module


def _as_entry(value: Any) -> Any:
    """Tensors become parameters; other values stay what they are."""
    if isinstance(value, EngineTensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _describe(key: Any, value: Any, indent: str, by_class: bool = False) -> str:
    if not isinstance(value, EngineTensor):
        return f"{indent}({key}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    name = value.type() if by_class else repr(value.dtype)
    size = "x".join(str(n) for n in value.shape)
    return f"{indent}({key}): {kind} containing: [{name} of size {size}]"


class ParameterList(Module):
    """A list of parameters (and other values, which are not parameters)."""

    def __init__(self, values: Any = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            made = type(self)()
            for i in range(*idx.indices(len(self))):
                made.append(self[i])
            return made
        return getattr(self, str(_place(idx, len(self))))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(_place(idx, len(self))), _as_entry(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, parameters: Any) -> Any:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [key for key in super().__dir__() if not key.isdigit()]

    def append(self, value: Any) -> Any:
        """Add a value at the end."""
        place = len(self)
        self._size += 1
        self[place] = value
        return self

    def extend(self, values: Any) -> Any:
        """Add several values at the end."""
        if not hasattr(values, "__iter__") or isinstance(values, EngineTensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """One line for each value."""
        return "\n".join(_describe(i, value, "  ") for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Parameters (and other values) by name.

    Args:
        parameters: a mapping, or pairs, of names and parameters.
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need "
                "non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[key] = None
        setattr(self, self._key_to_attr(key), _as_entry(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> Any:
        """A new ParameterDict with the same entries."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The entry, ``default`` being put there if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take out all entries."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out an entry."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out the last entry."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The entry, or ``default``."""
        return self[key] if key in self else default  # noqa: SIM401

    def fromkeys(self, keys: Any, default: Any = None) -> Any:
        """A new ParameterDict with ``default`` under each of ``keys``."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Any:
        """Pairs of name and value."""
        return ((k, self[k]) for k in self._keys)

    def values(self) -> Any:
        """The values."""
        return (self[k] for k in self._keys)

    def update(self, parameters: Any) -> None:
        """Add entries from pairs, or from a mapping: those of a plain one by ascending names."""
        pairs = _pairs_of("ParameterDict", parameters)
        plain = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        for key, value in sorted(pairs, key=lambda pair: pair[0]) if plain else pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """One line for each entry."""
        return "\n".join(_describe(key, value, "  ", True) for key, value in self.items())

    def __call__(self, input: Any) -> Any:  # noqa: A002
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> Any:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: Any) -> Any:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self
