"""Progress of long work, on standard error: a bar on a terminal, elsewhere (a pipe, a notebook) a
line every ten seconds, so that what is done sooner writes nothing."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["SECONDS", "progress", "telling"]

T = TypeVar("T")

SECONDS = 10.0  # between two lines


def _say(text: str, began: float) -> None:
    print(f"{text}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def progress(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """The items, while standard error tells how many are done.

    Args:
        description: what is being done.
        total: how many there are, where `items` has no length.
    """
    if not sys.stderr.isatty():
        yield from _in_lines(items, description, total)
        return
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(items, description, total=total, console=console, transient=True)


def _in_lines(items: Iterable[T], description: str, total: int | None) -> Iterator[T]:
    began = last = time.monotonic()
    known = total if total is not None else getattr(items, "__len__", lambda: None)()
    of = "" if known is None else f" of {known}"
    for done, item in enumerate(items):
        if time.monotonic() - last >= SECONDS:
            last = time.monotonic()
            _say(f"{description}: {done}{of}", began)
        yield item


@contextmanager
def telling(text: Callable[[], str]) -> Iterator[None]:
    """While this is entered, a line every ten seconds says how far the work is.

    Args:
        text: what to say; called in a thread of its own.
    """
    ended, began = threading.Event(), time.monotonic()

    def tell() -> None:
        while not ended.wait(SECONDS):
            _say(text(), began)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
