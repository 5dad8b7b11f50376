"""Tracebacks that nobody catches show the user's own frames; those of the library are one line.

A shape error deep in a model passes some twenty frames of ours. What helps is the line of the
program that is being run, and the path of the layer that it happened in, so that is what
`excepthook` prints. `MINDTORCH_TRACEBACK=full` shows all frames.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

__all__ = ["excepthook", "fold_frames_of", "format_exception", "install", "is_library"]

_HERE = Path(__file__).parent
_roots = {
    str(path) + os.sep
    for path in (_HERE, *(_HERE.joinpath(n).resolve() for n in ("engine", "kernels", "tools")))
}
# Where they are called by the library, they are a part of it.
_CALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("numba", "numpy", "scipy", "llvmlite"))
_MEAN = ". Did you mean: "
_GLUE = ("contextlib.py", "functools.py", "<frozen runpy>")


def is_library(file: str) -> bool:
    """Whether a frame's file is the library's own."""
    return file.startswith(tuple(_roots))


def fold_frames_of(folder: str | Path) -> None:
    """Let frames of the files in `folder` be folded, too."""
    _roots.add(str(folder) + os.sep)


class _Folded(traceback.FrameSummary):
    """What stands for some frames."""

    __slots__ = ("text",)
    text: str


class _Stack(traceback.StackSummary):
    """Frames, some of which are folded."""

    def format_frame_summary(self, frame_summary: traceback.FrameSummary, **kwargs: Any) -> str:
        if isinstance(frame_summary, _Folded):
            return frame_summary.text
        return super().format_frame_summary(frame_summary, **kwargs)


def _module_of(frame: FrameType) -> Any:
    """The module whose method a frame runs, None where it is no module's."""
    found = frame.f_locals.get("self")
    try:
        children = object.__getattribute__(found, "__dict__").get("_modules")
    except AttributeError:
        return None
    return found if isinstance(children, dict) else None


class _Layers:
    """The layers that the frames of a traceback lead through."""

    def __init__(self) -> None:
        self.last: Any = None
        self.names: list[str] = []

    def enter(self, frame: FrameType) -> None:
        module = _module_of(frame)
        if module is None or module is self.last:
            return
        if self.last is not None:
            children = self.last._modules.items()
            name = next((key for key, child in children if child is module), "")
            self.names = [*self.names, name] if name else []
        self.last = module

    def __str__(self) -> str:
        """`1.2.fc: Linear(in_features=8, out_features=4)`, or '' where there is none."""
        if self.last is None:
            return ""
        try:
            text = f"{type(self.last).__name__}({self.last.extra_repr()})"
        except Exception:
            text = type(self.last).__name__
        return f"{'.'.join(self.names)}: {text}" if self.names else text


def _is_folded(file: str, before: bool) -> bool:
    """Whether a frame is folded, where the one before it is, or is not."""
    if is_library(file):
        return True
    return before and (os.path.basename(file) in _GLUE or any(x in file for x in _CALLED))


def _fold(stack: traceback.StackSummary, frames: list[FrameType]) -> traceback.StackSummary:
    """The frames of a traceback with each run of the library's own as one line."""
    folded: list[bool] = []
    for summary in stack:
        folded.append(_is_folded(summary.filename, bool(folded and folded[-1])))
    if all(folded) or not any(folded):
        return stack
    result, layers, count = _Stack(), _Layers(), 0
    last = len(folded) - 1 - folded[::-1].index(True)
    for at, (summary, frame) in enumerate(zip(stack, frames, strict=True)):
        layers.enter(frame)
        if not folded[at]:
            result.append(summary)
            continue
        count += 1
        if at == len(folded) - 1 or not folded[at + 1]:
            line = _Folded(summary.filename, summary.lineno, summary.name, lookup_line=False)
            place = f", in {layers}" if str(layers) else ""
            hint = "; MINDTORCH_TRACEBACK=full shows them" if at == last else ""
            line.text = f"  [{count} library frame{'s' * (count > 1)}{place}{hint}]\n"
            result.append(line)
            count = 0
    return result


def _chain(
    shown: traceback.TracebackException, error: BaseException, seen: set[int]
) -> Iterator[tuple[traceback.TracebackException, BaseException]]:
    """An exception as it is shown and as it is, and those that it came from or holds."""
    if id(error) in seen:
        return
    seen.add(id(error))
    yield shown, error
    pairs = [(shown.__cause__, error.__cause__), (shown.__context__, error.__context__)]
    groups = getattr(shown, "exceptions", None) or (), getattr(error, "exceptions", ())
    pairs += zip(*groups, strict=False)
    for text, inner in pairs:
        if text is not None and inner is not None:
            yield from _chain(text, inner, seen)


def format_exception(
    kind: type[BaseException], error: BaseException, where: TracebackType | None
) -> str:
    """The traceback as text, its library frames folded unless MINDTORCH_TRACEBACK is `full`."""
    shown = traceback.TracebackException(kind, error, where, compact=True)
    if os.environ.get("MINDTORCH_TRACEBACK") != "full":
        for each, inner in _chain(shown, error, set()):
            trace = where if inner is error else inner.__traceback__
            frames = [frame for frame, _ in traceback.walk_tb(trace)]
            if len(frames) == len(each.stack):
                each.stack = _fold(each.stack, frames)
    return "".join(shown.format()).removesuffix("\n") + _suggestion(kind, error, where) + "\n"


def _suggestion(
    kind: type[BaseException], error: BaseException, where: TracebackType | None
) -> str:
    """`. Did you mean: 'zeros'?`: before Python 3.12 only its own hook knows of it."""
    if sys.version_info >= (3, 12) or not isinstance(error, (AttributeError, NameError)):
        return ""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        sys.__excepthook__(kind, error, where)
    _, found, name = said.getvalue().rstrip("\n").rpartition(_MEAN)
    return found + name if found and "\n" not in name else ""


def excepthook(
    kind: type[BaseException], error: BaseException, where: TracebackType | None
) -> None:
    """Print an exception that nobody caught; in place of `sys.excepthook`."""
    try:
        text = format_exception(kind, error, where)
    except Exception:
        sys.__excepthook__(kind, error, where)
        return
    sys.stderr.write(text)
    sys.stderr.flush()


_thread_hook: Callable[[Any], Any] = threading.__excepthook__


def _in_thread(arguments: Any) -> None:
    """The same for what ends a thread."""
    error, thread = arguments.exc_value, arguments.thread
    if error is None or arguments.exc_type is SystemExit or sys.stderr is None:
        _thread_hook(arguments)
        return
    name = thread.name if thread is not None else threading.get_ident()
    sys.stderr.write(f"Exception in thread {name}:\n")
    excepthook(arguments.exc_type, error, arguments.exc_traceback)


def _without_library(where: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames that would be folded; as it is where no other is left."""
    kept, folded = [], False
    step = where
    while step is not None:
        folded = _is_folded(step.tb_frame.f_code.co_filename, folded)
        if not folded:
            kept.append(step)
        step = step.tb_next
    result = None
    for each in reversed(kept):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result or where


def _in_ipython(shell: Any, kind: Any, error: Any, where: Any, tb_offset: Any = None) -> None:
    """The same in a notebook, where IPython prints the frames itself."""
    full = os.environ.get("MINDTORCH_TRACEBACK") == "full"
    shown = where if full else _without_library(where)
    shell.showtraceback((kind, error, shown), tb_offset=tb_offset)
    left = sum(1 for _ in traceback.walk_tb(where)) - sum(1 for _ in traceback.walk_tb(shown))
    if left:
        layers = _Layers()
        for frame, _ in traceback.walk_tb(where):
            layers.enter(frame)
        place = f", in {layers}" if str(layers) else ""
        switch = "os.environ['MINDTORCH_TRACEBACK'] = 'full'"
        print(f"[{left} library frames{place}; {switch} shows them]", file=sys.stderr)


def install() -> None:
    """Fold tracebacks from now on, unless the program has a hook of its own."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = excepthook
    if threading.excepthook is _thread_hook:
        threading.excepthook = _in_thread
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and not getattr(shell, "custom_exceptions", ()):
        shell.set_custom_exc((Exception,), _in_ipython)
