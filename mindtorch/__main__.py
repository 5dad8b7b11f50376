"""The command line: `mindtorch COMMAND ...`, the same as `python -m mindtorch COMMAND ...`.

Each command is a module `mindtorch.tools.<command>` with `main(arguments) -> exit status`.
"""

import importlib
import importlib.util
import sys
from collections.abc import Sequence

from mindtorch import __version__

_COMMANDS = {
    "compare": "run a script under PyTorch and under mindtorch, and name the first difference",
    "scan": "list what a script uses of PyTorch and whether mindtorch has it",
    "run": "run a PyTorch script on mindtorch",
    "bench": "measure mindtorch beside PyTorch",
}


def available_commands() -> dict[str, str]:
    """Names and one-line descriptions of the commands whose module is installed."""
    return {
        name: text
        for name, text in _COMMANDS.items()
        if importlib.util.find_spec(f"mindtorch.tools.{name}") is not None
    }


def usage() -> str:
    """The text of `mindtorch --help`."""
    lines = ["usage: mindtorch [--help] [--version] COMMAND ...", "", "commands:"]
    lines += [f"  {name:<10}{text}" for name, text in available_commands().items()]
    return "\n".join([*lines, "", "`mindtorch COMMAND --help` says more about one of them."])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (default: `sys.argv`) names; 2 when it names none."""
    first, *rest = list(sys.argv[1:] if arguments is None else arguments) or [""]
    if first in ("-h", "--help"):
        print(usage())
        return 0
    if first in ("-V", "--version"):
        print(f"mindtorch {__version__}")
        return 0
    if first not in available_commands():
        problem = f"no such command: {first}" if first else "a command is needed"
        print(f"{usage()}\n\nmindtorch: {problem}", file=sys.stderr)
        return 2
    status: int = importlib.import_module(f"mindtorch.tools.{first}").main(rest)
    return status


if __name__ == "__main__":
    sys.exit(main())
