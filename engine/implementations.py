"""What classes of tensors without one memory of their own have in place of a function's body.

Sparse, nested and masked tensors are made of other tensors. No op takes them; a public function has
implementations for them, which are looked for as soon as there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["NO_OTHERS", "Implementations"]


class Implementations(dict[type, Callable[..., Any]]):
    """A function's implementations by the class of tensors that they are for.

    It is empty until such a class is loaded, which is all that a call on plain tensors asks.
    """

    __slots__ = ()

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of the first argument's class that has an implementation, in lists too.

        NotImplemented where there is none, and where it says so itself.
        """
        for value in (*args, *kwargs.values()):
            for each in value if value.__class__ in (list, tuple) else (value,):
                for kind, implementation in self.items():
                    if isinstance(each, kind):
                        found = implementation(*args, **kwargs)
                        if found is not NotImplemented:
                            return found
        return NotImplemented


NO_OTHERS = Implementations()  # of what is no public function
