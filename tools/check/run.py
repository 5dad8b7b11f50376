"""Run a script for some steps, and report what was found."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mindtorch.module_hooker import torch_disable, torch_pop

from ..run_script import (
    ScriptNotFoundError,
    execute,
    report_failure,
    switch_in_spawned_processes,
)
from .checker import Checker, EnoughError
from .report import print_findings, write_page

__all__ = ["check"]


def check(options: argparse.Namespace) -> int:
    """Run and report; the exit status."""
    torch_disable()
    switch_in_spawned_processes()
    failed = 0
    checker = Checker(options.steps)
    try:
        with checker:
            execute(options.script, options.arguments, Path.cwd() if options.module else None)
    except EnoughError:
        pass
    except ScriptNotFoundError as error:
        torch_pop()
        print(f"mindtorch check: {error}", file=sys.stderr)
        return 2
    except SystemExit as error:
        failed = int(error.code not in (None, 0))
    except KeyboardInterrupt:
        print("mindtorch check: interrupted; this is what was seen", file=sys.stderr)
    except BaseException as error:
        failed = report_failure(error)
    findings = checker.findings()
    seen = (
        f"{checker.steps_seen} steps, {checker.losses_seen} backward passes and "
        f"{checker.calls} calls of models were seen"
    )
    sys.stdout.flush()
    print_findings(findings, seen)
    if options.html is not None:
        try:
            write_page(options.html, str(options.script), findings, seen)
        except OSError as error:
            print(f"mindtorch check: {error}", file=sys.stderr)
            return 2
    if not (checker.losses_seen or checker.calls):
        return 2
    return 1 if findings or failed else 0
