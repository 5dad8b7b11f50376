"""Run a user's script as `python script.py` would."""

import ctypes
import functools
import multiprocessing.spawn
import runpy
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from mindtorch import traceback_filtering

__all__ = [
    "ScriptNotFoundError", "end_with_parent", "execute", "report_failure", "run_op_by_op",
    "switch_in_spawned_processes",
]  # fmt: skip


class ScriptNotFoundError(Exception):
    """The script cannot be read; the text says why."""


def _source(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ScriptNotFoundError(f"cannot open {str(path)!r}: {reason}") from None


def execute(path: str | Path, arguments: Sequence[str], folder: str | Path | None = None) -> None:
    """Run the script at `path` as the module `__main__`; with `folder`, the module of that name, as
    `python -m` there would.

    `sys.argv` is the path and `arguments`, `__file__` the whole path, `sys.path[0]` the script's
    folder, and `__main__` stays
    the script's module afterwards, so that what it left behind (threads, exit handlers, pickled
    classes) finds its names. What the script raises comes through, `SystemExit` included.

    Raises:
        ScriptNotFoundError: there is no such file, or it cannot be read.
    """
    if folder is not None:
        _put_first(str(folder))
        sys.argv = [str(path), *arguments]
        runpy.run_module(str(path), run_name="__main__", alter_sys=True)
        return
    path = Path(path)
    source = _source(path)
    file = str(path.absolute())  # as Python has it: scripts go elsewhere and look beside themselves
    main = ModuleType("__main__")
    main.__dict__["__file__"] = file
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    sys.argv = [str(path), *arguments]
    _put_first(str(path.resolve().parent))
    exec(compile(source, file, "exec", dont_inherit=True), main.__dict__)


def switch_in_spawned_processes() -> None:
    """Processes that multiprocessing starts anew have mindtorch in torch's place before they import
    the script, as they would have if the script's first line said so."""
    enable = f"{__package__}.mstorch_enable"
    command_of = multiprocessing.spawn.get_command_line

    @functools.wraps(command_of)
    def get_command_line(**handles: Any) -> list[str]:
        command = command_of(**handles)
        at = command.index("-c") + 1
        command[at] = f"import {enable}; {command[at]}"
        return command

    multiprocessing.spawn.get_command_line = get_command_line
    multiprocessing.set_forkserver_preload([enable, "__main__"])


def end_with_parent() -> None:
    """When the command that started us is killed, we are, too (Linux knows how)."""
    pr_set_pdeathsig = 1
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def run_op_by_op(side: str, torch: Any) -> None:
    """Let compiled functions run as Python from now on, so that every step is seen; results are the
    same."""
    if side == "torch":
        compiled = torch.compile

        @functools.wraps(compiled)
        def compile_nothing(*args: Any, **kwargs: Any) -> Any:
            torch.compiler.set_stance("force_eager")  # not before: it imports the whole compiler
            return compiled(*args, **kwargs)

        torch.compile = compile_nothing
        return
    from mindtorch.engine.settings import policy

    policy.disabled = True


def _put_first(folder: str) -> None:
    """Search modules in `folder` first, in place of where the command itself was found."""
    if sys.flags.safe_path:
        sys.path.insert(0, folder)
    else:
        sys.path[0] = folder


def _from_script(traceback: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that is not ours."""
    ours = (str(Path(__file__).parent), "<frozen ")  # runpy, importlib
    step = traceback
    while step is not None and step.tb_frame.f_code.co_filename.startswith(ours):
        step = step.tb_next
    return step


def report_failure(error: BaseException) -> int:
    """Print the traceback of a script that raised, without our frames. Returns the exit status."""
    error.__traceback__ = _from_script(error.__traceback__)
    traceback_filtering.install()
    sys.excepthook(type(error), error, error.__traceback__)
    return 130 if isinstance(error, KeyboardInterrupt) else 1
