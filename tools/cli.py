"""The command line: `python -m mindtorch COMMAND`, also installed as `mindtorch`.

A command is a module with `add_arguments(parser)` and `main(options) -> exit status`.
"""

import argparse
import difflib
import functools
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn

import mindtorch
from mindtorch.module_hooker import torch_disable, torch_pop

from . import amp_report, bisect, cache, completion, env, export, gradient_check, lite, serve
from .certify import cli
from .check import command as check
from .cli_types import step_range
from .compare import cli as compare
from .debugger import command as debugger
from .debugger.protocol import LEVELS, ObservationError, asked_for
from .insight import command as insight
from .insight import recording
from .later import later
from .parallel import command as parallel
from .run_script import (
    ScriptNotFoundError,
    execute,
    report_failure,
    switch_in_spawned_processes,
)  # fmt: skip
from .scan import command as scan
from .warm import command as warm

__all__ = ["main"]

_EPILOG = """\
exit status:
  0  done, and nothing was found wrong
  1  something was found wrong: runs differ, names are missing, a check failed
  2  wrong arguments, or nothing could be checked
  130  interrupted; 128 + n: ended by signal n
`run` ends with the script's own status. Completion: eval "$(mindtorch completion bash)"
`mindtorch env` prints what a bug report needs.
"""


_RUN = """It runs as `python SCRIPT` would, `__main__` and all, but `import torch` gives mindtorch.
Exit status: the script's own; 2: it cannot be read."""
_COMPARE = """What both did (parameters, batches, calls, gradients, updates, losses) is recorded and
compared, and what differs is judged by running it again on the same input. Exit status 0: both runs
agree; 1: they differ; 2: the script failed in one, or nothing was seen."""
_GRADCHECK = """The function gets random arguments of the shapes given, in float64. Exit status 0:
all gradients agree; 1: they differ; 2: nothing was compared."""
_AMP = """The script runs in float32; beside its first training steps a copy of each network
computes at level O2 or O3, and each layer alone in 16 bits. Exit status 0: all may be lowered; 1:
some layers should not, or the loss is NaN already; 2: nothing was seen."""
_ENV = "Versions, the processor, libraries and the variables that change what mindtorch does."
_COMPLETION = """Use: eval "$(mindtorch completion bash)". Needs the extra `completion`."""



def add_run_arguments(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--graph", action="store_true", help="what repeats runs compiled (also: MINDTORCH_GRAPH=1)"
    )
    watch = run.add_argument(
        "--watch", metavar="CHECKS", help="look for watchpoints: all, or names joined by commas"
    )
    watch.completer = completion.watchpoints  # type: ignore[attr-defined]
    run.add_argument(
        "--watch-on", choices=["print", "raise", "debug"], default="print",
        help="what to do at a watchpoint (print)",
    )
    recording.add_arguments(run)
    run.add_argument(
        "--debugger", action="store_true",
        help="stop before the first call of the model, and read commands (docs/debugger.md)",
    )
    run.add_argument(
        "--watchpoint", action="append", default=[], metavar="WORDS",
        help="with --debugger: what its command `watch` takes; may be given several times",
    )
    run.add_argument(
        "--level", choices=LEVELS, default="modules", help="how much the debugger sees (modules)"
    )
    run.add_argument(
        "--torch-record", type=Path, metavar="DIR",
        help="what `mindtorch compare --keep DIR` recorded of PyTorch, to compare tensors with; "
        "the generators begin as they did there (seed 0)",
    )
    run.add_argument("--dump", metavar="DIR", help="write the tensors of steps as files")
    run.add_argument(
        "--dump-steps", type=step_range, metavar="A-B", help="of which steps, from 1 (all)"
    )
    run.add_argument(
        "-m", "--module", action="store_true", help="SCRIPT is a module's name, as of python -m"
    )
    run.add_argument("script", type=Path, help="the script to run")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")


def torchrun(arguments: list[str]) -> int:
    """`python -m torch.distributed.run`, with mindtorch in torch's place in all processes."""
    from mindtorch.torch.distributed.run import main as start

    return start(arguments)


def run_script(options: argparse.Namespace) -> int:
    """Run the script as `python script.py` would, but that `import torch` gives mindtorch."""
    torch_disable()
    switch_in_spawned_processes()
    if options.graph:
        os.environ["MINDTORCH_GRAPH"] = "1"
    try:
        folder = Path.cwd() if options.module else None
        run = functools.partial(execute, options.script, options.arguments, folder)
        with recording.recording(options):
            if _is_observed(options):
                later("run_observed", "run_observed")(options, run)
            else:
                run()
    except (ObservationError, ScriptNotFoundError) as error:
        torch_pop()
        print(f"mindtorch run: {error}", file=sys.stderr)
        return 2
    except SystemExit:
        raise
    except BaseException as error:
        return report_failure(error)
    return 0


def _is_observed(options: argparse.Namespace) -> bool:
    """Whether somebody looks while the script runs."""
    return bool(options.watch or options.debugger or options.dump or asked_for())


def _end(number: int, frame: object) -> None:
    print(f"mindtorch: ended by {signal.Signals(number).name}", file=sys.stderr)
    raise SystemExit(128 + number)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """A signal that ends us lets what we started end first, and what is half done be removed."""
    here = threading.current_thread() is threading.main_thread()
    ours = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if here and signal.getsignal(number) is signal.SIG_DFL  # under nohup it is ignored
    ]
    for number in ours:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


# name, help, description, what adds its arguments, what it does
_COMMANDS: tuple[tuple[str, str, str, Any, Any], ...] = (
    (
        "run", "run a script with mindtorch in torch's place", _RUN,
        add_run_arguments, run_script,
    ),
    (
        "compare",
        "run a script under real PyTorch and under mindtorch, and say where they differ",
        _COMPARE,
        compare.add_arguments, compare.main,
    ),
    (
        "gradcheck",
        "compare a function's gradients: value_and_grad, backward, central differences",
        _GRADCHECK,
        gradient_check.add_arguments, gradient_check.main,
    ),
    (
        "amp-report",
        "what 16 bits would do to each layer, and which should stay float32",
        _AMP,
        amp_report.add_arguments, amp_report.main,
    ),
    (
        "bisect", "which mechanism (fusion, a cache, ...) changes a result of a script",
        bisect.DESCRIPTION, bisect.add_arguments, bisect.main,
    ),
    (
        "scan", "read a code base and say which of its names are supported", scan.DESCRIPTION,
        scan.add_arguments, scan.main,
    ),
    (
        "certify", "keep what a script does under real PyTorch in a small file", cli.CERTIFY,
        cli.add_certify_arguments, cli.certify,
    ),
    (
        "verify", "check a certified script, without PyTorch", cli.VERIFY,
        cli.add_verify_arguments, cli.verify,
    ),
    (
        "export", "write a script's model as a MindIR or ONNX file", export.DESCRIPTION,
        export.add_arguments, export.main,
    ),
    (
        "serve", "serve the models of a folder over gRPC and REST", serve.DESCRIPTION,
        serve.add_arguments, serve.main,
    ),
    (
        "cache", "keep rows of data sets in memory, for several programs and runs",
        cache.DESCRIPTION, cache.add_arguments, cache.main,
    ),
    (
        "insight", "show trainings in a browser, while they run", insight.DESCRIPTION,
        insight.add_arguments, insight.main,
    ),
    (
        "parallel", "predict how a script's model would train on many processes",
        parallel.DESCRIPTION, parallel.add_arguments, parallel.main,
    ),
    (
        "check", "run a script for some steps and say what usually goes wrong",
        check.DESCRIPTION, check.add_arguments, check.main,
    ),
    (
        "debugger", "wait in a terminal for programs under the debugger", debugger.DESCRIPTION,
        debugger.add_arguments, debugger.main,
    ),
    (
        "env", "describe this installation, for a bug report", _ENV,
        env.add_arguments, env.main,
    ),
    (
        "lite", "convert models to Lite files, describe them and take their time",
        lite.DESCRIPTION, lite.add_arguments, lite.main,
    ),
    (
        "warm", "compile the commonest kernels before they are needed",
        warm.DESCRIPTION, warm.add_arguments, warm.main,
    ),
    (
        "completion", "print what makes a shell complete commands", _COMPLETION,
        completion.add_arguments, completion.main,
    ),
)  # fmt: skip


class _Parser(argparse.ArgumentParser):
    """argparse's, which says what may have been meant.

    Attributes:
        commands: the parsers of the commands by their names.
        given: the words that are parsed.
    """

    commands: Mapping[str, argparse.ArgumentParser] = {}
    given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        super().error(self._command_hint() or f"{message}{self._option_hint(message)}")

    def _command_hint(self) -> str:
        name = next((word for word in self.given if not word.startswith("-")), "")
        if not name or name in self.commands:
            return ""
        near = difflib.get_close_matches(name, self.commands, n=1, cutoff=0.6)
        meant = f"mindtorch {near[0]}" if near else "mindtorch --help, which lists them"
        if name.endswith(".py") or Path(name).is_file():
            meant = f"mindtorch run {name}"
        return f"there is no command {name!r}; did you mean: {meant}"

    def _option_hint(self, message: str) -> str:
        found = re.match(r"unrecognized arguments: .*?(--[^\s=]+)", message)
        if found is None:
            return ""
        text = self.commands[self.given[0]].format_help()
        known = sorted(set(re.findall(r"--[a-z][a-z-]+", text)))
        near = difflib.get_close_matches(found[1], known, n=1, cutoff=0.6)
        return f"; did you mean {near[0]}?" if near else ""


def make_parser(given: Sequence[str] = ()) -> _Parser:
    """The parser of all commands; `given` is what it is to parse."""
    parser = _Parser(
        prog="mindtorch",
        description="Run PyTorch scripts on mindtorch, and compare with PyTorch.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.given = given
    parser.add_argument("--version", action="version", version=f"mindtorch {mindtorch.__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=argparse.ArgumentParser
    )
    parser.commands = commands.choices
    for name, help_, description, add_arguments, act in _COMMANDS:
        whole = f"{help_[0].upper()}{help_[1:]}. {description}".strip()
        command = commands.add_parser(name, help=help_, description=whole)
        add_arguments(command)
        command.set_defaults(act=act)
        if act is run_script:  # it has a parser of its own
            commands.add_parser("torchrun", help="start the processes of a distributed job")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The exit status: the script's own for `run`."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["torchrun"]:
        return torchrun(given[1:])
    parser = make_parser(given)
    completion.complete(parser)
    if not given:
        parser.print_help()
        return 0
    options = parser.parse_args(given)
    # A script that is run has signals to itself.
    guard = nullcontext() if options.act in (run_script, check.main) else _ending_in_order()
    try:
        with guard:
            status: int = options.act(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("mindtorch: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `mindtorch ... | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return status
