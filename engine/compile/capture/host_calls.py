"""Calls that a trace does not look into: they work on real memory."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...dispatch import graph_under_way, state
from ...tensor import scripts


def traced_hook(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a hook that a capture may trace: what it does to real memory are host calls."""
    hook.in_captures = True  # type: ignore[attr-defined]
    return hook


def host_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate what works on real memory (an optimizer's step): a capture calls it as it is."""
    steps = function.__name__ == "step"

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not (scripts or state.interpreters):
            return function(*args, **kwargs)
        capture = graph_under_way()
        watched = capture
        if capture is None and scripts and not state.interpreters and scripts[0].is_mine():
            watched = scripts[0]
        if watched is None or watched.hosting:
            if capture is None:
                return function(*args, **kwargs)
            return capture.host(function, args, kwargs)
        watched.hosting = True
        try:
            if capture is not None:
                return capture.host(function, args, kwargs)
            return function(*args, **kwargs)
        finally:
            watched.hosting = False
            if steps and scripts:
                scripts[0].at_sync_point(("step", id(args[0]) if args else 0))

    return call
