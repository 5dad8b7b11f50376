"""Run a user's script as `python script.py` would."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType

__all__ = ["ScriptNotFoundError", "execute", "report_failure"]


class ScriptNotFoundError(Exception):
    """The script cannot be read; the text says why."""


def _source(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScriptNotFoundError(f"cannot open {str(path)!r}: {reason}") from None


def execute(path: str | Path, arguments: Sequence[str]) -> None:
    """Run the script at `path` as the module `__main__`.

    `sys.argv` is the path and `arguments`, `sys.path[0]` the script's folder, and `__main__` stays
    the script's module afterwards, so that what it left behind (threads, exit handlers, pickled
    classes) finds its names. What the script raises comes through, `SystemExit` included.

    Raises:
        ScriptNotFoundError: there is no such file, or it cannot be read.
    """
    path = Path(path)
    source = _source(path)
    main = ModuleType("__main__")
    main.__dict__["__file__"] = str(path)
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    sys.argv = [str(path), *arguments]
    sys.path[0] = str(path.resolve().parent)
    exec(compile(source, str(path), "exec", dont_inherit=True), main.__dict__)


def _from_script(traceback: TracebackType | None, path: str) -> TracebackType | None:
    """The part of a traceback that begins in the script."""
    step = traceback
    while step is not None and step.tb_frame.f_code.co_filename != path:
        step = step.tb_next
    return step


def report_failure(error: BaseException, path: str | Path) -> int:
    """Print the traceback of a script that raised, without our frames. Returns the exit status."""
    error.__traceback__ = _from_script(error.__traceback__, str(path))
    sys.excepthook(type(error), error, error.__traceback__)
    return 130 if isinstance(error, KeyboardInterrupt) else 1
