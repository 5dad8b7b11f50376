"""Random numbers taken back: what a part of a compiled call drew before one of its kernels failed.
"""

from __future__ import annotations

import threading
from typing import Any

# of threads that run such a part
journals: dict[int, Journal] = {}


class Journal:
    """The states that generators had before this thread's first draws, from now until ``close``."""

    def __init__(self) -> None:
        self.states: dict[int, tuple[Any, Any]] = {}
        self.thread = threading.get_ident()
        journals[self.thread] = self

    def close(self) -> None:
        journals.pop(self.thread, None)

    def undo(self) -> None:
        """Put the generators back into those states."""
        for generator, before in self.states.values():
            generator.put_back(before)


def note(generator: Any) -> None:
    """A generator is about to be drawn from."""
    journal = journals.get(threading.get_ident())
    if journal is not None and id(generator) not in journal.states:
        journal.states[id(generator)] = generator, generator.kept()
