"""What classes of tensors that are made of others (sparse, nested, masked) have of torch.

A class says so by :func:`implements` above a body, which takes the functions themselves; what it
does not have it refuses (:func:`refuse_the_rest`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._api.public import record_of
from .._api.publish import FUNCTIONAL, FUNCTIONS, METHODS
from .tensor import Tensor

__all__ = ["by_its_method", "functional", "implements", "refuse_the_rest", "torch"]

Body = Callable[..., Any]


class _Functions:
    """The functions of a registry as attributes, whatever a program puts over their names."""

    def __init__(self, name: str, registry: dict[str, Callable[..., Any]]) -> None:
        self._name, self._registry = name, registry

    def __getattr__(self, name: str) -> Any:
        if name not in self._registry:
            raise AttributeError(f"{self._name} has no function '{name}'")
        return self._registry[name]


torch = _Functions("torch", FUNCTIONS)
functional = _Functions("torch.nn.functional", FUNCTIONAL)


def _method_names(function: Any) -> list[str]:
    """The names under which a function, of the namespace or of Tensor, is a method of tensors."""
    record = record_of(function)
    if record is None:
        name = function.__name__
        return [name] if hasattr(Tensor, name) else []
    kept = record.implementations
    records = ((name, record_of(method)) for name, method in METHODS.items())
    return [name for name, known in records if known and known.implementations is kept]


def _as_method(body: Body, function: Any, name: str) -> Body:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return body(function, self, *args, **kwargs)

    method.__name__ = name
    return method


def implements(
    kind: type, *functions: Any, in_place: Body | None = None
) -> Callable[[Body], Body]:
    """Make the body below what these functions do where an argument is a ``kind``.

    It is called as ``body(function, *args, **kwargs)`` with the function for plain tensors, and
    may say NotImplemented. It also becomes the methods of the functions' names and other names,
    where the class does not write them itself.

    Args:
        kind: a class of tensors.
        functions: of the namespace, or methods of Tensor.
        in_place: ``in_place(name, tensor, result)`` writes a result over the tensor, by the method
            ``name``, which ends in an underscore; None: the class does not have them in place.
    """

    def register(body: Body) -> Body:
        for function in functions:
            record = record_of(function)
            if record is not None:
                record.implementations[kind] = _of_function(body, function)
            for name in _method_names(function):
                if getattr(kind, name) is getattr(Tensor, name):
                    setattr(kind, name, _as_method(body, function, name))
                if in_place is not None and hasattr(Tensor, f"{name}_"):
                    setattr(kind, f"{name}_", _written(body, function, f"{name}_", in_place))
        return body

    return register


def _of_function(body: Body, function: Any) -> Body:
    return lambda *args, **kwargs: body(function, *args, **kwargs)


def _written(body: Body, function: Any, name: str, write: Body) -> Body:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return write(name, self, body(function, self, *args, **kwargs))

    method.__name__ = name
    return method


def by_its_method(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    """A body: the method of the tensor's class, where the first argument is of one."""
    method = getattr(type(input), function.__name__, None)
    if method is None or method is getattr(Tensor, function.__name__):
        return NotImplemented
    return method(input, *args, **kwargs)


def refuse_the_rest(kind: Any, missing: Callable[[str], Any], *more: str) -> None:
    """Let a class refuse, by ``missing(name)``, the methods of Tensor that it does not write.

    Args:
        more: of the methods that begin with an underscore those that it refuses, too.
    """

    def refusing(name: str) -> Any:
        return lambda self, *args, **kwargs: missing(name)

    for name in dir(Tensor):
        if name.startswith("_") and name not in more:
            continue
        found = getattr(Tensor, name)
        written = any(name in vars(each) for each in kind.__mro__[: kind.__mro__.index(Tensor)])
        if not written and callable(found):
            setattr(kind, name, refusing(name.strip("_") if name.startswith("_") else name))
