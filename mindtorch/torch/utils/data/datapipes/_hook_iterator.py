"""One iterator at a time for a pipe: a new one ends those that it gave before."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

FEEDBACK = (
    "\nFor feedback regarding this single iterator per IterDataPipe constraint, feel free "
    "to comment on this issue: https://github.com/pytorch/data/issues/45."
)


def shown(pipe: Any) -> str:
    """A pipe's class, with what it was made of."""
    taken = inspect.signature(type(pipe)).parameters
    found = sorted((name, value) for name, value in vars(pipe).items() if name in taken)
    told = (f"{k}={v.__name__ if inspect.isfunction(v) else repr(v)}" for k, v in found)
    return f"{type(pipe).__name__}({', '.join(told)})"


class OneIterator:
    """Counts a pipe's iterators; the last one is the only one that goes on."""

    _valid_iterator_id: int | None = None

    def reset(self) -> None:
        """Forget what the last iterator left; called where a new one begins."""

    def _begin_iterator(self) -> int:
        """The number of an iterator that begins now."""
        last = self._valid_iterator_id
        self._valid_iterator_id = number = 0 if last is None else last + 1
        self.reset()
        return number

    def _check_iterator(self, number: int) -> None:
        if self._valid_iterator_id != number:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created "
                f"from the same IterDataPipe: {shown(self)}\n"
                "This may be caused by multiple references to the same IterDataPipe. We recommend "
                f"using `.fork()` if that is necessary.{FEEDBACK}"
            )


class _Checked:
    """An iterator that asks before each sample whether it still is its pipe's last one."""

    def __init__(self, iterator: Any, pipe: Any, number: int) -> None:
        self.iterator = iterator
        self.datapipe = pipe
        self.iterator_id = number

    def __iter__(self) -> _Checked:
        return self

    def __next__(self) -> Any:
        self.datapipe._check_iterator(self.iterator_id)
        return next(self.iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.iterator, name)


def _name_pipe(error: Exception, pipe: Any) -> None:
    """Add the pipe that raised to an error's text, unless one is named already."""
    told = f"\nThis exception is thrown by __iter__ of {shown(pipe)}"
    if not error.args or not isinstance(error.args[0], str):
        error.args = (told,)
    elif "thrown by __iter__ of" not in error.args[0] and FEEDBACK not in error.args[0]:
        error.args = (error.args[0] + told, *error.args[1:])


def counted(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A pipe's ``__iter__`` whose iterators are counted and checked.

    Args:
        method: ``__iter__`` as the class defines it, a generator or not.
    """
    if not inspect.isgeneratorfunction(method):

        @functools.wraps(method)
        def checked(self: Any) -> Any:
            iterator = method(self)
            return _Checked(iterator, self, self._begin_iterator())

        return checked

    @functools.wraps(method)
    def generator(self: Any) -> Iterator[Any]:
        number = self._begin_iterator()
        try:
            for value in method(self):
                yield value
                self._check_iterator(number)
        except Exception as error:
            _name_pipe(error, self)
            raise

    return generator
