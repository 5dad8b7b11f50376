"""A process that torchrun starts: `... -m mindtorch.tools.distributed_worker [--module] script`.

`import torch` gives mindtorch there, and what the script raises is left for torchrun to read.
"""

import contextlib
import ctypes
import signal
import sys
import traceback
from pathlib import Path

from mindtorch.module_hooker import torch_disable
from mindtorch.torch.distributed._failure import write_report

from .run_script import ScriptNotFoundError, execute, report_failure

_PR_SET_PDEATHSIG = 1


def _end_with_launcher() -> None:
    """Have the system end this process when the launcher was killed, which then cannot."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    """The exit status of the script."""
    as_module = arguments[:1] == ["--module"]
    name, *rest = arguments[1:] if as_module else arguments
    _end_with_launcher()
    torch_disable()
    try:
        execute(name, rest, Path.cwd() if as_module else None)
    except ScriptNotFoundError as error:
        print(f"torchrun: {error}", file=sys.stderr)
        return 2
    except SystemExit:
        raise
    except BaseException as error:
        write_report("".join(traceback.format_exception(error)))
        return report_failure(error)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
