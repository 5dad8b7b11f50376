"""Tables that forget: what can be made again is not kept without end."""

from __future__ import annotations

import itertools
from typing import Any


class Bounded(dict[Any, Any]):
    """A table of at most ``limit`` entries; a full one drops the older half of them.

    Shapes, indices and numbers that change from call to call (sentences of all lengths,
    ``data[i]``, rates) would otherwise keep an entry each for as long as the process lives.
    """

    __slots__ = ("limit",)

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def keep(self, key: Any, value: Any) -> Any:
        """Store ``value`` and return it."""
        if len(self) >= self.limit:
            for old in list(itertools.islice(self, self.limit // 2)):
                self.pop(old, None)
        self[key] = value
        return value
