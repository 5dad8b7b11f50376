"""Public functions where a mode is active, or a tensor's class answers for ops."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

from mindtorch.engine.dispatch import AUTOCAST, state

from .._api import torch_function
from . import composites_layers, composites_reductions
from .composites import NOT_MADE, made_of, whole
from .dispatcher import Dispatcher, answer_for_classes, outside_modes
from .entire import entire_of
from .overloads import is_inside, receiver, wrapped_in

__all__ = ["Stage", "entered", "for_a_while", "left", "start", "start_classes"]

_SUBJECTS = (composites_layers, composites_reductions)  # which register their functions


@functools.cache
def _body(place: str, name: str) -> tuple[Callable[..., Any] | None, inspect.Signature | None]:
    found = made_of(place, name)
    return found, None if found is None else inspect.signature(found)


class Stage:
    """What calls public functions where ``__torch_dispatch__`` is to see them.

    Attributes:
        classes: whether there are classes of tensors that answer.
    """

    classes = False

    def needed(self, args: Any, kwargs: Any) -> bool:
        """Whether somebody is to see the call."""
        if is_inside():
            return False
        if state.interpreters and receiver() is not None:
            return True
        return self.classes and bool(wrapped_in(args, kwargs))

    def is_written_down(self) -> bool:
        """Whether calls are written down before they are decomposed."""
        top = receiver() if state.interpreters else None
        return top is not None and top.entire

    def call(self, place: str, name: str, function: Any, args: Any, kwargs: Any) -> Any:
        """The call in overloads, where it is known how; else the function itself."""
        if self.is_written_down():
            undivided = entire_of(place, name)
        else:
            undivided = whole(name) if state.inference else None
        if undivided is not None:
            result = undivided(*args, **kwargs)
            if result is not NOT_MADE:
                return result
        body, signature = _body(place, name)
        if body is None or signature is None or state.mode & AUTOCAST:
            return function(*args, **kwargs)
        if getattr(body, "after", False):
            with outside_modes():
                made = function(*args, **kwargs)
            return body(made)
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # which finds the words
        result = body(*args, **kwargs)
        return function(*args, **kwargs) if result is NOT_MADE else result


_stage = Stage()


def start() -> None:
    """Let public functions ask from now on."""
    _listen()
    torch_function.install()


def _listen() -> None:
    if not torch_function.dispatching:
        torch_function.dispatching.append(_stage)


def for_a_while() -> contextlib.AbstractContextManager[None]:
    """A block in which public functions ask."""
    _listen()
    return torch_function.asking_for_a_while()


def start_classes() -> None:
    """The same, and tensors' classes are asked."""
    _stage.classes = True
    answer_for_classes()
    start()


def entered(mode: Any) -> Dispatcher:
    """An interpreter that hands overloads to ``mode``, and takes calls until :func:`left`."""
    _listen()
    torch_function.begin_asking()
    made = Dispatcher(mode)
    made.enter()
    return made


def left(made: Dispatcher) -> None:
    """The end of what :func:`entered` began."""
    try:
        made.leave()
    finally:
        torch_function.end_asking()
