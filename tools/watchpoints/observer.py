"""Standing at the engine's door while a program runs: what watches and the debugger have in common.

An observer sees calls of modules, and, where it is an interpreter, every op of the forward and of
the backward pass; it knows the path of the module that runs and the user's line.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace
from mindtorch.engine.compile.lazy.pause import pause
from mindtorch.engine.dispatch import state
from mindtorch.engine.interpreter import Interpreter
from mindtorch.engine.tensor import Tensor
from mindtorch.traceback_filtering import is_library

from .conditions import Place
from .training_steps import StepListener, Steps

__all__ = ["MOVERS", "Observer", "elements", "is_watched", "user_frame"]

# Their results are what they were given: extremes in them are the user's own.
MOVERS = frozenset("""
    masked_fill masked_scatter index_fill index_put constant_pad_nd scatter where copy_
""".split())


@functools.cache
def _is_users(file: str) -> bool:
    if file.startswith("<frozen") or is_library(file):
        return False
    return os.path.basename(file) not in ("contextlib.py", "functools.py")


def user_frame() -> FrameType | None:
    """The innermost frame that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def is_watched(tensor: Any) -> bool:
    """Whether it is a tensor of floats in this machine's memory."""
    if not isinstance(tensor, Tensor):
        return False
    aval = getattr(tensor, "aval", None)
    return (
        aval is not None
        and aval.dtype.category >= dtypes.FLOAT
        and isinstance(getattr(tensor, "flat", None), np.ndarray)
    )


def elements(tensor: Any) -> np.ndarray:
    """A tensor's own elements in the order of memory: beyond a view's there are others."""
    return tensor.flat[: tensor.aval.size] if tensor.aval.dense else np.ravel(tensor.array())


class _Away:
    """A block with other interpreters at the door. It is entered at each op: a generator would
    cost more than what is done in it."""

    __slots__ = ("before", "interpreters")

    def __init__(self, interpreters: Any) -> None:
        self.interpreters = interpreters

    def __enter__(self) -> None:
        self.before = state.interpreters
        if self.before is not self.interpreters:
            state.update(interpreters=self.interpreters)

    def __exit__(self, *error: object) -> None:
        if state.interpreters is not self.before:
            state.update(interpreters=self.before)


class Observer(Interpreter):
    """Sees a program's calls of modules while it is installed, and its ops while it is at the door.

    Args:
        model: gives layers their names from the start; else the outermost module called does.

    Attributes:
        layers: the modules whose forward pass is running.
        names: modules seen, with their paths, by identity.
        origins: where nodes of the tape were made.
        backward: the places of the nodes whose gradients are being computed.
    """

    observes_nodes = True

    def __init__(self, model: Any = None) -> None:
        self.model = model
        self.thread = threading.get_ident()
        self.layers: list[Any] = []
        self.names: dict[int, tuple[Any, str]] = {}
        self.origins: dict[int, Place] = {}
        self.backward: list[Place] = []
        self.outer: Any = ()
        self._undo = contextlib.ExitStack()

    # -- standing at the door ---------------------------------------------------------------------

    def _install(self, listener: StepListener) -> None:
        """See modules, and tell `listener` of losses and steps, until this observer is closed."""
        self.steps = Steps(torch, listener)
        if self.model is not None:
            self._adopt(self.model)
        self.steps.install()
        self._undo.callback(self.steps.remove)
        self._stand_in(torch.nn.Module, "__call__", self._module_call)

    def _enter_door(self) -> Callable[[], None]:
        """See every op, until the function that is returned is called."""
        resume = pause()
        self.outer = state.interpreters
        state.update(interpreters=(*self.outer, self))

        def leave() -> None:
            state.update(interpreters=tuple(x for x in state.interpreters if x is not self))
            resume()

        return leave

    def __exit__(self, *error: object) -> None:
        self._undo.close()

    def _stand_in(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = owner.__dict__[name]
        setattr(owner, name, functools.wraps(original)(make(original)))
        self._undo.callback(setattr, owner, name, original)

    def away(self) -> _Away:
        """Without this watch at the door: its own work, and that of the ops it lets through."""
        return _Away(self.outer)

    def copy_into(self, target: Any, source: Any) -> Any:
        with self.away():
            return inplace.copy_(target, source)

    def item(self, tensor: Any) -> Any:
        with self.away():
            return type(tensor).item(tensor)

    # -- where we are -----------------------------------------------------------------------------

    def _adopt(self, model: Any) -> None:
        for name, part in model.named_modules():
            if id(part) in self.names:
                continue
            path = name or type(model).__name__
            self.names[id(part)] = (part, path)
            self._adopted(path, part)

    def _adopted(self, path: str, part: Any) -> None:
        """A module was met for the first time."""

    def layer(self) -> str:
        """The path of the module whose forward pass is running."""
        if not self.layers:
            return ""
        return self.path(self.layers[-1])

    def path(self, module: Any) -> str:
        """The path of a module in the outermost one that was called."""
        known = self.names.get(id(module))
        return known[1] if known is not None else type(module).__name__

    def place(self, op: str) -> Place:
        frame = user_frame()
        file, line = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
        return Place(self.layer(), op, file, line)

    def _note_origin(self, op: str, result: Any) -> None:
        """Remember where a node of the tape was made, for its gradient."""
        node = getattr(result, "_node", None)
        if node is not None and not self.backward:
            self.origins[id(node)] = self.place(op)

    def _module_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self.thread:
                return original(module, *args, **kwargs)
            if not self.layers and id(module) not in self.names:
                self._adopt(module)
            self.layers.append(module)
            try:
                self._calling(module, args)
                result = original(module, *args, **kwargs)
                self._called(module, args, kwargs, result)
                return result
            finally:
                self.layers.pop()

        return call

    def _calling(self, module: Any, args: Any) -> None:
        """A module is about to be called."""

    def _called(self, module: Any, args: Any, kwargs: Any, result: Any) -> None:
        """A module's call came back with `result`."""

    @contextlib.contextmanager
    def around_node(self, node: Any) -> Iterator[None]:
        place = self.origins.get(id(node), Place())
        self.backward.append(place._replace(op=f"backward of {place.op or node.name()}"))
        try:
            yield
        finally:
            self.backward.pop()

    def parameters(self) -> dict[str, Any]:
        """The parameters of the modules seen so far that are trained."""
        found = {}
        for module, path in self.names.values():
            for name, parameter in module._parameters.items():
                if parameter is not None and parameter.requires_grad:
                    found[f"{path}.{name}"] = parameter
        return found
