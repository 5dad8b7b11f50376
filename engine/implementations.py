"""What classes of tensors without one memory of their own have in place of a function's body.

Sparse, nested and masked tensors are made of other tensors. No op takes them; a public function has
implementations for them, which are looked for as soon as there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["NO_OTHERS", "Implementations"]

_NONE: Any = ()  # what is known of most classes


class Implementations(dict[type, Callable[..., Any]]):
    """A function's implementations by the class of tensors that they are for.

    It is empty until such a class is loaded, which is all that a call on plain tensors asks; then
    it asks what is known of each argument's class.
    """

    __slots__ = ("_of_class",)

    def __init__(self) -> None:
        super().__init__()
        self._of_class: dict[type, Any] = {}

    def __setitem__(self, kind: type, implementation: Callable[..., Any]) -> None:
        super().__setitem__(kind, implementation)
        self._of_class = {}

    def _find(self, given: type) -> Any:
        """The implementations for a class, which are kept."""
        found = tuple(made for kind, made in self.items() if issubclass(given, kind)) or _NONE
        if given is not list and given is not tuple:  # whose elements are asked
            self._of_class[given] = found
        return found

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the first argument's class that has an implementation, in lists too.

        NotImplemented where there is none, and where it says so itself.
        """
        of_class = self._of_class
        for value in (*args, *kwargs.values()) if kwargs else args:
            kind = value.__class__
            if of_class.get(kind) is _NONE:
                continue
            for each in value if kind is list or kind is tuple else (value,):
                for implementation in of_class.get(each.__class__) or self._find(each.__class__):
                    found = implementation(*args, **kwargs)
                    if found is not NotImplemented:
                        return found
        return NotImplemented


NO_OTHERS = Implementations()  # of what is no public function
